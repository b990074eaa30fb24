/**
 * @file exp and its relatives in f64: exp, exp2, expm1, sinh, cosh, sigmoid, tanh.
 *
 * The same reductions as in f32 with longer polynomials; factors 2^n are made from the upper word alone.
 */
import type { Builder } from "../ir/build.ts";
import type { Expr } from "../ir/nodes.ts";
import {
  abs,
  add,
  atMost,
  binary,
  clamp,
  div,
  eq,
  f64,
  fromWords,
  gt,
  int,
  lowWord,
  lt,
  monicPolynomial,
  mul,
  polynomial,
  select,
  shl,
  shr,
  sub,
  withSignOf,
} from "./common.ts";

/** Adding this rounds to an integer n; the low word of the sum is then n plus twice 1023. */
const ROUNDER = 6755399441055744 + 2046;
/** ln 2 in two parts; the first has 40 bits, so that its product with n is exact. */
const LN2_HIGH = f64(0.6931471805601177);
const LN2_LOW = f64(-1.7239444525614835e-13);
/** (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2. */
const EXP = [
  0.5000000000000008, 0.16666666666665952, 0.041666666666545, 0.008333333333608528, 0.001388888894231725,
  0.00019841269551244424, 2.480149219784622e-5, 2.755734094667363e-6, 2.7631216401194674e-7, 2.5130856793605638e-8,
];
const EXP_OF_MINUS = EXP.map((c, k) => (k % 2 === 0 ? c : -c));
/** (2^r - 1) / r for |r| <= 1/2. */
const EXP2 = [
  0.6931471805599454, 0.2402265069591014, 0.05550410866481459, 0.009618129107590611, 0.001333355814799331,
  0.00015403530461840682, 1.5252732377802615e-5, 1.3215432913995772e-6, 1.0178648544265989e-7, 7.074178512019967e-9,
  4.368918836321628e-10,
];
/** (sinh x - x) / x^3 in x^2, for |x| <= 1. */
const SINH = [
  0.16666666666666669, 0.008333333333332912, 0.0001984126984159341, 2.7557319106755503e-6, 2.5052130999314804e-8,
  1.6056659067299216e-10, 7.776605759439955e-13,
];

interface Reduced {
  /** x - n ln 2 = start - lost, and r is that difference rounded. */
  readonly start: Expr;
  readonly lost: Expr;
  /** The sum whose low word holds n. */
  readonly rounded: Expr;
  readonly r: Expr;
}

/** x = n ln 2 + r. */
function reduce(b: Builder, x: Expr): Reduced {
  const rounded = b.let("k", add(mul(x, f64(Math.LOG2E)), f64(ROUNDER)));
  const n = b.let("n", sub(rounded, f64(ROUNDER)));
  const start = b.let("start", sub(x, mul(n, LN2_HIGH)));
  const lost = b.let("lost", mul(n, LN2_LOW));
  return { rounded, start, lost, r: b.let("r", sub(start, lost)) };
}

/** e^r - 1 - r for the reduced r. */
function bend(b: Builder, r: Expr): Expr {
  const square = b.let("s", mul(r, r));
  return mul(square, polynomial(r, EXP, square));
}

/** 2^(exponent - 1023). */
const powerOfTwo = (exponent: Expr): Expr => fromWords(shl(exponent, 20), int(0));

/** p 2^(n + shift), in two halves. */
function scale(b: Builder, p: Expr, rounded: Expr, shift = 0): Expr {
  const k = b.let("k", shift === 0 ? lowWord(rounded) : add(lowWord(rounded), int(shift)));
  const half = b.let("h", shr(k, 1));
  return mul(mul(p, powerOfTwo(half)), powerOfTwo(sub(k, half)));
}

/** e^x 2^shift for x between -746 and 711 (or NaN). */
function expInRange(b: Builder, x: Expr, shift = 0): Expr {
  const { rounded, r } = reduce(b, x);
  return scale(b, add(add(r, bend(b, r)), f64(1)), rounded, shift);
}

export function exp64(b: Builder, x: Expr): Expr {
  return expInRange(b, b.let("x", clamp(x, -746, 710)));
}

