/**
 * @file Operations on vectors: for each operation and type the instructions on v128 parts.
 *
 * Most are one instruction for each part. Where the instruction set has a gap (integer division, shifts by different
 * counts, remainders) the result is put together exactly; where an instruction is slow on common machines (minimum
 * and maximum with JavaScript's rules) a faster one is used when a constant operand allows it.
 */
import type { BinaryOp, DType, UnaryOp } from "../../ir/types.ts";
import { i32, type Node, op, v128Doubles } from "./code.ts";
import { emulatedFma } from "./helpers.ts";
import {
  constantVector,
  highWords,
  isConstant,
  lanesPerPart,
  lowWords,
  mapParts,
  maskOf,
  narrowParts,
  shareVector,
  shuffle,
  type Vector,
  vector,
  widenParts,
  zipParts,
} from "./lanes.ts";
import type { OpName } from "./opcodes.ts";
import { type ByType, type OpContext, pick, SCALAR_BINARY } from "./scalar.ts";

type UnaryRule = (x: Vector, context: OpContext) => Vector;
type BinaryRule = (a: Vector, b: Vector, context: OpContext) => Vector;

const ints = (i: OpName, u: OpName = i): ByType => ({ i32: i, u32: u });
const unaryByType =
  (table: ByType): UnaryRule =>
  (x) =>
    mapParts(x.dtype, x, (part) => op(pick(table, x.dtype, "operation"), [part]));
const binaryByType =
  (table: ByType): BinaryRule =>
  (a, b) =>
    zipParts(a.dtype, a, b, (x, y) => op(pick(table, a.dtype, "operation"), [x, y]));

/** Two masks of one width: a constant follows the other, otherwise the wider one gives way. */
function sameWidth(a: Vector, b: Vector, { build }: OpContext): [Vector, Vector] {
  const width = isConstant(b) ? a.width : isConstant(a) ? b.width : a.width === b.width ? a.width : 4;
  return [maskOf(build, a, width), maskOf(build, b, width)];
}

/** The shape of a register with lanes of a type, as instructions are named after it. */
const laneShape = (dtype: DType): "f64x2" | "f32x4" | "i32x4" =>
  dtype === "f64" ? "f64x2" : dtype === "f32" ? "f32x4" : "i32x4";

/** One lane at a time through scalar code: for what has no vector form. */
function lanewise(a: Vector, b: Vector, f: (x: Node, y: Node) => Node, { build }: OpContext): Vector {
  const { dtype } = a;
  const prefix = laneShape(dtype);
  const lane = (part: Node, l: number): Node => op(`${prefix}.extract_lane`, [part], l);
  const [x, y] = [shareVector(build, a), shareVector(build, b)];
  const used = Math.min(lanesPerPart(a.width), a.lanes);
  return zipParts(dtype, x, y, (p, q) => {
    let result: Node = op(`${prefix}.splat`, [f(lane(p, 0), lane(q, 0))]);
    for (let l = 1; l < used; l++) result = op(`${prefix}.replace_lane`, [result, f(lane(p, l), lane(q, l))], l);
    return result;
  });
}

const not: UnaryRule = (x) => mapParts(x.dtype, x, (part) => op("v128.not", [part]));

/** Words of f64 lanes: two parts of doubles make one of words. */
const wordsOf =
  (join: (a: Node, b: Node) => Node): UnaryRule =>
  (x, { build }) =>
    vector("i32", x.lanes, narrowParts(build, x, join));

/** V8 13.6 joins a pair of f64x2.neg wrongly, and makes the sign bits anew each time: they are a constant here. */
const negate: UnaryRule = (x, context) => {
  if (x.dtype !== "f64") return unaryByType({ f32: "f32x4.neg", ...ints("i32x4.neg") })(x, context);
  return mapParts("f64", x, (part) => op("v128.xor", [part, v128Doubles(-0)]));
};

