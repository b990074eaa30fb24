/**
 * @file Logarithms in f64: log, log1p, log2, log10.
 *
 * x = 2^e (1 + f) with 1 + f between sqrt(1/2) and sqrt(2); then with s = f / (2 + f), log(1 + f) = f - s (f - R(s^2)):
 * the leading term is exact and the quotient's error counts only by the small factor. `down` is -e, as in f32.
 */
import type { Builder } from "../ir/build.ts";
import type { Expr } from "../ir/nodes.ts";
import {
  add,
  convert,
  div,
  eq,
  f64,
  fromWords,
  gt,
  highWord,
  int,
  lowWord,
  lt,
  mul,
  polynomial,
  select,
  shl,
  shr,
  sub,
} from "./common.ts";

/** The upper word of sqrt(2). */
const SQRT2_HIGH = 0x3ff6a09e;
const SMALLEST_NORMAL = 2 ** -1022;
/** R(z) / z. */
const LOG = [
  0.6666666666666734, 0.3999999999941661, 0.2857142874203845, 0.2222219860382908, 0.18183562921722007,
  0.1531408289168913, 0.14795654201246464,
];
/** ln 2 and log10 2 in two parts; the first has 40 bits, so that its product with an exponent is exact. */
const LN2_HIGH = 0.6931471805601177;
const LN2_LOW = -1.7239444525614835e-13;
const LOG10_2_HIGH = 0.3010299956640665;
const LOG10_2_LOW = -8.532344317057107e-14;
/** 1 / ln 2 and 1 / ln 10 in two parts; the first has 21 bits. */
const LOG2_E_HIGH = 1.4426946640014648;
const LOG2_E_LOW = 3.768874985636099e-7;
const LOG10_E_HIGH = 0.4342944622039795;
const LOG10_E_LOW = 1.9699272335463627e-8;

interface Split {
  readonly f: Expr;
  /** -e as a float. */
  readonly down: Expr;
}

/** x > 0 as 2^e (1 + f). */
function split(b: Builder, x: Expr): Split {
  const tiny = b.let("tiny", lt(x, f64(SMALLEST_NORMAL)));
  const scaled = b.let("x", select(tiny, mul(x, f64(2 ** 54)), x));
  const high = b.let("i", highWord(scaled));
  const down = b.let("d", shr(sub(int(SQRT2_HIGH), high), 20));
  const f = b.let("f", sub(fromWords(add(high, shl(down, 20)), lowWord(scaled)), f64(1)));
  return { f, down: b.let("d", add(convert("f64", down), select(tiny, f64(54), f64(0)))) };
}

/** f - log(1 + f), small against f. */
function bend(b: Builder, f: Expr): Expr {
  const s = b.let("s", div(f, add(f, f64(2))));
  const z = b.let("z", mul(s, s));
  return mul(s, sub(f, mul(z, polynomial(z, LOG, b.let("zz", mul(z, z))))));
}

/** The values at 0, below 0, at infinity and for NaN; x > 0 and finite takes `y`. */
function withSpecials(x: Expr, y: Expr): Expr {
  const finite = select(lt(x, f64(Infinity)), y, x);
  return select(gt(x, f64(0)), finite, select(eq(x, f64(0)), f64(-Infinity), f64(Number.NaN)));
}

/** log(1 + f) - down ln 2. */
function logOf(b: Builder, { f, down }: Split): Expr {
  return sub(sub(f, add(bend(b, f), mul(down, f64(LN2_LOW)))), mul(down, f64(LN2_HIGH)));
}

export function log64(b: Builder, x: Expr): Expr {
  return withSpecials(x, logOf(b, split(b, x)));
}

/** (f - bend) (high + low) - small, with the product of `high` and the upper half of f - bend exact. */
function scaled(b: Builder, f: Expr, high: number, low: number, small: Expr): Expr {
  const curve = b.let("c", bend(b, f));
  const main = b.let("m", sub(f, curve));
  const upper = b.let("u", fromWords(highWord(main), int(0)));
  const rest = b.let("r", sub(sub(f, upper), curve));
  const tail = add(mul(add(rest, upper), f64(low)), mul(rest, f64(high)));
  return add(mul(upper, f64(high)), sub(tail, small));
}

export function log2_64(b: Builder, x: Expr): Expr {
  const { f, down } = split(b, x);
  return withSpecials(x, sub(scaled(b, f, LOG2_E_HIGH, LOG2_E_LOW, f64(0)), down));
}

export function log10_64(b: Builder, x: Expr): Expr {
  const { f, down } = split(b, x);
  const y = scaled(b, f, LOG10_E_HIGH, LOG10_E_LOW, mul(down, f64(LOG10_2_LOW)));
  return withSpecials(x, sub(y, mul(down, f64(LOG10_2_HIGH))));
}

/** With 1 + x = 2^e m, f = m - 1 is taken from x itself, so that the rounding of 1 + x does not count. */
export function log1p_64(b: Builder, x: Expr): Expr {
  const sum = b.let("u", add(x, f64(1)));
  const high = b.let("i", highWord(sum));
  const down = b.let("d", shr(sub(int(SQRT2_HIGH), high), 20));
  const power = b.let("p", fromWords(shl(add(down, int(1023)), 20), int(0)));
  const large = sub(fromWords(add(high, shl(down, 20)), lowWord(sum)), f64(1));
  const f = b.let("f", select(gt(x, f64(2 ** 53)), large, sub(mul(x, power), sub(f64(1), power))));
  return withSpecials(sum, logOf(b, { f, down: b.let("d", convert("f64", down)) }));
}
