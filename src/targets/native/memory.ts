/**
 * @file How one part of neighbouring elements is read and written: plain vectors, except for bytes, which are widened
 * and narrowed on the way.
 */
import type { Buffer } from "../../ir/nodes.ts";
import { cType, either, firstOf, HAS_SHUFFLE, type Prelude } from "./prelude.ts";

/** The value of one part. */
export function loadPart(prelude: Prelude, b: Buffer, n: number, address: string): string {
  if (b.storage !== "u8") return `*(const ${prelude.unaligned(b.storage, n)} *)${address}`;
  return `${loadBytesHelper(prelude, n)}(${address})`;
}

/** The text that writes it. */
export function storePart(prelude: Prelude, b: Buffer, n: number, address: string, value: string): string {
  if (b.storage !== "u8") return `*(${prelude.unaligned(b.storage, n)} *)${address} = ${value};`;
  return `${storeBytesHelper(prelude, n)}(${address}, ${value});`;
}

/** The low bytes of i32 lanes, picked by a byte shuffle where the compiler has one. */
function storeBytesHelper(p: Prelude, n: number): string {
  const type = p.type("i32", n);
  return p.define(`store_u8x${n}`, () => {
    const signature = `INLINE void store_u8x${n}(unsigned char *p, ${type} x)`;
    const plain = `LANES(${n}) p[i] = (unsigned char)x[i];`;
    const bytes = p.type("u8", 4 * n);
    const shuffled = (order: readonly number[]): string =>
      `${bytes} b = (${bytes})x; b = __builtin_shufflevector(b, b, ${order.join(", ")});`;
    const low = Array.from({ length: 4 * n }, (_, i) => (4 * i) % (4 * n));
    const fast = `${shuffled(low)} __builtin_memcpy(p, &b, ${n});`;
    if (n !== 8) return either(HAS_SHUFFLE, signature, fast, plain);
    // Bytes that stay within their half take one instruction.
    const within = low.map((at, i) => (at % 16) + (i < 16 ? 0 : 16));
    const halves = `${shuffled(within)} ${type} w = (${type})b; int h[2] = {w[0], w[4]}; __builtin_memcpy(p, h, 8);`;
    return firstOf(
      signature,
      [
        [`defined(__AVX2__) && ${HAS_SHUFFLE}`, halves],
        [HAS_SHUFFLE, fast],
      ],
      plain,
    );
  });
}

/** Bytes widened to i32, or to i64. Without the instruction's name gcc 12 takes many. */
export function loadBytesHelper(p: Prelude, n: number, to: "i32" | "i64" = "i32"): string {
  const result = p.type(to, n);
  if (to === "i64") return loadWideBytesHelper(p, n, result);
  return p.define(`load_u8x${n}`, () => {
    const signature = `INLINE ${result} load_u8x${n}(const unsigned char *p)`;
    const plain = `return __builtin_convertvector(*(const ${p.unaligned("u8", n)} *)p, ${result});`;
    if (n !== 4 && n !== 8 && n !== 16) return `${signature} { ${plain} }`;
    // gcc 12 fails where it makes one instruction of the load of four bytes and a mask.
    const read = readBytes(p, n, n === 4 ? "KEEP(s);" : "");
    const [feature, call] =
      n === 4
        ? ["__SSE4_1__", "__builtin_ia32_pmovzxbd128(v)"]
        : n === 8
          ? ["__AVX2__", "__builtin_ia32_pmovzxbd256(v)"]
          : ["__AVX512F__", `__builtin_ia32_pmovzxbd512_mask(v, (${result}){0}, (unsigned short)-1)`];
    const fast = `${read} return (${result})${call};`;
    return either(`defined(${feature}) && !defined(__clang__)`, signature, fast, plain);
  });
}

/** Reads so many bytes into `v`, a register of 16; `kept` is said of the words they are read as. */
function readBytes(p: Prelude, n: 4 | 8 | 16, kept = ""): string {
  const bytes = p.define("bytes_x16", () => "typedef char bytes_x16 __attribute__((vector_size(16)));");
  if (n === 16) return `${bytes} v; __builtin_memcpy(&v, p, 16);`;
  const [word, words] = n === 4 ? ["int", p.type("i32", 4)] : ["long long", p.type("i64", 2)];
  return `${word} w; __builtin_memcpy(&w, p, ${n}); ${words} s = {w}; ${kept} ${bytes} v = (${bytes})s;`;
}

function loadWideBytesHelper(p: Prelude, n: number, result: string): string {
  return p.define(`load_wide_u8x${n}`, () => {
    const signature = `INLINE ${result} load_wide_u8x${n}(const unsigned char *p)`;
    const plain = `return __builtin_convertvector(*(const ${p.unaligned("u8", n)} *)p, ${result});`;
    if (n !== 4 && n !== 8) return `${signature} { ${plain} }`;
    const read = readBytes(p, n);
    const [feature, call] =
      n === 4
        ? ["__AVX2__", "__builtin_ia32_pmovzxbq256(v)"]
        : ["__AVX512F__", `__builtin_ia32_pmovzxbq512_mask(v, (${result}){0}, (unsigned char)-1)`];
    const fast = `${read} return (${result})${call};`;
    return either(`defined(${feature}) && !defined(__clang__)`, signature, fast, plain);
  });
}

/**
 * Lists the lanes whose mask is set, as the IR's `pack` says, and counts them. The last lane is listed in any case, and
 * nothing is written behind it.
 */
export function packHelper(p: Prelude, b: Buffer, n: number): string {
  const type = p.type(b.storage, n);
  return p.define(`pack_${type}`, () => {
    const [mask, element] = [p.type("i32", n), cType(b.storage)];
    const signature = `INLINE int pack_${type}(${element} *p, ${type} x, ${mask} m)`;
    const plain = `int r = 0; for (int i = 0; i < ${n}; i++) { p[r] = x[i]; r += m[i] & 1; } return r;`;
    if (n !== 16) return `${signature} { ${plain} }`;
    const fast =
      "unsigned k = __builtin_ia32_cvtd2mask512(m), all = k | 1u << 15; " +
      `${mask} y = __builtin_ia32_compresssi512_mask((${mask})x, (${mask}){0}, (unsigned short)all); ` +
      "__builtin_ia32_storedqusi512_mask((int *)p, y, (unsigned short)((2u << (__builtin_popcount(all) - 1)) - 1)); " +
      "return __builtin_popcount(k);";
    return either("defined(__AVX512F__) && defined(__AVX512DQ__) && !defined(__clang__)", signature, fast, plain);
  });
}