export const VECTOR_UNARY: { readonly [O in UnaryOp]: UnaryRule } = {
  neg: negate,
  abs: unaryByType({ f32: "f32x4.abs", f64: "f64x2.abs", i32: "i32x4.abs" }),
  sqrt: unaryByType({ f32: "f32x4.sqrt", f64: "f64x2.sqrt" }),
  floor: unaryByType({ f32: "f32x4.floor", f64: "f64x2.floor" }),
  ceil: unaryByType({ f32: "f32x4.ceil", f64: "f64x2.ceil" }),
  trunc: unaryByType({ f32: "f32x4.trunc", f64: "f64x2.trunc" }),
  nearest: unaryByType({ f32: "f32x4.nearest", f64: "f64x2.nearest" }),
  not,
  clz: (x, context) => lanewise(x, x, (a) => op("i32.clz", [a]), context),
  bits: (x) => vector("i32", x.lanes, x.parts),
  fromBits: (x) => vector("f32", x.lanes, x.parts),
  highWord: wordsOf(highWords),
  lowWord: wordsOf(lowWords),
  own: (x) => x,
};

/** 1.5 * 2^52: a whole double of at most 2^32 added to it has that number, modulo 2^32, as its low word. */
const TO_LOW_WORD = 6755399441055744;

/** The quotient of 32-bit integers, through f64, where it is exact: x / y is never nearer to a whole number than 1 / y. */
function quotient(a: Vector, b: Vector, context: OpContext): Vector {
  const { build } = context;
  const name: OpName = a.dtype === "i32" ? "f64x2.convert_low_i32x4_s" : "f64x2.convert_low_i32x4_u";
  const doubles = (x: Vector): Vector =>
    vector(
      "f64",
      x.lanes,
      widenParts(build, x, (part) => op(name, [part])),
    );
  const whole = zipParts("f64", doubles(a), doubles(b), (x, y) =>
    op("f64x2.add", [op("f64x2.trunc", [op("f64x2.div", [x, y])]), v128Doubles(TO_LOW_WORD)]),
  );
  return vector(a.dtype, a.lanes, narrowParts(build, whole, lowWords));
}

/** Zero where the divisor is. */
function whereNonZero(x: Vector, divisor: Vector): Vector {
  const zero = constantVector("i32", x.lanes, 0);
  if (isConstant(divisor)) return isZero(divisor.parts[0]) ? { ...zero, dtype: x.dtype } : x;
  return zipParts(x.dtype, x, divisor, (part, y) =>
    op("v128.andnot", [part, op("i32x4.eq", [y, zero.parts[0] as Node])]),
  );
}

const divide: BinaryRule = (a, b, context) => {
  if (a.dtype === "f32" || a.dtype === "f64")
    return binaryByType({ f32: "f32x4.div", f64: "f64x2.div" })(a, b, context);
  const y = shareVector(context.build, b);
  return whereNonZero(quotient(a, y, context), y);
};

const remainder: BinaryRule = (a, b, context) => {
  if (a.dtype === "f32" || a.dtype === "f64")
    return lanewise(a, b, (x, y) => SCALAR_BINARY.rem(x, y, a.dtype, context), context);
  const { build } = context;
  const [x, y] = [shareVector(build, a), shareVector(build, b)];
  const product = zipParts(a.dtype, quotient(x, y, context), y, (q, d) => op("i32x4.mul", [q, d]));
  const rest = zipParts(a.dtype, x, product, (p, q) => op("i32x4.sub", [p, q]));
  return whereNonZero(rest, y);
};

/** The number that all lanes of a vector are known to hold. */
function knownFloat(x: Vector): number | undefined {
  const part = x.parts[0];
  if (part?.kind !== "op" || part.op !== "v128.const") return undefined;
  const { buffer } = Uint8Array.from(part.immediates, Number);
  return x.dtype === "f32" ? new Float32Array(buffer)[0] : new Float64Array(buffer)[0];
}

/**
 * pmin(x, c) is "c < x ? c : x": one instruction, and right for any c but NaN and -0 (pmax: and +0), as NaN in x
 * stays. After pmax with +0, adding 0 turns a -0 into the +0 that is wanted.
 */
