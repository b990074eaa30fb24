/**
 * @file The normalisers against the results of Stable-Baselines3's VecNormalize.
 */
import { describe, expect, test } from "vitest";
import { DataError } from "../../../src/kernels/errors.ts";
import { ObservationNormaliser, RewardNormaliser } from "../../../src/kernels/running/normalisers.ts";
import {
  bitsOf,
  bytes,
  CHOICES,
  expectNear,
  type FixtureArray,
  type FixtureCase,
  fixtures,
  floats,
  numbers,
  TYPES,
  type TypeName,
} from "../estimators/support.ts";

const again = <T>(value: T): unknown => JSON.parse(JSON.stringify(value));

/** Plays a fixture through both normalisers, stored and restored half way; what they gave, in order. */
function play(one: FixtureCase, type: TypeName, choice: (typeof CHOICES)[number]) {
  const { gamma, clip_obs, clip_reward, epsilon, freeze_at } = one.inputs as { [name: string]: number };
  const array = (name: string): FixtureArray => one.inputs[name] as FixtureArray;
  const [, environments, dimension] = array("obs").shape as [number, number, number];
  const steps = array("rewards").shape[0] as number;
  const part = (name: string, t: number, size: number) =>
    floats(type, array(name).data.slice(t * size, (t + 1) * size));
  let observations = new ObservationNormaliser({
    dimension,
    clip: clip_obs as number,
    epsilon: epsilon as number,
    ...choice,
  });
  let rewards = new RewardNormaliser({
    environments,
    gamma: gamma as number,
    clip: clip_reward as number,
    epsilon: epsilon as number,
    ...choice,
  });
  const rows = environments * dimension;
  const given = { obs: [] as number[], rewards: [] as number[], terminal_obs: [] as number[], returns: [] as number[] };
  const first = observations.process(part("obs", 0, rows));
  for (let t = 0; t < steps; t++) {
    if (t === freeze_at) observations.frozen = rewards.frozen = true;
    if (t === steps >> 1) {
      observations = ObservationNormaliser.fromJSON(again(observations), choice);
      rewards = RewardNormaliser.fromJSON(again(rewards), choice);
    }
    given.obs.push(...observations.process(part("obs", t + 1, rows)));
    const done = bytes(array("done").data.slice(t * environments, (t + 1) * environments));
    given.rewards.push(...rewards.process(part("rewards", t, environments), done));
    given.returns.push(...rewards.returns);
    const terminal = observations.normalise(part("terminal_obs", t, rows));
    // Only the rows of environments that ended are meant.
    given.terminal_obs.push(...terminal.map((x, i) => (done[Math.floor(i / dimension)] ? x : 0)));
  }
  return { given, first, observations, rewards, dimension };
}

describe.each(TYPES)("%s", (type) => {
  test.each(fixtures("running", "vec_normalize").map((one) => [one.name, one] as const))("fixture %s", (_name, one) => {
    const tolerance = one.tolerance[type];
    const played = CHOICES.map((choice) => play(one, type, choice));
    const { given, first, observations, rewards, dimension } = played[0] as (typeof played)[number];
    expect(new Set(played.map((p) => JSON.stringify([p.given, p.observations, p.rewards]))).size).toBe(1);
    const wanted = (name: string): readonly number[] => (one.expected[name] as FixtureArray).data;
    const done = (one.inputs.done as FixtureArray).data;
    expectNear("first", first, wanted("first_obs"), tolerance);
    expectNear("observations", given.obs, wanted("obs"), tolerance);
    expectNear("rewards", given.rewards, wanted("rewards"), tolerance);
    expectNear("returns", given.returns, wanted("returns"), tolerance);
    const terminal = wanted("terminal_obs").map((x, i) => (done[Math.floor(i / dimension)] ? x : 0));
    expectNear("terminal observations", given.terminal_obs, terminal, tolerance);
    expectNear("mean", observations.moments.mean, wanted("obs_mean"), tolerance);
    expectNear("variance", observations.moments.variance, wanted("obs_var"), tolerance);
    const { obs_count, ret_mean, ret_var, ret_count } = one.expected as { [name: string]: number };
    const counts = [observations.moments.count, rewards.mean, rewards.variance, rewards.count];
    expectNear("moments", counts, [obs_count, ret_mean, ret_var, ret_count] as number[], tolerance);
  });
});

