/**
 * @file The environments of bsuite against what gymnax did.
 */
import { expect, test } from "vitest";
import {
  Catch,
  DeepSea,
  DiscountingChain,
  MemoryChain,
  makeDeepSea,
  makeMemoryChain,
  SimpleBandit,
  UmbrellaChain,
} from "../../src/envs/bsuite/index.ts";
import { VecEnv } from "../../src/envs/vector/vecEnv.ts";
import { describeFixture } from "./fixtures.ts";
import { describeEveryTarget, stepOnce } from "./support.ts";

describeFixture(DiscountingChain, "DiscountingChain-bsuite.gymnax", { fields: { rewards: null } });
describeFixture(UmbrellaChain, "UmbrellaChain-bsuite.gymnax");
describeFixture(MemoryChain, "MemoryChain-bsuite.gymnax");
describeFixture(Catch, "Catch-bsuite.gymnax", {
  fields: { paddle_y: null, prev_done: null },
  only: ({ state }) => state.prev_done === false,
});
describeFixture(DeepSea, "DeepSea-bsuite.gymnax", {
  fields: { optimal_return: null, action_mapping: null },
  // gymnax counts an episode that the time limit cuts off as a bad one; episodes end after 8 steps, so there are none.
  only: ({ state }) => Number(state.time) < 1999 || state.row === 7,
});

describeEveryTarget("bsuite", [
  Catch,
  DeepSea,
  DiscountingChain,
  MemoryChain,
  SimpleBandit,
  UmbrellaChain,
  makeMemoryChain(5),
]);

test("DeepSea pays 0.99 for going right all the way", () => {
  const vec = new VecEnv(DeepSea, 1, { target: "js" });
  vec.reset();
  for (let t = 0; t < 8; t++) vec.step([1]);
  expect(vec.episodeReturn[0]).toBeCloseTo(0.99, 6);
  expect(vec.episodeLength[0]).toBe(8);
});

test("a random table of actions in DeepSea is fixed, and half of it is turned round", () => {
  const size = 20;
  const env = makeDeepSea(size);
  const cells = size * size;
  const rightCells = (mappingSeed: number): number[] => {
    const vec = new VecEnv(env, cells, {
      autoreset: "disabled",
      params: { randomizeActions: 1, mappingSeed },
      target: "js",
    });
    vec.reset();
    const { row, column } = vec.state as { row: Int32Array; column: Int32Array };
    for (let k = 0; k < cells; k++) [row[k], column[k]] = [Math.floor(k / size), k % size];
    vec.step(new Int32Array(cells).fill(1));
    return Array.from(column, (x, k) => (x > k % size || (x === size - 1 && k % size === size - 1) ? 1 : 0));
  };
  const [first, again, other] = [rightCells(1), rightCells(1), rightCells(2)];
  const share = first.reduce((a, b) => a + b, 0) / cells;
  expect(Math.abs(share - 0.5)).toBeLessThan(5 * Math.sqrt(0.25 / cells));
  expect(first).toEqual(again);
  const same = first.filter((x, k) => x === other[k]).length / cells;
  expect(Math.abs(same - 0.5)).toBeLessThan(5 * Math.sqrt(0.25 / cells));
});

test("moves to the right fail one time in size when DeepSea is not deterministic", () => {
  const n = 8192;
  const vec = new VecEnv(DeepSea, n, { params: { deterministic: 0 }, target: "js" });
  vec.reset();
  vec.step(new Int32Array(n).fill(1));
  const moved = (vec.state.column as Int32Array).reduce((a, b) => a + b, 0) / n;
  expect(Math.abs(moved - 7 / 8)).toBeLessThan(5 * Math.sqrt(7 / 64 / n));
});

test("MemoryChain of several bits asks for one of them", () => {
  const state = { context: [1, 0, 1], query: 2, time: 3, shownTime: 2, totalPerfect: 0, totalRegret: 0 };
  const env = makeMemoryChain(3);
  expect(stepOnce(env, { ...state, time: 0 }, [0]).obs).toEqual([1, 0, 1, -1, 1]);
  expect(stepOnce(env, { ...state, time: 4 }, [0]).obs[1]).toBe(2);
  expect(stepOnce(env, { ...state, time: 5 }, [1])).toMatchObject({ reward: 1, terminated: true });
  expect(stepOnce(env, { ...state, time: 5, query: 1 }, [1])).toMatchObject({ reward: -1, terminated: true });
});

test("SimpleBandit pays each of 0, 0.1, ... 1 once, in every order", () => {
  const n = 8800;
  const vec = new VecEnv(SimpleBandit, n, { seed: 3, target: "js" });
  vec.reset();
  const rewards = Float32Array.from(vec.state.rewards as Float32Array);
  const wanted = Float32Array.from({ length: 11 }, (_, k) => Math.fround(k) / 10);
  const places = Array.from({ length: 11 }, () => new Array<number>(11).fill(0));
  for (let i = 0; i < n; i++) {
    const own = Float32Array.from({ length: 11 }, (_, k) => rewards[k * n + i] as number);
    own.forEach((x, k) => {
      (places[k] as number[])[Math.round(x * 10)]! += 1;
    });
    expect(own.sort()).toEqual(wanted);
  }
  const sigma = Math.sqrt(n * (1 / 11) * (10 / 11));
  for (const count of places.flat()) expect(Math.abs(count - n / 11)).toBeLessThan(5 * sigma);
  const { reward, terminated } = vec.step(new Int32Array(n).fill(4));
  expect(Array.from(reward)).toEqual(Array.from(rewards.subarray(4 * n, 5 * n)));
  expect(terminated.every((x) => x === 1)).toBe(true);
});
