/**
 * @file Vector values: how lanes lie in v128 registers, how they change their width, and what constants look like.
 *
 * A value of n lanes is a list of v128 parts, 4 lanes of 32 bits or 2 of 64 in each; with fewer lanes than that, one
 * part whose upper lanes mean nothing. Bools are masks of all ones or all zeros, as wide as what they were compared
 * from; they change their width where they meet others.
 */
import { IrError } from "../../ir/build.ts";
import type { Conversion, DType } from "../../ir/types.ts";
import { i32, type Node, op, v128, v128Doubles, v128Words } from "./code.ts";
import type { FunctionBuilder } from "./function.ts";
import type { OpName } from "./opcodes.ts";

/** Bytes of a lane. */
export type Width = 4 | 8;

export interface Vector {
  readonly dtype: DType;
  readonly lanes: number;
  readonly width: Width;
  readonly parts: readonly Node[];
}

export const widthOf = (dtype: DType): Width => (dtype === "f64" ? 8 : 4);
export const partCount = (lanes: number, width: Width): number => Math.max(1, (lanes * width) / 16);
export const lanesPerPart = (width: Width): number => 16 / width;

export function vector(dtype: DType, lanes: number, parts: readonly Node[], width = widthOf(dtype)): Vector {
  return { dtype, lanes, width, parts };
}
/** The same function on every part. */
export function mapParts(dtype: DType, x: Vector, f: (part: Node, index: number) => Node): Vector {
  return vector(dtype, x.lanes, x.parts.map(f), dtype === "bool" ? x.width : widthOf(dtype));
}
export function zipParts(dtype: DType, a: Vector, b: Vector, f: (a: Node, b: Node) => Node): Vector {
  return vector(
    dtype,
    a.lanes,
    a.parts.map((part, k) => f(part, b.parts[k] as Node)),
    a.width,
  );
}

/** All parts computed now, so that each may be used any number of times. */
export function shareVector(build: FunctionBuilder, x: Vector): Vector {
  return { ...x, parts: x.parts.map((part) => build.share(part)) };
}

const single = new Float32Array(1);
const singleWord = new Int32Array(single.buffer);
function wordOf(value: number): number {
  single[0] = value;
  return singleWord[0] as number;
}

/** The same number in all lanes. */
export function constantVector(dtype: DType, lanes: number, value: number, width = widthOf(dtype)): Vector {
  const part =
    dtype === "f64"
      ? v128Doubles(value)
      : v128Words(dtype === "f32" ? wordOf(value) : dtype === "bool" ? -value : value);
  return vector(dtype, lanes, repeated(part, lanes, width), width);
}
const repeated = (part: Node, lanes: number, width: Width): Node[] =>
  new Array<Node>(partCount(lanes, width)).fill(part);

export function iotaVector(lanes: number): Vector {
  const parts = Array.from({ length: partCount(lanes, 4) }, (_, p) =>
    v128(Int32Array.from({ length: 4 }, (_, l) => p * 4 + l).buffer),
  );
  return vector("i32", lanes, parts);
}

const SPLATS: { readonly [D in DType]: (x: Node) => Node } = {
  f32: (x) => op("f32x4.splat", [x]),
  f64: (x) => op("f64x2.splat", [x]),
  i32: (x) => op("i32x4.splat", [x]),
  u32: (x) => op("i32x4.splat", [x]),
  bool: (x) => op("i32x4.splat", [op("i32.sub", [i32(0), x])]),
};
export function splatVector(build: FunctionBuilder, dtype: DType, lanes: number, x: Node): Vector {
  const part = build.share(SPLATS[dtype](x), "splat");
  return vector(dtype, lanes, repeated(part, lanes, widthOf(dtype)));
}

const bytes = (...firsts: readonly number[]): number[] => {
  const size = 16 / firsts.length;
  return firsts.flatMap((first) => Array.from({ length: size }, (_, k) => first * size + k));
};
/** Picks lanes of two registers: 4 numbers choose words (0..7), 2 numbers choose doubles (0..3). */
export function shuffle(a: Node, b: Node, ...lanes: readonly number[]): Node {
  return op("i8x16.shuffle", [a, b], ...bytes(...lanes));
}
/** Lanes of two vectors of one shape, both shared, in a given order: one instruction for each part, or none. */
export function shuffleVector(a: Vector, b: Vector, order: readonly number[]): Vector {
  const perPart = lanesPerPart(a.width);
  const origin = (lane: number): { part: Node; lane: number } => {
    const [of, l] = lane < a.lanes ? [a, lane] : [b, lane - a.lanes];
    return { part: of.parts[Math.floor(l / perPart)] as Node, lane: l % perPart };
  };
  const parts = Array.from({ length: partCount(order.length, a.width) }, (_, p) => {
    const wanted = order.slice(p * perPart, (p + 1) * perPart).map(origin);
    return gatherLanes(wanted, perPart);
  });
  return vector(a.dtype, order.length, parts);
}

