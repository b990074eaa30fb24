/**
 * @file The types of terms and the rules by which they meet.
 *
 * Next to the IR's own types there are two for numbers whose type is still open. An `integer` has a known, small range
 * (literals, u8 elements, indices of short loops, 1 - flag): it widens exactly to every type that holds the range. A
 * `fraction` comes from literals alone (0.5, 2 * Math.PI): it is computed as f64 and takes the float type it meets.
 * All other mixes need a written conversion.
 */
import type { DType } from "../ir/types.ts";
import type { ScalarName } from "./declare.ts";
import type { ArithmeticOperator, BitOperator, CompareOperator } from "./terms.ts";

export interface IntegerType {
  readonly kind: "integer";
  readonly low: number;
  readonly high: number;
  /** Made of literals alone: it may be rounded to what it meets, as a literal is. */
  readonly literal: boolean;
}
export type Type = IntegerType | { readonly kind: "fraction" } | { readonly kind: DType };

/** Whole numbers up to this are exact in f32. */
const EXACT = 2 ** 24;
const I32_LOW = -(2 ** 31);
const I32_HIGH = 2 ** 31 - 1;
const U32_HIGH = 2 ** 32 - 1;

export const F32: Type = { kind: "f32" };
export const F64: Type = { kind: "f64" };
export const I32: Type = { kind: "i32" };
export const U32: Type = { kind: "u32" };
export const BOOL: Type = { kind: "bool" };
export const FRACTION: Type = { kind: "fraction" };

export function integer(low: number, high: number, literal = false): Type {
  const fits = literal || (low >= -EXACT && high <= EXACT);
  return fits ? { kind: "integer", low, high, literal } : I32;
}
export function literalType(value: number): Type {
  return Number.isInteger(value) && !Object.is(value, -0) ? integer(value, value, true) : FRACTION;
}
export const SCALAR_TYPES: { readonly [D in ScalarName]: Type } = {
  f32: F32,
  f64: F64,
  i32: I32,
  u32: U32,
  u8: integer(0, 255),
  bool: BOOL,
};

/** The IR type that holds a value of a type. */
export function heldAs(type: Type): DType {
  switch (type.kind) {
    case "integer":
      return fitsI32(type) ? "i32" : type.low >= 0 && type.high <= U32_HIGH ? "u32" : "f64";
    case "fraction":
      return "f64";
    default:
      return type.kind;
  }
}
const fitsI32 = (t: IntegerType): boolean => t.low >= I32_LOW && t.high <= I32_HIGH;
const fitsU32 = (t: IntegerType): boolean => t.low >= 0 && t.high <= U32_HIGH;

export function printType(type: Type): string {
  switch (type.kind) {
    case "integer":
      return type.low === type.high ? `the number ${type.low}` : `an integer in ${type.low}..${type.high}`;
    case "fraction":
      return "a literal with a fraction";
    case "bool":
      return "a boolean";
    default:
      return type.kind === "u32" ? "a u32" : `an ${type.kind}`;
  }
}
export const sameType = (a: Type, b: Type): boolean =>
  a.kind === b.kind &&
  (a.kind !== "integer" || b.kind !== "integer" || (a.low === b.low && a.high === b.high && a.literal === b.literal));

/** A boolean as a number: 0 or 1. */
export const asNumber = (type: Type): Type => (type.kind === "bool" ? integer(0, 1) : type);
const isWhole = (t: Type): boolean => t.kind === "integer" || t.kind === "i32" || t.kind === "u32";

function integerMeets(a: IntegerType, b: Type): Type | undefined {
  switch (b.kind) {
    case "integer":
      return integer(Math.min(a.low, b.low), Math.max(a.high, b.high), a.literal && b.literal);
    case "fraction":
      return a.literal ? FRACTION : F64;
    case "i32":
      return fitsI32(a) ? I32 : F64;
    case "u32":
      return fitsU32(a) ? U32 : undefined;
    default:
      return b;
  }
}

