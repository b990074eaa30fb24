/**
 * @file PPO as one program: one crossing per iteration, the same bits on every target, in phases and whole, and with
 * environments stepped from outside; and it learns.
 */
import { describe, expect, test } from "vitest";
import type { IterationOptions } from "../../src/algorithms/iteration.ts";
import { type Ppo, type PpoConfig, ppoSchema } from "../../src/algorithms/ppo.ts";
import { ALGORITHMS, type Playground } from "../../src/algorithms/registry.ts";
import { box, defineEnv, type Environment, environment, masked, multiDiscrete } from "../../src/envs/index.ts";
import { VecEnv } from "../../src/envs/vector/vecEnv.ts";
import { i32 } from "../../src/kernel/declare.ts";
import { heap } from "../../src/runtime/heap.ts";
import type { State } from "../../src/tensor/index.ts";
import { TARGETS } from "../tensor/support.ts";

const small = { nEnvs: 4, nSteps: 16, batchSize: 32, nEpochs: 2, netArch: [16] };

function make(
  playground: Playground | string,
  config: Partial<PpoConfig>,
  options: IterationOptions & { seed?: number } = {},
): Ppo {
  const where = typeof playground === "string" ? environment(playground) : playground;
  return ALGORITHMS.ppo.make(where, ppoSchema.parse({ ...small, ...config }), { totalSteps: 640, ...options }) as Ppo;
}
/** Everything that iterations leave behind. */
function outcome(ppo: Ppo, iterations = 3) {
  const told = Array.from({ length: iterations }, () => ppo.iterate());
  const states = [...ppo.states].map(([name, { array }]) => [name, Array.from(array)]);
  return { told, states, parameters: Array.from(ppo.parameters.arena.array) };
}

test("an iteration is one crossing", () => {
  const ppo = make("CartPole-v1", {});
  for (let k = 0; k < 3; k++) ppo.iterate();
  expect(ppo.crossings).toBe(3);
});

test.each([
  ["up", 640, 10],
  ["down", 640, 10],
  ["up", 650, 11],
  ["down", 650, 10],
  ["up", 1, 1],
  ["down", 1, 1],
] as const)("rounding %s, %i steps are %i iterations", (rounding, totalSteps, iterations) => {
  const ppo = ALGORITHMS.ppo.make(environment("CartPole-v1"), ppoSchema.parse({ ...small, rounding }), { totalSteps });
  expect(ppo.iterations).toBe(iterations);
  ppo.dispose();
});

/** A line to walk along: steps beyond its ends are forbidden, and would be fatal. */
const Line = defineEnv({
  id: "line",
  params: {},
  state: { x: i32, z: i32 },
  observation: box([5]),
  action: masked(multiDiscrete([2, 2])),
  maxSteps: 30,
  reset(s) {
    s.x = 0;
    s.z = 0;
  },
  step(s, action) {
    s.x = s.x + (action[0] === 1 ? 1 : -1);
    s.z = s.z + (action[1] === 1 ? 1 : -1);
    return { reward: 1, terminated: s.x < 0 || s.x > 2 || s.z < 0 || s.z > 2 };
  },
  observe(s, obs) {
    obs[0] = Math.fround(s.x);
    obs[1] = s.x > 0 ? 1 : 0;
    obs[2] = s.x < 2 ? 1 : 0;
    obs[3] = s.z > 0 ? 1 : 0;
    obs[4] = s.z < 2 ? 1 : 0;
  },
});

/** Worlds and settings that go through different code. */
const VARIANTS: { readonly [name: string]: [env: string | Environment, config: Partial<PpoConfig>] } = {
  "discrete actions": ["CartPole-v1", {}],
  "continuous actions, everything normalised": ["Pendulum-v1", { normalizeObs: true, normalizeReward: true }],
  "a shared trunk, a target of the divergence": ["Acrobot-v1", { shared: true, activation: "relu", targetKl: 0.001 }],
  "discrete observations": ["FrozenLake-misc", { annealing: "update", clipRange: "lin_0.3" }],
  "masked actions": [Line, { normalizeObs: true }],
  convolutions: ["Breakout-MinAtar", { convFilters: [4], netArch: [8] }],
};

