/**
 * @file Samples from two buffers in one batch: a share from the first (such as demonstrations), the rest from the second.
 *
 * Both buffers write straight into the arrays of the batch; only the slots are copied together afterwards.
 */
import { newArray, type TypedArray } from "../ir/arrays.ts";
import { checkCount, needShare } from "../kernels/checks.ts";
import { DataError } from "../kernels/errors.ts";
import type { Column, ColumnSpec, ColumnSpecs } from "./columns.ts";
import type { ReplayBuffer } from "./replay.ts";
import type { BatchArrays } from "./ring.ts";

/** How many rows come from the first buffer: the share, rounded up. */
export function mixedCount(size: number, ratio: number): number {
  needShare("sampleMixed", "ratio", ratio);
  return Math.ceil(checkCount("sampleMixed: the size of a batch", size, 1) * ratio);
}

interface Mixed {
  readonly batch: object;
  /** Draws both parts. */
  readonly draw: () => void;
}
const cache = new WeakMap<object, Map<string, Mixed>>();
const names = new WeakMap<object, number>();
let named = 0;

function numberOf(buffer: object): number {
  let found = names.get(buffer);
  if (found === undefined) {
    found = named++;
    names.set(buffer, found);
  }
  return found;
}

/**
 * Draws ceil(size * ratio) rows from `first` and the others from `second`, in this order. Both need the same columns.
 * The batch belongs to the pair of buffers: the next call with this size and ratio overwrites it.
 */
export function sampleMixed<O extends ColumnSpec, A extends ColumnSpec, X extends ColumnSpecs>(
  first: ReplayBuffer<O, A, X>,
  second: ReplayBuffer<O, A, X>,
  size: number,
  ratio: number,
): BatchArrays<O, A, X> {
  const count = mixedCount(size, ratio);
  if (count > first.length || size - count > second.length)
    throw new DataError(
      `sampleMixed: ${count} and ${size - count} transitions were asked for, ${first.length} and ${second.length} are there`,
    );
  let made = cache.get(first);
  if (!made) {
    made = new Map();
    cache.set(first, made);
  }
  const key = `${numberOf(second)} ${size} ${count}`;
  let mixed = made.get(key);
  if (!mixed) {
    mixed = bindMixed(first, second, size, count);
    made.set(key, mixed);
  }
  mixed.draw();
  return mixed.batch as BatchArrays<O, A, X>;
}

/** Parts of one batch that belongs to the first buffer, and goes when it goes. */
function bindMixed<O extends ColumnSpec, A extends ColumnSpec, X extends ColumnSpecs>(
  first: ReplayBuffer<O, A, X>,
  second: ReplayBuffer<O, A, X>,
  size: number,
  count: number,
): Mixed {
  const whole = first.createBatch(size);
  const arrays = whole as unknown as { readonly [name: string]: TypedArray | undefined };
  const names = (batch: object): string => Object.keys(batch).sort().join();
  const place = (from: number, rows: number) => (name: string, column: Column) => {
    const array = arrays[name];
    if (array?.length !== size * column.size || array.constructor !== newArray(column.dtype, 0).constructor)
      throw new DataError(`sampleMixed: column "${name}" differs between the two buffers`);
    return array.subarray(from * column.size, (from + rows) * column.size);
  };
  const bound = [
    { buffer: first, from: 0, rows: count },
    { buffer: second, from: count, rows: size - count },
  ]
    .filter(({ rows }) => rows > 0)
    .map(({ buffer, from, rows }) => ({ buffer, from, batch: buffer.createBatch(rows, place(from, rows)) }));
  if (bound.some(({ batch }) => names(batch) !== names(whole)))
    throw new DataError("sampleMixed: the two buffers have different columns");
  const draw = (): void => {
    for (const { buffer, batch, from } of bound) whole.index.set(buffer.sampleInto(batch).index, from);
  };
  return { batch: whole, draw };
}
