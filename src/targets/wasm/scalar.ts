/**
 * @file Operations on single values: for each operation and type the instructions that compute it.
 *
 * What WebAssembly does differently from the IR (division by zero traps there, remainders of floats and fused
 * multiply-add do not exist) is built here; all the rest is one instruction.
 */
import { IrError } from "../../ir/build.ts";
import type { BinaryOp, Conversion, DType, UnaryOp } from "../../ir/types.ts";
import { call, choose, constantOf, type FunctionRef, f32, f64, i32, i64, type Node, op } from "./code.ts";
import type { FunctionBuilder } from "./function.ts";
import type { OpName, ValueType } from "./opcodes.ts";

/** What operations need besides their operands. */
export interface OpContext {
  readonly build: FunctionBuilder;
  /** The functions of the module that stand in for missing instructions. */
  readonly helper: (name: HelperName) => FunctionRef;
  /** relaxed_madd is there and fuses. */
  readonly fusedMadd: boolean;
  /** Relaxed SIMD may be used at all. */
  readonly relaxed: boolean;
}
export type HelperName = "fmod" | "fma";

export const SCALAR_TYPES: { readonly [D in DType]: ValueType } = {
  f32: "f32",
  f64: "f64",
  i32: "i32",
  u32: "i32",
  bool: "i32",
};

export function scalarConstant(dtype: DType, value: number): Node {
  switch (dtype) {
    case "f32":
      return f32(value);
    case "f64":
      return f64(value);
    case "i32":
    case "u32":
    case "bool":
      return i32(value);
    default:
      return dtype satisfies never;
  }
}

/** Instructions by operand type. */
export type ByType = { readonly [D in DType]?: OpName };
export function pick(table: ByType, dtype: DType, what: string): OpName {
  const found = table[dtype];
  if (!found) throw new IrError(`${what} does not take ${dtype}`);
  return found;
}

type UnaryRule = (x: Node, dtype: DType, context: OpContext) => Node;
type BinaryRule = (a: Node, b: Node, dtype: DType, context: OpContext) => Node;

const unaryByType =
  (table: ByType): UnaryRule =>
  (x, dtype) =>
    op(pick(table, dtype, "operation"), [x]);
const binaryByType =
  (table: ByType): BinaryRule =>
  (a, b, dtype) =>
    op(pick(table, dtype, "operation"), [a, b]);
const ints = (i: OpName, u: OpName = i): ByType => ({ i32: i, u32: u });
const masks = (name: OpName): ByType => ({ i32: name, u32: name, bool: name });

const negate: UnaryRule = (x, dtype) =>
  dtype === "i32" || dtype === "u32"
    ? op("i32.sub", [i32(0), x])
    : op(pick({ f32: "f32.neg", f64: "f64.neg" }, dtype, "neg"), [x]);

const absolute: UnaryRule = (x, dtype, { build }) => {
  if (dtype !== "i32") return op(pick({ f32: "f32.abs", f64: "f64.abs" }, dtype, "abs"), [x]);
  const value = build.share(x);
  const sign = build.share(op("i32.shr_s", [value, i32(31)]));
  return op("i32.sub", [op("i32.xor", [value, sign]), sign]);
};

const highWord = (x: Node): Node => op("i32.wrap_i64", [op("i64.shr_u", [op("i64.reinterpret_f64", [x]), i64(32n)])]);

export const SCALAR_UNARY: { readonly [O in UnaryOp]: UnaryRule } = {
  neg: negate,
  abs: absolute,
  sqrt: unaryByType({ f32: "f32.sqrt", f64: "f64.sqrt" }),
  floor: unaryByType({ f32: "f32.floor", f64: "f64.floor" }),
  ceil: unaryByType({ f32: "f32.ceil", f64: "f64.ceil" }),
  trunc: unaryByType({ f32: "f32.trunc", f64: "f64.trunc" }),
  nearest: unaryByType({ f32: "f32.nearest", f64: "f64.nearest" }),
  not: (x, dtype) => (dtype === "bool" ? op("i32.eqz", [x]) : op("i32.xor", [x, i32(-1)])),
  clz: unaryByType(ints("i32.clz")),
  bits: unaryByType({ f32: "i32.reinterpret_f32" }),
  fromBits: unaryByType({ i32: "f32.reinterpret_i32" }),
  highWord: (x) => highWord(x),
  lowWord: (x) => op("i32.wrap_i64", [op("i64.reinterpret_f64", [x])]),
  own: (x) => x,
};

/** Division that gives 0 for x / 0 and wraps for the smallest i32 by -1, where WebAssembly traps. */
const divide: BinaryRule = (a, b, dtype, { build }) => {
  if (dtype === "f32" || dtype === "f64") return op(dtype === "f32" ? "f32.div" : "f64.div", [a, b]);
  const name: OpName = dtype === "i32" ? "i32.div_s" : "i32.div_u";
  const known = constantOf(b);
  if (known === 0) return i32(0);
  if (dtype === "i32" && known === -1) return op("i32.sub", [i32(0), a]);
  if (known !== undefined) return op(name, [a, b]);
  const x = build.share(a);
  const y = build.share(b);
  const plain = op(name, [x, y]);
  if (dtype === "u32") return choose(y, plain, i32(0));
  // y is 0 or -1: then -x masked by y is the quotient.
  const special = op("i32.lt_u", [op("i32.add", [y, i32(1)]), i32(2)]);
  return choose(special, op("i32.and", [op("i32.sub", [i32(0), x]), y]), plain);
};

