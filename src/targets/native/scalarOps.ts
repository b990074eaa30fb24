/**
 * @file Every operation on scalars, as C. The tables are exhaustive: a new operation does not type-check until it
 * has its row here.
 *
 * Compiled with -fwrapv, so that signed sums, products and negations wrap. What C leaves undefined (division by
 * zero, conversions out of range, wide shifts) is decided here, as the scalar table of the IR says.
 */
import type { BinaryOp, Conversion, DType, UnaryOp } from "../../ir/types.ts";
import { cType, HELD, type Prelude } from "./prelude.ts";

/** An operand: its C text (one that may be repeated when `value` is given), and its value where constant. */
export interface Operand {
  readonly text: string;
  readonly value: number | undefined;
}

const suffix = (t: DType): string => (t === "f32" ? "f" : "");
const builtin =
  (name: string) =>
  (_: Prelude, t: DType, x: string): string =>
    `__builtin_${name}${suffix(t)}(${x})`;

/** Reinterprets the bits of one type as another's. */
function bitCast(p: Prelude, name: string, from: "f32" | "i32", to: "f32" | "i32", x: string): string {
  const body = (): string => `${cType(to)} r; __builtin_memcpy(&r, &x, 4); return r;`;
  return `${p.helper(name, cType(to), `${cType(from)} x`, body)}(${x})`;
}

function wordHelper(p: Prelude, name: string, shift: number): string {
  const body = (): string => `unsigned long long u; __builtin_memcpy(&u, &x, 8); return (int)(u >> ${shift});`;
  return p.helper(name, "int", "double x", body);
}

export function clzHelper(p: Prelude): string {
  return p.helper("clz_u32", "unsigned", "unsigned x", () => "return x ? __builtin_clz(x) : 32;");
}

export const SCALAR_UNARY: { readonly [O in UnaryOp]: (p: Prelude, t: DType, x: string) => string } = {
  neg: (_, __, x) => `(-${x})`,
  abs: (p, t, x) =>
    t === "i32"
      ? `${p.helper("abs_i32", "int", "int x", () => "unsigned u = (unsigned)x; return (int)(x < 0 ? 0u - u : u);")}(${x})`
      : builtin("fabs")(p, t, x),
  sqrt: builtin("sqrt"),
  floor: builtin("floor"),
  ceil: builtin("ceil"),
  trunc: builtin("trunc"),
  nearest: builtin("rint"),
  not: (_, t, x) => (t === "bool" ? `(!${x})` : `(~${x})`),
  clz: (p, t, x) => `(${cType(HELD[t])})${clzHelper(p)}((unsigned)${x})`,
  bits: (p, _, x) => bitCast(p, "bits_f32", "f32", "i32", x),
  fromBits: (p, _, x) => bitCast(p, "from_bits_f32", "i32", "f32", x),
  highWord: (p, _, x) => `${wordHelper(p, "high_word", 32)}(${x})`,
  lowWord: (p, _, x) => `${wordHelper(p, "low_word", 0)}(${x})`,
  own: (_, __, x) => x,
};

const infix =
  (operator: string) =>
  (_: Prelude, __: DType, a: Operand, b: Operand): string =>
    `(${a.text} ${operator} ${b.text})`;

type ScalarBinary = (p: Prelude, t: DType, a: Operand, b: Operand) => string;

/** A helper of two operands of the same type as its result. */
function same(p: Prelude, name: string, t: DType, body: () => string): string {
  const type = cType(HELD[t]);
  return p.helper(`${name}_${t}`, type, `${type} a, ${type} b`, body);
}

/** A divisor that needs no guard. */
export const safeDivisor = (b: Operand): boolean => b.value !== undefined && b.value !== 0 && b.value !== -1;

const divide: ScalarBinary = (p, t, a, b) => {
  if (t === "f32" || t === "f64" || safeDivisor(b)) return `(${a.text} / ${b.text})`;
  const quotient = t === "i32" ? "b == -1 ? -a : a / b" : "a / b";
  return `${same(p, "div", t, () => `return b == 0 ? 0 : ${quotient};`)}(${a.text}, ${b.text})`;
};

