/**
 * @file Normalisation around a vector: Stable-Baselines3's VecNormalize from recorded runs; statistics that can be kept,
 * frozen and carried over; raw values that stay in reach.
 */
import { describe, expect, expectTypeOf, test } from "vitest";
import { CartPole } from "../../src/envs/classic/index.ts";
import { EnvironmentError } from "../../src/envs/define.ts";
import { FrozenLake } from "../../src/envs/misc/index.ts";
import { box, contains, discrete } from "../../src/envs/spaces.ts";
import type { VectorEnv } from "../../src/envs/vector/face.ts";
import { VecEnv } from "../../src/envs/vector/vecEnv.ts";
import { normalise } from "../../src/envs/wrappers/index.ts";
import { DataError } from "../../src/kernels/errors.ts";
import { expectNear, type FixtureArray, type FixtureCase, fixtures } from "../kernels/estimators/support.ts";
import { targets } from "./fixtures.ts";

/** A vector that plays a recording. */
function recorded(one: FixtureCase): VectorEnv {
  const data = (name: string): readonly number[] => (one.inputs[name] as FixtureArray).data;
  const [, n = 0, dimension = 0] = (one.inputs.obs as FixtureArray).shape;
  const size = n * dimension;
  const out = {
    obs: new Float32Array(size),
    finalObs: new Float32Array(size),
    reward: new Float32Array(n),
    terminated: new Uint8Array(n),
    truncated: new Uint8Array(n),
  };
  let t = 0;
  return {
    env: { id: "recorded", observation: box([dimension]), action: discrete(2), maxSteps: undefined },
    n,
    autoreset: "same-step",
    out,
    episodeReturn: new Float32Array(n),
    episodeLength: new Int32Array(n),
    reset() {
      t = 0;
      out.obs.set(data("obs").slice(0, size));
      return out;
    },
    step() {
      out.obs.set(data("obs").slice((t + 1) * size, (t + 2) * size));
      out.finalObs.set(data("terminal_obs").slice(t * size, (t + 1) * size));
      out.reward.set(data("rewards").slice(t * n, (t + 1) * n));
      // An end is an end, whichever flag says so.
      const done = data("done").slice(t * n, (t + 1) * n);
      out.terminated.set(done.map((d, i) => (i % 2 ? d : 0)));
      out.truncated.set(done.map((d, i) => (i % 2 ? 0 : d)));
      t += 1;
      return out;
    },
    dispose() {},
  };
}

describe.each(targets)("%s", (target) => {
  test.each(fixtures("running", "vec_normalize").map((one) => [one.name, one] as const))("recorded: %s", (_, one) => {
    const { gamma, clip_obs, clip_reward, epsilon, freeze_at } = one.inputs as { [name: string]: number };
    const options = {
      observation: { clip: clip_obs as number, epsilon: epsilon as number },
      reward: { gamma: gamma as number, clip: clip_reward as number, epsilon: epsilon as number },
      target,
    };
    let vec = normalise(recorded(one), options);
    const steps = (one.inputs.rewards as FixtureArray).shape[0] as number;
    const given = { obs: [...vec.reset().obs], reward: [] as number[], final: [] as number[], at: [] as number[] };
    for (let t = 0; t < steps; t++) {
      if (t === freeze_at) vec.frozen = true;
      if (t === steps >> 1) vec = normalise(vec.inner, { state: JSON.parse(JSON.stringify(vec)), target });
      const { obs, reward, finalObs, terminated, truncated } = vec.step([]);
      given.obs.push(...obs);
      given.reward.push(...reward);
      const size = obs.length / vec.n;
      for (let i = 0; i < vec.n; i++)
        if (terminated[i] || truncated[i])
          for (let k = 0; k < size; k++) {
            given.at.push(t * obs.length + i * size + k);
            given.final.push(finalObs[i * size + k] as number);
          }
    }
    const wanted = (name: string): readonly number[] => (one.expected[name] as FixtureArray).data;
    const tolerance = one.tolerance.f32;
    expectNear("observations", given.obs, [...wanted("first_obs"), ...wanted("obs")], tolerance);
    expectNear("rewards", given.reward, wanted("rewards"), tolerance);
    const final = given.at.map((at) => wanted("terminal_obs")[at] as number);
    expectNear("final observations", given.final, final, tolerance);
    expect(given.final.length).toBeGreaterThan(0);
  });
});

