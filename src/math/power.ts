/**
 * @file What pow needs for both float types: the cases that JavaScript defines, and constant exponents.
 */

import type { Builder } from "../ir/build.ts";
import { constant } from "../ir/build.ts";
import type { Expr } from "../ir/nodes.ts";
import {
  abs,
  and,
  binary,
  div,
  eq,
  flipSign,
  floor,
  gt,
  lt,
  type Macro2,
  mul,
  not,
  select,
  signBit,
  sqrt,
} from "./common.ts";

/**
 * `magnitude` is |x|^y, right for zeros, infinities, NaN and |x| = 1. This adds the sign of odd integer powers, NaN
 * for roots of negative numbers, and x^0 = 1 for every x.
 */
export function withPowerSpecials(b: Builder, x: Expr, y: Expr, magnitude: Expr): Expr {
  const zero = constant(x.dtype, 0);
  const half = b.let("half", mul(y, constant(x.dtype, 0.5)));
  const integer = b.let("integer", eq(floor(y), y));
  const odd = and(integer, binary("ne", floor(half), half));
  const signed = flipSign(magnitude, select(odd, signBit(x), constant("i32", 0)));
  const negative = and(lt(x, zero), gt(x, constant(x.dtype, -Infinity)));
  const real = select(and(negative, not(integer)), constant(x.dtype, Number.NaN), signed);
  return select(eq(y, zero), constant(x.dtype, 1), real);
}

/** Powers that are one correctly rounded operation (or none), by exponent. */
const SIMPLE = new Map<number, (b: Builder, x: Expr) => Expr>([
  [0, (_, x) => constant(x.dtype, 1)],
  [1, (_, x) => x],
  [2, (b, x) => square(b.let("x", x))],
  [-1, (_, x) => div(constant(x.dtype, 1), x)],
  [0.5, (b, x) => squareRoot(b.let("x", x))],
]);
const square = (x: Expr): Expr => mul(x, x);
/** Differs from sqrt at -0 and -Infinity, where it gives 0 and Infinity. */
const squareRoot = (x: Expr): Expr => select(eq(x, constant(x.dtype, -Infinity)), abs(x), abs(sqrt(x)));

/** Takes the short way where the exponent is a constant that has one. */
export function simplePowers(general: Macro2): Macro2 {
  return (b, x, y) => {
    const simple = y.kind === "const" ? SIMPLE.get(y.value) : undefined;
    return simple ? simple(b, x) : general(b, x, y);
  };
}
