/**
 * @file Samples from two buffers in one batch: a share from the first (such as demonstrations), the rest from the second.
 *
 * Both buffers write straight into the arrays of the batch; nothing is copied together afterwards.
 */
import type { TypedArray } from "../ir/arrays.ts";
import { DataError } from "../kernels/errors.ts";
import { heap } from "../runtime/heap.ts";
import type { Column, ColumnSpec, ColumnSpecs } from "./columns.ts";
import type { ReplayBuffer } from "./replay.ts";
import type { BatchArrays } from "./ring.ts";

/** How many rows come from the first buffer: the share, rounded up. */
export function mixedCount(size: number, ratio: number): number {
  if (!(ratio >= 0 && ratio <= 1)) throw new DataError(`the ratio must be a number from 0 to 1, not ${ratio}`);
  return Math.ceil(size * ratio);
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

function bindMixed<O extends ColumnSpec, A extends ColumnSpec, X extends ColumnSpecs>(
  first: ReplayBuffer<O, A, X>,
  second: ReplayBuffer<O, A, X>,
  size: number,
  count: number,
): Mixed {
  const arrays: { [name: string]: { array: TypedArray; column: Column } } = {};
  const place = (from: number, rows: number) => (name: string, column: Column) => {
    arrays[name] ??= { array: heap().array(column.dtype, size * column.size), column };
    const { array, column: known } = arrays[name];
    if (known.dtype !== column.dtype || known.size !== column.size)
      throw new DataError(`sampleMixed: column "${name}" differs between the two buffers`);
    return array.subarray(from * column.size, (from + rows) * column.size);
  };
  const parts = [
    { buffer: first, from: 0, rows: count },
    { buffer: second, from: count, rows: size - count },
  ].filter(({ rows }) => rows > 0);
  const bound = parts.map(({ buffer, from, rows }) => ({ buffer, batch: buffer.createBatch(rows, place(from, rows)) }));
  const [a, b] = bound;
  if (b && Object.keys(a?.batch ?? {}).join() !== Object.keys(b.batch).join())
    throw new DataError("sampleMixed: the two buffers have different columns");
  const index = new Int32Array(size);
  const draw = (): void => {
    for (const { buffer, batch } of bound) buffer.sampleInto(batch);
    if (a) index.set(a.batch.index, 0);
    if (b) index.set(b.batch.index, count);
  };
  const named = Object.fromEntries(Object.entries(arrays).map(([name, { array }]) => [name, array]));
  return { batch: { size, index, ...named }, draw };
}
