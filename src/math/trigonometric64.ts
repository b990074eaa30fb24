/**
 * @file sin, cos and tan in f64.
 *
 * As in f32, with what the reduction rounds off carried along as a second term: x = k pi/2 + r + low. Up to
 * |x| = 1.6 million three parts of pi / 2 are enough, beyond that the exact reduction takes over.
 */
import { type Builder, get } from "../ir/build.ts";
import type { Expr } from "../ir/nodes.ts";
import {
  abs,
  add,
  and,
  div,
  eq,
  f64,
  flipSign,
  gt,
  highWord,
  int,
  lowWord,
  mul,
  polynomial,
  select,
  shl,
  signBit,
  sub,
  upperBits,
  xor,
} from "./common.ts";
import { reduceLarge, type Turn } from "./reduction.ts";

/** Adding this rounds to an integer, which is then in the low word of the sum. */
const ROUNDER = f64(6755399441055744);
const LARGE = f64(1.6e6);
/** pi / 2 in three parts; the first two have 33 bits, so that their products with k below 2^20 are exact. */
const PART1 = f64(1.5707963267341256);
const PART2 = f64(6.077100506303966e-11);
const PART3 = f64(2.0222662487959506e-21);
/** pi / 2 as a sum whose first term has 26 bits, and what that sum misses. */
const HALF_PI_UPPER = f64(1.5707963109016418);
const HALF_PI_REST = f64(1.5893254712295857e-8);
const HALF_PI_LOW = f64(6.123233995736766e-17);
/** (sin r / r - 1) / r^2, (cos r - 1 + r^2 / 2) / r^4 and (tan r / r - 1) / r^2 in r^2. */
const SIN = [
  -0.1666666666666663, 0.00833333333332184, -0.00019841269829358541, 2.7557313538523e-6, -2.505073439081558e-8,
  1.5895433366283122e-10,
];
const COS = [
  0.0416666666666666, -0.0013888888888874474, 2.4801587289671496e-5, -2.7557314401004326e-7, 2.087572927565016e-9,
  -1.1359933852383297e-11,
];
const TAN = [
  0.3333333333333278, 0.1333333333341414, 0.053968253926877846, 0.021869489604289683, 0.008863219227303293,
  0.003592288533776993, 0.0014547611574773954, 0.0005950517454963864, 0.00022241713634017316, 0.00013645020671591496,
  -2.6281632824366142e-5, 8.935743765198604e-5, -4.4825826686059775e-5, 2.0851153260154202e-5,
];

interface Reduced {
  /** Its last two bits count quarter turns. */
  readonly quadrant: Expr;
  readonly r: Expr;
  /** What r misses by rounding. */
  readonly low: Expr;
}

/** For x >= 0: the sign is put back at the end, which keeps that of a zero. */
function reduce(b: Builder, x: Expr): Reduced {
  const quadrant = b.local("q", "i32");
  const r = b.local("r", "f64");
  const low = b.local("low", "f64");
  const rounded = b.let("k", add(mul(x, f64(2 / Math.PI)), ROUNDER));
  const n = b.let("n", sub(rounded, ROUNDER));
  const first = b.let("r1", sub(x, mul(n, PART1)));
  const second = b.let("c2", mul(n, PART2));
  const middle = b.let("r2", sub(first, second));
  const third = b.let("c3", mul(n, PART3));
  b.assign(quadrant, lowWord(rounded));
  b.assign(r, sub(middle, third));
  b.assign(low, add(sub(sub(middle, get(r)), third), sub(sub(first, middle), second)));
  b.if(gt(x, LARGE), () => {
    const turn = reduceLarge(b, x);
    b.assign(quadrant, turn.quadrant);
    const angle = radians(b, turn);
    b.assign(r, angle.r);
    b.assign(low, angle.low);
  });
  return { quadrant: get(quadrant), r: get(r), low: get(low) };
}

/** (high + low) pi / 2 as a sum of two f64; the product's rounding error is found from products of halves. */
function radians(b: Builder, turn: Turn): { r: Expr; low: Expr } {
  const high = b.let("high", turn.high);
  const sum = b.let("sum", add(high, turn.low));
  const rest = b.let("rest", add(sub(high, sum), turn.low));
  const r = b.let("r", mul(sum, f64(Math.PI / 2)));
  const upper = b.let("upper", upperBits(sum));
  const lower = b.let("lower", sub(sum, upper));
  const cross = add(mul(upper, HALF_PI_REST), mul(lower, HALF_PI_UPPER));
  const error = add(add(sub(mul(upper, HALF_PI_UPPER), r), cross), mul(lower, HALF_PI_REST));
  return { r, low: add(error, add(mul(sum, HALF_PI_LOW), mul(rest, f64(Math.PI / 2)))) };
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
const parts = (b: Builder, x: Expr): Parts => b.once("sincos64", x, () => newParts(b, x));

function newParts(b: Builder, x: Expr): Parts {
  const { quadrant, r, low } = reduce(b, b.let("a", abs(x)));
  const square = b.let("s", mul(r, r));
  const fourth = b.let("ss", mul(square, square));
  const bend = sub(mul(fourth, polynomial(square, COS, fourth)), mul(r, low));
  return {
    sine: b.let("sin", add(r, add(mul(mul(r, square), polynomial(square, SIN, fourth)), low))),
    cosine: b.let("cos", sub(f64(1), sub(mul(square, f64(0.5)), bend))),
    even: b.let("even", eq(and(quadrant, int(1)), int(0))),
    sign: highWord(x),
    turns: b.let("turns", shl(quadrant, 30)),
  };
}

const SIGN = int(-0x80000000);
const sineOf = (b: Builder, { sine, cosine, even, sign, turns }: Parts): Expr =>
  flipSign(b.let("y", select(even, sine, cosine)), and(xor(turns, sign), SIGN));
const cosineOf = (b: Builder, { sine, cosine, even, turns }: Parts): Expr =>
  flipSign(b.let("y", select(even, cosine, sine)), and(add(turns, int(0x40000000)), SIGN));

export const sin64 = (b: Builder, x: Expr): Expr => sineOf(b, parts(b, x));
export const cos64 = (b: Builder, x: Expr): Expr => cosineOf(b, parts(b, x));

export function tan64(b: Builder, x: Expr): Expr {
  const { quadrant, r, low } = reduce(b, b.let("a", abs(x)));
  const square = b.let("s", mul(r, r));
  const tail = mul(mul(r, square), polynomial(square, TAN, b.let("ss", mul(square, square))));
  const t = b.let("t", add(r, add(tail, low)));
  return flipSign(b.let("y", select(eq(and(quadrant, int(1)), int(0)), t, div(f64(-1), t))), signBit(x));
}
