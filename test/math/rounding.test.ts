/**
 * What is exact: round, sign, and the conversions to 32-bit integers, against JavaScript's own.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TypedArray } from "../../src/ir/interpret.ts";
import { MATH, type Macro, toInt32, toUint32 } from "../../src/math/index.ts";
import { argumentsFor, edges, type Float } from "./samples.ts";
import { evaluate } from "./support.ts";

const unary =
  (convert: typeof toInt32): Macro =>
  (b, ...[x]) =>
    convert(b, x as NonNullable<typeof x>);
const CASES: { readonly [name: string]: { macro: Macro; js: (x: number) => number } } = {
  round: { macro: MATH.round, js: Math.round },
  sign: { macro: MATH.sign, js: Math.sign },
  toInt32: { macro: unary(toInt32), js: (x) => x | 0 },
  toUint32: { macro: unary(toUint32), js: (x) => x >>> 0 },
};
const MACROS = Object.fromEntries(Object.entries(CASES).map(([name, { macro }]) => [name, macro]));

function check(dtype: Float, inputs: TypedArray): void {
  const got = evaluate(MACROS, dtype, [inputs]);
  for (const [name, { js }] of Object.entries(CASES)) {
    const results = got[name] as TypedArray;
    for (const [i, x] of inputs.entries()) {
      if (!Object.is(results[i], js(x))) expect.fail(`${name}(${x}) is ${results[i]}, not ${js(x)}`);
    }
  }
}

/** Halves, powers of two and their neighbours: where rounding and wrapping go wrong. */
const CRITICAL = Array.from({ length: 70 }, (_, k) => 2 ** (k - 2)).flatMap((p) => [p - 0.5, p, p + 0.5, p - 1, p + 1]);

describe.each(["f32", "f64"] as const)("%s", (dtype) => {
  const make = dtype === "f32" ? Float32Array : Float64Array;
  it("edges", () => check(dtype, new make([...edges(dtype), ...CRITICAL, ...CRITICAL.map((x) => -x)])));
  it("samples", () => check(dtype, argumentsFor(dtype, 100_000, 3)));
  it("any number", () => {
    fc.assert(
      fc.property(fc.array(fc.double(), { minLength: 50, maxLength: 50 }), (xs) => check(dtype, new make(xs))),
      { numRuns: 20 },
    );
  });
});
