/**
 * @file How far each function may be from the exact value, in units in the last place of the result.
 *
 * A bound of 0 means exact, 0.5 correctly rounded. f32 bounds were established on all 2^32 arguments (functions of two
 * on random and edge pairs), f64 bounds on random ones with a margin; the tests measure against this table. All hold
 * for every finite argument, denormals and huge ones included; for results below the smallest normal number the unit is
 * the smallest denormal.
 */
import type { MathName } from "./common.ts";

export interface Bound {
  readonly f32: number;
  readonly f64: number;
}

export const BOUNDS: { readonly [N in MathName]: Bound } = {
  sin: { f32: 2, f64: 1.2 },
  cos: { f32: 2, f64: 1.2 },
  tan: { f32: 1.9, f64: 2 },
  asin: { f32: 1.3, f64: 1.4 },
  acos: { f32: 1.3, f64: 1.4 },
  atan: { f32: 1.8, f64: 2 },
  atan2: { f32: 1.9, f64: 2 },
  exp: { f32: 1.1, f64: 1.2 },
  exp2: { f32: 1.4, f64: 1.4 },
  expm1: { f32: 1.9, f64: 2 },
  log: { f32: 1.3, f64: 1 },
  log1p: { f32: 1.9, f64: 1.7 },
  log2: { f32: 1.6, f64: 1.1 },
  log10: { f32: 1.6, f64: 1.1 },
  pow: { f32: 0.6, f64: 1.6 },
  tanh: { f32: 1.9, f64: 1.5 },
  sinh: { f32: 1.8, f64: 1.8 },
  cosh: { f32: 1.6, f64: 1.6 },
  sigmoid: { f32: 2, f64: 2 },
  rsqrt: { f32: 1.5, f64: 1.5 },
  cbrt: { f32: 1.1, f64: 0.8 },
  hypot: { f32: 0.51, f64: 1.4 },
  round: { f32: 0, f64: 0 },
  sign: { f32: 0, f64: 0 },
};
