/**
 * @file sin, cos and tan in f32.
 *
 * x = k pi/2 + r with |r| <= pi/4: up to |x| = 199 by three subtractions whose products are exact or too small to
 * matter, beyond by the exact reduction. sin and cos of one argument share all but their last operations.
 */

import type { Builder } from "../ir/build.ts";
import { get } from "../ir/build.ts";
import type { Expr } from "../ir/nodes.ts";
import {
  abs,
  add,
  and,
  bits,
  convert,
  div,
  eq,
  f32,
  f64,
  flipSign,
  gt,
  int,
  mul,
  polynomial,
  select,
  shl,
  signBit,
  sub,
  xor,
} from "./common.ts";
import { reduceLarge } from "./reduction.ts";

/**
 * Adding this rounds to a multiple n of STEP, and the integer n / STEP is then in the low bits of the sum. STEP is not 1
 * because JavaScript engines take sums of integers for integers, and convert there and back.
 */
const STEP = 2 ** -23;
const ROUNDER = f32(1.5);
const LARGE = f32(199);
const TWO_OVER_PI = f32((2 / Math.PI) * STEP);
/** pi / 2 in three parts; the first two have 17 bits, so that their products with n / STEP up to 127 are exact. */
const PART1 = f32(1.57080078125 / STEP);
const PART2 = f32(-4.45445766672492e-6 / STEP);
const PART3 = f32(2.5633440682570896e-12 / STEP);
/** (sin r / r - 1) / r^2, (cos r - 1) / r^2 and (tan r / r - 1) / r^2 in r^2. */
const SIN = [-0.16666655242443085, 0.008332189172506332, -0.0001951828453456983];
const COS = [-0.49999895691871643, 0.041656333953142166, -0.0013598223449662328];
const TAN = [
  0.33333349227905273, 0.13332675397396088, 0.05405891314148903, 0.02128620631992817, 0.01082745660096407,
  9.821674029808491e-5, 0.004372718278318644,
];

interface Reduced {
  /** Its last two bits count quarter turns. */
  readonly quadrant: Expr;
  readonly r: Expr;
  /** What r misses by rounding. */
  readonly low: Expr;
}

/** For x >= 0: the sign is put back at the end, which keeps that of a zero. */
function reduce(b: Builder, x: Expr, withLow: boolean): Reduced {
  const quadrant = b.local("q", "i32");
  const r = b.local("r", "f32");
  const low = b.local("low", "f32");
  const rounded = b.let("k", add(mul(x, TWO_OVER_PI), ROUNDER));
  // -n, so that each step is one fused multiply-add where such are used.
  const n = b.let("n", sub(ROUNDER, rounded));
  const first = b.let("r1", add(x, mul(n, PART1)));
  const second = b.let("c2", mul(n, PART2));
  const middle = b.let("r2", add(first, second));
  const third = b.let("c3", mul(n, PART3));
  b.assign(quadrant, bits(rounded));
  b.assign(r, add(middle, third));
  if (withLow) b.assign(low, add(add(sub(middle, get(r)), third), add(sub(first, middle), second)));
  b.if(gt(x, LARGE), () => {
    const turn = reduceLarge(b, x);
    const angle = b.let("angle", mul(add(turn.high, turn.low), f64(Math.PI / 2)));
    b.assign(quadrant, turn.quadrant);
    b.assign(r, convert("f32", angle));
    if (withLow) b.assign(low, convert("f32", sub(angle, convert("f64", get(r)))));
  });
  return { quadrant: get(quadrant), r: get(r), low: get(low) };
}

/** sin and cos of the reduced angle, whether to exchange them, and the sign bits: of x, and of the quadrant at bit 31. */
interface Parts {
  readonly sine: Expr;
  readonly cosine: Expr;
  readonly even: Expr;
  readonly sign: Expr;
  readonly turns: Expr;
}

/** Shared by the sine and the cosine of one angle. */
const parts = (b: Builder, x: Expr): Parts => b.once("sincos32", x, () => newParts(b, x));

function newParts(b: Builder, x: Expr): Parts {
  const { quadrant, r } = reduce(b, b.let("a", abs(x)), false);
  const square = b.let("s", mul(r, r));
  return {
    sine: b.let("sin", add(r, mul(mul(r, square), polynomial(square, SIN)))),
    cosine: b.let("cos", polynomial(square, [1, ...COS])),
    even: b.let("even", eq(and(quadrant, int(1)), int(0))),
    sign: bits(x),
    turns: b.let("turns", shl(quadrant, 30)),
  };
}

const SIGN = int(-0x80000000);
const sineOf = ({ sine, cosine, even, sign, turns }: Parts): Expr =>
  flipSign(select(even, sine, cosine), and(xor(turns, sign), SIGN));
const cosineOf = ({ sine, cosine, even, turns }: Parts): Expr =>
  flipSign(select(even, cosine, sine), and(add(turns, int(0x40000000)), SIGN));

export const sin32 = (b: Builder, x: Expr): Expr => sineOf(parts(b, x));
export const cos32 = (b: Builder, x: Expr): Expr => cosineOf(parts(b, x));

export function tan32(b: Builder, x: Expr): Expr {
  const { quadrant, r, low } = reduce(b, b.let("a", abs(x)), true);
  const square = b.let("s", mul(r, r));
  const t = b.let(
    "t",
    add(r, add(mul(mul(r, square), polynomial(square, TAN, b.let("ss", mul(square, square)))), low)),
  );
  return flipSign(select(eq(and(quadrant, int(1)), int(0)), t, div(f32(-1), t)), signBit(x));
}
