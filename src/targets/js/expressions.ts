/**
 * @file IR expressions as JavaScript source.
 *
 * f32 values are numbers that have been rounded (`fround` around every operation that can be inexact; engines turn
 * that into single-precision instructions), i32 is kept by `| 0`, u32 by `>>> 0`, bool is a JavaScript boolean.
 */
import { IrError } from "../../ir/build.ts";
import type { Buffer, Expr, Local } from "../../ir/nodes.ts";
import type { BinaryOp, Conversion, DType, UnaryOp } from "../../ir/types.ts";

/** The names that generated code may use beside its own; see `HELPERS` in module.ts. */
export interface Naming {
  local(l: Local): string;
  buffer(b: Buffer): string;
}

type Rule1 = (x: string, dtype: DType) => string;
type Rule2 = (a: string, b: string, dtype: DType) => string;

/** Brings the result of an integer operation back to its type; rounds f32. */
function rounded(text: string, dtype: DType): string {
  switch (dtype) {
    case "f32":
      return `fround(${text})`;
    case "f64":
    case "bool":
      return `(${text})`;
    case "i32":
      return `(${text} | 0)`;
    case "u32":
      return `(${text} >>> 0)`;
    default:
      return dtype satisfies never;
  }
}

const unsigned = (text: string, dtype: DType): string => (dtype === "u32" ? `((${text}) >>> 0)` : `(${text})`);

const UNARY: { readonly [O in UnaryOp]: Rule1 } = {
  neg: (x, t) => (t === "f32" || t === "f64" ? `(-${x})` : rounded(`(-${x})`, t)),
  abs: (x, t) => (t === "i32" ? `(abs(${x}) | 0)` : `abs(${x})`),
  sqrt: (x, t) => rounded(`sqrt(${x})`, t),
  floor: (x) => `floor(${x})`,
  ceil: (x) => `ceil(${x})`,
  trunc: (x) => `trunc(${x})`,
  nearest: (x) => `nearestEven(${x})`,
  not: (x, t) => (t === "bool" ? `(!${x})` : unsigned(`~${x}`, t)),
  clz: (x) => `clz32(${x})`,
  bits: (x) => `(F32[0] = ${x}, I32[0])`,
  fromBits: (x) => `(I32[0] = ${x}, F32[0])`,
  highWord: (x) => `(F64[0] = ${x}, W64[HIGH])`,
  lowWord: (x) => `(F64[0] = ${x}, W64[LOW])`,
  own: (x) => x,
};

const infix =
  (op: string): Rule2 =>
  (a, b, t) =>
    rounded(`${a} ${op} ${b}`, t);
const bitwise =
  (op: string, logical: string): Rule2 =>
  (a, b, t) =>
    t === "bool" ? `(${a} ${logical} ${b})` : unsigned(`${a} ${op} ${b}`, t);
const compare =
  (op: string): Rule2 =>
  (a, b) =>
    `(${a} ${op} ${b})`;

const BINARY: { readonly [O in BinaryOp]: Rule2 } = {
  add: infix("+"),
  sub: infix("-"),
  mul: (a, b, t) =>
    t === "i32" ? `imul(${a}, ${b})` : t === "u32" ? `(imul(${a}, ${b}) >>> 0)` : rounded(`${a} * ${b}`, t),
  // Infinity and NaN become 0 under | 0, which is what integer division by zero is defined as.
  div: infix("/"),
  rem: (a, b, t) => (t === "f32" || t === "f64" ? `(${a} % ${b})` : rounded(`${a} % ${b}`, t)),
  min: (a, b) => `min(${a}, ${b})`,
  max: (a, b) => `max(${a}, ${b})`,
  and: bitwise("&", "&&"),
  or: bitwise("|", "||"),
  xor: bitwise("^", "!=="),
  shl: (a, b, t) => unsigned(`${a} << ${b}`, t),
  shr: (a, b, t) => (t === "u32" ? `(${a} >>> ${b})` : `(${a} >> ${b})`),
  mulHigh: (a, b) => `mulHigh(${a}, ${b})`,
  fromWords: (a, b) => `fromWords(${a}, ${b})`,
  eq: compare("==="),
  ne: compare("!=="),
  lt: compare("<"),
  le: compare("<="),
  gt: compare(">"),
  ge: compare(">="),
};

const exact: (x: string) => string = (x) => x;
const fround = (x: string): string => `fround(${x})`;
const CONVERT: { readonly [C in Conversion]: (x: string) => string } = {
  "f32-f64": exact,
  "f64-f32": fround,
  "i32-f32": fround,
  "i32-f64": exact,
  "u32-f32": fround,
  "u32-f64": exact,
  "f32-i32": (x) => `saturateI32(${x})`,
  "f32-u32": (x) => `saturateU32(${x})`,
  "f64-i32": (x) => `saturateI32(${x})`,
  "f64-u32": (x) => `saturateU32(${x})`,
  "i32-u32": (x) => `(${x} >>> 0)`,
  "u32-i32": (x) => `(${x} | 0)`,
  "bool-i32": (x) => `(${x} ? 1 : 0)`,
  "bool-u32": (x) => `(${x} ? 1 : 0)`,
  "bool-f32": (x) => `(${x} ? 1 : 0)`,
  "bool-f64": (x) => `(${x} ? 1 : 0)`,
};

export function constantText(value: number, dtype: DType): string {
  if (dtype === "bool") return value ? "true" : "false";
  if (Number.isNaN(value)) return "NaN";
  if (value === Number.POSITIVE_INFINITY) return "Infinity";
  if (value === Number.NEGATIVE_INFINITY) return "(-Infinity)";
  const text = Object.is(value, -0) ? "-0" : String(value);
  return text.startsWith("-") ? `(${text})` : text;
}

export function expressionText(e: Expr, names: Naming): string {
  const sub = (x: Expr): string => expressionText(x, names);
  switch (e.kind) {
    case "const":
      return constantText(e.value, e.dtype);
    case "get":
      return names.local(e.local);
    case "length":
      return `${names.buffer(e.buffer)}.length`;
    case "unary":
      return UNARY[e.op](sub(e.x), e.x.dtype);
    case "binary":
      return BINARY[e.op](sub(e.a), sub(e.b), e.a.dtype);
    case "select":
      return `(${sub(e.condition)} ? ${sub(e.a)} : ${sub(e.b)})`;
    case "fma":
      return `fmaValue(${sub(e.a)}, ${sub(e.b)}, ${sub(e.c)})`;
    case "convert":
      return CONVERT[`${e.x.dtype}-${e.dtype}` as Conversion](sub(e.x));
    case "load":
      return `${names.buffer(e.buffer)}[${sub(e.index)}]`;
    case "splat":
    case "iota":
    case "any":
    case "shuffle":
    case "lane":
      throw new IrError(`${e.kind} on the js target, which has no vectors`);
    default:
      return e satisfies never;
  }
}
