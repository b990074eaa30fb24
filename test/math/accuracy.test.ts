/**
 * Error bounds: every function stays within src/math/bounds.ts. f32 against f64 Math, f64 against BigInt arithmetic.
 */
import { describe, expect, it } from "vitest";
import type { TypedArray } from "../../src/ir/interpret.ts";
import { BOUNDS, MATH, type MathName } from "../../src/math/index.ts";
import { errorInUlps, REFERENCES } from "./reference.ts";
import { argumentsFor, type Float, pairsFor } from "./samples.ts";
import { evaluate, mathF64, shown } from "./support.ts";

const FULL = process.env.LOCKSTEP_FULL !== undefined;
const F32_COUNT = FULL ? 5_000_000 : 100_000;
const F64_COUNT = FULL ? 20_000 : 700;
const FUSED_COUNT = FULL ? 500_000 : 20_000;

const TWO: readonly MathName[] = ["atan2", "pow", "hypot"];
const NAMES = Object.keys(REFERENCES) as (keyof typeof REFERENCES)[];
function inputsFor(name: MathName, dtype: Float, count: number): TypedArray[] {
  return TWO.includes(name) ? pairsFor(dtype, count, 7) : [argumentsFor(dtype, count, 5)];
}

/** The unit in the last place of an f32 the size of x. */
const ulp32 = (x: number): number => 2 ** (Math.max(Math.floor(Math.log2(Math.abs(x))), -126) - 23);

interface Worst {
  error: number;
  at: string;
}

/** Zeros and infinities as arguments give exact limits, to be met exactly; so do results that are none of a number. */
const isEdge = (x: number): boolean => x === 0 || !Number.isFinite(x);

/** The largest error; `distance` measures it for finite results of arguments that are no edges. */
function worstOf(
  dtype: Float,
  got: TypedArray,
  inputs: readonly TypedArray[],
  expected: (x: number, y: number) => number,
  distance: (got: number, want: number, x: number, y: number) => number,
): Worst {
  const worst: Worst = { error: 0, at: "" };
  const rounded = dtype === "f32" ? Math.fround : (x: number): number => x;
  for (let i = 0; i < got.length; i++) {
    const operands = inputs.map((input) => input[i] as number);
    const [x = 0, y = 0] = operands;
    const value = got[i] as number;
    const want = expected(x, y);
    const exact = operands.some(isEdge) || isEdge(want);
    const wrong = exact ? !Object.is(value, rounded(want)) : Number.isNaN(value) || signOf(value) !== signOf(want);
    const error = wrong ? Number.POSITIVE_INFINITY : exact ? 0 : distance(value, want, x, y);
    if (error > worst.error) {
      worst.error = error;
      worst.at = `f(${operands.map(shown).join(", ")}) = ${shown(value)}, not ${shown(want)}`;
    }
  }
  return worst;
}
const signOf = (x: number): number => (x < 0 || Object.is(x, -0) ? -1 : 1);

/** Infinities count as the next power of two after the largest number. */
function distance32(got: number, want: number): number {
  const limit = (x: number): number => Math.min(Math.max(x, -(2 ** 128)), 2 ** 128);
  return Math.abs(limit(got) - limit(want)) / ulp32(limit(want));
}

describe.each(["unfused", "fused"] as const)("f32, %s", (numerics) => {
  const count = numerics === "fused" ? FUSED_COUNT : F32_COUNT;
  it.each(NAMES)("%s", (name) => {
    const inputs = inputsFor(name, "f32", count);
    const got = evaluate({ [name]: MATH[name] }, "f32", inputs, numerics)[name] as TypedArray;
    const worst = worstOf("f32", got, inputs, mathF64(name), distance32);
    expect(worst.error, worst.at).toBeLessThanOrEqual(BOUNDS[name].f32);
  });
});

/** Its polynomials alone see to it, without a clamp of the result: so every argument from 8 to 9 is tried. */
it.each(["unfused", "fused"] as const)("tanh in f32 reaches 1 and never exceeds it, %s", (numerics) => {
  const x = new Float32Array(2 ** 20).map((_, k) => 8 + k * 2 ** -20);
  const { tanh } = evaluate({ tanh: MATH.tanh }, "f32", [x], numerics);
  expect((tanh as Float32Array).findIndex((y) => y > 1)).toBe(-1);
  expect((tanh as Float32Array).at(-1)).toBe(1);
});

describe("f64", () => {
  it.each(NAMES)("%s", (name) => {
    const inputs = inputsFor(name, "f64", F64_COUNT);
    const got = evaluate({ [name]: MATH[name] }, "f64", inputs)[name] as TypedArray;
    const worst = worstOf("f64", got, inputs, mathF64(name), (value, want, x, y) =>
      Number.isFinite(value) ? errorInUlps(REFERENCES[name], value, want, x, y) : Number.POSITIVE_INFINITY,
    );
    expect(worst.error, worst.at).toBeLessThanOrEqual(BOUNDS[name].f64);
  });
});