describe("the same bits", () => {
  test.each(Object.entries(VARIANTS))("on every target, whole and in phases: %s", (_, [env, config]) => {
    const first = outcome(make(env, config, { target: "js", numerics: "unfused" }));
    expect(first.parameters.every(Number.isFinite)).toBe(true);
    for (const target of TARGETS)
      for (const mode of target === "js" ? [{ split: true }] : [{ threads: 1 }, { threads: 2 }])
        expect(outcome(make(env, config, { target, numerics: "unfused", ...mode }))).toEqual(first);
  });
  test("with environments that are stepped from outside", () => {
    const config = { normalizeObs: true, normalizeReward: true };
    const inside = outcome(make("Pendulum-v1", config, { seed: 7 }));
    const outside = (n: number, seed: number): VecEnv => new VecEnv(environment("Pendulum-v1"), n, { seed });
    const { told, parameters } = outcome(make(outside, config, { seed: 7 }));
    expect({ told, parameters }).toEqual({ told: inside.told, parameters: inside.parameters });
  });
  test("eagerly", () => {
    const whole = outcome(make("CartPole-v1", {}, { target: "js", numerics: "unfused" }), 1);
    expect(outcome(make("CartPole-v1", {}, { target: "js", numerics: "unfused", eager: true }), 1)).toEqual(whole);
  });
});

test("plays the episodes that a vector of environments plays with the same actions", () => {
  const ppo = make("Acrobot-v1", {}, { target: "js", seed: 5 });
  const vec = new VecEnv(environment("Acrobot-v1"), 4, { seed: 5, target: "js" });
  vec.reset();
  const first = Array.from(vec.out.obs);
  ppo.iterate();
  const { obs, reward } = ppo.rollout.world.rollout;
  const row = (of: State, t: number): number[] => {
    const size = of.array.length / (of.shape[0] as number);
    return Array.from(of.array.subarray(t * size, (t + 1) * size));
  };
  expect(row(obs, 0)).toEqual(first);
  for (let t = 0; t < small.nSteps; t++) {
    vec.step(row(ppo.rollout.actions, t));
    expect(row(obs, t + 1)).toEqual(Array.from(vec.out.obs));
    expect(row(reward, t)).toEqual(Array.from(vec.out.reward));
  }
});

test("phases add up to the time of the iterations", () => {
  const ppo = make("CartPole-v1", {}, { split: true });
  ppo.iterate();
  const { phases } = ppo;
  for (const phase of ["policy", "environment", "gae", "update", "other"] as const)
    expect(phases?.[phase]).toBeGreaterThan(0);
});

test("never takes a forbidden action", () => {
  const ppo = make(Line, { normalizeObs: true });
  for (let k = 0; k < 20; k++) {
    const told = ppo.iterate();
    expect(ppo.rollout.world.rollout.terminated.array.every((x) => x === 0)).toBe(true);
    expect(Object.values(told).some(Number.isNaN) && told.episodes !== 0).toBe(false);
  }
  expect(ppo.parameters.arena.array.every(Number.isFinite)).toBe(true);
});

test("gives all of its memory back", () => {
  const config = { normalizeObs: true, normalizeReward: true };
  const once = (): void => {
    const ppo = make("Pendulum-v1", config, { target: "js" });
    ppo.iterate();
    ppo.dispose();
  };
  once();
  const before = heap().bytesInUse;
  for (let k = 0; k < 3; k++) once();
  expect(heap().bytesInUse).toBe(before);
});

test("refuses minibatches that do not fit", () => {
  expect(() => make("CartPole-v1", { batchSize: 30 })).toThrow(
    "batchSize: 4 environments times 16 steps are 64 rows, which 30 does not divide; take 16 or 32",
  );
});

describe("learns CartPole", () => {
  test.each([1, 2, 3])("from seed %i", (seed) => {
    const config = {
      ...small,
      nEnvs: 8,
      nSteps: 128,
      batchSize: 256,
      nEpochs: 4,
      netArch: [64, 64],
      learningRate: 1e-3,
    };
    const ppo = make("CartPole-v1", config, { threads: 1, seed });
    let last = 0;
    for (let k = 0; k < 60; k++) last = Math.max(last, ppo.iterate().episode_return || 0);
    // Random play lasts about 22 steps.
    expect(last).toBeGreaterThan(200);
  });
});
