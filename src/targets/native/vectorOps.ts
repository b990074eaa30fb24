/**
 * @file Every operation on vectors, as C with the vector extensions that gcc and clang share.
 *
 * A row yields the text for one part: a vector of `n` lanes that fills a machine register at most. Where neither an
 * operator nor a loop over the lanes becomes good code (checked in the assembly of gcc 12 and clang 14), a helper
 * names the instruction's builtin behind a feature test and keeps a portable body beside it.
 *
 * Masks are signed integers of all ones or all zeros, of 4 or 8 bytes (see shapes.ts).
 */
import type { BinaryOp, DType, UnaryOp } from "../../ir/types.ts";
import {
  cType,
  either,
  firstOf,
  gccRegister,
  HELD,
  halfHelper,
  laneLoop,
  type Prelude,
  selectHelper,
  widenHelper,
} from "./prelude.ts";
import { clzHelper, extremeForm, fmaScalar, type Operand, SCALAR_BINARY, safeDivisor } from "./scalarOps.ts";

type VectorUnary = (p: Prelude, t: DType, n: number, x: string) => string;
type VectorBinary = (p: Prelude, t: DType, n: number, a: Operand, b: Operand) => string;

export const typeOf = (p: Prelude, t: DType, n: number): string => p.type(HELD[t], n);
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

const packed = (t: DType): string => (t === "f32" ? "ps" : "pd");
/** vroundps and, for 512 bits, vrndscaleps: the same roundings, numbered alike. */
const rounding =
  (mode: number) =>
  (t: DType, bytes: number): string =>
    `${bytes > 32 ? "vrndscale" : "vround"}${packed(t)} $${mode},`;
const MNEMONIC: { readonly [name: string]: ((t: DType, bytes: number) => string) | undefined } = {
  sqrt: (t) => `vsqrt${packed(t)}`,
  nearest: rounding(8),
  floor: rounding(9),
  ceil: rounding(10),
  trunc: rounding(11),
};

/** A library function on each lane: a builtin for whole vectors in newer clangs, a loop otherwise. */
const eachLane =
  (name: string, scalar: string, vector: string): VectorUnary =>
  (p, t, n, x) => {
    const type = typeOf(p, t, n);
    const helper = p.define(`${name}_${type}`, () => {
      const loop = laneLoop(type, n, `__builtin_${scalar}${t === "f32" ? "f" : ""}(x[i])`);
      const builtin = `__builtin_elementwise_${vector}`;
      const bytes = n * (t === "f32" ? 4 : 8);
      // The upper half of AVX-512's registers is beyond the reach of vround.
      const register = bytes > 32 || name === "sqrt" ? "v" : "x";
      const instruction = `${MNEMONIC[name]?.(t, bytes)} %1, %0`;
      const assembly = `${type} r; __asm__("${instruction}" : "=${register}"(r) : "${register}"(x)); return r;`;
      return firstOf(
        `INLINE ${type} ${name}_${type}(${type} x)`,
        [
          [`__has_builtin(${builtin})`, `return ${builtin}(x);`],
          [gccRegister(bytes), assembly],
        ],
        loop,
      );
    });
    return `${helper}(${x})`;
  };

/** `a < b ? a : b` (or >) on each lane, which is one instruction: clang finds it in the mask form, gcc is told. */
export function oneSided(p: Prelude, less: "<" | ">", t: "f32" | "f64" | "i32" | "u32", n: number): string {
  const kind = less === "<" ? "lesser" : "greater";
  return p.once(kind, t, n, () => {
    const type = p.type(t, n);
    const name = `${kind}_${type}`;
    const masked = `return ${selectHelper(p, t, n)}((${maskOf(p, t, n)})(a ${less} b), a, b);`;
    const signature = `INLINE ${type} ${name}(${type} a, ${type} b)`;
    const suffix = { f32: "ps", f64: "pd", i32: "sd", u32: "ud" }[t];
    const mnemonic = `v${t === "i32" || t === "u32" ? "p" : ""}${less === "<" ? "min" : "max"}${suffix}`;
    const assembly = `${type} r; __asm__("${mnemonic} %2, %1, %0" : "=v"(r) : "v"(a), "v"(b)); return r;`;
    return p.define(name, () => either(gccRegister(n * (t === "f64" ? 8 : 4)), signature, assembly, masked));
  });
}

const absolute: VectorUnary = (p, t, n, x) => {
  if (t === "i32") {
    const larger = oneSided(p, ">", t, n);
    return one(p, "abs", t, n, x, () => `return ${larger}(x, -x);`);
  }
  const mask = maskOf(p, t, n);
  const bits = t === "f32" ? "0x7fffffff" : "0x7fffffffffffffffll";
  return `((${typeOf(p, t, n)})((${mask})${x} & ${bits}))`;
};