/** The type that holds both, reached by exact widening only; undefined where a conversion must be written. */
export function common(first: Type, second: Type): Type | undefined {
  if (first.kind === "bool" && second.kind === "bool") return BOOL;
  const [a, b] = [asNumber(first), asNumber(second)];
  if (a.kind === "integer") return integerMeets(a, b);
  if (b.kind === "integer") return integerMeets(b, a);
  if (a.kind === b.kind) return a;
  if (a.kind === "f64" || b.kind === "f64") return F64;
  if (a.kind === "fraction") return b.kind === "f32" ? F32 : F64;
  if (b.kind === "fraction") return a.kind === "f32" ? F32 : F64;
  return undefined;
}

/** What an operation works in, and what it yields. */
export interface Operation {
  readonly operands: Type;
  readonly result: Type;
}
const same = (type: Type | undefined): Operation | undefined => type && { operands: type, result: type };

/** The range of `a op b` over two ranges. */
function spread(a: IntegerType, b: IntegerType, op: (x: number, y: number) => number): Type {
  const ends = [op(a.low, b.low), op(a.low, b.high), op(a.high, b.low), op(a.high, b.high)];
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  return integer(low, high, a.literal && b.literal && low >= -EXACT && high <= EXACT);
}
const PLAIN: { readonly [op: string]: (x: number, y: number) => number } = {
  "+": (x, y) => x + y,
  "-": (x, y) => x - y,
  "*": (x, y) => x * y,
};

export function arithmetic(op: ArithmeticOperator, first: Type, second: Type): Operation | undefined {
  const [a, b] = [asNumber(first), asNumber(second)];
  const met = common(a, b);
  if (!met) return undefined;
  if (op === "/") return quotient(a, b, met);
  if (op === "%") return remainder(a, b, met);
  const plain = PLAIN[op];
  if (a.kind === "integer" && b.kind === "integer" && plain) {
    const result = spread(a, b, plain);
    return { operands: heldAs(met) === "i32" ? I32 : F64, result: heldAs(met) === "i32" ? result : FRACTION };
  }
  return same(met);
}
/** Integers divide to an f64; as an integer only where the quotient is made one again (see `wholeQuotient`). */
function quotient(a: Type, b: Type, met: Type): Operation {
  if (!isWhole(a) || !isWhole(b)) return { operands: met.kind === "fraction" ? F64 : met, result: met };
  const bothLiteral = a.kind === "integer" && b.kind === "integer" && a.literal && b.literal;
  return { operands: F64, result: bothLiteral ? FRACTION : F64 };
}
/** The type in which `a / b` is an integer division, if it can be one. */
export function wholeQuotient(first: Type, second: Type): Type | undefined {
  const [a, b] = [asNumber(first), asNumber(second)];
  const met = isWhole(a) && isWhole(b) ? common(a, b) : undefined;
  return met?.kind === "integer" ? (fitsI32(met) ? I32 : undefined) : met && isWhole(met) ? met : undefined;
}
/** The range of an integer quotient by a known positive number. */
export function quotientRange(a: Type, b: Type): Type | undefined {
  if (a.kind !== "integer" || b.kind !== "integer" || b.low < 1) return undefined;
  const ends = [a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high];
  return integer(Math.floor(Math.min(...ends)), Math.ceil(Math.max(...ends)));
}
function remainder(a: Type, b: Type, met: Type): Operation {
  if (!isWhole(met)) return { operands: met.kind === "fraction" ? F64 : met, result: met };
  const operands = met.kind === "integer" ? (fitsI32(met) ? I32 : F64) : met;
  if (b.kind !== "integer" || operands.kind === "f64") return { operands, result: operands };
  const most = Math.max(Math.abs(b.low), Math.abs(b.high)) - 1;
  if (most > EXACT) return { operands, result: operands };
  const isPositive = a.kind === "u32" || (a.kind === "integer" && a.low >= 0);
  const high = a.kind === "integer" && isPositive ? Math.min(most, a.high) : most;
  return { operands, result: integer(isPositive ? 0 : -most, Math.max(high, 0)) };
}

const isNonNegative = (t: Type): t is IntegerType => t.kind === "integer" && t.low >= 0;
/** The smallest 2^k - 1 that is not less than x. */
const onesAbove = (x: number): number => 2 ** (32 - Math.clz32(x)) - 1;

