/**
 * @file The types of the IR: what a value is, what memory holds, and which operations exist.
 *
 * Five value types and five storage types, no pointers and no 64-bit integers, so that every
 * target (JavaScript, WebAssembly, C, later WGSL and CUDA) can hold them. Each operation is named
 * here once, with the types it takes. Targets list their code in tables keyed by these unions:
 * adding a name fails to type-check until every table has a row for it.
 */

/** The type of a value in a register. */
export type DType = "f32" | "f64" | "i32" | "u32" | "bool";

/** The type of an element in memory. A `u8` element is an `i32` once loaded; a `bool` is stored as `u8`. */
export type StorageType = "f32" | "f64" | "i32" | "u32" | "u8";

export const STORAGE_BYTES: { readonly [S in StorageType]: number } = { f32: 4, f64: 8, i32: 4, u32: 4, u8: 1 };

/** What a load from each storage type yields. */
export const LOADED_TYPE: { readonly [S in StorageType]: DType } = {
  f32: "f32",
  f64: "f64",
  i32: "i32",
  u32: "u32",
  u8: "i32",
};

/** How a local array of each value type is stored. */
export const STORED_TYPE: { readonly [D in DType]: StorageType } = {
  f32: "f32",
  f64: "f64",
  i32: "i32",
  u32: "u32",
  bool: "u8",
};

const FLOAT: readonly DType[] = ["f32", "f64"];
const INTEGER: readonly DType[] = ["i32", "u32"];
const NUMBER: readonly DType[] = [...FLOAT, ...INTEGER];
const ALL: readonly DType[] = [...NUMBER, "bool"];

export const isFloat = (dtype: DType): boolean => dtype === "f32" || dtype === "f64";
export const isInteger = (dtype: DType): boolean => dtype === "i32" || dtype === "u32";

/** What an operation takes, and what it yields when that differs from its operands. */
export interface OpSignature {
  readonly operands: readonly DType[];
  readonly result?: DType;
}

/**
 * Operations on one value. `nearest` rounds half to even. `not` is logical on `bool`, bitwise on integers.
 * `bits`/`fromBits` reinterpret an f32; `highWord`/`lowWord` are the halves of an f64 (see `fromWords`).
 * Whether the NaN payload survives `bits` is not defined; all else is exact or correctly rounded.
 * `own` is its operand, with a promise: what one iteration of the parallel loops around reaches through a subscript made
 * of it is reached by no other iteration.
 */
export const UNARY_OPS = {
  neg: { operands: NUMBER },
  abs: { operands: ["f32", "f64", "i32"] },
  sqrt: { operands: FLOAT },
  floor: { operands: FLOAT },
  ceil: { operands: FLOAT },
  trunc: { operands: FLOAT },
  nearest: { operands: FLOAT },
  not: { operands: ["i32", "u32", "bool"] },
  clz: { operands: INTEGER },
  bits: { operands: ["f32"], result: "i32" },
  fromBits: { operands: ["i32"], result: "f32" },
  highWord: { operands: ["f64"], result: "i32" },
  lowWord: { operands: ["f64"], result: "i32" },
  own: { operands: ["i32"] },
} as const satisfies { readonly [name: string]: OpSignature };
export type UnaryOp = keyof typeof UNARY_OPS;

/**
 * Operations on two values of one type.
 * - Integers wrap. Integer `div` truncates; `x / 0` and `x % 0` are 0; the smallest i32 divided by -1 is itself.
 * - `min`/`max` are JavaScript's: NaN wins, and -0 is less than +0. Float `rem` is JavaScript's `%` (exact fmod).
 * - Shift counts are taken modulo 32; `shr` keeps the sign of an i32 and is logical on u32.
 * - `mulHigh` is the upper half of the 64-bit product of two u32. `fromWords(high, low)` makes an f64.
 */
