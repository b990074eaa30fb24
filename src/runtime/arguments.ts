/**
 * @file Errors about arguments, and arrays that do not live in the heap.
 */
import { arrayName, type TypedArray } from "../ir/arrays.ts";
import type { Site } from "../ir/nodes.ts";
import { LockstepError } from "../platform/errors.ts";
import { type Heap, SPARE_ELEMENT } from "./heap.ts";
import type { ArrayParameter, ScalarKind, Signature } from "./signature.ts";

/** An argument of a call is missing or of the wrong kind; nothing has been written. */
export class ArgumentError extends LockstepError {
  override readonly name = "ArgumentError";
}
/** Compiled code met a subscript out of range or a failed assertion. */
export class KernelFault extends LockstepError {
  override readonly name = "KernelFault";
}

const pathText = (path: readonly string[]): string => path.join(".");

function describe(value: unknown): string {
  if (value === null) return "null";
  if (ArrayBuffer.isView(value)) return `a ${value.constructor.name}`;
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  return typeof value === "undefined" ? "missing" : `${String(value)} (${typeof value})`;
}

const SCALAR_KIND: { readonly [D in ScalarKind]: string } = {
  f32: "a number",
  f64: "a number",
  i32: "a whole number from -2147483648 to 2147483647",
  u32: "a whole number from 0 to 4294967295",
  u8: "a whole number from 0 to 255",
  bool: "true or false",
};

/** What marshalling code calls when something is wrong, and for what it does rarely. */
export class ArgumentHelpers {
  readonly #signature: Signature;
  readonly #sites: readonly Site[];
  readonly #heap: Heap;
  /** Copies of foreign arrays: offset and room in the heap, by position of the parameter. */
  readonly #copies = new Map<number, { offset: number; bytes: number }>();

  constructor(signature: Signature, sites: readonly Site[], heap: Heap) {
    this.#signature = signature;
    this.#sites = sites;
    this.#heap = heap;
  }

  gone(): never {
    throw new LockstepError(`${this.#signature.name} has been disposed of`);
  }

  notObject(args: unknown): never {
    throw new ArgumentError(`${this.#signature.name}: expected one object with the arguments, not ${describe(args)}`);
  }

  wrongArray(k: number, value: unknown): never {
    const p = this.#signature.arrays[k] as ArrayParameter;
    const hint = Array.isArray(value) ? `: convert it with ${arrayName(p.storage)}.from(...)` : "";
    throw new ArgumentError(
      `${this.#signature.name}: "${pathText(p.path)}" must be a ${arrayName(p.storage)} (${p.storage}), ` +
        `it is ${describe(value)}${hint}`,
    );
  }

  wrongLength(k: number, array: TypedArray): never {
    const p = this.#signature.arrays[k] as ArrayParameter;
    throw new ArgumentError(
      `${this.#signature.name}: "${pathText(p.path)}" must have ${p.length} elements, it has ${array.length}`,
    );
  }

  wrongMultiple(k: number, array: TypedArray): never {
    const p = this.#signature.arrays[k] as ArrayParameter;
    throw new ArgumentError(
      `${this.#signature.name}: "${pathText(p.path)}" has rows of ${p.each} elements; its length ${array.length} is not a multiple`,
    );
  }

  wrongGroup(j: number, k: number, first: TypedArray, other: TypedArray): never {
    const [a, b] = [this.#signature.arrays[j], this.#signature.arrays[k]] as [ArrayParameter, ArrayParameter];
    throw new ArgumentError(
      `${this.#signature.name}: "${pathText(a.path)}" and "${pathText(b.path)}" belong together and must have equally ` +
        `many rows; they have ${first.length / a.each} and ${other.length / b.each}`,
    );
  }

  wrongScalar(k: number, value: unknown): never {
    const p = this.#signature.scalars[k] as Signature["scalars"][number];
    throw new ArgumentError(
      `${this.#signature.name}: "${pathText(p.path)}" must be ${SCALAR_KIND[p.dtype]} (${p.dtype}), it is ${describe(value)}`,
    );
  }

  aliased(j: number, k: number): never {
    const [a, b] = [this.#signature.arrays[j], this.#signature.arrays[k]] as [ArrayParameter, ArrayParameter];
    const written = a.written ? a : b;
    throw new ArgumentError(
      `${this.#signature.name}: "${pathText(a.path)}" and "${pathText(b.path)}" share memory, and ` +
        `"${pathText(written.path)}" is written. Hand over separate arrays, or declare one parameter and use it for both`,
    );
  }

  raise(fault: number): never {
    const site = this.#sites[fault - 1];
    const place = site?.place ? `\n  at ${site.place}` : "";
    throw new KernelFault(`${this.#signature.name}: ${site?.message ?? `fault ${fault}`}${place}`);
  }

  /** Checks that no written array shares memory with another one. */
  checkAliases(arrays: readonly TypedArray[]): void {
    const range = (a: TypedArray): [number, number] => [a.byteOffset, a.byteOffset + a.byteLength];
    arrays.forEach((a, j) => {
      for (let k = j + 1; k < arrays.length; k++) {
        const b = arrays[k] as TypedArray;
        const written = this.#signature.arrays[j]?.written || this.#signature.arrays[k]?.written;
        const [[a0, a1], [b0, b1]] = [range(a), range(b)];
        const same = a.buffer === b.buffer || (this.#heap.owns(a.buffer) && this.#heap.owns(b.buffer));
        if (written && same && a0 < b1 && b0 < a1) this.aliased(j, k);
      }
    });
  }

  /** Where an array's data is in the heap: its own place, or that of a copy made now. */
  locate(k: number, array: TypedArray): number {
    if (array.length === 0) return SPARE_ELEMENT;
    if (this.#heap.owns(array.buffer)) return array.byteOffset;
    const copy = this.#room(k, array.byteLength);
    this.#bytesAt(copy, array).set(bytesOf(array));
    return copy;
  }

  /** Copies back what compiled code wrote to copies. */
  giveBack(arrays: readonly TypedArray[]): void {
    arrays.forEach((array, k) => {
      const written = this.#signature.arrays[k]?.written;
      const copy = this.#copies.get(k);
      if (written && copy && array.length && !this.#heap.owns(array.buffer))
        bytesOf(array).set(this.#bytesAt(copy.offset, array));
    });
  }

  #room(k: number, bytes: number): number {
    const known = this.#copies.get(k);
    if (known && known.bytes >= bytes) return known.offset;
    if (known) this.#heap.release(known.offset);
    const offset = this.#heap.allocate(bytes);
    this.#copies.set(k, { offset, bytes });
    return offset;
  }

  #bytesAt(offset: number, array: TypedArray): Uint8Array {
    return new Uint8Array(this.#heap.buffer, offset, array.byteLength);
  }

  dispose(): void {
    for (const { offset } of this.#copies.values()) this.#heap.release(offset);
    this.#copies.clear();
  }
}

const bytesOf = (a: TypedArray): Uint8Array => new Uint8Array(a.buffer, a.byteOffset, a.byteLength);
