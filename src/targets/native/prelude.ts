/**
 * @file The part of a C file that stands before the functions: vector types and small inline helpers.
 *
 * Only what a program uses is printed, because every line costs compile time; for the same reason nothing is
 * included. A helper's text may ask for other helpers while it is written, so definitions come out in order.
 */
import type { DType, StorageType } from "../../ir/types.ts";

/** Element types of C values and vectors. */
export type Element = StorageType | "i64" | "u64";

const C_TYPE: { readonly [E in Element]: string } = {
  f32: "float",
  f64: "double",
  i32: "int",
  u32: "unsigned",
  u8: "unsigned char",
  i64: "long long",
  u64: "unsigned long long",
};
const ELEMENT_BYTES: { readonly [E in Element]: number } = { f32: 4, f64: 8, i32: 4, u32: 4, u8: 1, i64: 8, u64: 8 };

/** How a scalar of each value type is held; a bool is the int 0 or 1. */
export const HELD: { readonly [D in DType]: StorageType } = {
  f32: "f32",
  f64: "f64",
  i32: "i32",
  u32: "u32",
  bool: "i32",
};

export const cType = (element: Element): string => C_TYPE[element];

/**
 * gcc makes vector instructions of a loop over lanes, unless it unrolls it first. clang does better unrolling.
 *
 * gcc 12 turns -fma(a, b, c) into one instruction that computes -a * b - c, and (float)(int)x into a truncation; zeros
 * then have another sign. KEEP (and KEEP_INT for scalar integers) hides from it where a value comes from.
 *
 * CLEAR_UPPER ends what uses wide registers: while their upper halves hold something, the older instructions that the
 * rest of a process is made of wait for them (a call of a kernel took 100 ns longer). gcc does it by itself only with
 * passes that are off, see buildFlags.
 */
const HEAD = `#define INLINE static inline __attribute__((always_inline))
#if defined(__clang__)
#define LANES(n) for (int i = 0; i < n; i++)
#define KEEP(x)
#define KEEP_INT(x)
#else
#define LANES(n) _Pragma("GCC unroll 1") for (int i = 0; i < n; i++)
#define KEEP_INT(x) __asm__("" : "+r"(x))
#if defined(__x86_64__)
#define KEEP(x) __asm__("" : "+v"(x))
#elif defined(__aarch64__)
#define KEEP(x) __asm__("" : "+w"(x))
#else
#define KEEP(x) __asm__("" : "+m"(x))
#endif
#endif
#if defined(__AVX__) && !defined(__clang__)
#define CLEAR_UPPER __builtin_ia32_vzeroupper()
#else
#define CLEAR_UPPER
#endif`;

export class Prelude {
  readonly #lines = new Map<string, string>();
  readonly #made = new Map<string, Map<Element, Map<number, string>>>();
  /** Whether the compiled code has a fused multiply-add instruction. */
  readonly fusedMultiplyAdd: boolean;
  constructor(fusedMultiplyAdd: boolean) {
    this.fusedMultiplyAdd = fusedMultiplyAdd;
  }

  /** The C type of `lanes` elements side by side. */
  type(element: Element, lanes: number): string {
    if (lanes === 1) return C_TYPE[element];
    return this.once("type", element, lanes, () => {
      const name = `${element}x${lanes}`;
      const size = ELEMENT_BYTES[element] * lanes;
      return this.define(name, () => `typedef ${C_TYPE[element]} ${name} __attribute__((vector_size(${size})));`);
    });
  }

  /** The name of a helper for vectors of a kind; `make` defines it when it is first asked for. */
  once(kind: string, element: Element, lanes: number, make: () => string): string {
    let byElement = this.#made.get(kind);
    if (!byElement) {
      byElement = new Map();
      this.#made.set(kind, byElement);
    }
    let byLanes = byElement.get(element);
    if (!byLanes) {
      byLanes = new Map();
      byElement.set(element, byLanes);
    }
    let name = byLanes.get(lanes);
    if (name === undefined) {
      name = make();
      byLanes.set(lanes, name);
    }
    return name;
  }

  /** The same type for memory that is aligned to its elements only. */
  unaligned(element: Element, lanes: number): string {
    return this.once("unaligned", element, lanes, () => {
      const name = `${element}x${lanes}_at`;
      const size = ELEMENT_BYTES[element] * lanes;
      const attributes = `vector_size(${size}), aligned(${ELEMENT_BYTES[element]}), may_alias`;
      return this.define(name, () => `typedef ${C_TYPE[element]} ${name} __attribute__((${attributes}));`);
    });
  }