test("a frozen normaliser learns nothing", () => {
  const next = numbers(1);
  const batch = () => floats("f32", Array.from({ length: 12 }, next));
  const observations = new ObservationNormaliser({ dimension: 3 });
  observations.process(batch());
  observations.frozen = true;
  const before = JSON.stringify(observations);
  const rows = batch();
  expect(bitsOf(observations.process(rows))).toBe(bitsOf(observations.normalise(rows)));
  expect(JSON.stringify(observations)).toBe(before);
});

test("rows on threads and on one have the same bits", () => {
  const next = numbers(6);
  const rows = floats("f32", Array.from({ length: 64 * 100 }, next));
  const results = CHOICES.map((choice) => {
    const normaliser = new ObservationNormaliser({ dimension: 64, ...choice });
    return bitsOf(normaliser.process(rows));
  });
  expect(new Set(results).size).toBe(1);
});

test("refuses what does not fit, and has learnt nothing then", () => {
  const observations = new ObservationNormaliser({ dimension: 2 });
  const before = JSON.stringify(observations);
  const rows = floats("f64", [1, 2, 3, 4]);
  expect(() => observations.process(new Float64Array(3))).toThrow(/3 elements, which "dimension" 2 does not divide/);
  expect(() => observations.process(rows, new Float64Array(3))).toThrow(/"out" has 3/);
  expect(() => observations.process(rows, rows)).toThrow(/shares memory/);
  expect(() => observations.process(rows, new Float32Array(4) as never)).toThrow(DataError);
  expect(JSON.stringify(observations)).toBe(before);
  const rewards = new RewardNormaliser({ environments: 2 });
  const empty = JSON.stringify(rewards);
  expect(() => rewards.process(new Float64Array(3), bytes([0, 0]))).toThrow(/"rewards" has 3/);
  expect(() => rewards.process(new Float64Array(2), bytes([0]))).toThrow(/"ended" has 1/);
  const both = floats("f64", [1, 2]);
  expect(() => rewards.process(both, bytes([0, 0]), both)).toThrow(/share memory/);
  expect(JSON.stringify(rewards)).toBe(empty);
  expect(() => new RewardNormaliser({ environments: 0 })).toThrow(/"environments"/);
  expect(() => new ObservationNormaliser({ dimension: 1, clip: 0 })).toThrow(/"clip"/);
  expect(() => RewardNormaliser.fromJSON({ ...rewards.toJSON(), returns: "no" })).toThrow(DataError);
  expect(() => RewardNormaliser.fromJSON({ ...rewards.toJSON(), variance: -1 })).toThrow(DataError);
  expect(() => ObservationNormaliser.fromJSON({ ...observations.toJSON(), frozen: 1 })).toThrow(DataError);
});

test("without clipping they are stored and restored, as JSON too", () => {
  const clip = Number.POSITIVE_INFINITY;
  const observations = new ObservationNormaliser({ dimension: 1, clip });
  const rewards = new RewardNormaliser({ environments: 1, clip });
  for (const state of [observations.toJSON(), JSON.parse(JSON.stringify(observations))])
    expect(ObservationNormaliser.fromJSON(state).clip).toBe(clip);
  for (const state of [rewards.toJSON(), JSON.parse(JSON.stringify(rewards))])
    expect(RewardNormaliser.fromJSON(state).clip).toBe(clip);
  expect(() => RewardNormaliser.fromJSON({ ...rewards.toJSON(), clip: undefined })).toThrow(/"clip"/);
});
