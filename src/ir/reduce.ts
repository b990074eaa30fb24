/**
 * @file How loops combine values over iterations: the one order that every target follows, of reductions (see
 * REDUCE_PARTIALS) and of recurrences (see SCAN_BLOCK).
 */
import { add, binary, div, i32 } from "./build.ts";
import type { Expr } from "./nodes.ts";
import { binaryValue } from "./scalar.ts";
import { type DType, MAX_SHARDS, MIN_SHARD, type ReduceOp, SCAN_BLOCK, SCAN_RUN, SHARD_ALIGN } from "./types.ts";

const IDENTITY: { readonly [O in ReduceOp]: (dtype: DType) => number } = {
  add: () => 0,
  mul: () => 1,
  min: (t) => (t === "i32" ? 2147483647 : t === "u32" ? 4294967295 : Number.POSITIVE_INFINITY),
  max: (t) => (t === "i32" ? -2147483648 : t === "u32" ? 0 : Number.NEGATIVE_INFINITY),
  and: (t) => (t === "bool" ? 1 : -1),
  or: () => 0,
  xor: () => 0,
};

/** What the partials start from. */
export function reduceIdentity(op: ReduceOp, dtype: DType): number {
  return IDENTITY[op](dtype);
}

/** Shards of a reduction over n iterations; a function of n alone. */
export function shardCount(n: number): number {
  return Math.min(Math.max(Math.ceil(n / MIN_SHARD), 1), MAX_SHARDS);
}

/** Iterations per shard; the last one may be shorter. */
export function shardLength(n: number): number {
  return Math.ceil(Math.ceil(n / shardCount(n)) / SHARD_ALIGN) * SHARD_ALIGN;
}

/** The same two as i32 expressions, for n >= 0 below 2^31 - MIN_SHARD. */
export function shardCountOf(n: Expr): Expr {
  const needed = div(add(n, i32(MIN_SHARD - 1)), i32(MIN_SHARD));
  return binary("min", binary("max", needed, i32(1)), i32(MAX_SHARDS));
}
export function shardLengthOf(n: Expr, count: Expr): Expr {
  const even = div(binary("sub", add(n, count), i32(1)), count);
  return binary("and", add(even, i32(SHARD_ALIGN - 1)), i32(-SHARD_ALIGN));
}

/** The partials of a shard as one value: the upper half is combined into the lower, until one is left. */
export function combinePartials(op: ReduceOp, dtype: DType, partials: readonly number[]): number {
  let list = partials;
  while (list.length > 1) {
    const half = list.length / 2;
    list = list.slice(0, half).map((v, l) => binaryValue(op, dtype, v, list[l + half] as number));
  }
  return list[0] as number;
}

/** One map of a recurrence: x becomes b + a * x. */
export interface LinearMap {
  readonly a: number;
  readonly b: number;
}

/** The values of a recurrence over one block, or over one iteration of the rest. */
export function recurrence(dtype: DType, maps: readonly LinearMap[], x: number): number[] {
  const times = (a: number, b: number): number => binaryValue("mul", dtype, a, b);
  const after = ({ a, b }: LinearMap, value: number): number => binaryValue("add", dtype, b, times(a, value));
  const both = (second: LinearMap, first: LinearMap): LinearMap => ({
    a: times(second.a, first.a),
    b: after(second, first.b),
  });
  if (maps.length < SCAN_BLOCK) return maps.map((map) => after(map, x));
  const prefixes = (from: number): LinearMap[] => {
    const [m0, m1, m2, m3] = maps.slice(from, from + SCAN_RUN) as [LinearMap, LinearMap, LinearMap, LinearMap];
    const two = both(m1, m0);
    return [m0, two, both(m2, two), both(both(m3, m2), two)];
  };
  const [one, two] = [prefixes(0), prefixes(SCAN_RUN)];
  const [first, second] = [one.at(-1) as LinearMap, two.at(-1) as LinearMap];
  const middle = after(first, x);
  return [
    ...one.map((map) => after(map, x)),
    ...two.slice(0, -1).map((map) => after(map, middle)),
    after(both(second, first), x),
  ];
}
