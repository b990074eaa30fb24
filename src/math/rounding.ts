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

/** From [0, 2^32) to [-2^31, 2^31), by taking 2^32 from the upper half. */
const folded = (x: Expr): Expr => select(ge(x, constant(x.dtype, 2 ** 31)), sub(x, constant(x.dtype, 2 ** 32)), x);

/** x - 2^32 floor(x / 2^32), exactly; NaN for infinities. `x` is a whole number. */
function modulo(b: Builder, x: Expr): Expr {
  const turns = floor(mul(x, constant(x.dtype, 2 ** -32)));
  return b.let("rest", sub(x, mul(turns, constant(x.dtype, 2 ** 32))));
}

/**
 * JavaScript's ToInt32 (`x | 0`): modulo 2^32 for any size; NaN and infinities give 0. In f32 only numbers from 2^31
 * on are taken modulo 2^32: all of them are whole, while -1 has no f32 neighbour 2^32 higher.
 */
export function toInt32(b: Builder, operand: Expr): Expr {
  if (operand.dtype !== "f32" && operand.dtype !== "f64") return convert("i32", operand);
  const x = b.let("x", operand);
  if (x.dtype === "f64") return convert("i32", folded(modulo(b, b.let("whole", unary("trunc", x)))));
  const small = lt(unary("abs", x), constant("f32", 2 ** 31));
  return convert("i32", select(small, x, folded(modulo(b, x))));
}

/** JavaScript's ToUint32 (`x >>> 0`). */
export function toUint32(b: Builder, x: Expr): Expr {
  return convert("u32", toInt32(b, x));
}