/**
 * The exact remainder of f32 by one division in f64: up to 2^28 the truncated quotient is the true one (a quotient
 * of two 24-bit numbers is at least 2^-24 away from any integer it does not equal), and its product is exact.
 */
export const REMAINDER_F32 =
  "double x = a, y = b, q = __builtin_trunc(x / y); " +
  "if (!(__builtin_fabs(q) < 268435456.0 && __builtin_fabsf(b) < __builtin_inff())) return __builtin_fmodf(a, b); " +
  "return (float)__builtin_copysign(x - q * y, x);";

const remainder: ScalarBinary = (p, t, a, b) => {
  if (t === "f64") return `__builtin_fmod(${a.text}, ${b.text})`;
  if (t === "f32") return `${same(p, "rem", t, () => REMAINDER_F32)}(${a.text}, ${b.text})`;
  if (safeDivisor(b)) return `(${a.text} % ${b.text})`;
  const guard = t === "i32" ? "b == 0 || b == -1" : "b == 0";
  return `${same(p, "rem", t, () => `return ${guard} ? 0 : a % b;`)}(${a.text}, ${b.text})`;
};

/** How a constant operand simplifies a float minimum or maximum. */
export type ExtremeForm = "general" | "plain" | "plusZero";

/**
 * `c < x ? c : x` is one instruction and already right for NaN in x. It fails only for zeros that differ in sign:
 * min(x, -0) wants -0 for +0, and max(x, +0) wants +0 for -0, which adding +0 repairs.
 */
export function extremeForm(op: "min" | "max", value: number | undefined): ExtremeForm {
  if (value === undefined || Number.isNaN(value)) return "general";
  if (op === "min") return Object.is(value, -0) ? "general" : "plain";
  return Object.is(value, 0) ? "plusZero" : "plain";
}

/** The bitwise combination of both one-sided answers settles equal operands: -0 | 0 is -0, -0 & 0 is 0. */
function floatExtreme(p: Prelude, op: "min" | "max", t: "f32" | "f64"): string {
  return same(p, op, t, () => {
    const bits = t === "f32" ? "unsigned" : "unsigned long long";
    const less = op === "min" ? "<" : ">";
    const first = `${cType(t)} x = a ${less} b ? a : b, y = b ${less} a ? b : a; ${bits} u, v; `;
    const copy = `__builtin_memcpy(&u, &x, sizeof u); __builtin_memcpy(&v, &y, sizeof v); u ${op === "min" ? "|" : "&"}= v; `;
    const nan = op === "min" ? "" : "if (a != a || b != b) return a + b; ";
    return `${nan}${first}${copy}__builtin_memcpy(&x, &u, sizeof u); return x;`;
  });
}

const extreme =
  (op: "min" | "max"): ScalarBinary =>
  (p, t, a, b) => {
    const less = op === "min" ? "<" : ">";
    if (t !== "f32" && t !== "f64")
      return `${same(p, op, t, () => `return a ${less} b ? a : b;`)}(${a.text}, ${b.text})`;
    const [c, x] = a.value === undefined ? [b, a] : [a, b];
    const form = extremeForm(op, c.value);
    if (form === "general") return `${floatExtreme(p, op, t)}(${a.text}, ${b.text})`;
    const plain = `${same(p, `constant_${op}`, t, () => `return a ${less} b ? a : b;`)}(${c.text}, ${x.text})`;
    return form === "plain" ? plain : `(${plain} + ${t === "f32" ? "0.0f" : "0.0"})`;
  };

const shift =
  (operator: "<<" | ">>"): ScalarBinary =>
  (_, t, a, b) => {
    const count = b.value === undefined ? `(${b.text} & 31)` : `${b.value & 31}`;
    if (t === "i32" && operator === "<<") return `((int)((unsigned)${a.text} << ${count}))`;
    return `(${a.text} ${operator} ${count})`;
  };

/** Written out, gcc 12 makes -x of 0.0 - x where it sees that x is no -0, and 0 - 0 becomes -0. */
const subtract: ScalarBinary = (p, t, a, b) => {
  if ((t !== "f32" && t !== "f64") || !Object.is(a.value, 0)) return `(${a.text} - ${b.text})`;
  return `${p.helper(`from_zero_${t}`, cType(t), `${cType(t)} x`, () => `return ${a.text} - x;`)}(${b.text})`;
};

