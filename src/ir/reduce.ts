/**
 * @file How a parallel loop reduces: the one order of combination that every target follows (see REDUCE_PARTIALS).
 */
import { add, binary, div, i32 } from "./build.ts";
import type { Expr } from "./nodes.ts";
import { type DType, MAX_SHARDS, MIN_SHARD, type ReduceOp, SHARD_ALIGN } from "./types.ts";

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
