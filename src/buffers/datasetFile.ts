/**
 * @file The file format of offline datasets: a header, then the columns as they lie in memory.
 *
 * Other tools store datasets as Arrow or HDF5. Readers of these in JavaScript are large, none of them is small enough to
 * be trusted with a hostile file and kept up for years, and a dataset here is six flat columns; so the format is its
 * own and documented: conversion is a dozen lines of NumPy.
 *
 * | bytes | what |
 * |---|---|
 * | 0 to 7 | "LSOFFLN" and the version, 1 |
 * | 8 to 11 | length of the description, u32, little-endian as everything |
 * | 12 to 15 | CRC-32 of the description and the columns |
 * | 16 on | description, JSON: { rows, columns: [{ name, dtype, size }] } |
 * | then | the columns in this order, each begins at a multiple of 8 bytes |
 */
import { type TypedArray, viewArray } from "../ir/arrays.ts";
import { DataError } from "../kernels/errors.ts";
import { crc32 } from "./checksum.ts";
import { type Column, type Columns, columnOf, rowBytes } from "./columns.ts";

export interface RawDataset {
  readonly rows: number;
  readonly columns: Columns;
  readonly arrays: { readonly [name: string]: TypedArray };
}

const MAGIC = [0x4c, 0x53, 0x4f, 0x46, 0x46, 0x4c, 0x4e, 1] as const;
const HEADER = 16;
const MOST_DESCRIPTION = 65536;
const COLUMN_NAMES = ["observation", "nextObservation", "action", "reward", "terminated", "truncated"] as const;

const aligned = (n: number): number => Math.ceil(n / 8) * 8;

export function encodeDataset({ rows, columns, arrays }: RawDataset): Uint8Array {
  const list = Object.entries(columns).map(([name, { dtype, size }]) => ({ name, dtype, size }));
  const text = new TextEncoder().encode(JSON.stringify({ rows, columns: list }));
  let end = aligned(HEADER + text.length);
  const places = list.map(({ name }) => {
    const at = end;
    end = aligned(end + (arrays[name] as TypedArray).byteLength);
    return at;
  });
  const bytes = new Uint8Array(end);
  bytes.set(MAGIC, 0);
  bytes.set(text, HEADER);
  list.forEach(({ name }, k) => {
    const { buffer, byteOffset, byteLength } = arrays[name] as TypedArray;
    bytes.set(new Uint8Array(buffer, byteOffset, byteLength), places[k] as number);
  });
  const view = new DataView(bytes.buffer);
  view.setUint32(8, text.length, true);
  view.setUint32(12, crc32(bytes.subarray(HEADER)), true);
  return bytes;
}

const refuse = (why: string): never => {
  throw new DataError(`this is not a dataset that can be read: ${why}`);
};

/** Reads a description, trusting none of it. */
function describe(text: Uint8Array): { rows: number; columns: { name: string; column: Column }[] } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(text));
  } catch {
    return refuse("its description is not JSON");
  }
  const { rows, columns } = (parsed ?? {}) as { rows?: unknown; columns?: unknown };
  if (typeof rows !== "number" || !Number.isSafeInteger(rows) || rows < 1)
    return refuse("the number of rows is missing");
  if (!Array.isArray(columns) || columns.length !== COLUMN_NAMES.length) return refuse("columns are missing");
  const list = columns.map((given: unknown, k) => {
    const { name, dtype, size } = (given ?? {}) as { name?: unknown; dtype?: unknown; size?: unknown };
    if (name !== COLUMN_NAMES[k]) return refuse(`column ${k} is not "${COLUMN_NAMES[k]}"`);
    const column = columnOf(String(name), { dtype: dtype as Column["dtype"], size: size as number });
    return { name: String(name), column };
  });
  return { rows, columns: list };
}

export function decodeDataset(bytes: Uint8Array): RawDataset {
  if (bytes.length < HEADER || MAGIC.some((byte, k) => bytes[k] !== byte)) refuse("it does not begin as one");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = view.getUint32(8, true);
  if (length > MOST_DESCRIPTION || HEADER + length > bytes.length) refuse("its description is longer than the file");
  const { rows, columns } = describe(bytes.subarray(HEADER, HEADER + length));
  let end = aligned(HEADER + length);
  const places = columns.map(({ column }) => {
    const at = end;
    end = aligned(end + rows * rowBytes(column));
    return at;
  });
  if (!Number.isSafeInteger(end) || end !== bytes.length) refuse(`it should have ${end} bytes and has ${bytes.length}`);
  if (crc32(bytes.subarray(HEADER)) !== view.getUint32(12, true)) refuse("its checksum does not match; it is damaged");
  const arrays = columns.map(({ name, column }, k) => {
    // A copy: columns must be aligned, which the bytes handed over need not be.
    const part = bytes.slice(places[k] as number, (places[k] as number) + rows * rowBytes(column));
    return [name, viewArray(column.dtype, part.buffer, 0, rows * column.size)] as const;
  });
  const specs = Object.fromEntries(columns.map(({ name, column }) => [name, column]));
  return { rows, columns: specs, arrays: Object.fromEntries(arrays) };
}
