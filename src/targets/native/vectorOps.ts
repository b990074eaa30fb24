/**
 * @file Every operation on vectors, as C with the vector extensions that gcc and clang share.
 *
 * A row yields the text for one part: a vector of `n` lanes that fills a machine register at most. Where neither an
 * operator nor a loop over the lanes becomes good code (checked in the assembly of gcc 12 and clang 14), a helper
 * names the instruction's builtin behind a feature test and keeps a portable body beside it.
 *
 * Masks are signed integers of all ones or all zeros, of 4 or 8 bytes (see shapes.ts).
 */
import type { BinaryOp, Conversion, DType, UnaryOp } from "../../ir/types.ts";
import { cType, either, HELD, halfHelper, laneLoop, type Prelude, selectHelper, widenHelper } from "./prelude.ts";
import { clzHelper, extremeForm, fmaScalar, type Operand, SCALAR_BINARY, safeDivisor } from "./scalarOps.ts";

type VectorUnary = (p: Prelude, t: DType, n: number, x: string) => string;
type VectorBinary = (p: Prelude, t: DType, n: number, a: Operand, b: Operand) => string;

const typeOf = (p: Prelude, t: DType, n: number): string => p.type(HELD[t], n);
const maskOf = (p: Prelude, t: DType, n: number): string => p.type(t === "f64" ? "i64" : "i32", n);

/** A helper of one operand, of the operand's type unless `result` is given. */
function one(p: Prelude, name: string, t: DType, n: number, x: string, body: (type: string) => string): string {
  const type = typeOf(p, t, n);
  return `${p.helper(`${name}_${type}`, type, `${type} x`, () => body(type))}(${x})`;
}

/** A helper of two operands of the same type as its result. */
function two(
  p: Prelude,
  name: string,
  t: DType,
  n: number,
  [a, b]: readonly [Operand, Operand],
  body: (type: string) => string,
): string {
  const type = typeOf(p, t, n);
  return `${p.helper(`${name}_${type}`, type, `${type} a, ${type} b`, () => body(type))}(${a.text}, ${b.text})`;
}

const laneBuiltin =
  (name: string): VectorUnary =>
  (p, t, n, x) =>
    one(p, name, t, n, x, (type) => laneLoop(type, n, `__builtin_${name}${t === "f32" ? "f" : ""}(x[i])`));

const absolute: VectorUnary = (p, t, n, x) => {
  if (t === "i32") return one(p, "abs", t, n, x, (type) => laneLoop(type, n, "x[i] < 0 ? -x[i] : x[i]"));
  const mask = maskOf(p, t, n);
  const bits = t === "f32" ? "0x7fffffff" : "0x7fffffffffffffffll";
  return `((${typeOf(p, t, n)})((${mask})${x} & ${bits}))`;
};

export const VECTOR_UNARY: { readonly [O in UnaryOp]: VectorUnary } = {
  neg: (_, __, ___, x) => `(-${x})`,
  abs: absolute,
  sqrt: laneBuiltin("sqrt"),
  floor: laneBuiltin("floor"),
  ceil: laneBuiltin("ceil"),
  trunc: laneBuiltin("trunc"),
  nearest: laneBuiltin("rint"),
  not: (_, __, ___, x) => `(~${x})`,
  clz: (p, t, n, x) => {
    const lane = `(${cType(HELD[t])})${clzHelper(p)}((unsigned)x[i])`;
    return one(p, "clz", t, n, x, (type) => laneLoop(type, n, lane));
  },
  bits: (p, _, n, x) => `((${p.type("i32", n)})${x})`,
  fromBits: (p, _, n, x) => `((${p.type("f32", n)})${x})`,
  highWord: (p, _, n, x) => `${halfHelper(p, "f64", 1, n)}(${x})`,
  lowWord: (p, _, n, x) => `${halfHelper(p, "f64", 0, n)}(${x})`,
};

const infix =
  (operator: string): VectorBinary =>
  (_, __, ___, a, b) =>
    `(${a.text} ${operator} ${b.text})`;

const compare =
  (operator: string): VectorBinary =>
  (p, t, n, a, b) =>
    `((${maskOf(p, t, n)})(${a.text} ${operator} ${b.text}))`;

/** Lane by lane with the scalar row, for what has no vector instruction. */
function byLanes(p: Prelude, op: "div" | "rem", t: DType, n: number, operands: readonly [Operand, Operand]): string {
  const a = { text: "a[i]", value: undefined };
  const b = { text: "b[i]", value: undefined };
  return two(p, op, t, n, operands, (type) => laneLoop(type, n, SCALAR_BINARY[op](p, t, a, b)));
}

