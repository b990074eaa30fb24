/**
 * @file asin, acos, atan and atan2 in f32.
 *
 * One odd polynomial each, on |x| <= 1/2 for asin and on |x| <= 1 for atan; the rest of the range is folded onto it
 * (asin x = pi/2 - 2 asin sqrt((1 - x) / 2), atan x = pi/2 - atan 1/x). Multiples of pi/2 are added in two parts.
 */
import type { Builder } from "../ir/build.ts";
import type { Expr } from "../ir/nodes.ts";
import {
  abs,
  add,
  binary,
  bits,
  div,
  eq,
  f32,
  gt,
  int,
  lt,
  mul,
  neg,
  polynomial,
  select,
  sqrt,
  sub,
  withSignOf,
} from "./common.ts";

/** pi / 2 = high + low. */
const HALF_PI = f32(1.5707963705062866);
const HALF_PI_LOW = f32(-4.371138828673793e-8);
const PI = f32(3.1415927410125732);
const PI_LOW = f32(-8.742277657347586e-8);
/** (asin x / x - 1) / x^2 in x^2. */
const ASIN = [0.16666752099990845, 0.07495306432247162, 0.045469772070646286, 0.02418076992034912, 0.04216643050312996];
/** (atan x / x - 1) / x^2 in x^2. */
const ATAN = [
  -0.33333152532577515, 0.19993767142295837, -0.14211000502109528, 0.10665755718946457, -0.07551615685224533,
  0.04320403188467026, -0.016362672671675682, 0.00291927601210773,
];

/** |x| > 1/2, the folded argument's square z and root s, and the polynomial's part of asin s. */
function folded(b: Builder, a: Expr): { large: Expr; s: Expr; rest: Expr } {
  const large = b.let("large", gt(a, f32(0.5)));
  const half = b.let("h", mul(sub(f32(1), a), f32(0.5)));
  const z = b.let("z", select(large, half, mul(a, a)));
  const s = b.let("s", select(large, sqrt(half), a));
  return { large, s, rest: b.let("p", mul(mul(s, z), polynomial(z, ASIN, b.let("zz", mul(z, z))))) };
}

export function asin32(b: Builder, x: Expr): Expr {
  const a = b.let("a", abs(x));
  const { large, s, rest } = folded(b, a);
  const twice = b.let("t", add(s, s));
  const main = b.let("m", sub(HALF_PI, twice));
  const lost = sub(sub(HALF_PI, main), twice);
  const reflected = add(main, sub(lost, sub(add(rest, rest), HALF_PI_LOW)));
  return withSignOf(select(large, reflected, add(s, rest)), x);
}

export function acos32(b: Builder, x: Expr): Expr {
  const { large, s, rest } = folded(b, b.let("a", abs(x)));
  const sum = b.let("y", add(s, rest));
  const twice = b.let("t", add(sum, sum));
  const negative = b.let("negative", lt(x, f32(0)));
  const outer = select(negative, sub(PI, sub(twice, PI_LOW)), twice);
  const inner = sub(HALF_PI, sub(select(negative, neg(sum), sum), HALF_PI_LOW));
  return select(large, outer, inner);
}

/** atan z for z from 0 to 1. */
function atanCore(b: Builder, z: Expr): Expr {
  const square = b.let("s", mul(z, z));
  return add(z, mul(mul(z, square), polynomial(square, ATAN)));
}

export function atan32(b: Builder, x: Expr): Expr {
  const a = b.let("a", abs(x));
  const large = b.let("large", gt(a, f32(1)));
  const y = b.let("y", atanCore(b, b.let("z", select(large, div(f32(1), a), a))));
  return withSignOf(select(large, sub(HALF_PI, sub(y, HALF_PI_LOW)), y), x);
}

/** The angle of (x, y) from the smaller over the larger of the two; a quotient of equal infinities counts as 1. */
export function atan2_32(b: Builder, y: Expr, x: Expr): Expr {
  const ay = b.let("ay", abs(y));
  const ax = b.let("ax", abs(x));
  const steep = b.let("steep", gt(ay, ax));
  const smaller = b.let("small", select(steep, ax, ay));
  const larger = b.let("large", select(steep, ay, ax));
  const quotient = div(smaller, larger);
  const z = b.let("z", select(eq(ax, ay), select(eq(ax, f32(0)), f32(0), f32(1)), quotient));
  const angle = b.let("y", atanCore(b, z));
  const behind = b.let("behind", lt(bits(x), int(0)));
  const turned = select(binary("ne", steep, behind), neg(angle), angle);
  const high = select(steep, HALF_PI, select(behind, PI, f32(0)));
  const low = select(steep, HALF_PI_LOW, select(behind, PI_LOW, f32(0)));
  return withSignOf(add(high, add(turned, low)), y);
}
