/**
 * @file Many steps in one call, and results in the caller's arrays: equal to single steps, bit for bit, whatever the
 * target and the way of starting over.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RolloutBuffer } from "../../src/buffers/rollout.ts";
import { CartPole } from "../../src/envs/classic/cartPole.ts";
import { Pendulum } from "../../src/envs/classic/pendulum.ts";
import { EnvironmentError } from "../../src/envs/define.ts";
import type { StepArrays } from "../../src/envs/vector/arrays.ts";
import type { Autoreset } from "../../src/envs/vector/kernel.ts";
import { VecEnv } from "../../src/envs/vector/vecEnv.ts";
import { f32, i32 } from "../../src/kernel/declare.ts";
import { allocate, free } from "../../src/kernel/kernel.ts";
import { targets } from "./fixtures.ts";

const MODES: readonly Autoreset[] = ["same-step", "next-step", "disabled"];
const RESULTS = ["obs", "reward", "terminated", "truncated"] as const;
const actionsOf = (n: number, k: number): Int32Array =>
  Int32Array.from({ length: n * k }, (_, j) => ((j * 7919) >> 4) & 1);

/** Rows of n results, with last observations only where an episode ended: what else stands there means nothing. */
function rowsOf(out: StepArrays, n: number, rounds: number): number[] {
  const size = out.obs.length / out.reward.length;
  const finals = Array.from({ length: n * rounds }, (_, at) => {
    const ended = out.terminated[at] || out.truncated[at];
    return ended ? Array.from(out.finalObs.subarray(at * size, (at + 1) * size)) : [];
  });
  const columns = RESULTS.flatMap((name) =>
    Array.from(out[name].subarray(0, (n * rounds * out[name].length) / out.reward.length)),
  );
  return [...columns, ...finals.flat()];
}
/** The same from single steps: column by column. */
function singleSteps(vec: VecEnv, actions: ArrayLike<number>, n: number, k: number): number[] {
  const each = actions.length / (n * k);
  const all: StepArrays[] = [];
  for (let t = 0; t < k; t++) {
    const row = Array.prototype.slice.call(actions, t * n * each, (t + 1) * n * each) as number[];
    const out = vec.step(row);
    all.push(Object.fromEntries(Object.entries(out).map(([name, a]) => [name, a.slice()])) as unknown as StepArrays);
    if (vec.autoreset === "disabled" && out.terminated.some((x, i) => x || out.truncated[i])) break;
  }
  const joined = (name: keyof StepArrays): number[] => all.flatMap((out) => Array.from(out[name]));
  const out = Object.fromEntries(
    ["finalObs", ...RESULTS].map((name) => [name, Float64Array.from(joined(name as keyof StepArrays))]),
  );
  return rowsOf(out as unknown as StepArrays, n, all.length);
}

