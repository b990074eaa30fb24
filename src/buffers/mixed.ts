/**
 * @file Samples from two buffers in one batch: a share from the first (such as demonstrations), the rest from the second.
 *
 * Both buffers write straight into the arrays of the batch; only the slots are copied together afterwards.
 */
import type { TypedArray } from "../ir/arrays.ts";
import { checkCount, needShare } from "../kernels/checks.ts";
import { DataError } from "../kernels/errors.ts";
import type { Column, ColumnSpec, ColumnSpecs, Columns } from "./columns.ts";
import type { ReplayBuffer } from "./replay.ts";
import type { BatchArrays } from "./ring.ts";

/** How many rows come from the first buffer: the share, rounded up. */
export function mixedCount(size: number, ratio: number): number {
  needShare("sampleMixed", "ratio", ratio);
  return Math.ceil(checkCount("sampleMixed: the size of a batch", size, 1) * ratio);
}

/** A batch of two buffers. */
interface Mixed {
  readonly second: object;
  readonly size: number;
  readonly count: number;
  readonly batch: object;
  /** Draws both parts. */
  readonly draw: () => void;
}
/** By first buffer: the batches made so far, few enough to be looked through. */
const cache = new WeakMap<object, Mixed[]>();

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
    made = [];
    cache.set(first, made);
  }
  for (const mixed of made)
    if (mixed.second === second && mixed.size === size && mixed.count === count) return drawn(mixed);
  const mixed = bindMixed(first, second, size, count);
  made.push(mixed);
  return drawn(mixed);
}

function drawn<B>(mixed: Mixed): B {
  mixed.draw();
  return mixed.batch as B;
}

/** Both buffers must have the same columns: checked before anything is made. */
function checkLayouts(first: Columns, second: Columns): void {
  const names = Object.keys(first);
  if (names.length !== Object.keys(second).length || names.some((name) => !(name in second)))
    throw new DataError(
      `sampleMixed: the two buffers have different columns: ${names.join(", ")} and ${Object.keys(second).join(", ")}`,
    );
  for (const name of names) {
    const [a, b] = [first[name] as Column, second[name] as Column];
    if (a.size !== b.size || a.dtype !== b.dtype)
      throw new DataError(
        `sampleMixed: column "${name}" differs between the two buffers: ${a.size} ${a.dtype} a row and ${b.size} ${b.dtype}`,
      );
  }
}

/** Parts of one batch that belongs to the first buffer, and goes when it goes. */
function bindMixed<O extends ColumnSpec, A extends ColumnSpec, X extends ColumnSpecs>(
  first: ReplayBuffer<O, A, X>,
  second: ReplayBuffer<O, A, X>,
  size: number,
  count: number,
): Mixed {
  checkLayouts(first.layout, second.layout);
  const whole = first.createBatch(size);
  const arrays = whole as unknown as { readonly [name: string]: TypedArray };
  const place = (from: number, rows: number) => (name: string, column: Column) =>
    (arrays[name] as TypedArray).subarray(from * column.size, (from + rows) * column.size);
  const bound = [
    { buffer: first, from: 0, rows: count },
    { buffer: second, from: count, rows: size - count },
  ]
    .filter(({ rows }) => rows > 0)
    .map(({ buffer, from, rows }) => ({ buffer, from, batch: buffer.createBatch(rows, place(from, rows)) }));
  const draw = (): void => {
    for (const { buffer, batch, from } of bound) whole.index.set(buffer.sampleInto(batch).index, from);
  };
  return { second, size, count, batch: whole, draw };
}
