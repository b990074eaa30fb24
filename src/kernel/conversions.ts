/**
 * @file JavaScript's conversions and integer divisions, written with the IR's operations.
 */
import { add, and, type Builder, binary, constant, convert, mul, not, select, sub, unary } from "../ir/build.ts";
import type { Expr } from "../ir/nodes.ts";
import { type BinaryOp, type DType, isFloat } from "../ir/types.ts";

const WORD = 2 ** 32;
const isNonZero = (x: Expr): Expr => binary("ne", x, constant(x.dtype, 0));

/** An expression that may be used several times. */
export function once(b: Builder, name: string, x: Expr): Expr {
  return x.kind === "get" || x.kind === "const" ? x : b.let(name, x);
}

/** JavaScript's truth: all numbers but 0, -0 and NaN. */
export function truthOf(x: Expr): Expr {
  if (x.dtype === "bool") return x;
  return isFloat(x.dtype) ? binary("gt", unary("abs", x), constant(x.dtype, 0)) : isNonZero(x);
}

const OPPOSITE: ReadonlyMap<BinaryOp, BinaryOp> = new Map<BinaryOp, BinaryOp>([
  ["eq", "ne"],
  ["ne", "eq"],
  ["lt", "ge"],
  ["ge", "lt"],
  ["gt", "le"],
  ["le", "gt"],
]);
/** The opposite of a condition; comparisons are turned around where NaN cannot spoil it. */
export function negate(x: Expr): Expr {
  if (x.kind === "unary" && x.op === "not") return x.x;
  const turned = x.kind === "binary" ? OPPOSITE.get(x.op) : undefined;
  if (x.kind !== "binary" || !turned) return not(x);
  const isSafe = turned === "eq" || turned === "ne" || !isFloat(x.a.dtype);
  return isSafe ? binary(turned, x.a, x.b) : not(x);
}

/** To another type, where the rules of the language allow it or the user wrote it. */
export function convertTo(to: DType, x: Expr): Expr {
  return to === "bool" ? truthOf(x) : convert(to, x);
}

/**
 * The bits of JavaScript's ToInt32. Exact for every float: multiples of 2^32 are dropped by steps that round nothing,
 * NaN and infinities end as NaN, which converts to 0.
 */
function wordOf(b: Builder, x: Expr): Expr {
  const whole = b.let("whole", unary("trunc", x));
  const words = unary("trunc", mul(whole, constant(x.dtype, 1 / WORD)));
  const word = b.let("word", sub(whole, mul(words, constant(x.dtype, WORD))));
  const size = b.let("size", convert("i32", convert("u32", unary("abs", word))));
  return select(binary("lt", word, constant(x.dtype, 0)), unary("neg", size), size);
}
/** `x | 0` */
export function toInt32(b: Builder, x: Expr): Expr {
  return isFloat(x.dtype) ? wordOf(b, x) : convert("i32", x);
}
/** `x >>> 0` */
export function toUint32(b: Builder, x: Expr): Expr {
  return convert("u32", isFloat(x.dtype) ? wordOf(b, x) : x);
}

/** What is known of a division's operands. */
export interface DivisionFacts {
  /** Neither is negative. */
  readonly positive: boolean;
  readonly divisorIsZero: boolean | undefined;
}

/** a / b rounded to an integer; division by zero gives 0. */
export function divide(b: Builder, rounding: "floor" | "ceil" | "trunc", x: Expr, y: Expr, facts: DivisionFacts): Expr {
  const isPositive = x.dtype === "u32" || facts.positive;
  if (rounding === "trunc" || (rounding === "floor" && isPositive)) return binary("div", x, y);
  const [n, d] = [once(b, "n", x), once(b, "d", y)];
  const quotient = b.let("quotient", binary("div", n, d));
  const rest = b.let("rest", sub(n, mul(quotient, d)));
  const inexact = facts.divisorIsZero === false ? isNonZero(rest) : and(isNonZero(rest), isNonZero(d));
  if (isPositive) return add(quotient, convert(x.dtype, inexact));
  // Rounded towards zero: down when positive, up when negative, which the signs of rest and divisor tell.
  const isNegative = binary("lt", binary("xor", rest, d), constant(x.dtype, 0));
  if (rounding === "floor") return sub(quotient, convert(x.dtype, and(inexact, isNegative)));
  return add(quotient, convert(x.dtype, and(inexact, not(isNegative))));
}