describe.each(targets)("%s", (target) => {
  test.each(MODES)("collect is as many steps: %s", (autoreset) => {
    const [n, k] = [11, 40];
    const options = { seed: 3, autoreset, target, maxSteps: 12 };
    const [one, many] = [new VecEnv(CartPole, n, options), new VecEnv(CartPole, n, options)];
    one.reset();
    many.reset();
    const actions = actionsOf(n, k);
    const wanted = singleSteps(one, actions, n, k);
    const crossings = many.crossings;
    const out = many.collect(actions, k);
    expect(many.crossings - crossings).toBe(1);
    expect(rowsOf(out, n, out.rounds)).toEqual(wanted);
    expect(out.rounds === k).toBe(autoreset !== "disabled");
    for (const name of ["episodes", "steps", "episodeReturn", "episodeLength"] as const)
      expect(Array.from(many[name])).toEqual(Array.from(one[name]));
    expect(Array.from(many.out.obs)).toEqual(Array.from(one.out.obs));
    for (let i = 0; i < n; i++) expect(many.getState(i)).toEqual(one.getState(i));
    one.dispose();
    many.dispose();
  });

  test.each(MODES)("more environments than a block has step as few do: %s", (autoreset) => {
    const [few, n, k] = [300, 2500, 30];
    const options = { seed: 5, autoreset, target, maxSteps: 9 };
    const [small, large] = [new VecEnv(CartPole, few, options), new VecEnv(CartPole, n, options)];
    const plain = new VecEnv(CartPole, n, { ...options, target: "js" });
    for (const vec of [small, large, plain]) vec.reset();
    const actions = actionsOf(n, k);
    for (let t = 0; t < k; t++) {
      const row = Array.from(actions).slice(t * n, (t + 1) * n);
      const [one, other, wanted] = [small.step(row.slice(0, few)), large.step(row), plain.step(row)];
      for (const name of ["obs", "reward", "terminated", "truncated", "finalObs"] as const) {
        expect(Array.from(other[name]).slice(0, one[name].length)).toEqual(Array.from(one[name]));
        expect(other[name]).toEqual(wanted[name]);
      }
      if (autoreset !== "disabled") continue;
      // Nothing starts over: the step at which the first of all ends is the last one.
      if (Array.from(other.terminated).some((x, i) => x || other.truncated[i])) break;
    }
    if (autoreset !== "disabled") expect(Math.min(...large.episodes)).toBeGreaterThan(1);
    for (const name of ["episodes", "steps", "episodeReturn", "episodeLength"] as const) {
      expect(Array.from(large[name]).slice(0, few)).toEqual(Array.from(small[name]));
      expect(large[name]).toEqual(plain[name]);
    }
    for (const vec of [small, large, plain]) vec.dispose();
  });

  test("one row of actions, zeroes and random ones are what they say", () => {
    const [n, k] = [5, 30];
    const make = (): VecEnv<typeof CartPole> => new VecEnv(CartPole, n, { seed: 8, target });
    const [a, b] = [make(), make()];
    const vecs = [a, b];
    const both = (first: number[], second: number[]): void => expect(first).toEqual(second);
    for (const vec of vecs) vec.reset();
    both(rowsOf(a.collect("zero", k), n, k), singleSteps(b, new Int32Array(n * k), n, k));
    for (const vec of vecs) vec.reset();
    const row = [1, 0, 1, 1, 0];
    both(rowsOf(a.collect(row, k), n, k), singleSteps(b, Array.from({ length: k }, () => row).flat(), n, k));
    for (const vec of vecs) vec.reset();
    const drawn = a.collect("random", k);
    both(rowsOf(drawn, n, k), singleSteps(b, drawn.actions, n, k));
    const taken = Array.from(drawn.actions);
    expect(Math.min(...taken)).toBe(0);
    expect(Math.max(...taken)).toBe(1);
    expect(taken.reduce((sum, x) => sum + x)).toBeGreaterThan(45);
    // The actions of a step depend on its number and the index alone, not on how many are asked for at once.
    a.reset();
    const some = [7, 13, 10].flatMap((steps) => Array.from(a.collect("random", steps).actions));
    expect(some).toEqual(taken);
    const other = new VecEnv(CartPole, 2, { seed: 8, firstIndex: 3, target });
    other.reset();
    const theirs = Array.from(other.collect("random", k).actions);
    expect(theirs).toEqual(taken.filter((_, j) => j % n >= 3));
    for (const vec of [a, b, other]) vec.dispose();
  });

  test("random actions of a box stay in it, and are spread over it", () => {
    const vec = new VecEnv(Pendulum, 64, { seed: 1, target });
    vec.reset();
    const { actions } = vec.collect("random", 50);
    const sorted = Float32Array.from(actions).sort();
    expect(sorted[0]).toBeGreaterThanOrEqual(-2);
    expect(sorted[sorted.length - 1]).toBeLessThanOrEqual(2);
    expect(Math.abs(sorted[sorted.length >> 1] as number)).toBeLessThan(0.15);
    expect(sorted[sorted.length >> 4]).toBeLessThan(-1.5);
    vec.dispose();
  });

  test("a step writes straight into a rollout", () => {
    const [n, k] = [4, 20];
    const rollout = new RolloutBuffer({ steps: k, environments: n, observation: 4, action: { dtype: "i32", size: 1 } });
    const { observation, reward, terminated, truncated } = rollout.columns;
    const into = { obs: observation, reward, terminated, truncated };
    const make = (): VecEnv<typeof CartPole> => new VecEnv(CartPole, n, { seed: 5, target });
    const [one, many, plain] = [make(), make(), make()];
    const actions = actionsOf(n, k);
    plain.reset();
    const wanted = plain.collect(actions, k);
    one.reset();
    for (let t = 0; t < k; t++)
      one.step(actions.subarray(t * n, (t + 1) * n), { ...into, row: t, obsRow: t + 1, finalRow: 0 });
    const check = (): void => {
      expect(Array.from(observation.subarray(4 * n))).toEqual(Array.from(wanted.obs));
      expect(Array.from(reward)).toEqual(Array.from(wanted.reward));
      expect(Array.from(terminated)).toEqual(Array.from(wanted.terminated));
      expect(Array.from(truncated)).toEqual(Array.from(wanted.truncated));
    };
    check();
    for (const column of [observation, reward, terminated]) column.fill(9);
    many.reset();
    many.collect(actions, k, { ...into, obsRow: 1 });
    check();
    for (const vec of [one, many, plain]) vec.dispose();
  });

  test("arrays of the caller take the place of its own, and stay the caller's", () => {
    const obs = allocate(f32, 12);
    const vec = new VecEnv(CartPole, 3, { out: { obs }, target });
    expect(vec.reset().obs).toBe(obs);
    expect(vec.step([0, 1, 0]).obs).toBe(obs);
    const last = Array.from(obs);
    vec.dispose();
    expect(Array.from(obs)).toEqual(last);
    free(obs);
    expect(() => vec.step([0, 1, 0])).toThrow(/disposed/);
  });

  test("arrays that do not fit are refused, and nothing is changed", () => {
    const vec = new VecEnv(CartPole, 2, { target });
    expect(() => vec.collect("zero", 2)).toThrow(/call reset\(\) first/);
    vec.reset();
    const before = [0, 1].map((i) => vec.getState(i));
    const refused = (action: () => unknown, why: RegExp): void => {
      expect(action).toThrow(EnvironmentError);
      expect(action).toThrow(why);
      expect([0, 1].map((i) => vec.getState(i))).toEqual(before);
    };
    refused(() => vec.step([0, 0], { reward: new Float32Array(2) }), /not in lockstep's memory/);
    refused(() => vec.step([0, 0], { reward: allocate(f32, 2), row: 1 }), /an array for obs is needed/);
    refused(() => vec.step([0, 0], { reward: allocate(i32, 2) as never }), /is a Int32Array, not a Float32Array/);
    refused(() => vec.collect("zero", 3, { ...vec.out }), /holds 8 numbers, and 24 are written/);
    refused(() => vec.collect("zero", 0), /from 1 on/);
    refused(() => vec.collect([0, 1, 1], 3), /3 numbers are not 3 times 2 actions/);
    refused(() => vec.collect([0, 1, 1, 2, 0, 0], 3), /action 2 of environment 1 in step 1/);
    refused(() => vec.collect([0, 1, 1, Number.NaN, 0, 0], 3), /action NaN of environment 1 in step 1/);
    refused(() => vec.step([0.5, 0]), /action 0.5 of environment 0/);
    refused(() => vec.step([0, 0], { row: -1 }), /row must be a whole number/);
    expect(() => new VecEnv(CartPole, 2, { out: { reward: allocate(f32, 1) } })).toThrow(/holds 1 numbers/);
    expect(() => new VecEnv(CartPole, 2, { out: { reward: allocate(f32, 3) } })).toThrow(/holds 3 numbers/);
    expect(() => new VecEnv(CartPole, 2, { autoreset: "never" as never })).toThrow(/same-step/);
    vec.dispose();
  });
});

test("episodes are never longer than the limit, and both flags may be set", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 9 }), fc.nat(1000), (maxSteps, n, seed) => {
      const vec = new VecEnv(CartPole, n, { seed, maxSteps, target: "js" });
      vec.reset();
      const { terminated, truncated } = vec.collect("zero", 25);
      const fine = Array.from({ length: n }, (_, i) => {
        let length = 0;
        for (let t = 0; t < 25; t++) {
          length++;
          if ((truncated[t * n + i] === 1) !== (length === maxSteps)) return false;
          if (terminated[t * n + i] || truncated[t * n + i]) length = 0;
        }
        return true;
      });
      vec.dispose();
      return fine.every(Boolean);
    }),
    { numRuns: 40 },
  );
});

test("termination at the limit sets both flags", () => {
  const vec = new VecEnv(CartPole, 200, { target: "js", autoreset: "disabled" });
  vec.reset();
  const ended = vec.collect("zero", 50);
  const i = ended.terminated.indexOf(1) % 200;
  vec.dispose();
  const same = new VecEnv(CartPole, 1, { target: "js", firstIndex: i, maxSteps: ended.rounds });
  same.reset();
  const { terminated, truncated } = same.collect("zero", ended.rounds);
  expect([terminated.at(-1), truncated.at(-1)]).toEqual([1, 1]);
  expect(same.episodes[0]).toBe(1);
  same.dispose();
});
