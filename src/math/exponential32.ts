/**
 * @file exp and its relatives in f32: exp, exp2, expm1, sinh, cosh, sigmoid, tanh.
 *
 * x = n ln 2 + r with |r| <= ln 2 / 2, a polynomial in r, and the factor 2^n applied in two halves so that results
 * overflow to infinity and underflow through the denormals with one rounding. tanh needs no exponential: see there.
 * Coefficients are minimax fits, rounded to f32 one after the other with the rest fitted again.
 */
import type { Builder } from "../ir/build.ts";
import type { Expr } from "../ir/nodes.ts";
import {
  abs,
  add,
  atMost,
  binary,
  bits,
  clamp,
  div,
  eq,
  f32,
  fromBits,
  gt,
  int,
  mul,
  polynomial,
  select,
  shl,
  shr,
  sub,
  withSignOf,
} from "./common.ts";

/**
 * Adding this rounds to a multiple n of STEP, and the integer n / STEP is then in the low bits of the sum, biased by
 * twice 127. STEP is not 1 because JavaScript engines take sums of integers for integers, and convert there and back.
 */
const STEP = 2 ** -23;
const ROUNDER = f32(1.5 + 254 * STEP);
const ROUNDER_BITS = 0x3fc00000 + 254;
const LOG2_E = f32(Math.LOG2E * STEP);
/** ln 2 in two parts; the first has 16 bits, so that its product with n is exact. */
const LN2_HIGH = f32(0.693145751953125 / STEP);
const LN2_LOW = f32(1.428606765330187e-6 / STEP);
/** (e^r - 1 - r) / r^2, for e^r within 0.04 of a unit in the last place. */
const EXP = [
  0.49999991059303284, 0.16666510701179504, 0.041668519377708435, 0.00836985930800438, 0.0013829712988808751,
];
/** (2^r - 1) / r. */
const EXP2 = [
  0.6931472420692444, 0.2402266412973404, 0.055502720177173615, 0.009616370312869549, 0.00134171056561172,
  0.00015913999231997877,
];
/** (sinh x - x) / x^3 in x^2, for |x| <= 1. */
const SINH = [0.1666671633720398, 0.008330270648002625, 0.00020373340521473438];

interface Reduced {
  /** x - n ln 2 = start - lost, and r is that difference rounded. */
  readonly start: Expr;
  readonly lost: Expr;
  /** The sum whose low bits hold n. */
  readonly rounded: Expr;
  readonly r: Expr;
}

/** x = n ln 2 + r. */
function reduce(b: Builder, x: Expr): Reduced {
  const rounded = b.let("k", add(mul(x, LOG2_E), ROUNDER));
  const n = b.let("n", sub(rounded, ROUNDER));
  const start = b.let("start", sub(x, mul(n, LN2_HIGH)));
  const lost = b.let("lost", mul(n, LN2_LOW));
  return { rounded, start, lost, r: b.let("r", sub(start, lost)) };
}

/** e^r - 1 - r for the reduced r. */
function bend(b: Builder, r: Expr): Expr {
  const square = b.let("s", mul(r, r));
  return mul(square, polynomial(r, EXP, square));
}

/** 2^(n + shift) as a product of two halves: for n from -252 to 254. */
function powers(b: Builder, rounded: Expr, shift = 0): [Expr, Expr] {
  const k = b.let("k", shift === 0 ? bits(rounded) : add(bits(rounded), int(shift)));
  const half = b.let("h", shr(k, 1));
  return [b.let("p", fromBits(shl(half, 23))), fromBits(shl(sub(k, half), 23))];
}

/** (1 + q) 2^(n + shift), where |q| < 1/2: the first power joins 1 and q, which fused numerics do in one operation. */
function scale(b: Builder, q: Expr, rounded: Expr, shift = 0): Expr {
  const [first, second] = powers(b, rounded, shift);
  return mul(add(mul(q, first), first), second);
}

/** e^x 2^shift, for x between -104 and 89 (or NaN). */
function expInRange(b: Builder, x: Expr, shift = 0): Expr {
  const { rounded, r } = reduce(b, x);
  return scale(b, add(r, bend(b, r)), rounded, shift);
}

export function exp32(b: Builder, x: Expr): Expr {
  return expInRange(b, b.let("x", clamp(x, -104, 89)));
}

export function exp2_32(b: Builder, x: Expr): Expr {
  const clamped = b.let("x", clamp(x, -151, 129));
  const rounded = b.let("k", add(clamped, WHOLE_ROUNDER));
  const r = b.let("r", sub(clamped, sub(rounded, WHOLE_ROUNDER)));
  return scale(b, mul(polynomial(r, EXP2, b.let("s", mul(r, r))), r), rounded);
}
/** As ROUNDER with a STEP of 1. */
const WHOLE_ROUNDER = f32(12582912 + 254);