  /** Prints a definition once; `text` may ask for what it needs itself. */
  define(name: string, text: () => string): string {
    if (!this.#lines.has(name)) {
      const line = text();
      this.#lines.set(name, line);
    }
    return name;
  }

  /** An inline function; `parameters` and `body` are C. */
  helper(name: string, result: string, parameters: string, body: () => string): string {
    return this.define(name, () => `INLINE ${result} ${name}(${parameters}) { ${body()} }`);
  }

  text(): string {
    return [HEAD, ...this.#lines.values()].join("\n");
  }
}

/** The mask type of comparisons on an element type: a signed integer of the same width. */
export const maskElement = (maskBytes: 4 | 8): Element => (maskBytes === 8 ? "i64" : "i32");

/** gcc has it from version 12 on. All supported machines are little-endian. */
export const HAS_SHUFFLE = "__has_builtin(__builtin_shufflevector)";

/** A function with a body for compilers that meet a condition, and one for the others. */
export function either(condition: string, signature: string, then: string, otherwise: string): string {
  return `#if ${condition}\n${signature} { ${then} }\n#else\n${signature} { ${otherwise} }\n#endif`;
}

/** A function with the body of the first condition that the compiler meets, or the last one. */
export function firstOf(
  signature: string,
  bodies: readonly (readonly [condition: string, body: string])[],
  otherwise: string,
): string {
  const lines = bodies.map(([condition, body], k) => `${k ? "#elif" : "#if"} ${condition}\n${signature} { ${body} }`);
  return [...lines, `#else\n${signature} { ${otherwise} }\n#endif`].join("\n");
}

/**
 * That one vector of so many bytes is a register for gcc's inline assembly. gcc is not asked to find whole-vector
 * instructions in loops over lanes (its pass for that is off, see buildFlags), so the few that C has no operator for
 * are named.
 */
export function gccRegister(bytes: number): string {
  if (bytes > 64) return "0";
  return `!defined(__clang__) && defined(${bytes > 32 ? "__AVX512F__" : bytes > 16 ? "__AVX2__" : "__AVX__"})`;
}

/** `r[i] = ...` for all lanes. */
export function laneLoop(type: string, lanes: number, expression: string): string {
  return `${type} r; LANES(${lanes}) r[i] = ${expression}; return r;`;
}

/** All lanes of an i32 mask (`maskBytes` 4) or of an i64 mask chosen from a or b. */
export function selectHelper(p: Prelude, element: Element, lanes: number): string {
  return p.once("select", element, lanes, () => defineSelect(p, element, lanes));
}

function defineSelect(p: Prelude, element: Element, lanes: number): string {
  const name = `select_${element}x${lanes}`;
  const type = p.type(element, lanes);
  const mask = p.type(maskElement(ELEMENT_BYTES[element] === 8 ? 8 : 4), lanes);
  return p.helper(
    name,
    type,
    `${mask} m, ${type} a, ${type} b`,
    () => `return (${type})((m & (${mask})a) | (~m & (${mask})b));`,
  );
}

export function splatHelper(p: Prelude, element: Element, lanes: number): string {
  return p.once("splat", element, lanes, () => {
    const type = p.type(element, lanes);
    const copies = new Array(lanes).fill("x").join(", ");
    return p.helper(`splat_${type}`, type, `${C_TYPE[element]} x`, () => `return (${type}){${copies}};`);
  });
}

/** Lanes of two vectors in a fixed order; the result has as many as the order names. */
export function shuffleHelper(p: Prelude, element: Element, lanes: number, order: readonly number[]): string {
  const source = p.type(element, lanes);
  const result = p.type(element, order.length);
  const name = `shuffle_${order.join("_")}_${source}`;
  return p.define(name, () => {
    const each = order.map((l) => (l < lanes ? `a[${l}]` : `b[${l - lanes}]`)).join(", ");
    const signature = `INLINE ${result} ${name}(${source} a, ${source} b)`;
    const fast = `return __builtin_shufflevector(a, b, ${order.join(", ")});`;
    const plain = `return (${result}){${each}};`;
    const known = GCC_HALVES[`${element}x${lanes}: ${order.join(" ")}`];
    if (!known) return either(HAS_SHUFFLE, signature, fast, plain);
    const gcc = ["defined(__AVX__) && !defined(__clang__)", `return ${known};`] as const;
    return firstOf(signature, [gcc, [HAS_SHUFFLE, fast]], plain);
  });
}

/** Halves of registers, for which gcc 12 takes longer ways. */
const GCC_HALVES: { readonly [order: string]: string | undefined } = {
  "f32x8: 4 5 6 7": "__builtin_ia32_vextractf128_ps256(a, 1)",
  "f64x4: 2 3": "__builtin_ia32_vextractf128_pd256(a, 1)",
  "f64x2: 0 1 2 3": "__builtin_ia32_vinsertf128_pd256(__builtin_ia32_pd256_pd(a), b, 1)",
};

/** Instructions that gcc 12 does not find in its own conversion of four lanes. */
const WIDEN_BUILTIN = {
  f32: "__builtin_ia32_cvtps2pd256",
  i32: "__builtin_ia32_pmovsxdq256",
  u32: "__builtin_ia32_pmovzxdq256",
};

/** Elements of 4 bytes to ones of 8, lane by lane. */
export function widenHelper(p: Prelude, from: "f32" | "i32" | "u32", to: "f64" | "i64" | "u64", lanes: number): string {
  const source = p.type(from, lanes);
  const result = p.type(to, lanes);
  const name = `${to}_of_${source}`;
  return p.define(name, () => {
    const plain = `return __builtin_convertvector(x, ${result});`;
    const signature = `INLINE ${result} ${name}(${source} x)`;
    if (lanes !== 4) return `${signature} { ${plain} }`;
    const operand = from === "u32" ? `(${p.type("i32", lanes)})x` : "x";
    const fast = `return (${result})${WIDEN_BUILTIN[from]}(${operand});`;
    return either("defined(__AVX2__) && !defined(__clang__)", signature, fast, plain);
  });
}

/** One half of each 8-byte lane (0 low, 1 high), as i32. */
export function halfHelper(p: Prelude, from: "f64" | "i64", half: 0 | 1, lanes: number): string {
  const source = p.type(from, lanes);
  const result = p.type("i32", lanes);
  const name = `${half === 0 ? "low" : "high"}_${source}`;
  return p.define(name, () => {
    const [words, wide] = [p.type("i32", 2 * lanes), p.type("i64", lanes)];
    const order = Array.from({ length: lanes }, (_, i) => 2 * i + half).join(", ");
    const fast = `${words} w = (${words})x; return __builtin_shufflevector(w, w, ${order});`;
    const plain = `${wide} w = (${wide})x; ${laneLoop(result, lanes, `(int)(w[i] >> ${32 * half})`)}`;
    return either(HAS_SHUFFLE, `INLINE ${result} ${name}(${source} x)`, fast, plain);
  });
}

/** Masks from one width to the other. */
export function maskConvertHelper(p: Prelude, to: 4 | 8, lanes: number): string {
  return to === 8 ? widenHelper(p, "i32", "i64", lanes) : halfHelper(p, "i64", 0, lanes);
}

/** Whether any lane of a mask is set. x86 has an instruction that compilers do not find by themselves. */
export function anyHelper(p: Prelude, maskBytes: 4 | 8, lanes: number): string {
  const element = maskElement(maskBytes);
  const type = p.type(element, lanes);
  const name = `any_${type}`;
  return p.define(name, () => {
    const float = p.type(maskBytes === 8 ? "f64" : "f32", lanes);
    const size = maskBytes * lanes;
    const builtin = `__builtin_ia32_movmskp${maskBytes === 8 ? "d" : "s"}${size === 32 ? "256" : ""}`;
    const plain = `int r = 0; LANES(${lanes}) r |= x[i] != 0; return r;`;
    const signature = `INLINE int ${name}(${type} x)`;
    if (size === 64) {
      const half = p.type(element, lanes / 2);
      const halves = `union { ${type} whole; ${half} half[2]; } u = {x};`;
      return `${signature} { ${halves} return ${anyHelper(p, maskBytes, lanes / 2)}(u.half[0] | u.half[1]); }`;
    }
    if (size !== 16 && size !== 32) return `${signature} { ${plain} }`;
    return either(
      `defined(${size === 32 ? "__AVX__" : "__SSE2__"})`,
      signature,
      `return ${builtin}((${float})x) != 0;`,
      plain,
    );
  });
}
