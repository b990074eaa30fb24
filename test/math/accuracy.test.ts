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

/** The largest error; results that are not numbers of moderate size must be equal outright. */
function worstOf(
  got: TypedArray,
  inputs: readonly TypedArray[],
  expected: (x: number, y: number) => number,
  finite: (got: number, want: number, x: number, y: number) => number,
): Worst {
  const worst: Worst = { error: 0, at: "" };
  for (let i = 0; i < got.length; i++) {
    const x = inputs[0]?.[i] as number;
    const y = (inputs[1]?.[i] ?? 0) as number;
    const value = got[i] as number;
    const want = expected(x, y);
    const plain = Number.isFinite(want) && want !== 0 && Number.isFinite(x) && Number.isFinite(y);
    const error = plain && Number.isFinite(value) ? finite(value, want, x, y) : Object.is(value, want) ? 0 : Infinity;
    if (error > worst.error) {
      worst.error = error;
      worst.at = `f(${shown(x)}, ${shown(y)}) = ${shown(value)}, not ${shown(want)}`;
    }
  }
  return worst;
}

/** Values beyond the largest f32 are infinite there; those below half the smallest are zeros. */
const overflow32 = (x: number): number => {
  const rounded = Math.fround(x);
  return Number.isFinite(rounded) && rounded !== 0 ? x : rounded;
};

describe.each(["unfused", "fused"] as const)("f32, %s", (numerics) => {
  const count = numerics === "fused" ? FUSED_COUNT : F32_COUNT;
  it.each(NAMES)("%s", (name) => {
    const inputs = inputsFor(name, "f32", count);
    const got = evaluate({ [name]: MATH[name] }, "f32", inputs, numerics)[name] as TypedArray;
    const inF64 = mathF64(name);
    const exact = (x: number, y: number): number => overflow32(inF64(x, y));
    const worst = worstOf(got, inputs, exact, (value, want) => Math.abs(value - want) / ulp32(want));
    expect(worst.error, worst.at).toBeLessThanOrEqual(BOUNDS[name].f32);
  });
});

describe("f64", () => {
  it.each(NAMES)("%s", (name) => {
    const inputs = inputsFor(name, "f64", F64_COUNT);
    const got = evaluate({ [name]: MATH[name] }, "f64", inputs)[name] as TypedArray;
    const worst = worstOf(got, inputs, mathF64(name), (value, want, x, y) =>
      errorInUlps(REFERENCES[name], value, want, x, y),
    );
    expect(worst.error, worst.at).toBeLessThanOrEqual(BOUNDS[name].f64);
  });
});