function fastExtreme(which: "min" | "max", x: Vector, c: Vector, value: number): Vector | undefined {
  const prefix = x.dtype === "f32" ? "f32x4" : "f64x2";
  if (Number.isNaN(value) || (which === "min" && Object.is(value, -0))) return undefined;
  const result = vectorPseudo(`p${which}`, x, c);
  if (which === "min" || !Object.is(value, 0)) return result;
  return zipParts(x.dtype, result, c, (a, zero) => op(`${prefix}.add`, [a, zero]));
}

const extreme =
  (which: "min" | "max"): BinaryRule =>
  (a, b) => {
    if (a.dtype === "i32" || a.dtype === "u32")
      return zipParts(a.dtype, a, b, (x, y) => op(`i32x4.${which}_${a.dtype === "i32" ? "s" : "u"}`, [x, y]));
    const [left, right] = [knownFloat(a), knownFloat(b)];
    const fast =
      right !== undefined
        ? fastExtreme(which, a, b, right)
        : left !== undefined
          ? fastExtreme(which, b, a, left)
          : undefined;
    const prefix = a.dtype === "f32" ? "f32x4" : "f64x2";
    return fast ?? zipParts(a.dtype, a, b, (x, y) => op(`${prefix}.${which}`, [x, y]));
  };

/** Shifts by different counts; equal ones go through `vectorShift`. */
const shift =
  (which: "shl" | "shr"): BinaryRule =>
  (a, b, context) =>
    lanewise(a, b, (x, y) => SCALAR_BINARY[which](x, y, a.dtype, context), context);

const SHIFTS = { shl: ints("i32x4.shl"), shr: ints("i32x4.shr_s", "i32x4.shr_u") };
/** All lanes shifted by one count. */
export function vectorShift(which: "shl" | "shr", x: Vector, count: Node, { build }: OpContext): Vector {
  const shared = build.share(count);
  return mapParts(x.dtype, x, (part) => op(pick(SHIFTS[which], x.dtype, which), [part, shared]));
}

const mulHigh: BinaryRule = (a, b, { build }) => {
  const [x, y] = [shareVector(build, a), shareVector(build, b)];
  return zipParts("u32", x, y, (p, q) =>
    highWords(op("i64x2.extmul_low_i32x4_u", [p, q]), op("i64x2.extmul_high_i32x4_u", [p, q])),
  );
};

const fromWords: BinaryRule = (high, low, { build }) => {
  const [h, l] = [shareVector(build, high), shareVector(build, low)];
  const halves = h.parts.flatMap((part, k) => {
    const lowPart = l.parts[k] as Node;
    return [shuffle(lowPart, part, 0, 4, 1, 5), shuffle(lowPart, part, 2, 6, 3, 7)];
  });
  return vector("f64", high.lanes, halves.slice(0, Math.max(1, high.lanes / 2)));
};

const bitwise =
  (name: OpName): BinaryRule =>
  (a, b, context) => {
    const [x, y] = a.dtype === "bool" ? sameWidth(a, b, context) : [a, b];
    return zipParts(a.dtype, x, y, (p, q) => op(name, [p, q]));
  };

const comparison =
  (table: ByType): BinaryRule =>
  (a, b) => {
    const parts = a.parts.map((part, k) => op(pick(table, a.dtype, "comparison"), [part, b.parts[k] as Node]));
    return vector("bool", a.lanes, parts, a.width);
  };
const floats = (name: "eq" | "ne" | "lt" | "le" | "gt" | "ge"): ByType => ({
  f32: `f32x4.${name}`,
  f64: `f64x2.${name}`,
});
const different = bitwise("v128.xor");