/** The quotient of two i32 is exact in f64: it is at least 2^-32 of itself away from any integer it does not equal. */
function quotientI32(type: string, n: number): string {
  return (
    `${type} special = (b == 0) | (b == -1), d = (special & 1) | (~special & b), q; ` +
    `for (int i = 0; i < ${n}; i++) q[i] = (int)((double)a[i] / (double)d[i]); `
  );
}

const divide: VectorBinary = (p, t, n, a, b) => {
  if (t === "f32" || t === "f64" || safeDivisor(b)) return `(${a.text} / ${b.text})`;
  if (t !== "i32") return byLanes(p, "div", t, n, [a, b]);
  return two(p, "div", t, n, [a, b], (type) => `${quotientI32(type, n)}return (~special & q) | ((b == -1) & -a);`);
};

const remainder: VectorBinary = (p, t, n, a, b) => {
  if (t === "f32") return two(p, "rem", t, n, [a, b], (type) => remainderF32(p, type, n));
  if (t !== "f64" && safeDivisor(b)) return `(${a.text} % ${b.text})`;
  if (t !== "i32") return byLanes(p, "rem", t, n, [a, b]);
  return two(p, "rem", t, n, [a, b], (type) => `${quotientI32(type, n)}return ~special & (a - q * b);`);
};

/** As the scalar one, all lanes at once; lanes with a huge quotient or divisor are done again by the library. */
function remainderF32(p: Prelude, type: string, n: number): string {
  const lane =
    "double x = a[i], y = b[i], q = __builtin_trunc(x / y); r[i] = (float)__builtin_copysign(x - q * y, x); " +
    "bad[i] = !(__builtin_fabs(q) < 268435456.0) | !(__builtin_fabsf(b[i]) < __builtin_inff()); any |= bad[i];";
  return (
    `${type} r; ${p.type("i32", n)} bad; int any = 0; for (int i = 0; i < ${n}; i++) { ${lane} } ` +
    `if (any) for (int i = 0; i < ${n}; i++) if (bad[i]) r[i] = __builtin_fmodf(a[i], b[i]); return r;`
  );
}

/** Both one-sided answers, combined bitwise: that settles zeros of either sign. NaN survives `|` but not `&`. */
function floatExtreme(
  p: Prelude,
  op: "min" | "max",
  t: DType,
  n: number,
  operands: readonly [Operand, Operand],
): string {
  const less = op === "min" ? "<" : ">";
  const mask = maskOf(p, t, n);
  return two(p, op, t, n, operands, (type) => {
    const loop = `for (int i = 0; i < ${n}; i++)`;
    const sides = `${type} x, y; ${loop} x[i] = a[i] ${less} b[i] ? a[i] : b[i]; ${loop} y[i] = b[i] ${less} a[i] ? b[i] : a[i]; `;
    const nan = ` | (${mask})(a != a) | (${mask})(b != b)`;
    return `${sides}return (${type})((${mask})x ${op === "min" ? "|" : "&"} (${mask})y${op === "min" ? "" : nan});`;
  });
}

const extreme =
  (op: "min" | "max"): VectorBinary =>
  (p, t, n, a, b) => {
    const lane = `a[i] ${op === "min" ? "<" : ">"} b[i] ? a[i] : b[i]`;
    if (t !== "f32" && t !== "f64") return two(p, op, t, n, [a, b], (type) => laneLoop(type, n, lane));
    const [c, x] = a.value === undefined ? [b, a] : [a, b];
    const form = extremeForm(op, c.value);
    if (form === "general") return floatExtreme(p, op, t, n, [a, b]);
    const plain = two(p, `constant_${op}`, t, n, [c, x], (type) => laneLoop(type, n, lane));
    return form === "plain" ? plain : `(${plain} + ${t === "f32" ? "0.0f" : "0.0"})`;
  };

const shift =
  (operator: "<<" | ">>"): VectorBinary =>
  (p, t, n, a, b) => {
    const count = b.value === undefined ? `(${b.text} & 31)` : `${b.value & 31}`;
    if (t === "u32" || operator === ">>") return `(${a.text} ${operator} ${count})`;
    const unsigned = p.type("u32", n);
    return `((${p.type("i32", n)})((${unsigned})${a.text} << ${b.value === undefined ? `(${unsigned})${count}` : count}))`;
  };

