/**
 * @file Files of named tensors in the safetensors format, from and to bytes.
 *
 * Eight bytes with the header's length, the header (JSON), and the elements of all tensors, little-endian, without
 * gaps. A file is taken for hostile: everything is checked before anything is returned, and nothing is allocated by a
 * number that the file alone vouches for. Elements may be any bits, NaN included.
 */
import { LockstepError } from "../platform/errors.ts";
import { elementsOf, type Shape } from "../tensor/shape.ts";
import { HeaderFault, type HeaderValue, readHeaderText } from "./headerText.ts";

/** Bytes that are not a file of tensors, or not the tensors that were expected. */
export class TensorFileError extends LockstepError {
  override readonly name: string = "TensorFileError";
}

/** Types that can be read and written as typed arrays. */
const ARRAYS = {
  F64: Float64Array,
  F32: Float32Array,
  I32: Int32Array,
  U32: Uint32Array,
  I16: Int16Array,
  U16: Uint16Array,
  I8: Int8Array,
  U8: Uint8Array,
  BOOL: Uint8Array,
} as const;
export type FileType = keyof typeof ARRAYS;
export type FileArray = InstanceType<(typeof ARRAYS)[FileType]>;

export interface FileTensor {
  readonly dtype: FileType;
  readonly shape: Shape;
  readonly data: FileArray;
}
export interface TensorFile {
  readonly tensors: ReadonlyMap<string, FileTensor>;
  readonly metadata: ReadonlyMap<string, string>;
}

const LENGTH_BYTES = 8;
const ALIGNMENT = 8;
const LARGEST_HEADER = 100_000_000;
const METADATA = "__metadata__";

