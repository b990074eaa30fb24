/**
 * @file Columns: what a transition is made of, and where its parts lie in the heap.
 *
 * A ring that is sampled at random pays for cache lines, not for bytes. Columns with narrow rows therefore lie side by
 * side in one record per transition, so that a sampled transition touches one or two lines instead of one per column;
 * columns with wide rows (images) are arrays of their own. Either way a column is flat memory that the caller can see:
 * element k of row r is `array[offset + r * stride + k]`. Buffers that are read as a whole (rollouts, tables) ask for
 * separate columns: there the offset is 0 and the stride is the size.
 */
import { arrayName, type TypedArray, viewArray } from "../ir/arrays.ts";
import { STORAGE_BYTES } from "../ir/types.ts";
import { checkCount, kindOf } from "../kernels/checks.ts";
import { DataError } from "../kernels/errors.ts";
import { heap } from "../runtime/heap.ts";

export type ColumnType = "f32" | "f64" | "i32" | "u32" | "u8";

/** A column: so many elements of a type in each row. */
export interface Column<D extends ColumnType = ColumnType> {
  readonly dtype: D;
  readonly size: number;
}
/** A column, or a number: so many f32. */
export type ColumnSpec = number | Column;
export interface ColumnSpecs {
  readonly [name: string]: ColumnSpec;
}
export interface Columns {
  readonly [name: string]: Column;
}

export interface ColumnArrays {
  f32: Float32Array;
  f64: Float64Array;
  i32: Int32Array;
  u32: Uint32Array;
  u8: Uint8Array;
}
/** The array that holds a column. */
export type ArrayFor<S extends ColumnSpec> = S extends Column<infer D> ? ColumnArrays[D] : Float32Array;
export type ArraysFor<X extends ColumnSpecs> = { readonly [K in keyof X]: ArrayFor<X[K]> };

/** Where a column lies: element k of row r is `array[offset + r * stride + k]`. */
export interface ColumnView<A extends TypedArray = TypedArray> {
  readonly array: A;
  readonly offset: number;
  readonly stride: number;
  readonly size: number;
}

const TYPES: { readonly [D in ColumnType]: true } = { f32: true, f64: true, i32: true, u32: true, u8: true };

/** A column from what the caller wrote. */
export function columnOf(name: string, spec: ColumnSpec): Column {
  if (typeof spec !== "number" && !(typeof spec === "object" && spec !== null))
    throw new DataError(
      `column "${name}" is ${kindOf(spec)}; give the number of its elements, or { dtype, size } for another type than f32`,
    );
  const { dtype, size } = typeof spec === "number" ? { dtype: "f32" as const, size: spec } : spec;
  if (!Object.hasOwn(TYPES, dtype))
    throw new DataError(`column "${name}": "${String(dtype)}" is not one of ${Object.keys(TYPES).join(", ")}`);
  return { dtype, size: checkCount(`the size of column "${name}"`, size, 1) };
}

export const columnsOf = (specs: ColumnSpecs): Columns =>
  Object.fromEntries(Object.entries(specs).map(([name, spec]) => [name, columnOf(name, spec)]));

export const rowBytes = ({ dtype, size }: Column): number => STORAGE_BYTES[dtype] * size;

/** Rows wider than a cache line gain nothing from lying in a record. */
const NARROW_BYTES = 64;
const RECORD_ALIGNMENT = 8;
/** Flags are read byte by byte, by numbers of 31 bits. */
const MOST_RECORD_BYTES = 2 ** 31 - 1;

/** Byte offsets of columns in a record, widest elements first so that all are aligned. */
function arrangeRecord(columns: Columns): { offsets: Map<string, number>; bytes: number } {
  const offsets = new Map<string, number>();
  const narrow = Object.entries(columns).filter(([, column]) => rowBytes(column) <= NARROW_BYTES);
  let end = 0;
  for (const width of [8, 4, 1]) {
    for (const [name, column] of narrow) {
      // A row that can be moved in words of eight bytes is placed where that is possible.
      const bytes = rowBytes(column);
      const alignment = bytes % 8 === 0 ? 8 : bytes % 4 === 0 ? 4 : 1;
      if (alignment !== width) continue;
      offsets.set(name, end);
      end += bytes;
    }
  }
  return { offsets, bytes: Math.ceil(end / RECORD_ALIGNMENT) * RECORD_ALIGNMENT };
}

