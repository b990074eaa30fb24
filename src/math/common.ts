/**
 * @file What the elementary functions share: literals, polynomials, clamps and sign handling as IR.
 *
 * Everything here is branch-free and the same for f32 and f64 unless the name says otherwise. Products and sums are
 * rounded one by one, unless a Program asks for fused numerics: then a pass fuses the same ones for every target.
 */

import type { Builder } from "../ir/build.ts";
import { add, and, binary, constant, convert, mul, or, select, sub, unary } from "../ir/build.ts";
import type { Const, Expr } from "../ir/nodes.ts";

/** A function of one or more scalars, expanded in place. */
export type Macro = (b: Builder, ...xs: Expr[]) => Expr;
export type MathName =
  | "sin"
  | "cos"
  | "tan"
  | "asin"
  | "acos"
  | "atan"
  | "atan2"
  | "exp"
  | "exp2"
  | "expm1"
  | "log"
  | "log1p"
  | "log2"
  | "log10"
  | "pow"
  | "tanh"
  | "sinh"
  | "cosh"
  | "sigmoid"
  | "rsqrt"
  | "cbrt"
  | "hypot"
  | "round"
  | "sign";

export type Macro1 = (b: Builder, x: Expr) => Expr;
export type Macro2 = (b: Builder, x: Expr, y: Expr) => Expr;

export const f32 = (value: number): Const => constant("f32", value);
export const f64 = (value: number): Const => constant("f64", value);
export const int = (value: number): Const => constant("i32", value);

export const neg = (x: Expr): Expr => unary("neg", x);
export const abs = (x: Expr): Expr => unary("abs", x);
export const sqrt = (x: Expr): Expr => unary("sqrt", x);
export const floor = (x: Expr): Expr => unary("floor", x);
export const bits = (x: Expr): Expr => unary("bits", x);
export const fromBits = (x: Expr): Expr => unary("fromBits", x);
export const highWord = (x: Expr): Expr => unary("highWord", x);
export const lowWord = (x: Expr): Expr => unary("lowWord", x);
export const fromWords = (high: Expr, low: Expr): Expr => binary("fromWords", high, low);
export const shl = (x: Expr, count: number): Expr => binary("shl", x, constant(x.dtype, count));
export const shr = (x: Expr, count: number): Expr => binary("shr", x, constant(x.dtype, count));
export const xor = (x: Expr, y: Expr): Expr => binary("xor", x, y);
export const eq = (x: Expr, y: Expr): Expr => binary("eq", x, y);
export const lt = (x: Expr, y: Expr): Expr => binary("lt", x, y);
export const le = (x: Expr, y: Expr): Expr => binary("le", x, y);
export const gt = (x: Expr, y: Expr): Expr => binary("gt", x, y);
export const ge = (x: Expr, y: Expr): Expr => binary("ge", x, y);
export { div, not } from "../ir/build.ts";
export { add, and, binary, convert, mul, or, select, sub };

/** Limits are constants other than zero: vector targets then need one instruction. NaN stays NaN. */
export const atMost = (x: Expr, limit: number): Expr => binary("min", x, constant(x.dtype, limit));
export const atLeast = (x: Expr, limit: number): Expr => binary("max", x, constant(x.dtype, limit));
/** x between two limits. */
export const clamp = (x: Expr, low: number, high: number): Expr => atLeast(atMost(x, high), low);

/**
 * c[0] + c[1] x + c[2] x^2 + ... by Horner's rule. `x` is used many times: name it first. Given x^2 as well, even and
 * odd powers are summed apart: as many operations, half as long a chain of them, which is what counts when vector
 * code waits for results more than for execution units.
 */
export function polynomial(x: Expr, coefficients: readonly number[], square?: Expr): Expr {
  if (square && coefficients.length > 2) {
    const even = coefficients.filter((_, k) => k % 2 === 0);
    const odd = coefficients.filter((_, k) => k % 2 === 1);
    return add(polynomial(square, even), mul(polynomial(square, odd), x));
  }
  let sum: Expr | undefined;
  for (const coefficient of coefficients.toReversed()) {
    const c = constant(x.dtype, coefficient);
    sum = sum === undefined ? c : add(mul(sum, x), c);
  }
  return sum ?? constant(x.dtype, 0);
}

/** By Horner's rule, with 1 as the coefficient of the highest power. */
export function monicPolynomial(x: Expr, coefficients: readonly number[]): Expr {
  let sum: Expr = x;
  for (const [k, coefficient] of coefficients.toReversed().entries()) {
    sum = add(k === 0 ? sum : mul(sum, x), constant(x.dtype, coefficient));
  }
  return sum;
}

const SIGN_BIT = int(-0x80000000);

/** The sign bit of x as an i32 with all other bits clear. */
export const signBit = (x: Expr): Expr => and(x.dtype === "f32" ? bits(x) : highWord(x), SIGN_BIT);

/** x with its sign bit flipped where `sign` (an i32) has its highest bit set; the other bits of `sign` are zero. */
export function flipSign(x: Expr, sign: Expr): Expr {
  if (x.dtype === "f32") return fromBits(xor(bits(x), sign));
  return fromWords(xor(highWord(x), sign), lowWord(x));
}

/** A value that is not negative, given the sign of `from`. `x` is used twice when it is an f64: name it first. */
export const withSignOf = (x: Expr, from: Expr): Expr => flipSign(x, signBit(from));

/** The first 26 bits of an f64's 53: products of two such numbers are exact. `x` is used twice: name it first. */
export const upperBits = (x: Expr): Expr => fromWords(highWord(x), and(lowWord(x), int(-0x8000000)));
