/**
 * @file Transitions as bytes: the columns of a row one after the other, without gaps, in the machine's byte order (which
 * is little-endian wherever this runs).
 */
import type { TypedArray } from "../ir/arrays.ts";
import { STORAGE_BYTES } from "../ir/types.ts";
import { rowBytes, type Storage } from "./columns.ts";

interface Part {
  readonly name: string;
  readonly bytes: number;
  /** Where the part begins in a record. */
  readonly at: number;
  /** The storage of the column as bytes: row r begins at first + r * stride. */
  readonly memory: Uint8Array;
  readonly first: number;
  readonly stride: number;
}

/** Copies of more bytes than this are handed to `set`. */
const LOOPED = 64;

function move(from: Uint8Array, at: number, to: Uint8Array, place: number, bytes: number): void {
  if (bytes > LOOPED) to.set(from.subarray(at, at + bytes), place);
  else for (let k = 0; k < bytes; k++) to[place + k] = from[at + k] as number;
}

type BatchArrays = { readonly [name: string]: TypedArray };

export class RecordCodec {
  /** Bytes of a record. */
  readonly bytes: number;
  readonly #parts: readonly Part[];
  readonly #batches = new WeakMap<BatchArrays, readonly Uint8Array[]>();

  constructor(storage: Storage) {
    let end = 0;
    this.#parts = Object.entries(storage.columns).map(([name, column]) => {
      const { array, offset, stride } = storage.view(name);
      const width = STORAGE_BYTES[column.dtype];
      const memory = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
      const part = { name, bytes: rowBytes(column), at: end, memory, first: offset * width, stride: stride * width };
      end += part.bytes;
      return part;
    });
    this.bytes = end;
  }

  /** Writes the record of a row. */
  encode(row: number, into: Uint8Array): void {
    for (const { memory, first, stride, at, bytes } of this.#parts) move(memory, first + row * stride, into, at, bytes);
  }

  /** Reads a record into a row. */
  decode(from: Uint8Array, row: number): void {
    for (const { memory, first, stride, at, bytes } of this.#parts) move(from, at, memory, first + row * stride, bytes);
  }

  #bytesOf(batch: BatchArrays): readonly Uint8Array[] {
    let found = this.#batches.get(batch);
    if (!found) {
      found = this.#parts.map(({ name }) => {
        const array = batch[name] as TypedArray;
        return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
      });
      this.#batches.set(batch, found);
    }
    return found;
  }

  /** Copies a row to row i of a batch. */
  copy(row: number, batch: BatchArrays, i: number): void {
    const to = this.#bytesOf(batch);
    this.#parts.forEach(({ memory, first, stride, bytes }, p) => {
      move(memory, first + row * stride, to[p] as Uint8Array, i * bytes, bytes);
    });
  }

  /** Copies a record to row i of a batch. */
  unpack(record: Uint8Array, batch: BatchArrays, i: number): void {
    const to = this.#bytesOf(batch);
    this.#parts.forEach(({ at, bytes }, p) => {
      move(record, at, to[p] as Uint8Array, i * bytes, bytes);
    });
  }
}
