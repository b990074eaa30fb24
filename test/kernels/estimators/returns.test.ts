/**
 * @file V-trace, lambda returns, n-step returns and discounted sums against fixtures, and against each other.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DataError } from "../../../src/kernels/errors.ts";
import { gae } from "../../../src/kernels/estimators/gae.ts";
import { discountedSums, lambdaReturns, nStepReturns } from "../../../src/kernels/estimators/returns.ts";
import { vtrace } from "../../../src/kernels/estimators/vtrace.ts";
import type { Floats } from "../../../src/kernels/inputs.ts";
import {
  bytes,
  expectNear,
  type FixtureArray,
  type FixtureCase,
  fixtureRollout,
  fixtures,
  floats,
  numbers,
  type RandomRollout,
  randomRollout,
  sameBits,
  TYPES,
  transposed,
  transposedRollout,
} from "./support.ts";

const named = (op: string): [string, FixtureCase][] => fixtures("estimators", op).map((one) => [one.name, one]);
const CLOSE = { rtol: 1e-12, atol: 1e-12 };

describe.each(TYPES)("%s", (type) => {
  test.each(named("vtrace"))("fixture %s", (_name, one) => {
    const { rollout, steps, environments, number, array, expected, tolerance } = fixtureRollout(one, type);
    const options = { gamma: number("gamma"), rhoBar: number("rho_bar"), cBar: number("c_bar") };
    const logRatios = array("log_rhos");
    const result = sameBits(
      (choice) => vtrace({ ...rollout, logRatios }, { ...options, ...choice }),
      (r) => [r.targets, r.advantages],
    );
    expectNear("targets", result.targets, expected("vs"), tolerance);
    expectNear("advantages", result.advantages, expected("pg_advantages"), tolerance);
    if (typeof rollout.lastValues === "number") return;
    const turned = transposedRollout(rollout as RandomRollout, environments, steps);
    const ratios = transposed(logRatios, environments, steps);
    const envMajor = sameBits(
      (choice) => vtrace({ ...turned, logRatios: ratios }, { ...options, ...choice, layout: "env-major" }),
      (r) => [r.targets, r.advantages],
    );
    expectNear("env-major", envMajor.targets, transposed(result.targets, environments, steps), { rtol: 0, atol: 0 });
  });

  test.each(named("n_step_returns"))("fixture %s", (_name, one) => {
    const { rollout, steps, environments, number, expected, tolerance } = fixtureRollout(one, type);
    const options = { gamma: number("gamma"), n: number("n") };
    const result = sameBits(
      (choice) => nStepReturns(rollout, { ...options, ...choice }),
      (r) => [r],
    );
    expectNear("returns", result, expected("returns"), tolerance);
    if (typeof rollout.lastValues === "number") return;
    const turned = transposedRollout(rollout as RandomRollout, environments, steps);
    const envMajor = nStepReturns(turned, { ...options, layout: "env-major" });
    expectNear("env-major", envMajor, transposed(result, environments, steps), { rtol: 0, atol: 0 });
  });

  test.each(named("lambda_returns"))("fixture %s", (_name, one) => {
    const { rollout, number, expected, tolerance } = fixtureRollout(one, type);
    const options = { gamma: number("gamma"), lambda: number("lambda") };
    const result = sameBits(
      (choice) => lambdaReturns(rollout, { ...options, ...choice }),
      (r) => [r],
    );
    expectNear("returns", result, expected("returns"), tolerance);
  });

  test.each(named("discounted_cumsum"))("fixture %s", (_name, one) => {
    const x = one.inputs.x as FixtureArray;
    const environments = x.shape[1];
    const rewards = floats(type, x.data);
    const dones = bytes((one.inputs.done as FixtureArray).data);
    const input = {
      rewards,
      dones,
      ...(environments ? { lastValues: floats(type, new Array(environments).fill(0)) } : {}),
    };
    const gamma = one.inputs.gamma as number;
    const result = sameBits(
      (choice) => discountedSums(input, { gamma, ...choice }),
      (r) => [r],
    );
    expectNear("sums", result, (one.expected.out as FixtureArray).data, one.tolerance[type]);
  });
});

test("published values of V-trace", () => {
  const input = {
    logRatios: floats("f64", [0.2, -0.3, 0.8]),
    rewards: floats("f64", [1, 2, 3]),
    values: floats("f64", [0.5, 1, 1.5]),
    dones: bytes([0, 0, 0]),
    lastValues: 2,
  };
  const { targets, advantages } = vtrace(input, { gamma: 0.9, rhoBar: 1.5, cBar: 1.2 });
  expectNear("targets", targets, [7.654533, 6.041268, 6.45], { rtol: 1e-6, atol: 0 });
  expectNear("advantages", advantages, [7.251641, 5.041268, 4.95], { rtol: 1e-6, atol: 0 });
});

const rollouts = fc
  .tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 40 }), fc.integer())
  .map(([environments, steps, seed]) => ({ environments, steps, r: randomRollout("f64", environments, steps, seed) }));

test("lambda returns are advantages plus values; with lambda 0 one-step returns, with 1 those of all steps", () => {
  fc.assert(
    fc.property(rollouts, ({ steps, r }) => {
      expectNear("any", lambdaReturns(r), gae(r).returns, CLOSE);
      expectNear("0", lambdaReturns(r, { lambda: 0 }), nStepReturns(r, { n: 1 }), CLOSE);
      expectNear("1", lambdaReturns(r, { lambda: 1 }), nStepReturns(r, { n: steps }), CLOSE);
    }),
    { numRuns: 40 },
  );
});

test("V-trace of the acting policy itself is the return of all steps", () => {
  fc.assert(
    fc.property(rollouts, ({ steps, r }) => {
      const logRatios = floats("f64", new Float64Array(r.rewards.length));
      expectNear("targets", vtrace({ ...r, logRatios }).targets, nStepReturns(r, { n: steps }), CLOSE);
    }),
    { numRuns: 40 },
  );
});

test("discounted sums with bootstrap are returns of all steps without values", () => {
  fc.assert(
    fc.property(rollouts, ({ steps, r }) => {
      expectNear("sums", discountedSums(r), nStepReturns(r, { n: steps }), CLOSE);
    }),
    { numRuns: 40 },
  );
});

test("what lies behind an end does not matter, whatever it is", () => {
  const next = numbers(5);
  const list = (): Floats => floats("f64", Array.from({ length: 8 }, next));
  const [rewards, values] = [list(), list()];
  const terminated = bytes([0, 0, 1, 0, 0, 0, 0, 0]);
  const clean = nStepReturns({ rewards, values, terminated, lastValues: 1 }, { n: 4 }).slice(0, 3);
  rewards.fill(Number.NaN, 3);
  values.fill(Number.POSITIVE_INFINITY, 3);
  expect(nStepReturns({ rewards, values, terminated, lastValues: 1 }, { n: 4 }).slice(0, 3)).toEqual(clean);
});

test("refuses what does not fit", () => {
  const input = { rewards: new Float64Array(4), values: new Float64Array(4), dones: new Uint8Array(4), lastValues: 0 };
  expect(() => nStepReturns(input, { n: 0 })).toThrow(/"n" must be a whole number from 1 on, it is 0/);
  expect(() => nStepReturns(input, { n: 1.5 })).toThrow(DataError);
  expect(() => lambdaReturns({ ...input, out: new Float64Array(3) })).toThrow(/"out" has 3 elements/);
  expect(() => vtrace({ ...input, logRatios: new Float64Array(3) })).toThrow(/"logRatios" has 3 elements/);
  expect(() => vtrace({ ...input, logRatios: new Float64Array(4) }, { rhoBar: 0 })).toThrow(/"rhoBar"/);
  expect(() => discountedSums({ rewards: new Float32Array(2), dones: new Uint8Array(3) })).toThrow(/"dones" has 3/);
});
