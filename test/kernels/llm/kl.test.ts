import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DataError } from "../../../src/kernels/errors.ts";
import {
  type KlDirection,
  type KlEstimator,
  type KlReduction,
  tokenKl,
  vocabularyKl,
} from "../../../src/kernels/llm/index.ts";
import { casesOf, expectNear, type FixtureCase, FLOATS, noise, onAll } from "./support.ts";

/** The fixtures' names for an estimator and a direction. */
const STORED: { readonly [name: string]: { estimator: KlEstimator; direction: KlDirection } } = {
  exact: { estimator: "exact", direction: "policy||reference" },
  k1: { estimator: "k1", direction: "policy||reference" },
  k2: { estimator: "k2", direction: "policy||reference" },
  k3_forward: { estimator: "k3", direction: "reference||policy" },
  k3_reverse: { estimator: "k3", direction: "policy||reference" },
};
const ESTIMATORS = ["exact", "k1", "k2", "k3"] as const;
const DIRECTIONS = ["policy||reference", "reference||policy"] as const;
const REDUCTIONS = ["sum", "mean", "none"] as const;

function readCase(one: FixtureCase, type: (typeof FLOATS)[number]) {
  const { logp_policy, logp_ref, mask } = one.inputs;
  return {
    policy: type.from(logp_policy?.data ?? []),
    reference: type.from(logp_ref?.data ?? []),
    mask: Uint8Array.from(mask?.data ?? []),
    length: logp_policy?.shape[1] as number,
  };
}

