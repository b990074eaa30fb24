/**
 * @file PPO as one program: one crossing per iteration, the same bits on every target, and it learns.
 */
import { describe, expect, test } from "vitest";
import { Ppo } from "../../src/algorithms/ppo.ts";
import { environment } from "../../src/envs/index.ts";
import { VecEnv } from "../../src/envs/vector/vecEnv.ts";
import type { State } from "../../src/tensor/index.ts";
import { TARGETS } from "../tensor/support.ts";

const small = { environments: 4, steps: 16, minibatches: 2, epochs: 2, hidden: [16], iterations: 3 };

test("an iteration is one crossing", () => {
  const ppo = new Ppo(environment("CartPole-v1"), small);
  for (let k = 0; k < 3; k++) ppo.iterate();
  expect(ppo.crossings).toBe(3);
});

test("every target gives the same bits, with any number of threads", () => {
  const modes = TARGETS.flatMap((target) => (target === "js" ? [1] : [1, 2]).map((threads) => ({ target, threads })));
  const found = modes.map((mode) => {
    const ppo = new Ppo(environment("CartPole-v1"), small, { ...mode, numerics: "unfused" });
    const metrics = [0, 1, 2].map(() => ppo.iterate());
    return { metrics, parameters: Array.from(ppo.parameters.arena.array) };
  });
  for (const other of found.slice(1)) expect(other).toEqual(found[0]);
});

test("plays the episodes that a vector of environments plays with the same actions", () => {
  const ppo = new Ppo(environment("Acrobot-v1"), { ...small, seed: 5 }, { target: "js" });
  const vec = new VecEnv(environment("Acrobot-v1"), 4, { seed: 5, target: "js" });
  vec.reset();
  const first = Array.from(vec.out.obs);
  ppo.iterate();
  const { obs, reward } = ppo.world.rollout;
  const row = (of: State, t: number): number[] => {
    const size = of.array.length / (of.shape[0] as number);
    return Array.from(of.array.subarray(t * size, (t + 1) * size));
  };
  expect(row(obs, 0)).toEqual(first);
  for (let t = 0; t < small.steps; t++) {
    vec.step(row(ppo.actions, t));
    expect(row(obs, t + 1)).toEqual(Array.from(vec.out.obs));
    expect(row(reward, t)).toEqual(Array.from(vec.out.reward));
  }
});

describe("learns CartPole", () => {
  test.each([1, 2, 3])("from seed %i", (seed) => {
    const ppo = new Ppo(environment("CartPole-v1"), { seed, iterations: 60, learningRate: 1e-3 }, { threads: 1 });
    let last = 0;
    for (let k = 0; k < 60; k++) last = Math.max(last, ppo.iterate().episodeReturn);
    // Random play lasts about 22 steps.
    expect(last).toBeGreaterThan(200);
  });
});
