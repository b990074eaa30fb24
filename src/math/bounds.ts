/**
 * @file How far each function may be from the exact value, in units in the last place of the result, and where.
 *
 * A bound of 0 means exact, 0.5 correctly rounded. f32 bounds of functions of one argument were established on all
 * 2^32 of them, those of two on random and edge pairs, f64 bounds on random arguments with a margin; the tests measure
 * against this table, and hold "fused" numerics to it too. `range` is where the function is a finite real: there the
 * bound holds for every argument, denormals and huge ones included, overflow aside. For results below the smallest
 * normal number the unit is the smallest denormal.
 */
import type { MathName } from "./common.ts";

export interface Bound {
  readonly range: string;
  readonly f32: number;
  readonly f64: number;
}

export const BOUNDS: { readonly [N in MathName]: Bound } = {
  sin: { range: "all x", f32: 2, f64: 1.2 },
  cos: { range: "all x", f32: 2, f64: 1.2 },
  tan: { range: "all x", f32: 1.9, f64: 2 },
  asin: { range: "-1 to 1", f32: 1.2, f64: 1.4 },
  acos: { range: "-1 to 1", f32: 1.2, f64: 1.4 },
  atan: { range: "all x", f32: 1.8, f64: 2 },
  atan2: { range: "all y, x", f32: 1.9, f64: 2 },
  exp: { range: "all x", f32: 1.1, f64: 1.2 },
  exp2: { range: "all x", f32: 1.4, f64: 1.4 },
  expm1: { range: "all x", f32: 1.9, f64: 2 },
  log: { range: "x > 0", f32: 1.4, f64: 1 },
  log1p: { range: "x > -1", f32: 1.9, f64: 1.7 },
  log2: { range: "x > 0", f32: 1.8, f64: 1.1 },
  log10: { range: "x > 0", f32: 1.7, f64: 1.1 },
  pow: { range: "x > 0 or whole y", f32: 0.6, f64: 1.6 },
  tanh: { range: "all x", f32: 3.2, f64: 1.5 },
  sinh: { range: "all x", f32: 1.8, f64: 1.8 },
  cosh: { range: "all x", f32: 1.6, f64: 1.6 },
  sigmoid: { range: "all x", f32: 1.8, f64: 1.9 },
  rsqrt: { range: "x > 0", f32: 1.5, f64: 1.5 },
  cbrt: { range: "all x", f32: 1.1, f64: 0.8 },
  hypot: { range: "two arguments; f64 adds 0.5 for each further one", f32: 0.51, f64: 1.4 },
  round: { range: "all x", f32: 0, f64: 0 },
  sign: { range: "all x", f32: 0, f64: 0 },
};
