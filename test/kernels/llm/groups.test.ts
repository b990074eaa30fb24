import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DataError } from "../../../src/kernels/errors.ts";
import { groupAdvantages } from "../../../src/kernels/llm/index.ts";
import { casesOf, expectNear, FLOATS, noise, onAll } from "./support.ts";

/** The options that each expected array of a fixture stands for. */
const FORMS = {
  ddof0: () => ({ ddof: 0 as const }),
  ddof0_eps: (eps: number) => ({ ddof: 0 as const, epsilon: eps }),
  ddof1_eps: (eps: number) => ({ ddof: 1 as const, epsilon: eps }),
  ddof1_eps8: () => ({ ddof: 1 as const, epsilon: 1e-8 }),
};

describe("group advantages", () => {
  it("agree with the reference in every form", () => {
    let compared = 0;
    for (const one of casesOf("group_advantages"))
      for (const type of FLOATS)
        for (const [form, wanted] of Object.entries(one.expected)) {
          const options = FORMS[form as keyof typeof FORMS](one.inputs.eps as number);
          const rewards = type.from(one.inputs.rewards?.data ?? []);
          const groupSize = one.inputs.group_size as number;
          const { advantages } = onAll(
            (choice) => groupAdvantages({ rewards, groupSize }, { ...options, ...choice }),
            (r) => [r.advantages],
          );
          expectNear(advantages, wanted.data, one, type);
          compared++;
        }
    expect(compared).toBeGreaterThan(20);
  });

  it("of one group have the published values", () => {
    const rewards = Float64Array.of(1, 0.5, 0.8);
    const plain = groupAdvantages({ rewards }).advantages;
    const estimate = groupAdvantages({ rewards }, { ddof: 1, epsilon: 1e-8 }).advantages;
    for (const [k, value] of [1.1355499, -1.2977714, 0.1622214].entries()) expect(plain[k]).toBeCloseTo(value, 7);
    for (const [k, value] of [0.9271726, -1.0596258, 0.1324532].entries()) expect(estimate[k]).toBeCloseTo(value, 7);
  });

  it("have the same bits on every target, for sizes around the vectors' lengths", () => {
    for (const type of FLOATS)
      for (const groupSize of [1, 2, 3, 7, 8, 9, 16, 31, 32, 33, 100]) {
        const rewards = noise(type, 13 * groupSize, 3, 10);
        onAll(
          (choice) => groupAdvantages({ rewards, groupSize }, { ...choice, epsilon: 1e-4 }),
          (r) => [r.advantages],
        );
      }
  });

  it("of a batch are those of its groups", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 20 }),
        fc.array(fc.double({ min: -100, max: 100, noNaN: true }), { maxLength: 100 }),
        (groupSize, values) => {
          const rewards = Float64Array.from(values.slice(0, values.length - (values.length % groupSize)));
          const { advantages } = groupAdvantages({ rewards, groupSize });
          for (let at = 0; at < rewards.length; at += groupSize) {
            const single = groupAdvantages({ rewards: rewards.slice(at, at + groupSize) }).advantages;
            expect(advantages.slice(at, at + groupSize)).toEqual(single);
          }
        },
      ),
      { numRuns: 50 },
    );
  });

  it("are zero for equal rewards, however the mean rounds", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.float({ noNaN: true, noDefaultInfinity: true }),
        (size, value) => {
          for (const type of FLOATS) {
            const { advantages } = groupAdvantages({ rewards: new type(size).fill(value) });
            expect(Array.from(advantages)).toEqual(new Array(size).fill(0));
          }
        },
      ),
      { numRuns: 50 },
    );
  });

  it("keep a NaN within its group", () => {
    const rewards = Float64Array.of(1, Number.NaN, 2, 3, 5, 4);
    const { advantages } = groupAdvantages({ rewards, groupSize: 3 });
    expect(Array.from(advantages.slice(0, 3))).toEqual([Number.NaN, Number.NaN, Number.NaN]);
    expect(Array.from(advantages.slice(3)).every(Number.isFinite)).toBe(true);
  });

  it("fill the caller's array, and are empty without rewards", () => {
    const advantages = new Float32Array(4);
    const result = groupAdvantages({ rewards: Float32Array.of(1, 3, 5, 5), groupSize: 2, out: { advantages } });
    expect(result.advantages).toBe(advantages);
    expect(Array.from(advantages)).toEqual([-1, 1, 0, 0]);
    expect(groupAdvantages({ rewards: new Float32Array(0) }).advantages).toHaveLength(0);
    expect(groupAdvantages({ rewards: new Float64Array(0), groupSize: 4 }).advantages).toHaveLength(0);
  });

  it("use the zero threshold that is given", () => {
    const rewards = Float64Array.of(1, 1 + 1e-6);
    for (const value of groupAdvantages({ rewards }, { zeroBelow: 1e-3 }).advantages) expect(value).toBeCloseTo(0, 30);
    expect(groupAdvantages({ rewards }).advantages[1]).toBeCloseTo(1, 6);
  });

  it("are refused for what does not fit, before anything is written", () => {
    const rewards = Float64Array.of(1, 2, 3, 4);
    const advantages = new Float64Array(4).fill(7);
    const out = { advantages };
    expect(() => groupAdvantages({ rewards, groupSize: 3, out })).toThrow(DataError);
    expect(() => groupAdvantages({ rewards, groupSize: 0, out })).toThrow(/"groupSize" .* it is 0/);
    expect(() => groupAdvantages({ rewards, groupSize: 1, out }, { ddof: 1 })).toThrow(/ddof 0/);
    expect(() => groupAdvantages({ rewards, out }, { ddof: 2 as 1 })).toThrow(/ddof is 2/);
    expect(() => groupAdvantages({ rewards, out }, { epsilon: Number.NaN })).toThrow(/"epsilon" .* it is NaN/);
    expect(() => groupAdvantages({ rewards, out }, { zeroBelow: -1 })).toThrow(/"zeroBelow" .* it is -1/);
    expect(() => groupAdvantages({ rewards, out: { advantages: new Float64Array(3) } })).toThrow(/asks for 4/);
    const other = new Float32Array(4) as unknown as Float64Array;
    expect(() => groupAdvantages({ rewards, out: { advantages: other } })).toThrow(/Float32Array/);
    expect(() => groupAdvantages({ rewards: [1, 2] as unknown as Float64Array })).toThrow(/is an Array/);
    expect(Array.from(advantages)).toEqual([7, 7, 7, 7]);
  });
});