/** Even and odd lanes multiplied apart, where the machine multiplies 32 by 32 bits to 64 in 64-bit lanes. */
const mulHigh: VectorBinary = (p, _, n, a, b) => {
  const type = p.type("u32", n);
  const name = `mul_high_${type}`;
  const portable = laneLoop(type, n, "(unsigned)((unsigned long long)a[i] * b[i] >> 32)");
  p.define(name, () => {
    const signature = `INLINE ${type} ${name}(${type} a, ${type} b)`;
    if (n !== 4 && n !== 8) return `${signature} { ${portable} }`;
    const wide = p.type("u64", n / 2);
    const signed = p.type("i32", n);
    const feature = n === 8 ? "__AVX2__" : "__SSE2__";
    const multiply = (x: string, y: string): string =>
      `(${wide})__builtin_ia32_pmuludq${n === 8 ? "256" : "128"}((${signed})${x}, (${signed})${y})`;
    const odd = multiply(`((${wide})a >> 32)`, `((${wide})b >> 32)`);
    const fast = `return (${type})(${multiply("a", "b")} >> 32 | (${odd} & 0xffffffff00000000ull));`;
    return either(`defined(${feature})`, signature, fast, portable);
  });
  return `${name}(${a.text}, ${b.text})`;
};

const fromWords: VectorBinary = (p, _, n, a, b) => {
  const half = p.type("i32", n);
  const words = p.type("u32", n);
  const double = p.type("f64", n);
  const wide = widenHelper(p, "u32", "u64", n);
  const body = (): string => `return (${double})(${wide}((${words})a) << 32 | ${wide}((${words})b));`;
  return `${p.helper(`from_words_x${n}`, double, `${half} a, ${half} b`, body)}(${a.text}, ${b.text})`;
};

export const VECTOR_BINARY: { readonly [O in BinaryOp]: VectorBinary } = {
  add: infix("+"),
  sub: infix("-"),
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
  mulHigh,
  fromWords,
  eq: (p, t, n, a, b) => (t === "bool" ? `(~(${a.text} ^ ${b.text}))` : compare("==")(p, t, n, a, b)),
  ne: (p, t, n, a, b) => (t === "bool" ? `(${a.text} ^ ${b.text})` : compare("!=")(p, t, n, a, b)),
  lt: compare("<"),
  le: compare("<="),
  gt: compare(">"),
  ge: compare(">="),
};

type VectorConvert = (p: Prelude, n: number, x: string) => string;

/** A conversion helper named by its types. */
function converting(
  p: Prelude,
  from: DType,
  to: DType,
  n: number,
  x: string,
  body: (result: string) => string,
): string {
  const source = typeOf(p, from, n);
  const result = typeOf(p, to, n);
  return `${p.helper(`${to}_of_${source}`, result, `${source} x`, () => body(result))}(${x})`;
}

const convertVector =
  (from: DType, to: DType): VectorConvert =>
  (p, n, x) =>
    converting(p, from, to, n, x, (result) => `return __builtin_convertvector(x, ${result});`);

/** gcc 12 splits this conversion in halves unless told the instruction. */
const signedToDouble: VectorConvert = (p, n, x) => {
  const source = p.type("i32", n);
  const result = p.type("f64", n);
  const name = `f64_of_${source}`;
  p.define(name, () => {
    const signature = `INLINE ${result} ${name}(${source} x)`;
    const portable = `return __builtin_convertvector(x, ${result});`;
    if (n !== 4) return `${signature} { ${portable} }`;
    const fast = `return (${result})__builtin_ia32_cvtdq2pd256(x);`;
    return either("defined(__AVX__) && !defined(__clang__)", signature, fast, portable);
  });
  return `${name}(${x})`;
};

/** The bits of 2^52 + x, less 2^52. */
const unsignedToDouble: VectorConvert = (p, n, x) =>
  converting(p, "u32", "f64", n, x, (result) => {
    const wide = widenHelper(p, "u32", "u64", n);
    return `return (${result})(${wide}(x) | 0x4330000000000000ull) - 4503599627370496.0;`;
  });

/**
 * f32 to i32. x86 answers out-of-range lanes with the smallest i32; flipping all bits of those at the upper end and
 * clearing NaN lanes saturates. Elsewhere the operand is clamped first, so that nothing is undefined.
 */
const singleToSigned: VectorConvert = (p, n, x) => {
  const source = p.type("f32", n);
  const result = p.type("i32", n);
  const name = `i32_of_${source}`;
  p.define(name, () => {
    const signature = `INLINE ${result} ${name}(${source} x)`;
    const clamp = `${source} y; for (int i = 0; i < ${n}; i++) y[i] = x[i] > -2147483648.0f ? x[i] : -2147483648.0f;`;
    const portable =
      `${clamp} for (int i = 0; i < ${n}; i++) y[i] = y[i] < 2147483520.0f ? y[i] : 2147483520.0f; ` +
      `return (__builtin_convertvector(y, ${result}) | ((${result})(x >= 2147483648.0f) & 0x7fffffff)) & (${result})(x == x);`;
    if (n !== 4 && n !== 8 && n !== 16) return `${signature} { ${portable} }`;
    const instruction =
      n === 16
        ? `__builtin_ia32_cvttps2dq512_mask(x, (${result}){0}, (unsigned short)-1, 4)`
        : `__builtin_ia32_cvttps2dq${n === 8 ? "256" : ""}(x)`;
    const fast = `return ((${result})${instruction} ^ (${result})(x >= 2147483648.0f)) & (${result})(x == x);`;
    const feature = n === 16 ? "__AVX512F__" : n === 8 ? "__AVX__" : "__SSE2__";
    return either(`defined(${feature})`, signature, fast, portable);
  });
  return `${name}(${x})`;
};

