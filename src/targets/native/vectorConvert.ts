/**
 * @file Conversions of vectors between value types, one part at a time; see vectorOps.ts.
 *
 * C leaves the conversion of floats out of range undefined. These clamp first, or name the instruction whose answer
 * is known.
 */
import type { Conversion, DType } from "../../ir/types.ts";
import { either, type Prelude, selectHelper, splatHelper, widenHelper } from "./prelude.ts";
import { oneSided, typeOf, VECTOR_UNARY } from "./vectorOps.ts";

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
    const raised = `${oneSided(p, ">", "f32", n)}(x, ${splatHelper(p, "f32", n)}(-2147483648.0f))`;
    const portable =
      `${source} y = ${oneSided(p, "<", "f32", n)}(${raised}, ${splatHelper(p, "f32", n)}(2147483520.0f)); ` +
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
    const splat = splatHelper(p, "f64", n);
    const lowered = `${oneSided(p, "<", "f64", n)}(x, ${splat}(2147483647.0))`;
    return (
      `${type} y = ${oneSided(p, ">", "f64", n)}(${lowered}, ${splat}(-2147483648.0)); ` +
      `${result} r = __builtin_convertvector((${type})((${mask})y & (${mask})(x == x)), ${result}); KEEP(r); return r;`
    );
  });
const doubleToUnsigned: VectorConvert = (p, n, x) =>
  converting(p, "f64", "u32", n, x, (result) => {
    const type = p.type("f64", n);
    const half = p.type("i32", n);
    const splat = splatHelper(p, "f64", n);
    const raised = `${oneSided(p, ">", "f64", n)}(x, ${splat}(0.0))`;
    const clamped = `${oneSided(p, "<", "f64", n)}(${raised}, ${splat}(4294967295.0))`;
    return (
      `${type} y = ${VECTOR_UNARY.trunc(p, "f64", n, clamped)} - 2147483648.0; ` +
      `${half} r = __builtin_convertvector(y, ${half}); KEEP(r); return (${result})r ^ 0x80000000u;`
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