export const VECTOR_BINARY: { readonly [O in BinaryOp]: BinaryRule } = {
  add: binaryByType({ f32: "f32x4.add", f64: "f64x2.add", ...ints("i32x4.add") }),
  sub: binaryByType({ f32: "f32x4.sub", f64: "f64x2.sub", ...ints("i32x4.sub") }),
  mul: binaryByType({ f32: "f32x4.mul", f64: "f64x2.mul", ...ints("i32x4.mul") }),
  div: divide,
  rem: remainder,
  min: extreme("min"),
  max: extreme("max"),
  and: bitwise("v128.and"),
  or: bitwise("v128.or"),
  xor: bitwise("v128.xor"),
  shl: shift("shl"),
  shr: shift("shr"),
  mulHigh,
  fromWords,
  eq: (a, b, context) =>
    a.dtype === "bool"
      ? not(different(a, b, context), context)
      : comparison({ ...floats("eq"), ...ints("i32x4.eq") })(a, b, context),
  ne: (a, b, context) =>
    a.dtype === "bool" ? different(a, b, context) : comparison({ ...floats("ne"), ...ints("i32x4.ne") })(a, b, context),
  lt: comparison({ ...floats("lt"), ...ints("i32x4.lt_s", "i32x4.lt_u") }),
  le: comparison({ ...floats("le"), ...ints("i32x4.le_s", "i32x4.le_u") }),
  gt: comparison({ ...floats("gt"), ...ints("i32x4.gt_s", "i32x4.gt_u") }),
  ge: comparison({ ...floats("ge"), ...ints("i32x4.ge_s", "i32x4.ge_u") }),
};

const isZero = (part: Node | undefined): boolean =>
  part?.kind === "op" && part.op === "v128.const" && part.immediates.every((byte) => Number(byte) === 0);

/** a where the mask is set, b elsewhere. */
export function vectorSelect(condition: Vector, a: Vector, b: Vector, { build, relaxed }: OpContext): Vector {
  const width = a.dtype === "bool" ? condition.width : a.width;
  const [x, y] = a.dtype === "bool" ? [maskOf(build, a, width), maskOf(build, b, width)] : [a, b];
  const mask = maskOf(build, condition, width);
  const parts = mask.parts.map((m, k) => {
    const [p, q] = [x.parts[k] as Node, y.parts[k] as Node];
    if (isZero(q)) return op("v128.and", [p, m]);
    if (isZero(p)) return op("v128.andnot", [q, m]);
    if (!relaxed) return op("v128.bitselect", [p, q, m]);
    return op(width === 8 ? "i64x2.relaxed_laneselect" : "i32x4.relaxed_laneselect", [p, q, m]);
  });
  return vector(a.dtype, a.lanes, parts, width);
}

/** The minimum or maximum that is defined by one comparison. */
export function vectorPseudo(which: "pmin" | "pmax", a: Vector, b: Vector): Vector {
  const prefix = a.dtype === "f32" ? "f32x4" : "f64x2";
  return zipParts(a.dtype, a, b, (x, y) => op(`${prefix}.${which}`, [x, y]));
}

export function vectorFma(a: Vector, b: Vector, c: Vector, { build, fusedMadd }: OpContext): Vector {
  const parts = a.parts.map((part, k) => {
    const args = [part, b.parts[k] as Node, c.parts[k] as Node];
    return fusedMadd ? op("f32x4.relaxed_madd", args) : emulatedFma(build, args);
  });
  return vector("f32", a.lanes, parts);
}

/** Two scalars side by side. */
export function pairVector(x: Node, y: Node, dtype: DType): Vector {
  const shape = laneShape(dtype);
  return vector(dtype, 2, [op(`${shape}.replace_lane`, [op(`${shape}.splat`, [x]), y], 1)]);
}

/** One lane as a scalar. */
export function vectorLane(x: Vector, at: number): Node {
  const perPart = lanesPerPart(x.width);
  return op(`${laneShape(x.dtype)}.extract_lane`, [x.parts[Math.floor(at / perPart)] as Node], at % perPart);
}

/** Whether a lane is set, as 0 or 1. */
export function vectorAny(x: Vector): Node {
  if (x.lanes < lanesPerPart(x.width)) return op("i32.ne", [op("i32.and", [laneBits(x, 0), i32(3)]), i32(0)]);
  const all = x.parts.reduce((a, b) => op("v128.or", [a, b]));
  return op("v128.any_true", [all]);
}

/** The mask of one part as a number, lane l in bit l. */
export function laneBits(mask: Vector, part: number): Node {
  return op(mask.width === 8 ? "i64x2.bitmask" : "i32x4.bitmask", [mask.parts[part] as Node]);
}
