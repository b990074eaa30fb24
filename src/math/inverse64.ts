/**
 * @file asin, acos, atan and atan2 in f64.
 *
 * As in f32; atan is folded once more, onto |z| <= tan(pi/8), by atan x = pi/4 + atan((x - 1) / (x + 1)), with the
 * numerator and denominator of all cases chosen before the one division.
 */
import type { Builder } from "../ir/build.ts";
import type { Const, Expr } from "../ir/nodes.ts";
import {
  abs,
  add,
  binary,
  div,
  eq,
  f64,
  gt,
  highWord,
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

/** Multiples of pi / 4 as the nearest f64 and what that misses. */
interface Angle {
  readonly high: Const;
  readonly low: Const;
}
const angle = (high: number, low: number): Angle => ({ high: f64(high), low: f64(low) });
const ZERO = angle(0, 0);
const QUARTER = angle(Math.PI / 4, 3.061616997868383e-17);
const HALF = angle(Math.PI / 2, 6.123233995736766e-17);
const THREE_QUARTERS = angle((3 * Math.PI) / 4, 9.184850993605148e-17);
const WHOLE = angle(Math.PI, 1.2246467991473532e-16);
const TAN_EIGHTH = f64(Math.SQRT2 - 1);
const TAN_THREE_EIGHTHS = f64(Math.SQRT2 + 1);
/** (asin x / x - 1) / x^2 in x^2, for |x| <= 1/2. */
const ASIN = [
  0.1666666666666541, 0.07500000000336596, 0.04464285682861354, 0.030381959126824825, 0.02237175826571869,
  0.017359701844713672, 0.013885261625647797, 0.012169054873876966, 0.006528596315410241, 0.019526704920314678,
  -0.016222001783202617, 0.03191084982494357,
];
/** (atan x / x - 1) / x^2 in x^2, for |x| <= tan(pi/8). */
const ATAN = [
  -0.333333333333332, 0.19999999999953677, -0.142857142802002, 0.11111110783532757, -0.09090897758837922,
  0.0769206023625202, -0.0666310441731923, 0.058478932712961375, -0.05039329211642926, 0.0380653626274906,
  -0.01790828851460872,
];

/** |x| > 1/2, the root s of the folded argument's square z, and the polynomial's part of asin s. */
function folded(b: Builder, a: Expr): { large: Expr; s: Expr; rest: Expr } {
  const large = b.let("large", gt(a, f64(0.5)));
  const half = b.let("h", mul(sub(f64(1), a), f64(0.5)));
  const z = b.let("z", select(large, half, mul(a, a)));
  const s = b.let("s", select(large, sqrt(half), a));
  return { large, s, rest: b.let("p", mul(mul(s, z), polynomial(z, ASIN, b.let("zz", mul(z, z))))) };
}

export function asin64(b: Builder, x: Expr): Expr {
  const { large, s, rest } = folded(b, b.let("a", abs(x)));
  const twice = b.let("t", add(s, s));
  const main = b.let("m", sub(HALF.high, twice));
  const lost = sub(sub(HALF.high, main), twice);
  const reflected = add(main, sub(lost, sub(add(rest, rest), HALF.low)));
  return withSignOf(b.let("y", select(large, reflected, add(s, rest))), x);
}

export function acos64(b: Builder, x: Expr): Expr {
  const { large, s, rest } = folded(b, b.let("a", abs(x)));
  const sum = b.let("y", add(s, rest));
  const twice = b.let("t", add(sum, sum));
  const negative = b.let("negative", lt(x, f64(0)));
  const outer = select(negative, sub(WHOLE.high, sub(twice, WHOLE.low)), twice);
  const inner = sub(HALF.high, sub(select(negative, neg(sum), sum), HALF.low));
  return select(large, outer, inner);
}

/** atan z - z for |z| <= tan(pi/8). */
function bend(b: Builder, z: Expr): Expr {
  const square = b.let("s", mul(z, z));
  return mul(mul(z, square), polynomial(square, ATAN, b.let("ss", mul(square, square))));
}

export function atan64(b: Builder, x: Expr): Expr {
  const a = b.let("a", abs(x));
  const steep = b.let("steep", gt(a, TAN_THREE_EIGHTHS));
  const middle = b.let("middle", gt(a, TAN_EIGHTH));
  const pick = (first: Expr, second: Expr, third: Expr): Expr => select(steep, first, select(middle, second, third));
  const z = b.let("z", div(pick(f64(-1), sub(a, f64(1)), a), pick(a, add(a, f64(1)), f64(1))));
  const tail = add(bend(b, z), pick(HALF.low, QUARTER.low, ZERO.low));
  return withSignOf(b.let("y", add(pick(HALF.high, QUARTER.high, ZERO.high), add(z, tail))), x);
}

/**
 * With s and l the smaller and larger of |x| and |y|, z = s / l or, near the diagonal, (s - l) / (s + l); then the
 * angle is a multiple of pi / 4 plus or minus atan z. Very large arguments are scaled down so that s + l is finite.
 */
export function atan2_64(b: Builder, y: Expr, x: Expr): Expr {
  const ay = b.let("ay", abs(y));
  const ax = b.let("ax", abs(x));
  const steep = b.let("steep", gt(ay, ax));
  const scale = b.let("scale", select(gt(select(steep, ay, ax), f64(2 ** 1021)), f64(0.25), f64(1)));
  const smaller = b.let("small", mul(select(steep, ax, ay), scale));
  const larger = b.let("large", mul(select(steep, ay, ax), scale));
  const middle = b.let("middle", gt(smaller, mul(larger, TAN_EIGHTH)));
  const equal = b.let("equal", eq(ax, ay));
  const numerator = select(equal, f64(0), select(middle, sub(smaller, larger), smaller));
  const denominator = select(equal, f64(1), select(middle, add(smaller, larger), larger));
  const z = b.let("z", div(numerator, denominator));
  const behind = b.let("behind", lt(highWord(x), int(0)));
  const back = b.let("back", binary("ne", steep, behind));
  const diagonal = b.let("diagonal", select(equal, binary("ne", ax, f64(0)), middle));
  const pick = (part: keyof Angle): Expr =>
    select(
      diagonal,
      select(behind, THREE_QUARTERS[part], QUARTER[part]),
      select(steep, HALF[part], select(behind, WHOLE[part], ZERO[part])),
    );
  const turned = b.let("t", select(back, neg(z), z));
  const tail = add(bend(b, turned), pick("low"));
  return withSignOf(b.let("y", add(pick("high"), add(turned, tail))), y);
}
