/**
 * @file pow, cbrt and hypot in f32.
 *
 * pow and hypot go through f64, whose range and precision make scaling and double arithmetic unnecessary: the result
 * is rounded to f32 once, at the end.
 */
import type { Builder } from "../ir/build.ts";
import type { Expr } from "../ir/nodes.ts";
import {
  abs,
  add,
  and,
  binary,
  bits,
  clamp,
  convert,
  div,
  eq,
  f32,
  f64,
  fromBits,
  fromWords,
  gt,
  highWord,
  int,
  lowWord,
  lt,
  mul,
  or,
  polynomial,
  select,
  shl,
  shr,
  sqrt,
  sub,
  withSignOf,
} from "./common.ts";
import { withPowerSpecials } from "./power.ts";

/** The upper word of sqrt(2). */
const SQRT2_HIGH = 0x3ff6a09e;
/** Adding this rounds an f64 to an integer, which is then in the low word of the sum. */
const ROUNDER = f64(6755399441055744);
/** log2((1 + s) / (1 - s)) / s in s^2, to 37 bits. */
const LOG2 = [2.8853900817900913, 0.9617966733345641, 0.5770835864936668, 0.4116726190787167, 0.3407320887794602];
/** 2^r, to 29 bits. */
const EXP2 = [
  1.0000000005542824, 0.6931472057356154, 0.240226468895165, 0.055503287789756287, 0.009618489107043039,
  0.0013399930776794107, 0.00015345769820373394,
];

/** log2 of an f64 that came from a positive f32. */
function log2Wide(b: Builder, x: Expr): Expr {
  const high = b.let("i", highWord(x));
  const down = b.let("d", shr(sub(int(SQRT2_HIGH), high), 20));
  const m = b.let("m", fromWords(add(high, shl(down, 20)), lowWord(x)));
  const s = b.let("s", div(sub(m, f64(1)), add(m, f64(1))));
  return sub(mul(s, polynomial(b.let("z", mul(s, s)), LOG2)), convert("f64", down));
}

/** 2^x for |x| <= 1000 (or NaN). */
function exp2Wide(b: Builder, x: Expr): Expr {
  const rounded = b.let("k", add(x, ROUNDER));
  const r = b.let("r", sub(x, sub(rounded, ROUNDER)));
  return mul(polynomial(r, EXP2), fromWords(shl(add(lowWord(rounded), int(1023)), 20), int(0)));
}

export function pow32(b: Builder, x: Expr, y: Expr): Expr {
  const a = b.let("a", abs(x));
  const wide = log2Wide(b, b.let("w", convert("f64", a)));
  const finite = select(gt(a, f32(0)), wide, f64(-Infinity));
  const logarithm = select(lt(a, f32(Infinity)), finite, convert("f64", a));
  const product = mul(logarithm, convert("f64", y));
  const power = exp2Wide(b, b.let("p", clamp(product, -300, 300)));
  return withPowerSpecials(b, x, y, b.let("y", convert("f32", power)));
}

/** A third of the exponent gives 3 percent, a step of Halley's 26 parts in a million, one of Newton's the rest. */
export function cbrt32(b: Builder, x: Expr): Expr {
  const a = b.let("a", abs(x));
  const tiny = b.let("tiny", lt(a, f32(2 ** -100)));
  const v = b.let("v", mul(a, select(tiny, f32(2 ** 24), f32(0.125))));
  const third = convert("i32", binary("mulHigh", convert("u32", bits(v)), THIRD));
  const guess = b.let("t", fromBits(add(third, int(0x2a5137a0))));
  const cube = b.let("c", mul(mul(guess, guess), guess));
  const halley = b.let("t", mul(guess, div(add(cube, add(v, v)), add(add(cube, cube), v))));
  const square = b.let("s", mul(halley, halley));
  const newton = sub(halley, div(sub(mul(square, halley), v), mul(square, f32(3))));
  const root = b.let("y", mul(newton, select(tiny, f32(2 ** -8), f32(2))));
  const regular = and(gt(a, f32(0)), lt(a, f32(Infinity)));
  return select(regular, withSignOf(root, x), x);
}
const THIRD = convert("u32", int(0x55555556));

export function hypot32(b: Builder, ...xs: Expr[]): Expr {
  let sum: Expr = f64(0);
  let infinite: Expr | undefined;
  for (const x of xs) {
    const wide = b.let("x", convert("f64", x));
    sum = add(sum, mul(wide, wide));
    const here = eq(abs(x), f32(Infinity));
    infinite = infinite === undefined ? here : or(infinite, here);
  }
  const root = convert("f32", sqrt(sum));
  return infinite === undefined ? root : select(infinite, f32(Infinity), root);
}