/** How columns are stored: one record per row where rows are narrow, or every column by itself. */
export type Arrangement = "records" | "separate";

/** Where the parts of a storage lie in the heap; can be sent to another thread. */
export interface StorageAddress {
  readonly record: number | undefined;
  readonly own: { readonly [name: string]: number };
}

/** Takes the memory of a storage: all of it or, when there is no room, none. */
function takeMemory(recordBytes: number, own: readonly (readonly [string, Column])[], rows: number): StorageAddress {
  const taken: number[] = [];
  const take = (bytes: number): number => {
    const place = heap().allocate(bytes);
    taken.push(place);
    return place;
  };
  try {
    const record = recordBytes > 0 ? take(recordBytes) : undefined;
    return { record, own: Object.fromEntries(own.map(([name, column]) => [name, take(rowBytes(column) * rows)])) };
  } catch (error) {
    for (const place of taken) heap().release(place);
    throw error;
  }
}

/** What `make` makes; where it cannot, memory that was taken before is given back: nothing else could do so. */
export function makeOrRelease<T>(taken: readonly { dispose(): void }[], make: () => T): T {
  try {
    return make();
  } catch (error) {
    for (const part of taken) part.dispose();
    throw error;
  }
}

/** The memory of a set of columns. */
export class Storage {
  readonly columns: Columns;
  readonly rows: number;
  readonly address: StorageAddress;
  readonly #views = new Map<string, ColumnView>();
  /** Bytes of a record; 0 without one. */
  readonly recordBytes: number;
  readonly bytes: number;
  /** Whether the memory was taken here, and is still to be given back here. */
  #owned: boolean;

  constructor(columns: Columns, rows: number, arrangement: Arrangement, at?: StorageAddress) {
    this.#owned = at === undefined;
    this.columns = columns;
    this.rows = rows;
    const { offsets, bytes } = arrangement === "records" ? arrangeRecord(columns) : { offsets: new Map(), bytes: 0 };
    this.recordBytes = bytes;
    if (bytes * rows > MOST_RECORD_BYTES)
      throw new DataError(
        `${rows} rows of ${bytes} bytes are too large for one array: at most ${MOST_RECORD_BYTES} bytes; take fewer rows`,
      );
    const inRecord = (name: string): boolean => offsets.has(name);
    const separate = Object.entries(columns).filter(([name]) => !inRecord(name));
    this.address = at ?? takeMemory(bytes * rows, separate, rows);
    let total = bytes * rows;
    for (const name of Object.keys(columns).filter(inRecord))
      this.#addRecord(name, this.address.record as number, offsets.get(name) as number);
    for (const [name, column] of separate) {
      total += rowBytes(column) * rows;
      const array = viewArray(column.dtype, heap().buffer, this.address.own[name] as number, rows * column.size);
      this.#views.set(name, { array, offset: 0, stride: column.size, size: column.size });
    }
    this.bytes = total;
  }

