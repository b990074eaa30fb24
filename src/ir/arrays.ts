/**
 * @file Typed arrays by storage type.
 */
import type { StorageType } from "./types.ts";

export type TypedArray = Float32Array | Float64Array | Int32Array | Uint32Array | Uint8Array;

interface ArrayKind {
  readonly name: string;
  readonly make: (length: number) => TypedArray;
  readonly view: (buffer: ArrayBufferLike, offset: number, length: number) => TypedArray;
}

const KINDS: { readonly [S in StorageType]: ArrayKind } = {
  f32: { name: "Float32Array", make: (n) => new Float32Array(n), view: (b, o, n) => new Float32Array(b, o, n) },
  f64: { name: "Float64Array", make: (n) => new Float64Array(n), view: (b, o, n) => new Float64Array(b, o, n) },
  i32: { name: "Int32Array", make: (n) => new Int32Array(n), view: (b, o, n) => new Int32Array(b, o, n) },
  u32: { name: "Uint32Array", make: (n) => new Uint32Array(n), view: (b, o, n) => new Uint32Array(b, o, n) },
  u8: { name: "Uint8Array", make: (n) => new Uint8Array(n), view: (b, o, n) => new Uint8Array(b, o, n) },
};

/** The JavaScript class that holds elements of a storage type. */
export const arrayName = (storage: StorageType): string => KINDS[storage].name;
/** The storage type of an array's elements; undefined for classes that no storage type has. */
export function storageIn(array: ArrayBufferView): StorageType | undefined {
  return (Object.keys(KINDS) as StorageType[]).find((storage) => KINDS[storage].name === array.constructor.name);
}
export const newArray = (storage: StorageType, length: number): TypedArray => KINDS[storage].make(length);
/** `length` elements of memory at a byte offset. */
export const viewArray = (storage: StorageType, buffer: ArrayBufferLike, offset: number, length: number): TypedArray =>
  KINDS[storage].view(buffer, offset, length);