const walk = (vec: VectorEnv, steps: number): number[] => {
  const seen: number[] = [];
  for (let t = 0; t < steps; t++) {
    const { obs, reward, finalObs } = vec.step(Array.from({ length: vec.n }, (_, i) => (t * (i + 3)) & 1));
    seen.push(...obs, ...reward, ...finalObs);
  }
  return seen;
};

test("the same bits on every target, raw values in reach, returns as they were", () => {
  const runs = targets.map((target) => {
    const vec = normalise(new VecEnv(CartPole, 6, { seed: 3, target }), { target });
    vec.reset();
    const seen = walk(vec, 60);
    expectTypeOf(vec.inner).toEqualTypeOf<VecEnv<typeof CartPole>>();
    const alone = new VecEnv(CartPole, 6, { seed: 3, target });
    alone.reset();
    walk(alone, 60);
    expect([...vec.raw.obs]).toEqual([...alone.out.obs]);
    expect([...vec.raw.obs]).not.toEqual([...vec.out.obs]);
    expect([...vec.episodeReturn]).toEqual([...alone.episodeReturn]);
    expect([...vec.episodeLength]).toEqual([...alone.episodeLength]);
    expect(contains(vec.env.observation, vec.out.obs.subarray(0, 4))).toBe(true);
    vec.dispose();
    alone.dispose();
    return JSON.stringify(seen);
  });
  expect(new Set(runs).size).toBe(1);
});

test("a reset of some takes in their rows alone and leaves the others", () => {
  const vec = normalise(new VecEnv(CartPole, 3, { seed: 3, target: "js" }), { target: "js" });
  vec.reset();
  walk(vec, 4);
  const [before, count] = [[...vec.out.obs], vec.observation?.moments.count as number];
  const returns = [...(vec.reward?.returns ?? [])];
  const { obs } = vec.reset([false, true, false]);
  expect(vec.observation?.moments.count).toBe(count + 1);
  expect([...obs.subarray(0, 4), ...obs.subarray(8, 12)]).toEqual([...before.slice(0, 4), ...before.slice(8, 12)]);
  expect([...obs.subarray(4, 8)]).toEqual([
    ...(vec.observation?.normalise(vec.raw.obs.slice(4, 8) as Float32Array) ?? []),
  ]);
  expect([...(vec.reward?.returns ?? [])]).toEqual([returns[0], 0, returns[2]]);
  expect(returns[1]).not.toBe(0);
  vec.dispose();
});

test("one of the two, whole numbers, and statistics carried over to another number of environments", () => {
  const rewards = normalise(new VecEnv(CartPole, 2, { target: "js" }), { observation: false });
  expect(rewards.reset().obs).toBe(rewards.raw.obs);
  rewards.step([0, 1]);
  expect(rewards.out.reward[0]).not.toBe(rewards.raw.reward[0]);
  const lake = normalise(new VecEnv(FrozenLake, 4, { target: "js" }), { reward: false });
  lake.reset();
  lake.step([1, 1, 2, 2]);
  expect(lake.out.reward).toBe(lake.raw.reward);
  expect(lake.env.observation).toMatchObject({ kind: "box", shape: [1], low: -10, high: 10 });
  const learnt = normalise(new VecEnv(CartPole, 2, { target: "js" }));
  learnt.reset();
  walk(learnt, 5);
  learnt.frozen = true;
  const test = normalise(new VecEnv(CartPole, 5, { target: "js" }), { state: JSON.parse(JSON.stringify(learnt)) });
  test.reset();
  walk(test, 5);
  expect(test.frozen).toBe(true);
  expect(test.observation?.toJSON()).toEqual(learnt.observation?.toJSON());
  expect(() => normalise(new VecEnv(FrozenLake, 1), { state: learnt.toJSON() })).toThrow(EnvironmentError);
  expect(() => normalise(new VecEnv(CartPole, 1), { state: { kind: "other" } })).toThrow(DataError);
});

test("a step that is refused is not taken in", () => {
  const vec = normalise(new VecEnv(CartPole, 2, { target: "js" }));
  vec.reset();
  const before = JSON.stringify(vec);
  expect(() => vec.step([0, 7])).toThrow(EnvironmentError);
  expect(JSON.stringify(vec)).toBe(before);
  vec.dispose();
  // Memory is given back once, however often it is said.
  vec.dispose();
  expect(() => vec.step([0, 0])).toThrow(/disposed/);
});
