/**
 * @file What every operation means on single values: the executable definition in plain JavaScript numbers.
 *
 * The interpreter and the constant folder use these tables; every target is tested against them. Values of i32 are
 * signed, of u32 unsigned, of f32 already rounded, of bool 0 or 1. Any NaN equals any other NaN.
 */
import type { BinaryOp, DType, UnaryOp } from "./types.ts";

const floats = new Float64Array(1);
const words = new Int32Array(floats.buffer);
const single = new Float32Array(1);
const singleBits = new Int32Array(single.buffer);
/** Index of the low word: hosts are little-endian wherever V8, JSC and SpiderMonkey run today; checked anyway. */
const LOW = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? 0 : 1;

/** Rounds a number to a type, as storing it there would. */
export function roundTo(dtype: DType, x: number): number {
  switch (dtype) {
    case "f32":
      return Math.fround(x);
    case "f64":
      return x;
    case "i32":
      return x | 0;
    case "u32":
      return x >>> 0;
    case "bool":
      return x ? 1 : 0;
    default:
      return dtype satisfies never;
  }
}

/** Round half to even, keeping the sign of zero. */
export function nearestEven(x: number): number {
  if (!(Math.abs(x) < 4503599627370496)) return x;
  const floor = Math.floor(x);
  const rest = x - floor;
  const up = rest > 0.5 || (rest === 0.5 && floor % 2 !== 0);
  const result = up ? floor + 1 : floor;
  return result === 0 && (x < 0 || Object.is(x, -0)) ? -0 : result;
}

function bitsOf(x: number): number {
  single[0] = x;
  return singleBits[0] as number;
}
function fromBits(bits: number): number {
  singleBits[0] = bits;
  return single[0] as number;
}
function wordOf(x: number, which: number): number {
  floats[0] = x;
  return words[which] as number;
}
function fromWords(high: number, low: number): number {
  words[LOW] = low;
  words[1 - LOW] = high;
  return floats[0] as number;
}

const UNARY: { readonly [O in UnaryOp]: (x: number, dtype: DType) => number } = {
  neg: (x) => -x,
  abs: (x) => Math.abs(x),
  sqrt: (x) => Math.sqrt(x),
  floor: (x) => Math.floor(x),
  ceil: (x) => Math.ceil(x),
  trunc: (x) => Math.trunc(x),
  nearest: (x) => nearestEven(x),
  not: (x, dtype) => (dtype === "bool" ? 1 - x : ~x),
  clz: (x) => Math.clz32(x),
  bits: (x) => bitsOf(x),
  fromBits: (x) => fromBits(x),
  highWord: (x) => wordOf(x, 1 - LOW),
  lowWord: (x) => wordOf(x, LOW),
  own: (x) => x,
};

/** The value of `op` on `x`, an operand of type `dtype`; rounded to the type that the operation yields. */
export function unaryValue(op: UnaryOp, dtype: DType, x: number): number {
  const y = UNARY[op](x, dtype);
  switch (op) {
    case "bits":
    case "highWord":
    case "lowWord":
      return y | 0;
    case "fromBits":
      return y;
    default:
      return roundTo(dtype, y);
  }
}

const isSigned = (dtype: DType): boolean => dtype === "i32";
const isInt = (dtype: DType): boolean => dtype === "i32" || dtype === "u32";

/** The upper half of the product of two u32. */
export function mulHigh(a: number, b: number): number {
  const aHigh = a >>> 16;
  const aLow = a & 0xffff;
  const bHigh = b >>> 16;
  const bLow = b & 0xffff;
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16);
  const carry = aLow * bHigh + (middle & 0xffff);
  return aHigh * bHigh + Math.floor(middle / 65536) + Math.floor(carry / 65536);
}

const BINARY: { readonly [O in BinaryOp]: (a: number, b: number, dtype: DType) => number } = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b, t) => (isInt(t) ? Math.imul(a, b) : a * b),
  div: (a, b, t) => (isInt(t) ? (b === 0 ? 0 : Math.trunc(a / b)) : a / b),
  rem: (a, b, t) => (isInt(t) && b === 0 ? 0 : a % b),
  min: (a, b) => Math.min(a, b),
  max: (a, b) => Math.max(a, b),
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
  shl: (a, b) => a << (b & 31),
  shr: (a, b, t) => (isSigned(t) ? a >> (b & 31) : a >>> (b & 31)),
  mulHigh: (a, b) => mulHigh(a, b),
  fromWords: (a, b) => fromWords(a, b),
  eq: (a, b) => Number(a === b),
  ne: (a, b) => Number(a !== b),
  lt: (a, b) => Number(a < b),
  le: (a, b) => Number(a <= b),
  gt: (a, b) => Number(a > b),
  ge: (a, b) => Number(a >= b),
};

/** The value of `op` on two operands of type `dtype`. */
export function binaryValue(op: BinaryOp, dtype: DType, a: number, b: number): number {
  const y = BINARY[op](a, b, dtype);
  return op === "fromWords" ? y : roundTo(dtype, y);
}

/** Truncation to i32 and u32 that saturates; NaN gives 0. */
export function saturateI32(x: number): number {
  if (x >= 2147483647) return 2147483647;
  return x <= -2147483648 ? -2147483648 : x | 0;
}
export function saturateU32(x: number): number {
  if (x >= 4294967295) return 4294967295;
  return x > 0 ? x >>> 0 : 0;
}

export function convertValue(from: DType, to: DType, x: number): number {
  const fromFloat = from === "f32" || from === "f64";
  if (fromFloat && to === "i32") return saturateI32(x);
  if (fromFloat && to === "u32") return saturateU32(x);
  return roundTo(to, x);
}

/**
 * a * b + c in f32 with one rounding. The product of two f32 is exact in f64; the sum there is rounded to odd (its
 * last bit set when inexact), which makes the final rounding to f32 the only one that counts.
 */
export function fmaValue(a: number, b: number, c: number): number {
  const product = a * b;
  const sum = product + c;
  const back = sum - product;
  const error = product - (sum - back) + (c - back);
  if (error === 0 || !Number.isFinite(sum)) return Math.fround(sum);
  floats[0] = sum;
  const low = words[LOW] as number;
  if ((low & 1) === 0) {
    // The exact sum lies between two f64; take the odd one on its side.
    const away = error > 0 === sum > 0;
    if (away) {
      words[LOW] = low | 1;
    } else {
      words[LOW] = (low - 1) | 0;
      if (low === 0) words[1 - LOW] = ((words[1 - LOW] as number) - 1) | 0;
    }
  }
  return Math.fround(floats[0] as number);
}
