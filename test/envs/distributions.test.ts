/**
 * @file How episodes begin, by distribution: each number of a state against the distribution it is drawn from, pairs of
 * them for independence, Gymnasium's recorded beginnings against the same; and that no recording is left out.
 */
import { readdirSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { Acrobot, CartPole, MountainCar, MountainCarContinuous, Pendulum } from "../../src/envs/classic/index.ts";
import type { Environment } from "../../src/envs/define.ts";
import { Freeway } from "../../src/envs/minatar/index.ts";
import { GaussianBandit, NonStationaryCartPole, PointRobot, Reacher, Swimmer } from "../../src/envs/misc/index.ts";
import { VecEnv } from "../../src/envs/vector/vecEnv.ts";
import type { TypedArray } from "../../src/ir/arrays.ts";
import { chiSquareBound, GAP_BOUND, largestGap, normalShare } from "./distributions.ts";

type Share = (x: number) => number;
const uniform =
  (low: number, high: number): Share =>
  (x) =>
    Math.min(Math.max((x - low) / (high - low), 0), 1);
/** The cosine of an angle between 0 and pi. */
const cosine: Share = (x) => 1 - Math.acos(Math.min(Math.max(x, -1), 1)) / Math.PI;
/** The sine of one. */
const sine: Share = (x) => (2 * Math.asin(Math.min(Math.max(x, 0), 1))) / Math.PI;
const repeated = (count: number, share: Share): Share[] => new Array<Share>(count).fill(share);

/** The distribution of each number of a state; fields that are not named are not random. */
const BEGINNINGS: readonly (readonly [Environment, { readonly [field: string]: readonly Share[] }])[] = [
  [
    CartPole,
    {
      x: [uniform(-0.05, 0.05)],
      xDot: [uniform(-0.05, 0.05)],
      theta: [uniform(-0.05, 0.05)],
      thetaDot: [uniform(-0.05, 0.05)],
    },
  ],
  [
    NonStationaryCartPole,
    {
      x: [uniform(-0.05, 0.05)],
      xDot: [uniform(-0.05, 0.05)],
      theta: [uniform(-0.05, 0.05)],
      thetaDot: [uniform(-0.05, 0.05)],
    },
  ],
  [
    Acrobot,
    {
      theta1: [uniform(-0.1, 0.1)],
      theta2: [uniform(-0.1, 0.1)],
      thetaDot1: [uniform(-0.1, 0.1)],
      thetaDot2: [uniform(-0.1, 0.1)],
    },
  ],
  [MountainCar, { position: [uniform(-0.6, -0.4)] }],
  [MountainCarContinuous, { position: [uniform(-0.6, -0.4)] }],
  [Pendulum, { theta: [uniform(-Math.PI, Math.PI)], thetaDot: [uniform(-1, 1)] }],
  [
    Reacher,
    {
      angles: repeated(2, uniform(-Math.PI, Math.PI)),
      angleVels: repeated(2, uniform(-1, 1)),
      goalXy: repeated(2, uniform(-2, 2)),
    },
  ],
  [
    Swimmer,
    { urchinXys: repeated(10, uniform(-1, 1)), xy: repeated(2, uniform(-1, 1)), goalXy: repeated(2, uniform(-1, 1)) },
  ],
  [PointRobot, { goal: [cosine, sine] }],
  [GaussianBandit, { mu: [(x) => normalShare(x + 1)] }],
];

const N = 20_000;

/** Each random number of the state, as a column over all environments, with its distribution. */
function columnsOf(vec: VecEnv, shares: { readonly [field: string]: readonly Share[] }): [number[], Share][] {
  return Object.entries(shares).flatMap(([field, each]) =>
    each.map((share, k): [number[], Share] => {
      const array = vec.state[field] as TypedArray;
      return [Array.from({ length: vec.n }, (_, i) => array[k * vec.n + i] as number), share];
    }),
  );
}
/** Chi-square of two columns over 8 x 8 cells of equal chances. */
function pairStatistic(a: readonly [number[], Share], b: readonly [number[], Share]): number {
  const counts = new Float64Array(64);
  const cell = (x: number, share: Share): number => Math.min(7, Math.floor(8 * share(x)));
  a[0].forEach((x, i) => {
    const at = 8 * cell(x, a[1]) + cell(b[0][i] as number, b[1]);
    counts[at] = (counts[at] as number) + 1;
  });
  const expected = a[0].length / 64;
  return counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
}

describe("beginnings", () => {
  test.each(BEGINNINGS.map(([env, shares]) => [env.id, env, shares] as const))("%s", (_, env, shares) => {
    const vec = new VecEnv(env, N, { seed: 41, target: "js" });
    for (const episode of [0, 1]) {
      if (episode === 0) vec.reset();
      else vec.reset(new Uint8Array(N).fill(1));
      const columns = columnsOf(vec, shares);
      for (const [column, share] of columns) expect(largestGap(column, share)).toBeLessThan(GAP_BOUND);
      // Numbers of one state, and one number of environments side by side, have nothing to do with each other.
      columns.forEach((column, k) => {
        const next = columns[k + 1];
        // The two sides of PointRobot's half circle are one angle.
        if (next && env !== PointRobot) expect(pairStatistic(column, next)).toBeLessThan(chiSquareBound(63));
        const [values, share] = column;
        const half = N / 2;
        const [even, odd] = [0, 1].map((from) =>
          Array.from({ length: half }, (_, i) => values[2 * i + from] as number),
        );
        const statistic = pairStatistic([even as number[], share], [odd as number[], share]);
        expect(statistic).toBeLessThan(chiSquareBound(63));
      });
    }
    vec.dispose();
  });

  test("two episodes of an environment have nothing to do with each other", () => {
    const vec = new VecEnv(Pendulum, N, { seed: 5, target: "js" });
    const shares = { theta: [uniform(-Math.PI, Math.PI)] };
    vec.reset();
    const [first] = columnsOf(vec, shares);
    vec.reset(new Uint8Array(N).fill(1));
    const [second] = columnsOf(vec, shares);
    expect(pairStatistic(first as [number[], Share], second as [number[], Share])).toBeLessThan(chiSquareBound(63));
    vec.dispose();
  });

  test("a wrong distribution would be noticed", () => {
    const vec = new VecEnv(MountainCar, N, { seed: 5, target: "js" });
    vec.reset();
    const [column] = columnsOf(vec, { position: [uniform(-0.6, -0.4)] });
    expect(largestGap(column?.[0] as number[], uniform(-0.6, -0.39))).toBeGreaterThan(GAP_BOUND);
    expect(pairStatistic(column as [number[], Share], column as [number[], Share])).toBeGreaterThan(chiSquareBound(63));
    vec.dispose();
  });
});

const FOLDER = new URL("../fixtures/envs/", import.meta.url);
const stored = (name: string): { readonly [key: string]: unknown } =>
  JSON.parse(gunzipSync(readFileSync(new URL(name, FOLDER))).toString());

describe("recordings", () => {
  test.each(
    BEGINNINGS.filter(([env]) =>
      ["CartPole-v1", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1"].includes(env.id),
    ).map(([env, shares]) => [env.id, Object.values(shares).flat()] as const),
  )("Gymnasium's beginnings of %s are from the same distributions", (id, shares) => {
    const { reset } = stored(`${id}.gymnasium.json.gz`) as { reset: readonly { readonly state: readonly number[] }[] };
    expect(reset.length).toBeGreaterThanOrEqual(10);
    const places = reset.flatMap(({ state }) => shares.map((share, k) => share(state[k] as number)));
    expect(largestGap(places, uniform(0, 1))).toBeLessThan(GAP_BOUND);
    // Within the limits, not clipped to them.
    expect(places.every((place) => place > 0 && place < 1)).toBe(true);
  });

  test("each is replayed by some test", () => {
    const tests = new URL("./", import.meta.url);
    const text = readdirSync(tests)
      .filter((name) => name.endsWith(".test.ts"))
      .map((name) => readFileSync(new URL(name, tests), "utf8"))
      .join("\n");
    const names = readdirSync(FOLDER).map((name) => name.replace(/\.json\.gz$/, ""));
    expect(names).toHaveLength(28);
    const missing = names.filter(
      (name) => !new RegExp(`describeFixture\\(\\s*\\w+,\\s*"${name}"|fixtures/envs/${name}\\.json`).test(text),
    );
    expect(missing).toEqual([]);
  });
});

test("Freeway draws all lanes anew when the chicken arrives", () => {
  const vec = new VecEnv(Freeway, N, { seed: 6, autoreset: "disabled", target: "js" });
  vec.reset();
  (vec.state.row as Int32Array).fill(1);
  (vec.state.moveTimer as Int32Array).fill(0);
  const before = Array.from(vec.state.speeds as Int32Array);
  vec.step(new Int32Array(N).fill(1));
  expect(vec.out.reward.every((reward) => reward === 1)).toBe(true);
  const lane = (words: ArrayLike<number>, i: number, k: number): number => ((words[i] as number) >> (4 * k)) & 15;
  const { speeds, right } = vec.state as { speeds: Int32Array; right: Int32Array };
  for (let k = 0; k < 8; k++) {
    const drawn = new Float64Array(10);
    const old = new Float64Array(25);
    for (let i = 0; i < N; i++) {
      drawn[2 * (lane(speeds, i, k) - 1) + (lane(right, i, k) & 1)]! += 1;
      old[5 * (lane(speeds, i, k) - 1) + lane(before, i, k) - 1]! += 1;
    }
    for (const counts of [drawn, old]) {
      const expected = N / counts.length;
      const statistic = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
      expect(statistic).toBeLessThan(chiSquareBound(counts.length - 1));
    }
  }
  vec.dispose();
});
