/**
 * @file JavaScript games as environments: everything means what it means for compiled ones, in this thread and in others;
 * what games do wrong comes back as an error that names the environment.
 */
import { existsSync, readdirSync } from "node:fs";
import fc from "fast-check";
import { afterEach, describe, expect, expectTypeOf, test } from "vitest";
import { defineEnv, EnvironmentError } from "../../src/envs/define.ts";
import {
  type AsyncVec,
  asyncVec,
  fromObject,
  GameError,
  type GameKind,
  GameThreadError,
  type ObjectVec,
} from "../../src/envs/objects/index.ts";
import { box, discrete, multiDiscrete } from "../../src/envs/spaces.ts";
import type { Autoreset, VectorEnv } from "../../src/envs/vector/face.ts";
import { VecEnv } from "../../src/envs/vector/vecEnv.ts";
import { normalise } from "../../src/envs/wrappers/index.ts";
import { i32 } from "../../src/kernel/declare.ts";

const MODES: readonly Autoreset[] = ["same-step", "next-step", "disabled"];

/** A race against the clock, without chance: as a compiled environment and as an object. */
const Race = defineEnv({
  id: "Race",
  params: {},
  state: { place: i32, time: i32 },
  observation: box([2]),
  action: discrete(3),
  maxSteps: 7,
  reset(s) {
    s.place = 0;
    s.time = 0;
  },
  step(s, action) {
    s.place += action;
    s.time += 1;
    return { reward: Math.fround(s.place) * 0.1 - 0.05, terminated: s.place > 8 };
  },
  observe(s, obs) {
    obs[0] = Math.fround(s.place);
    obs[1] = Math.fround(s.time) / 3;
  },
});
const race = {
  id: "Race",
  observation: box([2]),
  action: discrete(3),
  maxSteps: 7,
  make() {
    let [place, time] = [0, 0];
    const observation = (): number[] => [place, time / 3];
    return {
      reset() {
        [place, time] = [0, 0];
        return observation();
      },
      step(action: number) {
        place += action;
        time += 1;
        const reward = Math.fround(Math.fround(place * Math.fround(0.1)) - Math.fround(0.05));
        return { observation: observation(), reward, terminated: place > 8 };
      },
    };
  },
};

/** Chance from the seed, bytes to see, rows as actions, ends of both kinds. */
const dice = {
  id: "Dice",
  observation: box([3], { dtype: "u8" }),
  action: multiDiscrete([2, 4]),
  make(index: number) {
    let [state, time] = [0, 0];
    const roll = (): number => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return state >>> 24;
    };
    return {
      reset({ seed, episode }: { seed: number; episode: number }) {
        state = (seed ^ (seed / 2 ** 32)) >>> 0;
        time = 0;
        return [roll(), episode & 255, index];
      },
      step(action: Int32Array) {
        const rolled = roll();
        time += 1;
        return {
          observation: Uint8Array.of(rolled, time, action[0]! * 4 + action[1]!),
          reward: rolled / 7,
          terminated: rolled > 200,
          truncated: rolled % 10 === 0,
        };
      },
    };
  },
};

const made: VectorEnv[] = [];
const kept = <V extends VectorEnv>(vec: V): V => {
  made.push(vec);
  return vec;
};
afterEach(() => {
  for (const vec of made.splice(0)) vec.dispose();
});

const copyOf = (vec: VectorEnv): unknown => {
  const { obs, reward, terminated, truncated, finalObs } = vec.out;
  const statistics = [vec.episodeReturn, vec.episodeLength];
  return [obs, reward, terminated, truncated, finalObs, ...statistics].map((array) => Array.from(array));
};
const messageOf = (run: () => void): string => {
  try {
    run();
    return "";
  } catch (error) {
    return (error as Error).message;
  }
};

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

/** A game that goes wrong in environment 3 when it is told to by action 1 (in step) or by its seed's absence. */
const broken = (how: string): GameKind<ReturnType<typeof box<"f32">>, ReturnType<typeof discrete>> => ({
  id: "Broken",
  observation: box([2]),
  action: discrete(2),
  make: new Function(
    "index",
    `return {
      reset: () => [0, 0],
      step: (action) => index === 3 && action === 1 ? (() => { ${how} })() : { observation: [1, 2], reward: 1, terminated: false },
    };`,
  ) as never,
});
const WRONG: readonly (readonly [how: string, said: RegExp])[] = [
  ["throw new Error('a tile is missing')", /environment 3: step\(\) threw an error: a tile is missing/],
  ["throw 'words'", /threw an error: words/],
  ["return { observation: [1, 2], reward: NaN, terminated: false }", /the reward NaN, which is not a finite number/],
  ["return { observation: [1, 2], reward: '1', terminated: false }", /the reward 1, which/],
  ["return { observation: [1, 2], reward: 1e39, terminated: false }", /not a finite number/],
  ["return { observation: [1, 2, 3], reward: 1, terminated: false }", /an observation of 3 numbers instead of 2/],
  ["return { reward: 1, terminated: false }", /an observation of undefined numbers instead of 2/],
  ["return { observation: [1, NaN], reward: 1, terminated: false }", /an observation with NaN at 1, not a number/],
  ["return { observation: [1, [2]], reward: 1, terminated: false }", /an observation with 2 at 1, not a number/],
  ["return { observation: [1, 2], reward: 1, done: false }", /terminated undefined, which must be true or false/],
  ["return { observation: [1, 2], reward: 1, terminated: false, truncated: 0 }", /truncated 0, which must be/],
  ["return 7", /step\(\) gave 7/],
];