/** 2^(high + low) for |high| up to 1200 (or NaN) and a low that does not carry it over 1/2. */
export function exp2Reduced(b: Builder, high: Expr, low: Expr | undefined): Expr {
  const rounded = b.let("k", add(high, f64(ROUNDER)));
  const exact = sub(high, sub(rounded, f64(ROUNDER)));
  const r = b.let("r", low === undefined ? exact : add(exact, low));
  return scale(b, add(mul(polynomial(r, EXP2, b.let("s", mul(r, r))), r), f64(1)), rounded);
}

export function exp2_64(b: Builder, x: Expr): Expr {
  return exp2Reduced(b, b.let("x", clamp(x, -1076, 1025)), undefined);
}

/** 2^n (e^r - 1 + (1 - 2^-n)): exact where the parts cancel, and e^r - 1 itself when n is 0. */
export function expm1_64(b: Builder, x: Expr): Expr {
  const { rounded, start, lost, r } = reduce(b, b.let("x", clamp(x, -40, 710)));
  const reduced = add(start, sub(bend(b, r), lost));
  const inverse = powerOfTwo(binary("max", sub(int(2046 + 1023), lowWord(rounded)), int(0)));
  const y = scale(b, sub(reduced, sub(inverse, f64(1))), rounded);
  return select(eq(x, f64(0)), x, y);
}

/** e^|x| / 2, without overflow before its time. */
const halfExp = (b: Builder, magnitude: Expr): Expr =>
  b.let("e", expInRange(b, b.let("x", atMost(magnitude, 711)), -1));

export function sinh64(b: Builder, x: Expr): Expr {
  const a = b.let("a", abs(x));
  const square = b.let("s", mul(a, a));
  const small = add(a, mul(mul(a, square), polynomial(square, SINH, b.let("ss", mul(square, square)))));
  const e = halfExp(b, a);
  return withSignOf(b.let("y", select(gt(a, f64(1)), sub(e, div(f64(0.25), e)), small)), x);
}

export function cosh64(b: Builder, x: Expr): Expr {
  const e = halfExp(b, abs(x));
  return add(e, div(f64(0.25), e));
}

/** As in f32: 1 / (1 + 2^n + 2^n m), the 1 joining whichever term loses less, scaled by 2^-64. */
export function sigmoid64(b: Builder, x: Expr): Expr {
  const clamped = b.let("x", clamp(x, -746, 40));
  const rounded = b.let("k", add(mul(clamped, f64(-Math.LOG2E)), f64(SIGMOID_ROUNDER)));
  const n = b.let("n", sub(rounded, f64(SIGMOID_ROUNDER)));
  const r = b.let("r", add(add(clamped, mul(n, LN2_HIGH)), mul(n, LN2_LOW)));
  const square = b.let("s", mul(r, r));
  const m = sub(mul(square, polynomial(r, EXP_OF_MINUS, square)), r);
  const power = b.let("p", powerOfTwo(lowWord(rounded)));
  const one = f64(SIGMOID_ONE);
  const large = b.let("large", gt(power, f64(SIGMOID_ONE * 2 ** 12)));
  const first = add(power, select(large, f64(0), one));
  return div(one, add(first, add(mul(power, m), select(large, one, f64(0)))));
}
/** Rounds like ROUNDER; the low word is the exponent field of 2^(n - 64). */
const SIGMOID_ROUNDER = 6755399441055744 + 1023 - 64;
const SIGMOID_ONE = 2 ** -64;

/** x - x^3 G / H for small x, 1 - 2 / (e^2x + 1) beyond, with one division for both. */
export function tanh64(b: Builder, x: Expr): Expr {
  const a = b.let("a", atMost(abs(x), 22));
  const { rounded, r } = reduce(b, b.let("x", add(a, a)));
  const power = powerOfTwo(sub(lowWord(rounded), int(1023)));
  const e = mul(add(add(r, bend(b, r)), f64(1)), power);
  const square = b.let("s", mul(a, a));
  const small = b.let("small", lt(a, f64(TANH_SMALL)));
  const numerator = select(small, mul(mul(a, square), polynomial(square, TANH_G)), f64(2));
  const denominator = select(small, monicPolynomial(square, TANH_H), add(e, f64(1)));
  const y = b.let("y", sub(select(small, a, f64(1)), div(numerator, denominator)));
  return withSignOf(y, x);
}
const TANH_SMALL = 0.625;
const TANH_G = [1614.70687438183, 99.2886524563828, 0.964399543639278];
const TANH_H = [4844.120623145491, 2235.5142066272706, 112.81268515477915];