export const BINARY_OPS = {
  add: { operands: NUMBER },
  sub: { operands: NUMBER },
  mul: { operands: NUMBER },
  div: { operands: NUMBER },
  rem: { operands: NUMBER },
  min: { operands: NUMBER },
  max: { operands: NUMBER },
  and: { operands: ["i32", "u32", "bool"] },
  or: { operands: ["i32", "u32", "bool"] },
  xor: { operands: ["i32", "u32", "bool"] },
  shl: { operands: INTEGER },
  shr: { operands: INTEGER },
  mulHigh: { operands: ["u32"] },
  fromWords: { operands: ["i32"], result: "f64" },
  eq: { operands: ALL, result: "bool" },
  ne: { operands: ALL, result: "bool" },
  lt: { operands: NUMBER, result: "bool" },
  le: { operands: NUMBER, result: "bool" },
  gt: { operands: NUMBER, result: "bool" },
  ge: { operands: NUMBER, result: "bool" },
} as const satisfies { readonly [name: string]: OpSignature };
export type BinaryOp = keyof typeof BINARY_OPS;

/** Operations that a parallel loop may reduce with: associative up to rounding, with an identity. */
export type ReduceOp = "add" | "mul" | "min" | "max" | "and" | "or" | "xor";

/**
 * Conversions between value types, as "from-to".
 * Floats to integers truncate and saturate, NaN gives 0 (JavaScript's `x | 0` is built on top by `toInt32`).
 * i32 and u32 share bits. A bool becomes 0 or 1; there is no conversion to bool (compare with zero instead).
 */
export const CONVERSIONS = [
  "f32-f64",
  "f64-f32",
  "i32-f32",
  "i32-f64",
  "u32-f32",
  "u32-f64",
  "f32-i32",
  "f32-u32",
  "f64-i32",
  "f64-u32",
  "i32-u32",
  "u32-i32",
  "bool-i32",
  "bool-u32",
  "bool-f32",
  "bool-f64",
] as const;
export type Conversion = (typeof CONVERSIONS)[number];

/**
 * What a `for` loop's axis means.
 * - `serial`: iterations run in order.
 * - `parallel`: iterations are independent: any order, vectorised and threaded. May carry reductions.
 * - `partial`: one shard of a reduction: iteration k combines into partial k mod partials; its locals end as the
 *   combined partials. Made by the reductions pass, gone after the vectoriser.
 * - `vector`: made by the vectoriser: one iteration handles `lanes` neighbouring ones in vector registers.
 * - `scan`: iterations are independent but for the locals of its `recur` statements, which go from one to the next.
 */
export type AxisKind = "serial" | "parallel" | "partial" | "vector" | "scan";

/**
 * The recurrences x = b + a * x of a scan are taken in blocks of this many iterations, counted from the first; what is
 * left at the end runs one by one. A block is two runs of SCAN_RUN iterations. In a run with maps (a0, b0) .. (a3, b3)
 *   A0 = a0, A1 = a1 * a0, A2 = a2 * A1, A3 = (a3 * a2) * A1,
 *   B0 = b0, B1 = b1 + a1 * b0, B2 = b2 + a2 * B1, B3 = (b3 + a3 * b2) + (a3 * a2) * B1.
 * With x from the block before, those of the first run are xk = Bk + Ak * x, and those of the second, with (Ck, Dk) in
 * place of (Ak, Bk), follow from x3 in the same way, but for the last: x7 = (D3 + C3 * B3) + (C3 * A3) * x, so that only
 * one product and one sum wait for the block before. Every operation rounds by itself, whatever the numerics. A block's
 * statements before a recurrence run for all its iterations before those behind it run for any.
 */
export const SCAN_BLOCK = 8;
export const SCAN_RUN = 4;

/**
 * A reduction over iterations 0..n-1 is cut in shards of `shardLength(n)`; inside a shard iteration k adds to
 * partial `k mod partials`; partials are combined by halving (l with l + h), shards from first to last onto the
 * initial value. None of it depends on the target, on the vector width or on the number of threads.
 */
export const REDUCE_PARTIALS: { readonly [D in DType]: number } = { f32: 32, i32: 32, u32: 32, bool: 32, f64: 16 };
/** Every shard starts at a multiple of this, so that lanes of all types line up. */
export const SHARD_ALIGN = 32;
export const MIN_SHARD = 8192;
export const MAX_SHARDS = 64;
