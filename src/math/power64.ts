/**
 * @file pow, cbrt and hypot in f64.
 *
 * pow needs log2 x to some 65 bits, because the exponent multiplies its error by up to 1075. It is carried as a sum of
 * two f64 throughout; exact products come from cutting factors to 21 bits (`head`, the upper word alone) and 31 or 32.
 */
import type { Builder } from "../ir/build.ts";
import type { Expr } from "../ir/nodes.ts";
import {
  abs,
  add,
  and,
  binary,
  clamp,
  convert,
  div,
  eq,
  f64,
  fromWords,
  gt,
  highWord,
  int,
  le,
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
import { exp2Reduced } from "./exponential64.ts";
import { withPowerSpecials } from "./power.ts";

/** The upper word of sqrt(2). */
const SQRT2_HIGH = 0x3ff6a09e;
/** 1/3 and 2 / ln 2 in two parts, the first of 31 bits. */
const THIRD_HIGH = f64(0.3333333332557231);
const THIRD_LOW = f64(7.761021455128987e-11);
const SCALE_HIGH = f64(2.88539008051157);
const SCALE_LOW = f64(1.2663568379132088e-9);
/** (atanh s / s - 1 - s^2 / 3) / s^4 in s^2. */
const ATANH = [
  0.1999999999999999, 0.1428571428572192, 0.11111111108894876, 0.0909090942199455, 0.07692279214464984,
  0.06668132240024467, 0.05837890576629311, 0.05990874713628451,
];

/** high + low, low being at most some 2^-20 of high. */
interface Pair {
  readonly high: Expr;
  readonly low: Expr;
}

/** The first 21 bits. */
const head = (x: Expr): Expr => fromWords(highWord(x), int(0));

/** f / (2 + f), with a `high` of 21 bits. */
function quotient(b: Builder, f: Expr): Pair {
  const sum = b.let("t", add(f, f64(2)));
  const sumHigh = b.let("th", head(sum));
  const sumLow = sub(f, sub(sumHigh, f64(2)));
  const high = b.let("sh", head(b.let("s", div(f, sum))));
  const rest = sub(sub(f, mul(high, sumHigh)), mul(high, sumLow));
  return { high, low: b.let("sl", div(rest, sum)) };
}

/** atanh s / s - 1 = z / 3 + z^2 (...) with z = s^2; its `high` has 21 bits. */
function atanhRest(b: Builder, s: Pair): Pair {
  const zHigh = b.let("zh", mul(s.high, s.high));
  const zLow = b.let("zl", mul(s.low, add(add(s.high, s.high), s.low)));
  const z = b.let("z", add(zHigh, zLow));
  const zHead = b.let("zhh", head(zHigh));
  const main = b.let("a", mul(zHead, THIRD_HIGH));
  const cross = mul(add(sub(zHigh, zHead), zLow), THIRD_HIGH);
  const square = b.let("zz", mul(z, z));
  const tail = b.let("c", add(add(cross, mul(z, THIRD_LOW)), mul(square, polynomial(z, ATANH, square))));
  const high = b.let("wh", head(b.let("w", add(main, tail))));
  return { high, low: b.let("wl", add(sub(main, high), tail)) };
}

/** log2 of a positive finite number; the result's `high` has 21 bits. */
function log2Pair(b: Builder, x: Expr): Pair {
  const tiny = b.let("tiny", lt(x, f64(2 ** -1022)));
  const scaled = b.let("x", select(tiny, mul(x, f64(2 ** 54)), x));
  const i = b.let("i", highWord(scaled));
  const down = b.let("d", shr(sub(int(SQRT2_HIGH), i), 20));
  const exponent = b.let("e", sub(select(tiny, f64(-54), f64(0)), convert("f64", down)));
  const f = b.let("f", sub(fromWords(add(i, shl(down, 20)), lowWord(scaled)), f64(1)));
  const s = quotient(b, f);
  const w = atanhRest(b, s);
  // atanh s = s + s w, then times 2 / ln 2.
  const product = b.let("q", mul(s.high, w.high));
  const small = add(s.low, add(mul(s.high, w.low), mul(s.low, add(w.high, w.low))));
  const v = b.let("v", add(s.high, product));
  const vLow = b.let("vl", add(add(sub(s.high, v), product), small));
  const vHead = b.let("vh", head(v));
  const rest = b.let("vr", add(sub(v, vHead), vLow));
  const main = b.let("m", mul(vHead, SCALE_HIGH));
  const tail = add(mul(rest, SCALE_HIGH), mul(add(vHead, rest), SCALE_LOW));
  const sum = b.let("t", add(exponent, main));
  const low = b.let("tl", add(add(sub(exponent, sum), main), tail));
  const high = b.let("lh", head(b.let("l", add(sum, low))));
  return { high, low: b.let("ll", add(sub(sum, high), low)) };
}

export function pow64(b: Builder, x: Expr, y: Expr): Expr {
  const a = b.let("a", abs(x));
  const logarithm = log2Pair(b, a);
  // Larger exponents overflow or underflow for every base but 1.
  const exponent = b.let("y", clamp(y, -(2 ** 64), 2 ** 64));
  const exponentHead = b.let("yh", head(exponent));
  const exact = b.let("ph", mul(exponentHead, logarithm.high));
  const rest = add(mul(exponent, logarithm.low), mul(sub(exponent, exponentHead), logarithm.high));
  const regular = and(gt(a, f64(0)), lt(a, f64(Infinity)));
  const limit = mul(y, select(eq(a, f64(0)), f64(-Infinity), a));
  const high = b.let("p", clamp(select(regular, exact, limit), -1200, 1200));
  const low = b.let("pl", select(and(regular, le(abs(exact), f64(1200))), rest, f64(0)));
  const power = b.let("y", exp2Reduced(b, high, low));
  const undefinedPower = and(eq(a, f64(1)), eq(abs(y), f64(Infinity)));
  return withPowerSpecials(b, x, y, b.let("y", select(undefinedPower, f64(Number.NaN), power)));
}

/**
 * A third of the exponent gives 3 percent; a series in the quotient x / t^3 makes it 4 parts in a million; then t is
 * cut to 21 bits, so that t^2 is exact, and a step of Halley's gives the rest.
 */
export function cbrt64(b: Builder, x: Expr): Expr {
  const a = b.let("a", abs(x));
  const tiny = b.let("tiny", lt(a, f64(2 ** -900)));
  const v = b.let("v", mul(a, select(tiny, f64(2 ** 180), f64(0.125))));
  const third = convert("i32", binary("mulHigh", convert("u32", highWord(v)), ONE_THIRD));
  const guess = b.let("t", fromWords(add(third, int(GUESS)), int(0)));
  const ratio = b.let("d", sub(div(v, mul(mul(guess, guess), guess)), f64(1)));
  const closer = b.let("t", add(guess, mul(mul(guess, ratio), polynomial(ratio, CBRT))));
  const t = b.let("t", head(closer));
  const quotientOfSquare = b.let("q", div(v, mul(t, t)));
  const step = div(sub(quotientOfSquare, t), add(add(t, t), quotientOfSquare));
  const root = b.let("y", mul(add(t, mul(t, step)), select(tiny, f64(2 ** -60), f64(2))));
  const regular = and(gt(a, f64(0)), lt(a, f64(Infinity)));
  return select(regular, withSignOf(root, x), x);
}
const ONE_THIRD = convert("u32", int(0x55555556));
const GUESS = 682 * 2 ** 20 - 34300;
/** ((1 + d)^(1/3) - 1) / d, the first terms. */
const CBRT = [1 / 3, -1 / 9, 5 / 81, -10 / 243];

/** Scaled by a power of two where squares would leave the range. An infinity wins over NaN. */
export function hypot64(b: Builder, ...xs: Expr[]): Expr {
  const magnitudes = xs.map((x) => b.let("a", abs(x)));
  let largest: Expr = f64(0);
  let infinite: Expr | undefined;
  for (const a of magnitudes) {
    largest = b.let("m", select(lt(largest, a), a, largest));
    const here = eq(a, f64(Infinity));
    infinite = infinite === undefined ? here : or(infinite, here);
  }
  const high = b.let("high", gt(largest, f64(2 ** 500)));
  const low = b.let("low", lt(largest, f64(2 ** -450)));
  const scale = b.let("scale", select(high, f64(2 ** -600), select(low, f64(2 ** 600), f64(1))));
  let sum: Expr = f64(0);
  for (const a of magnitudes) {
    const scaled = b.let("s", mul(a, scale));
    sum = add(sum, mul(scaled, scaled));
  }
  const root = mul(sqrt(sum), select(high, f64(2 ** 600), select(low, f64(2 ** -600), f64(1))));
  return infinite === undefined ? root : select(infinite, f64(Infinity), root);
}
