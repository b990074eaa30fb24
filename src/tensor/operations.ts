/**
 * @file The elementwise operations: what they take, what they yield, what they cost, and how they become IR.
 *
 * One row each; gradients have a table of their own (gradients.ts) with the same keys.
 */
import { type Builder, binary, convert, select, unary } from "../ir/build.ts";
import type { Expr } from "../ir/nodes.ts";
import type { BinaryOp, DType, UnaryOp } from "../ir/types.ts";
import { MATH, type MathName } from "../math/index.ts";
import { permutedIndex } from "../random/permutation.ts";
import { createKey, encrypt, u32 } from "../random/threefry.ts";
import { normalFrom, unitInterval } from "../random/transforms.ts";

/** Groups of element types that an operation takes. */
export type Accepts = "number" | "float" | "integer" | "bool" | "any";
const ACCEPTED: { readonly [A in Accepts]: readonly DType[] } = {
  number: ["f32", "f64", "i32", "u32"],
  float: ["f32", "f64"],
  integer: ["i32", "u32"],
  bool: ["bool"],
  any: ["f32", "f64", "i32", "u32", "bool"],
};
export const accepts = (group: Accepts, dtype: DType): boolean => ACCEPTED[group].includes(dtype);

export const isFloat = ({ dtype }: { readonly dtype: DType }): boolean => accepts("float", dtype);

export interface Operation {
  readonly operands: number;
  readonly accepts: Accepts;
  /** The result's type where it is not that of the operands. */
  readonly result?: DType;
  /** Rough number of instructions for one element: decides what is computed twice and what is stored. */
  readonly cost: number;
  readonly emit: (b: Builder, xs: readonly Expr[], to: DType) => Expr;
}

const at = (xs: readonly Expr[], k: number): Expr => xs[k] as Expr;
const one = (op: UnaryOp, accepts: Accepts, cost = 1): Operation => ({
  operands: 1,
  accepts,
  cost,
  emit: (_, xs) => unary(op, at(xs, 0)),
});
const two = (op: BinaryOp, accepts: Accepts, cost = 1): Operation => ({
  operands: 2,
  accepts,
  cost,
  emit: (_, xs) => binary(op, at(xs, 0), at(xs, 1)),
});
const compared = (op: BinaryOp, accepts: Accepts): Operation => ({ ...two(op, accepts), result: "bool" });
const math = (name: MathName, cost: number, operands = 1): Operation => ({
  operands,
  accepts: "float",
  cost,
  emit: (b, xs) => MATH[name](b, ...xs),
});

/** Both words of Threefry for (key0, key1, counter). */
const words = (b: Builder, xs: readonly Expr[]): [Expr, Expr] =>
  encrypt(b, createKey(b, at(xs, 0), at(xs, 1)), u32(0), convert("u32", at(xs, 2)));

export const OPERATIONS = {
  copy: { operands: 1, accepts: "any", cost: 0, emit: (_, xs) => at(xs, 0) },
  /** The same value, through which no gradient flows. */
  detach: { operands: 1, accepts: "any", cost: 0, emit: (_, xs) => at(xs, 0) },
  neg: one("neg", "number"),
  abs: one("abs", "number"),
  sqrt: one("sqrt", "float", 8),
  floor: one("floor", "float"),
  ceil: one("ceil", "float"),
  not: one("not", "bool"),
  add: two("add", "number"),
  sub: two("sub", "number"),
  mul: two("mul", "number"),
  div: two("div", "number", 8),
  rem: two("rem", "number", 20),
  min: two("min", "number"),
  max: two("max", "number"),
  and: two("and", "bool"),
  or: two("or", "bool"),
  eq: compared("eq", "any"),
  ne: compared("ne", "any"),
  lt: compared("lt", "number"),
  le: compared("le", "number"),
  gt: compared("gt", "number"),
  ge: compared("ge", "number"),
  exp: math("exp", 20),
  expm1: math("expm1", 25),
  log: math("log", 20),
  log1p: math("log1p", 25),
  tanh: math("tanh", 25),
  sigmoid: math("sigmoid", 25),
  sin: math("sin", 25),
  cos: math("cos", 25),
  atan: math("atan", 25),
  atan2: math("atan2", 40, 2),
  sinh: math("sinh", 30),
  cosh: math("cosh", 30),
  pow: math("pow", 60, 2),
  rsqrt: math("rsqrt", 16),
  sign: math("sign", 2),
  /** condition, then, else. */
  select: { operands: 3, accepts: "any", cost: 1, emit: (_, xs) => select(at(xs, 0), at(xs, 1), at(xs, 2)) },
  convert: { operands: 1, accepts: "any", cost: 1, emit: (_, xs, to) => convert(to, at(xs, 0)) },
  /** The operand and its value, which is computed already: for the gradient, which is that of the function as a whole. */
  erf: { operands: 2, accepts: "float", cost: 0, emit: (_, xs) => at(xs, 1) },
  softplus: { operands: 2, accepts: "float", cost: 0, emit: (_, xs) => at(xs, 1) },
  /** A value, the index that it was picked by, and how many there are: loops test the index (emit/elements.ts). */
  picked: { operands: 3, accepts: "any", cost: 2, emit: (_, xs) => at(xs, 0) },
  /** 32 random bits for (key0, key1, counter). */
  bits: {
    operands: 3,
    accepts: "integer",
    cost: 100,
    emit: (b, xs) => {
      const [x, y] = words(b, xs);
      return binary("xor", x, y);
    },
  },
  /** A normal number for (key0, key1, counter). */
  normal: {
    operands: 3,
    accepts: "integer",
    result: "f32",
    cost: 150,
    emit: (b, xs) => normalFrom(b, ...words(b, xs)),
  },
  /** The words of a key for (key0, key1, number): each a draw of its own. */
  word0: { operands: 3, accepts: "integer", cost: 100, emit: (b, xs) => words(b, xs)[0] },
  word1: { operands: 3, accepts: "integer", cost: 100, emit: (b, xs) => words(b, xs)[1] },
  /** The place of an element in a random order, for (key0, key1, place, count). */
  permuted: {
    operands: 4,
    accepts: "integer",
    result: "i32",
    cost: 200,
    emit: (b, xs) => permutedIndex(b, at(xs, 0), at(xs, 1), convert("i32", at(xs, 2)), convert("i32", at(xs, 3))),
  },
  /** Bits as a number from 0 up to 1. */
  unit: { operands: 1, accepts: "integer", result: "f32", cost: 3, emit: (_, xs) => unitInterval(at(xs, 0)) },
} as const satisfies { readonly [name: string]: Operation };
export type MapOp = keyof typeof OPERATIONS;

export const operation = (op: MapOp): Operation => OPERATIONS[op];
