/**
 * @file Math.round, Math.sign and JavaScript's conversions to 32-bit integers, for f32 and f64 alike. All are exact.
 */

import type { Builder } from "../ir/build.ts";
import { constant, unary } from "../ir/build.ts";
import type { Expr } from "../ir/nodes.ts";
import { convert, floor, ge, gt, lt, mul, select, sub } from "./common.ts";

/** Halves go up, as in JavaScript; -0.5 and what rounds up to zero from below give -0. */
export function round(b: Builder, x: Expr): Expr {
  const up = b.let("up", unary("ceil", x));
  return select(gt(sub(up, constant(x.dtype, 0.5)), x), sub(up, constant(x.dtype, 1)), up);
}

/** 1, -1, or x itself when it is a zero or NaN. */
export function sign(_b: Builder, x: Expr): Expr {
  const zero = constant(x.dtype, 0);
  return select(gt(x, zero), constant(x.dtype, 1), select(lt(x, zero), constant(x.dtype, -1), x));
}

/** x modulo 2^32, truncated, in [0, 2^32); NaN for infinities and NaN. Every step is exact. */
function modulo(b: Builder, x: Expr): Expr {
  const whole = b.let("whole", unary("trunc", x));
  const turns = floor(mul(whole, constant(x.dtype, 2 ** -32)));
  return b.let("rest", sub(whole, mul(turns, constant(x.dtype, 2 ** 32))));
}

/** JavaScript's ToInt32 (`x | 0`): modulo 2^32 for any size; NaN and infinities give 0. */
export function toInt32(b: Builder, x: Expr): Expr {
  if (x.dtype !== "f32" && x.dtype !== "f64") return convert("i32", x);
  const rest = modulo(b, x);
  const half = constant(x.dtype, 2 ** 31);
  return convert("i32", select(ge(rest, half), sub(rest, constant(x.dtype, 2 ** 32)), rest));
}

/** JavaScript's ToUint32 (`x >>> 0`). */
export function toUint32(b: Builder, x: Expr): Expr {
  return convert("u32", toInt32(b, x));
}