export const VECTOR_UNARY: { readonly [O in UnaryOp]: VectorUnary } = {
  neg: (_, __, ___, x) => `(-${x})`,
  abs: absolute,
  sqrt: eachLane("sqrt", "sqrt", "sqrt"),
  floor: eachLane("floor", "floor", "floor"),
  ceil: eachLane("ceil", "ceil", "ceil"),
  trunc: eachLane("trunc", "trunc", "trunc"),
  nearest: eachLane("nearest", "rint", "roundeven"),
  not: (_, __, ___, x) => `(~${x})`,
  clz: (p, t, n, x) => {
    const lane = `(${cType(HELD[t])})${clzHelper(p)}((unsigned)x[i])`;
    return one(p, "clz", t, n, x, (type) => laneLoop(type, n, lane));
  },
  bits: (p, _, n, x) => `((${p.type("i32", n)})${x})`,
  fromBits: (p, _, n, x) => `((${p.type("f32", n)})${x})`,
  highWord: (p, _, n, x) => `${halfHelper(p, "f64", 1, n)}(${x})`,
  lowWord: (p, _, n, x) => `${halfHelper(p, "f64", 0, n)}(${x})`,
  own: (_, __, ___, x) => x,
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
    `LANES(${n}) q[i] = (int)((double)a[i] / (double)d[i]); `
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
    `${type} r; ${p.type("i32", n)} bad; int any = 0; LANES(${n}) { ${lane} } ` +
    `if (any) LANES(${n}) if (bad[i]) r[i] = __builtin_fmodf(a[i], b[i]); return r;`
  );
}

/** Both one-sided answers, combined bitwise: that settles zeros of either sign. NaN survives `|` but not `&`. */
function floatExtreme(
  p: Prelude,
  op: "min" | "max",
  t: "f32" | "f64",
  n: number,
  operands: readonly [Operand, Operand],
): string {
  const mask = maskOf(p, t, n);
  const side = oneSided(p, op === "min" ? "<" : ">", t, n);
  return two(p, op, t, n, operands, (type) => {
    const nan = op === "min" ? "" : ` | (${mask})(a != a) | (${mask})(b != b)`;
    return `return (${type})((${mask})${side}(a, b) ${op === "min" ? "|" : "&"} (${mask})${side}(b, a)${nan});`;
  });
}

const extreme =
  (op: "min" | "max"): VectorBinary =>
  (p, t, n, a, b) => {
    if (t === "bool") throw new Error(`${op} of bools`);
    const side = oneSided(p, op === "min" ? "<" : ">", t, n);
    if (t === "i32" || t === "u32") return `${side}(${a.text}, ${b.text})`;
    const [c, x] = a.value === undefined ? [b, a] : [a, b];
    const form = extremeForm(op, c.value);
    if (form === "general") return floatExtreme(p, op, t, n, [a, b]);
    const plain = `${side}(${c.text}, ${x.text})`;
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

/** gcc's own names, by lanes: unlike assembly they fold loads and signs into the instruction. */
const GCC_FMA: { readonly [lanes: number]: string } = {
  4: "__builtin_ia32_vfmaddps(a, b, c)",
  8: "__builtin_ia32_vfmaddps256(a, b, c)",
  16: "__builtin_ia32_vfmaddps512_mask(a, b, c, (unsigned short)-1, 4)",
};

export function fmaVector(p: Prelude, n: number, a: string, b: string, c: string): string {
  const type = p.type("f32", n);
  const helper = p.define(`fma_${type}`, () => {
    const signature = `INLINE ${type} fma_${type}(${type} a, ${type} b, ${type} c)`;
    if (!p.fusedMultiplyAdd) return `${signature} { ${laneLoop(type, n, fmaScalar(p, "a[i]", "b[i]", "c[i]"))} }`;
    const loop = `${type} r; LANES(${n}) r[i] = __builtin_fmaf(a[i], b[i], c[i]); KEEP(r); return r;`;
    const gcc = `return ${GCC_FMA[n] ?? "0"};`;
    return firstOf(
      signature,
      [
        ["__has_builtin(__builtin_elementwise_fma)", "return __builtin_elementwise_fma(a, b, c);"],
        [`defined(__FMA__) && ${n in GCC_FMA ? gccRegister(4 * n) : "0"}`, gcc],
      ],
      loop,
    );
  });
  return `${helper}(${a}, ${b}, ${c})`;
}