describe("token KL", () => {
  it("agrees with the reference: sums, means and single tokens", () => {
    let compared = 0;
    for (const one of casesOf("token_kl"))
      for (const type of FLOATS)
        for (const [name, estimate] of Object.entries(STORED)) {
          const { length, ...input } = readCase(one, type);
          const sums = one.expected[`sum_${name}`]?.data ?? [];
          expectNear(tokenKl({ ...input, length }, estimate).kl, sums, one, type);
          const mean = one.expected[`mean_${name}`] as number;
          expectNear(tokenKl(input, { ...estimate, reduce: "mean" }).kl, [mean], one, type);
          const tokens = one.expected[`per_token_${name}`]?.data;
          if (tokens === undefined) continue;
          const { policy, reference } = input;
          expectNear(tokenKl({ policy, reference }, { ...estimate, reduce: "none" }).kl, tokens, one, type);
          compared++;
        }
    expect(compared).toBeGreaterThan(40);
  });

  it("has the published values of one token", () => {
    const input = { policy: Float64Array.of(-1), reference: Float64Array.of(-2) };
    expect(tokenKl(input).kl[0]).toBeCloseTo(0.3678794412, 10);
    expect(tokenKl(input, { estimator: "k3", direction: "reference||policy" }).kl[0]).toBeCloseTo(0.7182818285, 10);
  });

  it("has the same bits on every target, alone and in batches", () => {
    for (const type of FLOATS)
      for (const length of [1, 5, 31, 32, 33, 128, 1000]) {
        const input = {
          policy: noise(type, 3 * length, 2, -2.5),
          reference: noise(type, 3 * length, 2.5, -2.6),
          length,
        };
        const mask = Uint8Array.from({ length: 3 * length }, (_, i) => (i % 5 === 2 ? 0 : 1));
        for (const estimator of ESTIMATORS)
          for (const given of [input, { ...input, mask }])
            for (const reduce of REDUCTIONS)
              onAll(
                (choice) => tokenKl(given, { ...choice, estimator, reduce }),
                (r) => [r.kl],
              );
      }
  });

  it("has the same bits with threads on a long sequence", () => {
    for (const type of FLOATS) {
      const input = { policy: noise(type, 70_000, 2, -2.5), reference: noise(type, 70_000, 2.5, -2.6) };
      for (const estimator of ESTIMATORS)
        onAll(
          (choice) => tokenKl(input, { ...choice, estimator }),
          (r) => [r.kl],
        );
    }
  });

  const logProbabilities = fc.array(
    fc.tuple(fc.double({ min: -20, max: 0, noNaN: true }), fc.double({ min: -20, max: 0, noNaN: true })),
    { maxLength: 60 },
  );

  it("of a batch is that of its sequences, and swapping the models swaps the direction", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), logProbabilities, (length, pairs) => {
        const whole = pairs.slice(0, pairs.length - (pairs.length % length));
        const policy = Float64Array.from(whole, (pair) => pair[0]);
        const reference = Float64Array.from(whole, (pair) => pair[1]);
        for (const estimator of ESTIMATORS)
          for (const reduce of ["sum", "mean"] as const) {
            const { kl } = tokenKl({ policy, reference, length }, { estimator, reduce });
            expect(kl).toHaveLength(whole.length / length);
            for (const [s, value] of kl.entries()) {
              const part = {
                policy: policy.slice(s * length, (s + 1) * length),
                reference: reference.slice(s * length, (s + 1) * length),
              };
              expect(tokenKl(part, { estimator, reduce }).kl[0]).toBe(value);
            }
            const swapped = tokenKl(
              { policy: reference, reference: policy, length },
              { estimator, reduce, direction: "reference||policy" },
            );
            expect(swapped.kl).toEqual(kl);
          }
      }),
      { numRuns: 30 },
    );
  });

  it("k2 and k3 are never negative, and a mask of ones changes nothing", () => {
    fc.assert(
      fc.property(logProbabilities, (pairs) => {
        const policy = Float64Array.from(pairs, (pair) => pair[0]);
        const reference = Float64Array.from(pairs, (pair) => pair[1]);
        for (const estimator of ESTIMATORS) {
          const plain = tokenKl({ policy, reference }, { estimator }).kl;
          if (estimator === "k2" || estimator === "k3") expect(plain[0]).toBeGreaterThanOrEqual(0);
          const mask = new Uint8Array(pairs.length).fill(1);
          expect(tokenKl({ policy, reference, mask }, { estimator }).kl).toEqual(plain);
        }
      }),
      { numRuns: 50 },
    );
  });

  it("leaves masked tokens out, NaN or not", () => {
    const policy = Float64Array.of(-1, Number.NaN, -1, Number.NaN);
    const reference = Float64Array.of(-2, -1, -2, -1);
    for (const estimator of ESTIMATORS) {
      const input = { policy, reference, length: 2 };
      const mask = Uint8Array.of(1, 0, 1, 0);
      const one = tokenKl({ policy: Float64Array.of(-1), reference: Float64Array.of(-2) }, { estimator }).kl[0];
      expect(Array.from(tokenKl({ ...input, mask }, { estimator, reduce: "mean" }).kl)).toEqual([one, one]);
      expect(Array.from(tokenKl({ ...input, mask }, { estimator, reduce: "none" }).kl)).toEqual([one, 0, one, 0]);
      const none = new Uint8Array(4);
      expect(Array.from(tokenKl({ ...input, mask: none }, { estimator, reduce: "mean" }).kl)).toEqual([0, 0]);
      const first = Uint8Array.of(1, 1, 1, 0);
      expect(Array.from(tokenKl({ ...input, mask: first }, { estimator }).kl)).toEqual([Number.NaN, one]);
    }
  });

  it("of nothing is zero, or nothing", () => {
    for (const type of FLOATS) {
      const input = { policy: new type(0), reference: new type(0) };
      for (const reduce of ["sum", "mean"] as const) {
        expect(Array.from(tokenKl(input, { reduce }).kl)).toEqual([0]);
        expect(tokenKl({ ...input, length: 8 }, { reduce }).kl).toHaveLength(0);
      }
      expect(tokenKl(input, { reduce: "none" }).kl).toHaveLength(0);
    }
  });

  it("k3 in single precision keeps its digits, from models that nearly agree to ones that do not at all", () => {
    const steps = Float32Array.from({ length: 4000 }, (_, i) => (i % 2 ? 1 : -1) * 1.004 ** (i / 2 - 3000) * 700);
    const r = steps.filter((v) => v < 88.7 && Math.abs(v) > 1e-6);
    expect(r.length).toBeGreaterThan(3000);
    const options = { estimator: "k3", direction: "reference||policy", reduce: "none" } as const;
    const { kl } = tokenKl({ policy: r, reference: new Float32Array(r.length) }, options);
    for (const [i, d] of r.entries()) {
      const wanted = Math.abs(d) < 1e-3 ? (d * d) / 2 + d ** 3 / 6 + d ** 4 / 24 : Math.expm1(d) - d;
      expect(Math.abs((kl[i] as number) / wanted - 1), `r = ${d}`).toBeLessThan(2e-6);
    }
    const ends = Float32Array.of(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 100, Number.NaN, 0);
    const at = tokenKl({ policy: ends, reference: new Float32Array(5) }, options).kl;
    const far = Number.POSITIVE_INFINITY;
    expect(Array.from(at)).toEqual([far, far, far, Number.NaN, 0]);
  });

  it("exact in single precision follows e^a, down to zero", () => {
    const policy = Float32Array.from({ length: 2000 }, (_, i) => -120 + i * 0.105);
    const { kl } = tokenKl({ policy, reference: policy.map((v) => v - 1) }, { reduce: "none" });
    for (const [i, a] of policy.entries()) {
      const wanted = Math.exp(a) * (a - Math.fround(a - 1));
      const got = kl[i] as number;
      if (wanted < 2 ** -126) expect(got).toBeLessThan(2 ** -126);
      else if (wanted < 2 ** 127) expect(Math.abs(got / wanted - 1), `a = ${a}`).toBeLessThan(5e-7);
      else expect(got).toBeGreaterThanOrEqual(2 ** 127);
    }
    expect(kl[0]).toBe(0);
  });

  it("of tokens that one model rules out is infinite in both precisions", () => {
    for (const Floats of [Float32Array, Float64Array])
      for (const [policy, reference] of [
        [Floats.of(-Infinity), Floats.of(-1)],
        [Floats.of(-1), Floats.of(-Infinity)],
      ] as const)
        expect(tokenKl({ policy, reference }, { estimator: "k3" }).kl[0]).toBe(Infinity);
  });

  it("is refused for what does not fit, before anything is written", () => {
    const [policy, reference] = [new Float64Array(6), new Float64Array(6)];
    const kl = new Float64Array(2).fill(7);
    const out = { kl };
    const bad =
      (change: object, options: object = {}) =>
      () =>
        tokenKl({ policy, reference, length: 3, out, ...change }, options);
    expect(bad({ reference: new Float64Array(5) })).toThrow(DataError);
    expect(bad({ reference: new Float32Array(6) })).toThrow(/Float32Array/);
    expect(bad({ mask: new Uint8Array(5) })).toThrow(/asks for 6/);
    expect(bad({ mask: new Float64Array(6) })).toThrow(/Uint8Array/);
    expect(bad({ length: 0 })).toThrow(/"length" .* it is 0/);
    expect(bad({ length: 4 })).toThrow(/does not divide/);
    expect(bad({ out: { kl: new Float64Array(3) } })).toThrow(/asks for 2/);
    expect(bad({}, { estimator: "k4" as KlEstimator })).toThrow(/no estimator "k4"/);
    expect(bad({}, { direction: "forward" as KlDirection })).toThrow(/no direction/);
    expect(bad({}, { reduce: "all" as KlReduction })).toThrow(/reduce is "all"/);
    expect(Array.from(kl)).toEqual([7, 7]);
    expect(tokenKl({ policy, reference, length: 3, out }).kl).toBe(kl);
    expect(Array.from(kl)).toEqual([0, 0]);
  });
});

