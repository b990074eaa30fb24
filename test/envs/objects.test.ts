/**
 * @file JavaScript games as environments, in this thread: everything means what it means for compiled ones.
 */
import fc from "fast-check";
import { describe, expect, expectTypeOf, test } from "vitest";
import { EnvironmentError } from "../../src/envs/define.ts";
import { asyncVec, fromObject, type ObjectVec } from "../../src/envs/objects/index.ts";
import { box, discrete } from "../../src/envs/spaces.ts";
import type { VectorEnv } from "../../src/envs/vector/face.ts";
import { VecEnv } from "../../src/envs/vector/vecEnv.ts";
import { normalise } from "../../src/envs/wrappers/index.ts";
import { copyOf, dice, kept, MODES, messageOf, Race, race } from "./games.ts";

describe("fromObject", () => {
  test.each(MODES)("does what VecEnv does: %s", (autoreset) => {
    // Mostly what goes on, now and then an action that is not there or a reset of some.
    const action = fc.oneof({ weight: 40, arbitrary: fc.nat(2) }, { weight: 1, arbitrary: fc.constant(3) });
    const mask = fc.oneof({ weight: 20, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(7) });
    const plan = fc.array(fc.tuple(fc.tuple(action, action, action), mask), { minLength: 25, maxLength: 40 });
    let ends = 0;
    const compiled = kept(new VecEnv(Race, 3, { autoreset, target: "js" }));
    fc.assert(
      fc.property(plan, (steps) => {
        const objects = kept(fromObject(race, 3, { autoreset }));
        expect(messageOf(() => objects.step([0, 0, 0]))).toMatch(/call reset\(\) first/);
        compiled.reset();
        objects.reset();
        // Arrays of the last run are still there in one of them.
        for (const vec of [compiled, objects]) {
          for (const array of [vec.out.reward, vec.out.terminated, vec.out.truncated, vec.out.finalObs]) array.fill(0);
          vec.episodeReturn.fill(0);
          vec.episodeLength.fill(0);
        }
        for (const [actions, mask] of steps) {
          const messages = [compiled, objects].map((vec) => messageOf(() => vec.step(actions)));
          expect(messages[1]).toBe(messages[0]);
          const { terminated, truncated } = objects.out;
          const over = terminated.map((ended, i) => ended | (truncated[i] as number));
          if (messages[0] === "") ends += over.filter((ended) => ended === 1).length;
          expect(copyOf(objects)).toEqual(copyOf(compiled));
          // Without autoreset most of those that ended begin anew; the others are refused for a while.
          const begin = over.map(
            (ended, i) => ((mask >> i) & 1) | (autoreset === "disabled" && actions[0] > 0 ? ended : 0),
          );
          if (begin.includes(1)) for (const vec of [compiled, objects]) vec.reset(begin);
          expect(copyOf(objects)).toEqual(copyOf(compiled));
          expect([...objects.episodes, ...objects.steps]).toEqual([...compiled.episodes, ...compiled.steps]);
        }
      }),
      { numRuns: 30, seed: 4 },
    );
    expect(ends).toBeGreaterThan(200);
  });

  test("flags, limits, seeds of their own", () => {
    const vec = kept(fromObject(dice, 4, { seed: 2 ** 40 + 5, maxSteps: 6, firstIndex: 10 }));
    const first = [...vec.reset().obs];
    expect(first.filter((_, k) => k % 3 === 2)).toEqual([10, 11, 12, 13]);
    expect(new Set([0, 3, 6, 9].map((k) => first[k])).size).toBeGreaterThan(1);
    const seen = new Set<string>();
    for (let t = 0; t < 200; t++) {
      const { terminated, truncated } = vec.step([0, 1, 1, 2, 0, 3, 1, 0]);
      for (let i = 0; i < 4; i++) seen.add(`${terminated[i]}${truncated[i]}`);
      expect(Math.max(...vec.episodeLength)).toBeLessThanOrEqual(6);
    }
    expect([...seen].sort()).toEqual(["00", "01", "10", "11"]);
    const some = kept(fromObject(dice, 1, { seed: 2 ** 40 + 5, maxSteps: 6, firstIndex: 12 }));
    expect([...some.reset().obs]).toEqual(first.slice(6, 9));
    expect([...kept(fromObject(dice, 1, { seed: 6 })).reset().obs]).not.toEqual(first.slice(0, 3));
  });

  test("a seed belongs to the environment and the episode, however it begins", () => {
    const seen = {
      id: "Seeds",
      observation: box([3]),
      action: discrete(2),
      make: (index: number) => {
        let shown = [0, 0, 0];
        return {
          reset({ seed, episode }: { seed: number; episode: number }) {
            shown = [seed % 2 ** 20, Math.floor(seed / 2 ** 33), 100 * index + episode];
            expect(Number.isSafeInteger(seed) && seed >= 0).toBe(true);
            return shown;
          },
          step: (action: number) => ({ observation: shown, reward: 0, terminated: action === 1 }),
        };
      },
    };
    const runs = MODES.map((autoreset) => {
      const vec = kept(fromObject(seen, 3, { seed: 8, autoreset }));
      const beginnings = [...vec.reset().obs];
      for (let episode = 1; episode < 4; episode++) {
        vec.step([1, 1, 1]);
        if (autoreset === "next-step") vec.step([0, 0, 0]);
        if (autoreset === "disabled") vec.reset([1, 1, 1]);
        beginnings.push(...vec.out.obs);
      }
      return beginnings;
    });
    expect(runs[1]).toEqual(runs[0]);
    expect(runs[2]).toEqual(runs[0]);
    const all = runs[0] as number[];
    expect(all.filter((_, k) => k % 3 === 2)).toEqual([0, 100, 200, 1, 101, 201, 2, 102, 202, 3, 103, 203]);
    expect(new Set(all.filter((_, k) => k % 3 === 0)).size).toBe(12);
    expect(new Set(all.filter((_, k) => k % 3 === 1)).size).toBe(12);
  });

  test("one object is one environment; types follow from the spaces", () => {
    let disposed = 0;
    const vec = fromObject({
      observation: race.observation,
      action: race.action,
      ...race.make(),
      dispose() {
        disposed += 1;
      },
    });
    expect(vec.n).toBe(1);
    vec.reset();
    expect(vec.step([2]).obs[0]).toBe(2);
    vec.dispose();
    vec.dispose();
    expect(disposed).toBe(1);
    expect(() => vec.reset()).toThrow(/disposed of/);
    expect(() => fromObject({ observation: box([2]), action: discrete(3), ...race.make() }, 2)).toThrow(/make/);
    const typed = kept(fromObject(dice, 1));
    expectTypeOf(typed).toExtend<VectorEnv>();
    expectTypeOf(typed.env.action).toEqualTypeOf<typeof dice.action>();
    expectTypeOf<VecEnv>().toExtend<VectorEnv>();
    fromObject({
      observation: discrete(2),
      action: box([2]),
      make: () => ({
        reset: ({ seed }) => {
          expectTypeOf(seed).toEqualTypeOf<number>();
          return 0;
        },
        step: (action) => {
          expectTypeOf(action).toEqualTypeOf<Float32Array>();
          return { observation: 1, reward: 0, terminated: false };
        },
      }),
    }).dispose();
  });

  test("can be normalised like any vector", () => {
    const vec = kept(normalise(fromObject(dice, 3)));
    vec.reset();
    expect(Math.max(...vec.step([0, 0, 0, 0, 0, 0]).obs.map(Math.abs))).toBeLessThanOrEqual(10);
    expectTypeOf(vec.inner).toEqualTypeOf<ObjectVec<typeof dice.observation, typeof dice.action>>();
  });

  test("what cannot be is refused", () => {
    for (const wrong of [
      () => fromObject(race, 0),
      () => fromObject(race, 1, { seed: -1 }),
      () => fromObject(race, 1, { maxSteps: 0 }),
      () => fromObject(race, 1, { autoreset: "later" as never }),
      () => fromObject({ ...race, make: () => ({}) as never }, 2),
      () => asyncVec(race, 1, { workers: 0 }),
      () => asyncVec(race, 1, { timeout: 0 }),
      () => asyncVec({ ...race, make: { module: "./relative.js" } }, 1),
      () => asyncVec({ ...race, make: race.make.bind(null) }, 1),
    ])
      expect(wrong).toThrow(EnvironmentError);
    for (const misspelt of [
      () => fromObject(race, 1, { sed: 1 } as never),
      () => asyncVec(race, 1, { sed: 1 } as never),
      () => normalise(kept(fromObject(race, 1)), { state_: {} } as never),
      () => normalise(kept(fromObject(race, 1)), { reward: { gama: 1 } } as never),
    ])
      expect(misspelt).toThrow(/there is no option "(sed|state_|gama)". Did you mean "(seed|state|gamma)"/);
    const vec = kept(fromObject(dice, 2));
    vec.reset();
    const before = copyOf(vec);
    expect(() => vec.step([0, 1, 0])).toThrow(/3 numbers are not 2 actions of 2 numbers; nothing was changed/);
    expect(() => vec.step([0, 1, 0, 4])).toThrow(/action 0, 4 of environment 1 is not in MultiDiscrete\(2, 4\)/);
    expect(() => vec.step([0, 1.5, 0, 0])).toThrow(/action 0, 1.5 of environment 0/);
    expect(() => vec.step([0, 1, 0, Number.NaN])).toThrow(EnvironmentError);
    expect(() => vec.reset([1])).toThrow(/a mask of 1/);
    expect(copyOf(vec)).toEqual(before);
  });
});
