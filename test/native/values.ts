/**
 * @file Operands that are hard to get right: zeros, denormals, infinities, NaN, ends of integer ranges, halves.
 */
import type { TypedArray } from "../../src/ir/interpret.ts";
import type { DType } from "../../src/ir/types.ts";

const both = (list: readonly number[]): number[] => list.flatMap((x) => [x, -x]);

const SHARED = both([
  0,
  1,
  0.5,
  1.5,
  2.5,
  3,
  0.1,
  100.7,
  1e10,
  2147483647,
  2147483648,
  4294967295,
  4294967296,
  Infinity,
]);
const F32 = [
  ...SHARED,
  ...both([2147483520, 8388607.5, 16777217, 3e9, 1e-45, 1e-39, 1.17549435e-38, 3.4e38, 1.9999999]),
  NaN,
];
const F64 = [
  ...SHARED,
  ...both([
    2147483647.5, 4503599627370495.5, 4294967295.5, 5e-324, 1e-310, 2.2250738585072014e-308, 1.7e308, 1e300, 7.1,
  ]),
  NaN,
];
const I32 = [
  0,
  1,
  -1,
  2,
  -2,
  3,
  7,
  -7,
  31,
  32,
  33,
  255,
  256,
  -256,
  65535,
  65536,
  1 << 30,
  2147483647,
  -2147483648,
  -2147483647,
  12345,
  -98765,
];
const U32 = I32.map((x) => x >>> 0);

export const EDGES: { readonly [D in Exclude<DType, "bool">]: readonly number[] } = {
  f32: F32.map(Math.fround),
  f64: F64,
  i32: I32,
  u32: U32,
};

const ARRAYS = { f32: Float32Array, f64: Float64Array, i32: Int32Array, u32: Uint32Array };
export type NumberType = keyof typeof ARRAYS;

/** Every pair of edge values, filled up to a multiple of 64: first and second operands. */
export function pairs(dtype: NumberType): readonly [TypedArray, TypedArray] {
  const edges = EDGES[dtype];
  const size = Math.ceil(edges.length ** 2 / 64) * 64;
  const of = (f: (k: number) => number): TypedArray => new ARRAYS[dtype](Array.from({ length: size }, (_, k) => f(k)));
  const at = (k: number): number => edges[k % edges.length] as number;
  return [of((k) => at(Math.floor(k / edges.length))), of((k) => at(k))];
}