const remainder: BinaryRule = (a, b, dtype, { build, helper }) => {
  switch (dtype) {
    case "f64":
      return call(helper("fmod"), [a, b]);
    case "f32":
      // The remainder of two f32 is an f32, so computing it in f64 changes nothing.
      return op("f32.demote_f64", [call(helper("fmod"), [op("f64.promote_f32", [a]), op("f64.promote_f32", [b])])]);
    default: {
      const name: OpName = dtype === "i32" ? "i32.rem_s" : "i32.rem_u";
      const known = constantOf(b);
      if (known === 0) return i32(0);
      if (known !== undefined) return op(name, [a, b]);
      const y = build.share(b);
      return choose(y, op(name, [build.share(a), y]), i32(0));
    }
  }
};

const extreme =
  (floats: ByType, integers: ByType): BinaryRule =>
  (a, b, dtype, { build }) => {
    if (dtype === "f32" || dtype === "f64") return op(pick(floats, dtype, "min/max"), [a, b]);
    const [x, y] = [build.share(a), build.share(b)];
    return op("select_i32", [x, y, op(pick(integers, dtype, "min/max"), [x, y])]);
  };

const widen = (x: Node): Node => op("i64.extend_i32_u", [x]);
const joinWords = (high: Node, low: Node): Node =>
  op("f64.reinterpret_i64", [op("i64.or", [op("i64.shl", [widen(high), i64(32n)]), widen(low)])]);

export const SCALAR_BINARY: { readonly [O in BinaryOp]: BinaryRule } = {
  add: binaryByType({ f32: "f32.add", f64: "f64.add", ...ints("i32.add") }),
  sub: binaryByType({ f32: "f32.sub", f64: "f64.sub", ...ints("i32.sub") }),
  mul: binaryByType({ f32: "f32.mul", f64: "f64.mul", ...ints("i32.mul") }),
  div: divide,
  rem: remainder,
  min: extreme({ f32: "f32.min", f64: "f64.min" }, ints("i32.lt_s", "i32.lt_u")),
  max: extreme({ f32: "f32.max", f64: "f64.max" }, ints("i32.gt_s", "i32.gt_u")),
  and: binaryByType(masks("i32.and")),
  or: binaryByType(masks("i32.or")),
  xor: binaryByType(masks("i32.xor")),
  shl: binaryByType(ints("i32.shl")),
  shr: binaryByType(ints("i32.shr_s", "i32.shr_u")),
  mulHigh: (a, b) => op("i32.wrap_i64", [op("i64.shr_u", [op("i64.mul", [widen(a), widen(b)]), i64(32n)])]),
  fromWords: (a, b) => joinWords(a, b),
  eq: binaryByType({ f32: "f32.eq", f64: "f64.eq", ...masks("i32.eq") }),
  ne: binaryByType({ f32: "f32.ne", f64: "f64.ne", ...masks("i32.ne") }),
  lt: binaryByType({ f32: "f32.lt", f64: "f64.lt", ...ints("i32.lt_s", "i32.lt_u") }),
  le: binaryByType({ f32: "f32.le", f64: "f64.le", ...ints("i32.le_s", "i32.le_u") }),
  gt: binaryByType({ f32: "f32.gt", f64: "f64.gt", ...ints("i32.gt_s", "i32.gt_u") }),
  ge: binaryByType({ f32: "f32.ge", f64: "f64.ge", ...ints("i32.ge_s", "i32.ge_u") }),
};

const one =
  (name: OpName) =>
  (x: Node): Node =>
    op(name, [x]);
const same = (x: Node): Node => x;

export const SCALAR_CONVERT: { readonly [C in Conversion]: (x: Node) => Node } = {
  "f32-f64": one("f64.promote_f32"),
  "f64-f32": one("f32.demote_f64"),
  "i32-f32": one("f32.convert_i32_s"),
  "i32-f64": one("f64.convert_i32_s"),
  "u32-f32": one("f32.convert_i32_u"),
  "u32-f64": one("f64.convert_i32_u"),
  "f32-i32": one("i32.trunc_sat_f32_s"),
  "f32-u32": one("i32.trunc_sat_f32_u"),
  "f64-i32": one("i32.trunc_sat_f64_s"),
  "f64-u32": one("i32.trunc_sat_f64_u"),
  "i32-u32": same,
  "u32-i32": same,
  "bool-i32": same,
  "bool-u32": same,
  "bool-f32": one("f32.convert_i32_s"),
  "bool-f64": one("f64.convert_i32_s"),
};

export function scalarSelect(dtype: DType, condition: Node, a: Node, b: Node): Node {
  const names = { f32: "select_f32", f64: "select_f64", i32: "select_i32" } as const;
  return op(names[SCALAR_TYPES[dtype] as "f32" | "f64" | "i32"], [a, b, condition]);
}

/** A single fused multiply-add: one lane of the vector instruction, or the emulation. */
export function scalarFma(a: Node, b: Node, c: Node, { fusedMadd, helper }: OpContext): Node {
  if (!fusedMadd) return call(helper("fma"), [a, b, c]);
  const lanes = [a, b, c].map((x) => op("f32x4.splat", [x]));
  return op("f32x4.extract_lane", [op("f32x4.relaxed_madd", lanes)], 0);
}