const fromWords: ScalarBinary = (p, _, a, b) => {
  const body = (): string =>
    "unsigned long long u = (unsigned long long)(unsigned)a << 32 | (unsigned)b; double r; __builtin_memcpy(&r, &u, 8); return r;";
  return `${p.helper("from_words", "double", "int a, int b", body)}(${a.text}, ${b.text})`;
};

export const SCALAR_BINARY: { readonly [O in BinaryOp]: ScalarBinary } = {
  add: infix("+"),
  sub: subtract,
  mul: infix("*"),
  div: divide,
  rem: remainder,
  min: extreme("min"),
  max: extreme("max"),
  and: infix("&"),
  or: infix("|"),
  xor: infix("^"),
  shl: shift("<<"),
  shr: shift(">>"),
  mulHigh: (_, __, a, b) => `((unsigned)((unsigned long long)${a.text} * ${b.text} >> 32))`,
  fromWords,
  eq: infix("=="),
  ne: infix("!="),
  lt: infix("<"),
  le: infix("<="),
  gt: infix(">"),
  ge: infix(">="),
};

const cast =
  (type: string) =>
  (_: Prelude, x: string): string =>
    `((${type})${x})`;

const toSigned =
  (from: "f32" | "f64") =>
  (p: Prelude, x: string): string => {
    const [most, least] = from === "f32" ? ["2147483648.0f", "-2147483648.0f"] : ["2147483647.0", "-2147483648.0"];
    const body = (): string =>
      `int r = x != x ? 0 : x >= ${most} ? 2147483647 : x <= ${least} ? -2147483647 - 1 : (int)x; KEEP_INT(r); return r;`;
    return `${p.helper(`to_i32_${from}`, "int", `${cType(from)} x`, body)}(${x})`;
  };
const toUnsigned =
  (from: "f32" | "f64") =>
  (p: Prelude, x: string): string => {
    const most = from === "f32" ? "4294967296.0f" : "4294967295.0";
    const body = (): string =>
      `unsigned r = x > 0 ? x >= ${most} ? 4294967295u : (unsigned)x : 0; KEEP_INT(r); return r;`;
    return `${p.helper(`to_u32_${from}`, "unsigned", `${cType(from)} x`, body)}(${x})`;
  };

export const SCALAR_CONVERT: { readonly [C in Conversion]: (p: Prelude, x: string) => string } = {
  "f32-f64": cast("double"),
  "f64-f32": cast("float"),
  "i32-f32": cast("float"),
  "i32-f64": cast("double"),
  "u32-f32": cast("float"),
  "u32-f64": cast("double"),
  "f32-i32": toSigned("f32"),
  "f32-u32": toUnsigned("f32"),
  "f64-i32": toSigned("f64"),
  "f64-u32": toUnsigned("f64"),
  "i32-u32": cast("unsigned"),
  "u32-i32": cast("int"),
  "bool-i32": (_, x) => x,
  "bool-u32": cast("unsigned"),
  "bool-f32": cast("float"),
  "bool-f64": cast("double"),
};

/**
 * a * b + c with one rounding. Without the instruction: the product is exact in f64, the sum is rounded to odd
 * there, and rounding that to f32 is then the only rounding that counts.
 */
export function fmaScalar(p: Prelude, a: string, b: string, c: string): string {
  const fused = "float r = __builtin_fmaf(a, b, c); KEEP(r); return r;";
  const emulated =
    "double p = (double)a * b, s = p + c, t = s - p, e = p - (s - t) + (c - t); long long u; " +
    "__builtin_memcpy(&u, &s, 8); long long even = !(u & 1) & (e != 0) & (s - s == 0); " +
    "u += even ? ((e > 0) == (s > 0) ? 1 : -1) : 0; __builtin_memcpy(&s, &u, 8); return (float)s;";
  const body = (): string => (p.fusedMultiplyAdd ? fused : emulated);
  return `${p.helper("fma_f32", "float", "float a, float b, float c", body)}(${a}, ${b}, ${c})`;
}