/** The bytes of a file with these tensors, in their order. */
export function writeTensors(
  tensors: ReadonlyMap<string, FileTensor>,
  metadata: { readonly [key: string]: string } = {},
): Uint8Array {
  const header: [string, unknown][] = Object.keys(metadata).length ? [[METADATA, metadata]] : [];
  let end = 0;
  // Wide elements first, so that all lie on multiples of their size.
  const ordered = [...tensors].sort(([, a], [, b]) => widthOf(b.dtype) - widthOf(a.dtype));
  for (const [name, { dtype, shape, data }] of ordered) {
    if (name === METADATA) throw new TensorFileError(`a tensor cannot be called "${METADATA}"`);
    if (data.length !== elementsOf(shape) || !(data instanceof ARRAYS[dtype]))
      throw new TensorFileError(`"${name}": ${data.length} elements are not ${dtype} [${shape.join(", ")}]`);
    const begin = end;
    end += data.byteLength;
    header.push([name, { dtype, shape: [...shape], data_offsets: [begin, end] }]);
  }
  const entries = header.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`);
  const text = new TextEncoder().encode(`{${entries.join()}}`);
  const padded = Math.ceil(text.length / ALIGNMENT) * ALIGNMENT;
  const bytes = new Uint8Array(LENGTH_BYTES + padded + end);
  new DataView(bytes.buffer).setUint32(0, padded, true);
  bytes.fill(0x20, LENGTH_BYTES, LENGTH_BYTES + padded);
  bytes.set(text, LENGTH_BYTES);
  let at = LENGTH_BYTES + padded;
  for (const [, { data }] of ordered) {
    bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), at);
    at += data.byteLength;
  }
  return bytes;
}
const widthOf = (dtype: FileType): number => ARRAYS[dtype].BYTES_PER_ELEMENT;

/** The tensors of a file, as copies. */
export function readTensors(bytes: Uint8Array): TensorFile {
  const { header, start } = headerOf(bytes);
  const metadata = metadataOf(header.get(METADATA));
  const entries = [...header]
    .filter(([name]) => name !== METADATA)
    .map(([name, value]) => entryOf(name, value, bytes.length - start));
  checkCover(entries, bytes.length - start);
  const tensors = new Map<string, FileTensor>();
  for (const { name, dtype, shape, begin, end } of entries) {
    const own = copyOf(bytes.subarray(start + begin, start + end));
    tensors.set(name, { dtype, shape, data: new ARRAYS[dtype](own.buffer) });
  }
  return { tensors, metadata };
}
/** In memory of their own: `slice` of Node's buffers shows the same bytes, which lie in a pool. */
const copyOf = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(bytes);

function headerOf(bytes: Uint8Array): { header: ReadonlyMap<string, HeaderValue>; start: number } {
  if (bytes.length < LENGTH_BYTES) throw new TensorFileError(`${bytes.length} bytes are too few for a file of tensors`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, LENGTH_BYTES);
  const length = view.getUint32(0, true) + view.getUint32(4, true) * 2 ** 32;
  if (length > LARGEST_HEADER || length > bytes.length - LENGTH_BYTES)
    throw new TensorFileError(`a header of ${length} bytes does not fit a file of ${bytes.length}`);
  const start = LENGTH_BYTES + length;
  return { header: parsed(bytes.subarray(LENGTH_BYTES, start)), start };
}
function parsed(bytes: Uint8Array): ReadonlyMap<string, HeaderValue> {
  let value: HeaderValue;
  try {
    // A copy: decoders refuse memory that is shared.
    value = readHeaderText(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(copyOf(bytes)));
  } catch (fault) {
    const reason = fault instanceof HeaderFault ? fault.message : "it is not text in UTF-8";
    throw new TensorFileError(`the header cannot be read: ${reason}`);
  }
  if (!isMap(value)) throw new TensorFileError("the header is not an object");
  return value;
}
const isMap = (value: HeaderValue | undefined): value is ReadonlyMap<string, HeaderValue> => value instanceof Map;

function metadataOf(value: HeaderValue | undefined): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  if (value === undefined) return found;
  if (!isMap(value)) throw new TensorFileError(`"${METADATA}" is not an object`);
  for (const [key, text] of value) {
    if (typeof text !== "string") throw new TensorFileError(`"${METADATA}": "${key}" is not a string`);
    found.set(key, text);
  }
  return found;
}

interface Entry {
  readonly name: string;
  readonly dtype: FileType;
  readonly shape: Shape;
  readonly begin: number;
  readonly end: number;
}
const FIELDS: readonly string[] = ["dtype", "shape", "data_offsets"];

function entryOf(name: string, value: HeaderValue, available: number): Entry {
  const fail = (reason: string): never => {
    throw new TensorFileError(`"${name}": ${reason}`);
  };
  if (!isMap(value)) return fail("it is not described by an object");
  for (const key of value.keys()) if (!FIELDS.includes(key)) fail(`"${key}" is not known`);
  const dtype = value.get("dtype");
  if (typeof dtype !== "string" || !Object.hasOwn(ARRAYS, dtype))
    return fail(`its type ${dtype} is not one of ${Object.keys(ARRAYS).join(", ")}`);
  const shape = numbersOf(value.get("shape")) ?? fail("its shape is not a list of numbers");
  const offsets = numbersOf(value.get("data_offsets"));
  const [begin, end] = offsets?.length === 2 ? (offsets as [number, number]) : fail("its offsets are not two numbers");
  if (begin > end || end > available) fail(`its bytes ${begin} to ${end} do not lie in the ${available} of the file`);
  const size = elementsOf(shape) * widthOf(dtype as FileType);
  if (size !== end - begin) fail(`${dtype} [${shape.join(", ")}] is ${size} bytes, not ${end - begin}`);
  return { name, dtype: dtype as FileType, shape, begin, end };
}
function numbersOf(value: HeaderValue | undefined): readonly number[] | undefined {
  const isList = Array.isArray(value) && value.every((x) => typeof x === "number");
  return isList ? (value as readonly number[]) : undefined;
}

/** Every byte belongs to one tensor. */
function checkCover(entries: readonly Entry[], available: number): void {
  let at = 0;
  for (const { name, begin, end } of [...entries].sort((a, b) => a.begin - b.begin || a.end - b.end)) {
    if (begin < at) throw new TensorFileError(`"${name}" overlaps another tensor`);
    if (begin > at) throw new TensorFileError(`the bytes ${at} to ${begin} before "${name}" belong to no tensor`);
    at = end;
  }
  if (at !== available) throw new TensorFileError(`the last ${available - at} bytes belong to no tensor`);
}