  #addRecord(name: string, record: number, offset: number): void {
    const { dtype, size } = this.columns[name] as Column;
    const width = STORAGE_BYTES[dtype];
    const stride = this.recordBytes / width;
    const array = viewArray(dtype, heap().buffer, record, stride * this.rows);
    this.#views.set(name, { array, offset: offset / width, stride, size });
  }

  view(name: string): ColumnView {
    const found = this.#views.get(name);
    if (!found) throw new DataError(`there is no column "${name}"; columns are ${[...this.#views.keys()].join(", ")}`);
    return found;
  }

  /** Rows `first` to `first + count - 1` (wrapping around) of a column, as an array of their own. */
  copy(name: string, first: number, count: number): TypedArray {
    const { array, offset, stride, size } = this.view(name);
    const out = new (array.constructor as new (length: number) => TypedArray)(count * size);
    for (let r = 0; r < count; r++) {
      const from = offset + ((first + r) % this.rows) * stride;
      for (let k = 0; k < size; k++) out[r * size + k] = array[from + k] as number;
    }
    return out;
  }

  /** Writes rows from `first` on (wrapping around). */
  fill(name: string, first: number, values: ArrayLike<number>): void {
    const { array, offset, stride, size } = this.view(name);
    for (let r = 0; r < values.length / size; r++) {
      const to = offset + ((first + r) % this.rows) * stride;
      for (let k = 0; k < size; k++) array[to + k] = values[r * size + k] as number;
    }
  }

  /** Gives the memory back. */
  dispose(): void {
    this.#views.clear();
    if (!this.#owned) return;
    this.#owned = false;
    if (this.address.record !== undefined) heap().release(this.address.record);
    for (const place of Object.values(this.address.own)) heap().release(place);
  }
}

const WHOLE: { readonly [D in ColumnType]?: readonly [least: number, most: number] } = {
  i32: [-(2 ** 31), 2 ** 31 - 1],
  u32: [0, 2 ** 32 - 1],
  u8: [0, 255],
};

export function wrongInteger(who: string, name: string, dtype: ColumnType, value: unknown): never {
  const [least, most] = WHOLE[dtype] ?? [];
  throw new DataError(
    `${who}: "${name}" holds ${dtype}: whole numbers from ${least} to ${most}, not ${String(value)}; ` +
      "scale or round it first, or give the column another type",
  );
}

const within = (v: number, [least, most]: readonly [number, number]): boolean =>
  Number.isInteger(v) && v >= least && v <= most;

/** Checks that a column can hold every element as it is. Every step of a rollout comes here: no closures. */
export function checkIntegers(who: string, name: string, dtype: ColumnType, values: ArrayLike<number> | number): void {
  const limits = WHOLE[dtype];
  if (limits === undefined) return;
  if (typeof values === "number") {
    if (!within(values, limits)) wrongInteger(who, name, dtype, values);
  } else if (values.constructor.name !== arrayName(dtype)) {
    for (let k = 0; k < values.length; k++)
      if (!within(values[k] as number, limits)) wrongInteger(who, name, dtype, values[k]);
  }
}

/** Checks that all elements are numbers, which a column can hold as they are. */
export function checkNumbers(who: string, name: string, dtype: ColumnType, values: ArrayLike<number>): void {
  if (values.constructor.name === arrayName(dtype)) return;
  for (let k = 0; k < values.length; k++)
    if (typeof values[k] !== "number")
      throw new DataError(`${who}: "${name}" holds ${String(values[k])} as element ${k}; elements are numbers`);
  checkIntegers(who, name, dtype, values);
}

/** Checks that all flags are true, false, 1 or 0. */
export function checkFlags(who: string, name: string, values: ArrayLike<number | boolean>): void {
  for (let k = 0; k < values.length; k++)
    if (values[k] !== 0 && values[k] !== 1 && values[k] !== true && values[k] !== false)
      throw new DataError(`${who}: "${name}" holds ${String(values[k])} in row ${k}; flags are 0 and 1`);
}

/** Checks `rows` rows of a column: how many elements they are, and that each can be stored as it is. */
export function checkRows(
  who: string,
  name: string,
  { dtype, size }: Column,
  value: ArrayLike<number> | number | undefined,
  rows = 1,
): void {
  const length = typeof value === "number" ? 1 : value?.length;
  if (value === undefined || length !== rows * size)
    throw new DataError(`${who}: "${name}" must have ${rows * size} elements, it has ${length ?? "none"}`);
  checkIntegers(who, name, dtype, value);
}

/** Writes rows that were checked from element `at` on; a number where there is one element. */
export function writeRows(array: TypedArray, at: number, value: ArrayLike<number> | number): void {
  if (typeof value === "number") array[at] = value;
  else array.set(value, at);
}