/** `& | ^ << >> >>>`: on i32 and u32; floats must be made integers first. */
export function bitwise(op: BitOperator, first: Type, second: Type): Operation | undefined {
  const [a, b] = [asNumber(first), asNumber(second)];
  if (!isWhole(a) || !isWhole(b)) return undefined;
  if (op === "<<" || op === ">>" || op === ">>>") return shift(op, a, b);
  const met = a.kind === "u32" || b.kind === "u32" ? U32 : I32;
  const mixes = (a.kind === "i32" && b.kind === "u32") || (a.kind === "u32" && b.kind === "i32");
  if (mixes) return undefined;
  const [x, y] = [isNonNegative(a) ? a.high : undefined, isNonNegative(b) ? b.high : undefined];
  if (op === "&" && (x ?? y) !== undefined) {
    const most = Math.min(x ?? Number.POSITIVE_INFINITY, y ?? Number.POSITIVE_INFINITY);
    return { operands: met, result: most > EXACT ? met : integer(0, most) };
  }
  const both = x !== undefined && y !== undefined && x <= EXACT && y <= EXACT;
  return { operands: met, result: both ? integer(0, onesAbove(Math.max(x, y))) : met };
}

/** Shift counts are taken modulo 32 and may be of any integer type. */
function shift(op: "<<" | ">>" | ">>>", a: Type, b: Type): Operation {
  const count = b.kind === "integer" && b.low === b.high ? b.low & 31 : undefined;
  if (op === ">>>") {
    if (a.kind === "integer" && a.low >= 0 && count !== undefined && a.high <= I32_HIGH)
      return { operands: I32, result: integer(a.low >>> count, a.high >>> count) };
    // A sign bit shifted away leaves a number that is the same as an i32.
    return { operands: U32, result: a.kind !== "u32" && count ? I32 : U32 };
  }
  const fitsRange = a.kind === "integer" && fitsI32(a) && count !== undefined;
  if (op === ">>") return { operands: I32, result: fitsRange ? integer(a.low >> count, a.high >> count) : I32 };
  if (fitsRange && Math.max(-a.low, a.high) * 2 ** count <= EXACT)
    return { operands: I32, result: integer(a.low * 2 ** count, a.high * 2 ** count) };
  return a.kind === "u32" ? { operands: U32, result: U32 } : { operands: I32, result: I32 };
}

export function comparison(op: CompareOperator, a: Type, b: Type): Operation | undefined {
  const isEquality = op === "==" || op === "!=";
  // JavaScript's `true === 1` is false, which nobody means.
  if (isEquality && (a.kind === "bool") !== (b.kind === "bool")) return undefined;
  const met = isEquality ? common(a, b) : common(asNumber(a), asNumber(b));
  return met && { operands: heldType(met), result: BOOL };
}
/** The type that the IR computes in for a type. */
export const heldType = (type: Type): Type => ({ kind: heldAs(type) });

/** Whether a value may be stored where a declared type is kept. */
export function isAssignable(type: Type, to: ScalarName): boolean {
  switch (to) {
    case "f32":
      return type.kind === "f32" || type.kind === "fraction" || type.kind === "integer" || type.kind === "bool";
    case "f64":
      return true;
    case "i32":
      return type.kind === "i32" || type.kind === "bool" || (type.kind === "integer" && fitsI32(type));
    case "u32":
      return type.kind === "u32" || type.kind === "bool" || (type.kind === "integer" && fitsU32(type));
    case "u8":
      return isWhole(type) || type.kind === "bool";
    case "bool":
      return type.kind === "bool" || (type.kind === "integer" && type.low >= 0 && type.high <= 1);
    default:
      return to satisfies never;
  }
}

/** How a conversion to a type is written. */
export const CONVERSION: { readonly [D in ScalarName]: (text: string) => string } = {
  f32: (text) => `Math.fround(${text})`,
  f64: (text) => `Number(${text})`,
  i32: (text) => `(${text}) | 0`,
  u32: (text) => `(${text}) >>> 0`,
  u8: (text) => `(${text}) | 0`,
  bool: (text) => `(${text}) !== 0`,
};