/** 2^n (e^r - 1 + (1 - 2^-n)): exact where the parts cancel, and e^r - 1 itself when n is 0. */
export function expm1_32(b: Builder, x: Expr): Expr {
  const clamped = b.let("x", clamp(x, -18, 89));
  const { rounded, start, lost, r } = reduce(b, clamped);
  const reduced = add(start, sub(bend(b, r), lost));
  const inverse = fromBits(shl(binary("max", sub(int(ROUNDER_BITS + 127), bits(rounded)), int(0)), 23));
  const [first, second] = powers(b, rounded);
  const y = mul(mul(sub(reduced, sub(inverse, f32(1))), first), second);
  return select(eq(x, f32(0)), x, y);
}

/** e^|x| / 2, without overflow before its time. */
const halfExp = (b: Builder, magnitude: Expr): Expr => b.let("e", expInRange(b, b.let("x", atMost(magnitude, 90)), -1));

export function sinh32(b: Builder, x: Expr): Expr {
  const a = b.let("a", abs(x));
  const square = b.let("s", mul(a, a));
  const small = add(a, mul(mul(a, square), polynomial(square, SINH)));
  const e = halfExp(b, a);
  return withSignOf(select(gt(a, f32(1)), sub(e, div(f32(0.25), e)), small), x);
}

export function cosh32(b: Builder, x: Expr): Expr {
  const e = halfExp(b, abs(x));
  return add(e, div(f32(0.25), e));
}

/**
 * 1 / (1 + e^-x) with e^-x = 2^n (1 + m): in the sum 1 + 2^n + 2^n m the 1 joins 2^n as long as that is exact, and the
 * small term otherwise. All of it is scaled by 2^-32, so that it does not overflow where the quotient is a denormal.
 */
export function sigmoid32(b: Builder, x: Expr): Expr {
  const clamped = b.let("x", clamp(x, -104, 20));
  const rounded = b.let("k", add(mul(clamped, f32(-Math.LOG2E * STEP)), SIGMOID_ROUNDER));
  const n = b.let("n", sub(rounded, SIGMOID_ROUNDER));
  const r = b.let("r", add(add(clamped, mul(n, LN2_HIGH)), mul(n, LN2_LOW)));
  const square = b.let("s", mul(r, r));
  const m = sub(mul(square, polynomial(r, EXP_OF_MINUS, square)), r);
  const power = b.let("p", fromBits(shl(bits(rounded), 23)));
  const one = f32(SIGMOID_ONE);
  const large = b.let("large", gt(power, f32(SIGMOID_ONE * 2 ** 12)));
  const first = add(power, select(large, f32(0), one));
  return div(one, add(first, add(mul(power, m), select(large, one, f32(0)))));
}
/** Rounds like ROUNDER; the low bits are the exponent of 2^(n - 32). */
const SIGMOID_ROUNDER = f32(1.5 + (127 - 32) * STEP);
const SIGMOID_ONE = 2 ** -32;
const EXP_OF_MINUS = EXP.map((c, k) => (k % 2 === 0 ? c : -c));

/**
 * An odd rational function of x, fitted up to TANH_LIMIT and taken apart into a quotient and the line TANH_LINE x. The
 * line carries part of the result, so that the roundings within the quotient count for less: near 1 each of them could
 * be a whole unit in the last place. At the limit the result is 1 and before it never above 1, fused or not: both were
 * established on all arguments, and no clamp of the result is needed.
 */
export function tanh32(b: Builder, x: Expr): Expr {
  const clamped = b.let("x", clamp(x, -TANH_LIMIT, TANH_LIMIT));
  const square = b.let("s", mul(clamped, clamped));
  const numerator = add(clamped, mul(mul(clamped, square), polynomial(square, TANH_N)));
  return add(div(numerator, polynomial(square, TANH_D)), mul(clamped, f32(TANH_LINE)));
}
/** tanh x is 1 to within 2.1 units from here on. */
const TANH_LIMIT = 8.31360149383545;
/** 1 - 1 / TANH_D[0]: tanh x is x for small x. */
const TANH_LINE = 0.14682957530021667;
const TANH_N = [0.07700382173061371, -0.0003214011376257986, -0.000032969852327369153, -1.274623286917631e-7];
const TANH_D = [
  1.1720987558364868, 0.5481945276260376, 0.030627379193902016, 0.00039804508560337126, 9.8768430234486e-7,
];
