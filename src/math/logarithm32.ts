/**
 * @file Logarithms in f32: log, log1p, log2, log10.
 *
 * x = 2^e m with m between sqrt(1/2) and sqrt(2), and a polynomial in f = m - 1 whose leading term is exact, so that
 * results near log 1 = 0 keep their relative accuracy. Denormals are scaled up first. The exponent is kept negated
 * (`down` = -e) because subtracting a +0 keeps the sign of a -0.
 */
import type { Builder } from "../ir/build.ts";
import type { Expr } from "../ir/nodes.ts";
import {
  add,
  and,
  bits,
  convert,
  eq,
  f32,
  fromBits,
  gt,
  int,
  lt,
  mul,
  polynomial,
  select,
  shl,
  shr,
  sub,
} from "./common.ts";

const SQRT2_BITS = 0x3fb504f3;
const SMALLEST_NORMAL = 2 ** -126;
/** (log(1 + f) - f) / f^2. */
const LOG = [
  -0.49999991059303284, 0.33333954215049744, -0.25001826882362366, 0.19961968064308167, -0.16568467020988464,
  0.14916814863681793, -0.14323236048221588, 0.08759196102619171,
];
/** (log2(1 + f) - f / ln 2) / f^2. */
const LOG2 = [
  -0.7213473916053772, 0.48090729117393494, -0.3607000708580017, 0.28799110651016235, -0.23903575539588928,
  0.2151973992586136, -0.20659469068050385, 0.12631578743457794,
];
/** (log10(1 + f) - f / ln 10) / f^2. */
const LOG10 = [
  -0.21714720129966736, 0.14476753771305084, -0.10858166962862015, 0.08669324219226837, -0.07195205241441727,
  0.064783975481987, -0.06224028393626213, 0.03808751329779625,
];
/** ln 2 and log10 2 in two parts; the first has 16 bits, so that its product with an exponent is exact. */
const LN2_HIGH = 0.693145751953125;
const LN2_LOW = 1.428606765330187e-6;
const LOG10_2_HIGH = 0.30103302001953125;
const LOG10_2_LOW = -3.024355464731343e-6;
/** The first 12 bits of 1 / ln 2 and 1 / ln 10; the rest follows from Math.LOG2E and Math.LOG10E. */
const LOG2_E_HIGH = 1.44287109375;
const LOG10_E_HIGH = 0.434326171875;

interface Split {
  readonly f: Expr;
  /** -e as a float. */
  readonly down: Expr;
}

/** x > 0 as 2^e (1 + f). */
function split(b: Builder, x: Expr): Split {
  const tiny = b.let("tiny", lt(x, f32(SMALLEST_NORMAL)));
  const i = b.let("i", bits(select(tiny, mul(x, f32(2 ** 23)), x)));
  const down = b.let("d", shr(sub(int(SQRT2_BITS), i), 23));
  const f = b.let("f", sub(fromBits(add(i, shl(down, 23))), f32(1)));
  return { f, down: b.let("d", add(convert("f32", down), select(tiny, f32(23), f32(0)))) };
}

/** The values at 0, below 0, at infinity and for NaN; x > 0 and finite takes `y`. */
function withSpecials(x: Expr, y: Expr): Expr {
  const finite = select(lt(x, f32(Infinity)), y, x);
  return select(gt(x, f32(0)), finite, select(eq(x, f32(0)), f32(-Infinity), f32(Number.NaN)));
}

/** f^2 times a polynomial in f. */
function secondOrder(b: Builder, f: Expr, coefficients: readonly number[]): Expr {
  const square = b.let("s", mul(f, f));
  return mul(square, polynomial(f, coefficients, square));
}

/** log(1 + f) - down ln 2. */
function logOf(b: Builder, { f, down }: Split): Expr {
  const tail = sub(secondOrder(b, f, LOG), mul(down, f32(LN2_LOW)));
  return sub(add(f, tail), mul(down, f32(LN2_HIGH)));
}

export function log32(b: Builder, x: Expr): Expr {
  return withSpecials(x, logOf(b, split(b, x)));
}

/** f (high + low) + tail, with the product of `high` and the upper half of f exact. */
function scaled(b: Builder, f: Expr, high: number, low: number, tail: Expr): Expr {
  const upper = b.let("f", fromBits(and(bits(f), int(-0x1000))));
  const rest = add(add(mul(f, f32(low)), tail), mul(sub(f, upper), f32(high)));
  return add(mul(upper, f32(high)), rest);
}

export function log2_32(b: Builder, x: Expr): Expr {
  const { f, down } = split(b, x);
  const tail = secondOrder(b, f, LOG2);
  return withSpecials(x, sub(scaled(b, f, LOG2_E_HIGH, Math.LOG2E - LOG2_E_HIGH, tail), down));
}

export function log10_32(b: Builder, x: Expr): Expr {
  const { f, down } = split(b, x);
  const tail = sub(secondOrder(b, f, LOG10), mul(down, f32(LOG10_2_LOW)));
  const y = scaled(b, f, LOG10_E_HIGH, Math.LOG10E - LOG10_E_HIGH, tail);
  return withSpecials(x, sub(y, mul(down, f32(LOG10_2_HIGH))));
}

/** With 1 + x = 2^e m, f = m - 1 is taken from x itself, so that the rounding of 1 + x does not count. */
export function log1p_32(b: Builder, x: Expr): Expr {
  const sum = b.let("u", add(x, f32(1)));
  const i = b.let("i", bits(sum));
  const down = b.let("d", shr(sub(int(SQRT2_BITS), i), 23));
  const power = b.let("p", fromBits(shl(add(down, int(127)), 23)));
  const large = sub(fromBits(add(i, shl(down, 23))), f32(1));
  const f = b.let("f", select(gt(x, f32(2 ** 24)), large, sub(mul(x, power), sub(f32(1), power))));
  return withSpecials(sum, logOf(b, { f, down: b.let("d", convert("f32", down)) }));
}