describe("vocabulary KL", () => {
  it("agrees with the reference in both directions", () => {
    const cases = casesOf("vocabulary_kl");
    expect(cases.length).toBeGreaterThan(0);
    for (const one of cases)
      for (const type of FLOATS)
        for (const direction of DIRECTIONS) {
          const policy = type.from(one.inputs.policy_logits?.data ?? []);
          const reference = type.from(one.inputs.ref_logits?.data ?? []);
          const vocabulary = one.inputs.policy_logits?.shape.at(-1) as number;
          const wanted = one.expected[direction === "policy||reference" ? "kl_policy_ref" : "kl_ref_policy"];
          const { kl } = onAll(
            (choice) => vocabularyKl({ policy, reference, vocabulary }, { ...choice, direction }),
            (r) => [r.kl],
          );
          expectNear(kl, wanted?.data ?? [], one, type);
        }
  });

  it("does not mind large logits, and is zero for shifted ones", () => {
    const policy = Float32Array.of(1000, 1001, 999, -1000, 0, 1000);
    const { kl } = vocabularyKl({ policy, reference: policy.map((v) => v - 500), vocabulary: 3 });
    for (const value of kl) expect(value).toBeCloseTo(0, 5);
    expect(() => vocabularyKl({ policy, reference: policy.slice(), vocabulary: 4 })).toThrow(DataError);
  });
});
