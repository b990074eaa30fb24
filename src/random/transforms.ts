/**
 * @file From random words to random numbers, as IR; the same on the host in `host.ts`, bit for bit.
 *
 * The logarithm and the sine here are cut to what is needed (positive normal arguments, a quarter turn to both
 * sides) and belong to the generator: numbers drawn from a seed do not change when a function of `math/` does.
 */
import { add, type Builder, binary, constant, convert, i32, mul, or, sub, unary } from "../ir/build.ts";
import type { Expr } from "../ir/nodes.ts";
import { u32 } from "./threefry.ts";

/** The bits of sqrt(1/2): mantissas are taken between this and sqrt(2). */
export const SQRT_HALF_BITS = 0x3f3504f3;
/** (log(1 + f) - f) / f^2 in f. */
export const LOG: readonly number[] = [
  -0.49999991059303284, 0.33333951234817505, -0.25001755356788635, 0.19962070882320404, -0.165705144405365,
  0.14917989075183868, -0.14307482540607452, 0.08734750747680664,
];
/** ln 2 in two parts; the first has 16 bits, so that its product with an exponent is exact. */
export const LN2_HIGH = 0.693145751953125;
export const LN2_LOW = 1.4286068203094173e-6;
/** sin(t pi / 2) / t in t^2, for |t| <= 1. */
export const SINE: readonly number[] = [
  1.5707963705062866, -0.645963728427887, 0.07968968152999878, -0.004673766437917948, 0.00015148513193707913,
];

const f32 = (value: number): Expr => constant("f32", value);

function polynomial(x: Expr, coefficients: readonly number[]): Expr {
  return coefficients.reduceRight<Expr | undefined>(
    (sum, c) => (sum === undefined ? f32(c) : add(mul(sum, x), f32(c))),
    undefined,
  ) as Expr;
}

/** In [0, 1), a multiple of 2^-23: the upper 23 bits of a word. */
export function unitInterval(word: Expr): Expr {
  const pattern = or(binary("shr", word, u32(9)), u32(0x3f800000));
  return sub(unary("fromBits", convert("i32", pattern)), f32(1));
}

/**
 * -log((word + 1/2) / 2^32): 0 to 22.87 (33 ln 2), within 2 units in the last place of the logarithm of the rounded
 * argument. All 32 bits count for small arguments (large results); near 1 arguments are 2^-24 apart.
 */
export function negativeLog(b: Builder, word: Expr): Expr {
  const pattern = b.let("i", unary("bits", add(convert("f32", word), f32(0.5))));
  const exponent = b.let("e", binary("shr", sub(pattern, i32(SQRT_HALF_BITS)), i32(23)));
  const mantissa = sub(pattern, binary("shl", exponent, i32(23)));
  const f = b.let("f", sub(unary("fromBits", mantissa), f32(1)));
  const down = b.let("d", convert("f32", sub(i32(32), exponent)));
  const tail = sub(mul(down, f32(LN2_LOW)), mul(mul(f, f), polynomial(f, LOG)));
  return add(mul(down, f32(LN2_HIGH)), sub(tail, f));
}

/**
 * A standard normal number from two words (Box and Muller): sqrt(-2 log u) sin(theta). An angle within a quarter turn
 * to both sides gives the same distribution as a full turn, and needs one odd polynomial and no cases.
 */
export function normalFrom(b: Builder, word0: Expr, word1: Expr): Expr {
  const radius = unary("sqrt", mul(f32(2), negativeLog(b, word0)));
  const t = b.let("t", mul(convert("f32", convert("i32", word1)), f32(2 ** -31)));
  const square = b.let("s", mul(t, t));
  return mul(radius, mul(t, polynomial(square, SINE)));
}