/** f32 to u32: values from 2^31 on are moved down by it, exactly, and their top bit is put back. */
const singleToUnsigned: VectorConvert = (p, n, x) =>
  converting(p, "f32", "u32", n, x, (result) => {
    const type = p.type("f32", n);
    const mask = p.type("i32", n);
    const choose = selectHelper(p, "f32", n);
    return (
      `${mask} big = (${mask})(x >= 2147483648.0f), over = (${mask})(x >= 4294967296.0f); ` +
      `${mask} keep = (${mask})(x > 0.0f) & ~over; ` +
      `${type} y = (${type})(keep & (${mask})${choose}(big, x - 2147483648.0f, x)); ` +
      `return ((${result})__builtin_convertvector(y, ${mask}) ^ ((${result})(big & keep) & 0x80000000u)) | (${result})over;`
    );
  });

/** f64 holds both ends exactly: clamp, clear NaN, convert. */
const doubleToSigned: VectorConvert = (p, n, x) =>
  converting(p, "f64", "i32", n, x, (result) => {
    const mask = p.type("i64", n);
    const type = p.type("f64", n);
    return (
      `${type} y; for (int i = 0; i < ${n}; i++) y[i] = x[i] < 2147483647.0 ? x[i] : 2147483647.0; ` +
      `for (int i = 0; i < ${n}; i++) y[i] = y[i] > -2147483648.0 ? y[i] : -2147483648.0; ` +
      `return __builtin_convertvector((${type})((${mask})y & (${mask})(x == x)), ${result});`
    );
  });
const doubleToUnsigned: VectorConvert = (p, n, x) =>
  converting(p, "f64", "u32", n, x, (result) => {
    const type = p.type("f64", n);
    const half = p.type("i32", n);
    return (
      `${type} y; for (int i = 0; i < ${n}; i++) y[i] = x[i] > 0.0 ? x[i] : 0.0; ` +
      `for (int i = 0; i < ${n}; i++) y[i] = y[i] < 4294967295.0 ? y[i] : 4294967295.0; ` +
      `for (int i = 0; i < ${n}; i++) y[i] = __builtin_trunc(y[i]) - 2147483648.0; ` +
      `return (${result})__builtin_convertvector(y, ${half}) ^ 0x80000000u;`
    );
  });

/** A mask to 0 or 1: the bits of one, where the mask is set. */
const ofMask =
  (to: DType, one: string): VectorConvert =>
  (p, n, x) =>
    `((${typeOf(p, to, n)})(${x} & ${one}))`;

/** A bool operand arrives as a mask of 8 bytes for f64, of 4 otherwise. */
export const VECTOR_CONVERT: { readonly [C in Conversion]: VectorConvert } = {
  "f32-f64": (p, n, x) => `${widenHelper(p, "f32", "f64", n)}(${x})`,
  "f64-f32": convertVector("f64", "f32"),
  "i32-f32": convertVector("i32", "f32"),
  "i32-f64": signedToDouble,
  "u32-f32": convertVector("u32", "f32"),
  "u32-f64": unsignedToDouble,
  "f32-i32": singleToSigned,
  "f32-u32": singleToUnsigned,
  "f64-i32": doubleToSigned,
  "f64-u32": doubleToUnsigned,
  "i32-u32": (p, n, x) => `((${p.type("u32", n)})${x})`,
  "u32-i32": (p, n, x) => `((${p.type("i32", n)})${x})`,
  "bool-i32": ofMask("i32", "1"),
  "bool-u32": ofMask("u32", "1"),
  "bool-f32": ofMask("f32", "0x3f800000"),
  "bool-f64": ofMask("f64", "0x3ff0000000000000ll"),
};

export function fmaVector(p: Prelude, n: number, a: string, b: string, c: string): string {
  const type = p.type("f32", n);
  const lane = fmaScalar(p, "a[i]", "b[i]", "c[i]");
  const body = (): string => laneLoop(type, n, lane);
  return `${p.helper(`fma_${type}`, type, `${type} a, ${type} b, ${type} c`, body)}(${a}, ${b}, ${c})`;
}