describe.each(["fromObject", "asyncVec"] as const)("games that go wrong: %s", (form) => {
  const vectorOf = (how: string): VectorEnv =>
    kept(form === "fromObject" ? fromObject(broken(how), 5) : asyncVec(broken(how), 5, { workers: 2 }));
  test.each(WRONG)("%s", (how, said) => {
    const vec = vectorOf(how);
    vec.reset();
    vec.step([1, 1, 1, 0, 1]);
    const error = (() => {
      try {
        vec.step([0, 0, 0, 1, 0]);
      } catch (caught) {
        return caught as GameError;
      }
      return undefined;
    })();
    expect(error).toBeInstanceOf(GameError);
    expect(error?.message).toMatch(said);
    expect(error?.index).toBe(3);
    expect(() => vec.step([0, 0, 0, 0, 0])).toThrow(/call reset\(\) first/);
    vec.reset();
    expect([...vec.step([1, 1, 1, 0, 1]).reward]).toEqual([1, 1, 1, 1, 1]);
  });
});

describe("asyncVec", () => {
  test.each([
    [1, "same-step"],
    [2, "same-step"],
    [3, "next-step"],
    [2, "disabled"],
  ] as const)("%i workers, %s: the same as in one thread", (workers, autoreset) => {
    const options = { seed: 9, autoreset, maxSteps: 11 };
    const vecs = [kept(fromObject(dice, 7, options)), kept(asyncVec(dice, 7, { ...options, workers }))];
    expect((vecs[1] as AsyncVec).workers).toBe(workers);
    for (const vec of vecs) vec.reset();
    for (let t = 0; t < 120; t++) {
      const actions = Array.from({ length: 14 }, (_, k) => (t * (k + 3)) % (k % 2 ? 4 : 2));
      for (const vec of vecs) {
        vec.step(actions);
        if (autoreset === "disabled")
          vec.reset(vec.out.terminated.map((ended, i) => ended | (vec.out.truncated[i] ?? 0)));
      }
      expect(copyOf(vecs[1] as VectorEnv)).toEqual(copyOf(vecs[0] as VectorEnv));
    }
  });

  test("from a module, and without blocking", async () => {
    const source = `export const other = ${dice.make.toString().replace(/^make/, "function")};`;
    const module = `data:text/javascript,${encodeURIComponent(source)}`;
    const vec = kept(asyncVec({ ...dice, make: { module, name: "other" } }, 3, { workers: 2 }));
    const alone = kept(fromObject(dice, 3));
    alone.reset();
    await vec.resetAsync();
    for (let t = 0; t < 20; t++) {
      const pending = vec.stepAsync([0, 1, 1, 2, 0, 3]);
      if (t === 3) {
        expect(() => vec.step([0, 1, 1, 2, 0, 3])).toThrow(/under way/);
        await expect(vec.stepAsync([0, 1, 1, 2, 0, 3])).rejects.toThrow(/under way/);
      }
      await pending;
      alone.step([0, 1, 1, 2, 0, 3]);
      expect(copyOf(vec)).toEqual(copyOf(alone));
    }
  });

  test("what cannot be made comes back with the first reset", () => {
    const outside = 3;
    const closed = kept(asyncVec({ ...race, make: () => ({ x: outside }) as never }, 2, { workers: 2 }));
    expect(() => closed.reset()).toThrow(/environment 0: make\(\) threw an error: outside is not defined/);
    const missing = kept(asyncVec({ ...race, make: { module: "data:text/javascript,export const a = 1;" } }, 1));
    expect(() => missing.reset()).toThrow(/make cannot be loaded: there is no function/);
    const wrong = kept(asyncVec({ ...race, make: { module: "file:///nowhere/at/all.js" } }, 1));
    expect(() => wrong.reset()).toThrow(GameError);
  });

  const stuck = (how: string, timeout?: number): AsyncVec<never, never> =>
    kept(asyncVec(broken(how), 5, { workers: 2, ...(timeout ? { timeout } : {}) })) as never;
  test("a thread that ends, or hangs, does not hang the caller", async () => {
    for (const [vec, said] of [
      [stuck("process.exit(1)"), /worker 1, which steps environments 2 to 4, has ended/],
      [stuck("for (;;);", 200), /worker 1, .* has not answered for 200 ms/],
    ] as const) {
      vec.reset();
      expect(() => vec.step([0, 0, 0, 1, 0])).toThrow(said);
      expect(() => vec.step([0, 0, 0, 0, 0])).toThrow(GameThreadError);
      expect(() => vec.reset()).toThrow(GameThreadError);
      vec.dispose();
    }
    const waiting = stuck("process.exit(1)");
    await waiting.resetAsync();
    await expect(waiting.stepAsync([0, 0, 0, 1, 0])).rejects.toThrow(/has ended/);
  });

  // The system's list of this process's threads, where there is one.
  const threads = (): number => (existsSync("/proc/self/task") ? readdirSync("/proc/self/task").length : 0);
  const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
  /** Threads of earlier tests may still be ending. */
  const settled = async (): Promise<number> => {
    for (let [last, k] = [-1, 0]; k < 40 && last !== threads(); k++) {
      last = threads();
      await sleep(60);
    }
    return threads();
  };
  test("disposing ends the threads and what waits for them", async () => {
    const before = await settled();
    const vec = asyncVec(race, 4, { workers: 3 });
    vec.reset();
    if (before > 0) expect(threads()).toBeGreaterThan(before + 2);
    vec.dispose();
    for (let k = 0; k < 100 && threads() > before; k++) await sleep(20);
    expect(threads()).toBeLessThanOrEqual(before);
    vec.dispose();
    expect(() => vec.step([0, 0, 0, 0])).toThrow(/disposed of/);
    const hanging = stuck("for (;;);");
    await hanging.resetAsync();
    const pending = hanging.stepAsync([0, 0, 0, 1, 0]);
    hanging.dispose();
    await expect(pending).rejects.toThrow(/disposed of/);
  });
});
