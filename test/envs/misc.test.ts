/**
 * @file The environments of no suite against what gymnax did, and those without recordings against their rules.
 */
import { expect, test } from "vitest";
import { CartPole } from "../../src/envs/classic/index.ts";
import {
  BernoulliBandit,
  FourRooms,
  FrozenLake,
  GaussianBandit,
  MetaMaze,
  NonStationaryCartPole,
  PointRobot,
  Reacher,
  Swimmer,
} from "../../src/envs/misc/index.ts";
import { VecEnv } from "../../src/envs/vector/vecEnv.ts";
import { chiSquareBound } from "./distributions.ts";
import { describeFixture, fastest } from "./fixtures.ts";
import { describeEveryTarget, stepOnce } from "./support.ts";

describeFixture(GaussianBandit, "GaussianBandit-misc.gymnax", { paramNames: { sigma_l: "noise" } });
describeFixture(BernoulliBandit, "BernoulliBandit-misc.gymnax", {
  fields: { reward_probs: "rewardProbabilities", exp_reward_best: null },
  paramNames: { reward_prob: "rewardProbability" },
});
describeFixture(FourRooms, "FourRooms-misc.gymnax", { paramNames: { fail_prob: "failProbability" } });
describeFixture(MetaMaze, "MetaMaze-misc.gymnax");
describeFixture(PointRobot, "PointRobot-misc.gymnax");
describeFixture(Reacher, "Reacher-misc.gymnax");
describeFixture(Swimmer, "Swimmer-misc.gymnax");

describeEveryTarget("misc", [
  BernoulliBandit,
  FourRooms,
  FrozenLake,
  GaussianBandit,
  MetaMaze,
  NonStationaryCartPole,
  PointRobot,
  Reacher,
  Swimmer,
]);

test("Reacher by hand", () => {
  const { state, reward } = stepOnce(
    Reacher,
    { angles: [0.3, -0.7], angleVels: [0.1, 0.2], goalXy: [0.5, 1] },
    [1, -1],
  );
  [0.3075, -0.6925, 0.15, 0.15].forEach((x, k) => {
    expect(state[k]).toBeCloseTo(x, 6);
  });
  expect(reward).toBeCloseTo(0.0376496351, 7);
});

/** Chi-square of counts that should all be equal. */
function evenness(counts: readonly number[]): number {
  const expected = counts.reduce((a, b) => a + b, 0) / counts.length;
  return counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
}

test("FourRooms draws goals from all open cells, and starts from all others", () => {
  const n = 20_000;
  const vec = new VecEnv(FourRooms, n, { seed: 2, params: { resampleGoal: 1, resampleStart: 1 }, target: "js" });
  vec.reset();
  const { pos, goal } = vec.state as { pos: Int32Array; goal: Int32Array };
  const cells = (of: Int32Array): number[] => Array.from({ length: n }, (_, i) => of[i]! * 13 + of[n + i]!);
  const [starts, goals] = [cells(pos), cells(goal)];
  expect(starts.some((cell, i) => cell === goals[i])).toBe(false);
  for (const drawn of [starts, goals]) {
    const counts = new Map<number, number>();
    for (const cell of drawn) counts.set(cell, (counts.get(cell) ?? 0) + 1);
    expect(counts.size).toBe(104);
    expect(evenness([...counts.values()])).toBeLessThan(chiSquareBound(103));
  }
});

test("FrozenLake: walls, holes and the goal without slipping", () => {
  const step = (cell: number, action: number): readonly number[] => {
    const { obs, reward, terminated } = stepOnce(FrozenLake, { cell }, [action], { slippery: 0 });
    return [obs[0] as number, reward, Number(terminated)];
  };
  const [left, down, right, up] = [0, 1, 2, 3];
  expect(step(0, left)).toEqual([0, 0, 0]);
  expect(step(0, up)).toEqual([0, 0, 0]);
  expect(step(0, down)).toEqual([4, 0, 0]);
  expect(step(4, right)).toEqual([5, 0, 1]);
  expect(step(3, right)).toEqual([3, 0, 0]);
  expect(step(3, down)).toEqual([7, 0, 1]);
  expect(step(10, right)).toEqual([11, 0, 1]);
  expect(step(13, left)).toEqual([12, 0, 1]);
  expect(step(14, down)).toEqual([14, 0, 0]);
  expect(step(14, right)).toEqual([15, 1, 1]);
});

test("FrozenLake slips to either side one time in three", () => {
  const n = 9000;
  const vec = new VecEnv(FrozenLake, n, { autoreset: "disabled", seed: 4, target: fastest });
  vec.reset();
  const cells = vec.state.cell as Int32Array;
  cells.fill(9);
  vec.step(new Int32Array(n).fill(2));
  const counts = [5, 10, 13].map((cell) => cells.filter((x) => x === cell).length);
  expect(counts.reduce((a, b) => a + b)).toBe(n);
  expect(evenness(counts)).toBeLessThan(chiSquareBound(2));
});

test("NonStationaryCartPole without drift is CartPole", () => {
  const state = { x: 0.1, xDot: -0.2, theta: 0.03, thetaDot: 0.4 };
  const plain = stepOnce(CartPole, state, [1]);
  expect(stepOnce(NonStationaryCartPole, { ...state, globalStep: 12_345 }, [1]).obs).toEqual(plain.obs);
});

test("drifts are linear, sinusoidal or in steps", () => {
  const state = { x: 0.1, xDot: -0.2, theta: 0.03, thetaDot: 0.4 };
  const cases = [
    { name: "gravity", base: 9.8, drift: 1, size: 0.01, period: 1000, step: 100, value: 10.8 },
    { name: "halfLength", base: 0.5, drift: 2, size: 0.2, period: 100, step: 10_025, value: 0.7 },
    { name: "massCart", base: 1, drift: 3, size: 0.5, period: 50, step: 149, value: 2 },
    { name: "force", base: 10, drift: 3, size: -2, period: 50, step: 49, value: 10 },
  ];
  for (const { name, drift, size, period, step, value } of cases) {
    const options = { [`${name}Drift`]: drift, [`${name}DriftSize`]: size, [`${name}DriftPeriod`]: period };
    const { obs } = stepOnce(NonStationaryCartPole, { ...state, globalStep: step }, [1], options);
    const wanted = stepOnce(CartPole, state, [1], { [name]: value }).obs;
    obs.forEach((x, k) => {
      expect(x, name).toBeCloseTo(wanted[k] as number, 6);
    });
  }
});

test("the drift goes on over the end of an episode", () => {
  const vec = new VecEnv(NonStationaryCartPole, 3, { target: "js" });
  vec.reset();
  for (let t = 0; t < 40; t++) vec.step([1, 1, 1]);
  expect(vec.episodes.every((count) => count > 0)).toBe(true);
  expect([...(vec.state.globalStep as Int32Array)]).toEqual([40, 40, 40]);
});