/** One part out of lanes of several; lanes beyond the wanted ones mean nothing. */
function gatherLanes(wanted: readonly { part: Node; lane: number }[], perPart: number): Node {
  const [first, second, ...more] = [...new Set(wanted.map((w) => w.part))];
  if (!first) throw new IrError("a shuffle without lanes");
  if (!second && wanted.every((w, l) => w.lane === l)) return first;
  const numbers = (pick: (l: number) => number): number[] =>
    Array.from({ length: perPart }, (_, l) => (l < wanted.length ? pick(l) : 0));
  const from = (l: number): { part: Node; lane: number } => wanted[l] as { part: Node; lane: number };
  const start = numbers((l) => from(l).lane + (from(l).part === second ? perPart : 0));
  return more.reduce<Node>(
    (made, part) => shuffle(made, part, ...numbers((l) => (from(l).part === part ? perPart + from(l).lane : l))),
    shuffle(first, second ?? first, ...start),
  );
}

/** The upper two words or the upper double, moved down. */
export const upperHalf = (x: Node): Node => shuffle(x, x, 1, 1);

/** Two registers of 64-bit lanes into one of their lower words. */
export const lowWords = (a: Node, b: Node): Node => shuffle(a, b, 0, 2, 4, 6);
export const highWords = (a: Node, b: Node): Node => shuffle(a, b, 1, 3, 5, 7);

/** Makes 32-bit parts of 64-bit ones: `join` sees two neighbours (the same twice when there is only one). */
export function narrowParts(build: FunctionBuilder, x: Vector, join: (low: Node, high: Node) => Node): Node[] {
  if (x.parts.length === 1) {
    const only = build.share(x.parts[0] as Node);
    return [join(only, only)];
  }
  return Array.from({ length: x.parts.length / 2 }, (_, k) => join(x.parts[2 * k] as Node, x.parts[2 * k + 1] as Node));
}
/** Makes 64-bit parts of 32-bit ones; `low` takes the lower half of a part. */
export function widenParts(
  build: FunctionBuilder,
  x: Vector,
  low: (part: Node) => Node,
  high = (part: Node): Node => low(upperHalf(part)),
): Node[] {
  const shared = x.parts.map((part) => build.share(part));
  if (x.lanes === 2) return [low(shared[0] as Node)];
  return shared.flatMap((part) => [low(part), high(part)]);
}

export function isConstant(x: Vector): boolean {
  return x.parts.every((part) => part.kind === "op" && part.op === "v128.const");
}

/** A mask with lanes of another width; a constant one has equal lanes. */
export function maskOf(build: FunctionBuilder, mask: Vector, width: Width): Vector {
  if (mask.width === width) return mask;
  if (isConstant(mask)) return vector("bool", mask.lanes, repeated(mask.parts[0] as Node, mask.lanes, width), width);
  const parts =
    width === 4
      ? narrowParts(build, mask, lowWords)
      : widenParts(
          build,
          mask,
          (part) => op("i64x2.extend_low_i32x4_s", [part]),
          (part) => op("i64x2.extend_high_i32x4_s", [part]),
        );
  return vector("bool", mask.lanes, parts, width);
}

type ConvertRule = (x: Vector, build: FunctionBuilder) => readonly Node[];
const each =
  (name: OpName): ConvertRule =>
  (x) =>
    x.parts.map((part) => op(name, [part]));
const widening =
  (name: OpName): ConvertRule =>
  (x, build) =>
    widenParts(build, x, (part) => op(name, [part]));
/** Instructions that fill the lower half and zero the upper. */
const narrowing =
  (name: OpName): ConvertRule =>
  (x, build) =>
    x.parts.length === 1
      ? [op(name, [x.parts[0] as Node])]
      : narrowParts(build, x, (low, high) => shuffle(op(name, [low]), op(name, [high]), 0, 2));
const fromMask =
  (one: DType): ConvertRule =>
  (x, build) => {
    const mask = maskOf(build, x, widthOf(one));
    const ones = constantVector(one, x.lanes, 1);
    return mask.parts.map((part, k) => op("v128.and", [part, ones.parts[k] as Node]));
  };
const sameBits: ConvertRule = (x) => x.parts;
const maskToInteger: ConvertRule = (x, build) =>
  maskOf(build, x, 4).parts.map((part) => op("i32x4.shr_u", [part, i32(31)]));

export const VECTOR_CONVERT: { readonly [C in Conversion]: ConvertRule } = {
  "f32-f64": widening("f64x2.promote_low_f32x4"),
  "f64-f32": narrowing("f32x4.demote_f64x2_zero"),
  "i32-f32": each("f32x4.convert_i32x4_s"),
  "i32-f64": widening("f64x2.convert_low_i32x4_s"),
  "u32-f32": each("f32x4.convert_i32x4_u"),
  "u32-f64": widening("f64x2.convert_low_i32x4_u"),
  "f32-i32": each("i32x4.trunc_sat_f32x4_s"),
  "f32-u32": each("i32x4.trunc_sat_f32x4_u"),
  "f64-i32": narrowing("i32x4.trunc_sat_f64x2_s_zero"),
  "f64-u32": narrowing("i32x4.trunc_sat_f64x2_u_zero"),
  "i32-u32": sameBits,
  "u32-i32": sameBits,
  "bool-i32": maskToInteger,
  "bool-u32": maskToInteger,
  "bool-f32": fromMask("f32"),
  "bool-f64": fromMask("f64"),
};
