/**
 * @file A compiled program as bytes: all that is needed to instantiate it, without the code it was made from.
 */
import { newArray } from "../../ir/arrays.ts";
import type { Buffer } from "../../ir/nodes.ts";
import type { ProgramCode } from "./compile.ts";
import { encodeModule } from "./writer.ts";

type Bytes = Uint8Array<ArrayBuffer>;

export interface Image {
  readonly main: Bytes;
  /** The module of functions with joined pairs; empty where there is none. */
  readonly joined: Bytes;
  /** Where in the scratch region the modules lie, behind everything else. */
  readonly moduleBytes: number;
  /** Contents of tables, by offset in the scratch region. */
  readonly tables: readonly { readonly offset: number; readonly bytes: Bytes }[];
  readonly threaded: boolean;
}

function bytesOfTable({ storage, data = [] }: Buffer): Bytes {
  const array = newArray(storage, data.length);
  array.set(data);
  return new Uint8Array(array.buffer as ArrayBuffer);
}

export function imageOf({ module, joined, scratch, tables, threaded }: ProgramCode): Image {
  return {
    main: encodeModule(module),
    joined: joined ? encodeModule(joined) : new Uint8Array(0),
    moduleBytes: scratch.moduleBytes,
    tables: [...tables].map(([table, offset]) => ({ offset, bytes: bytesOfTable(table) })),
    threaded,
  };
}

/** An image as JSON holds it: bytes are letters. */
export interface PackedImage extends Omit<Image, "main" | "joined" | "tables"> {
  readonly main: string;
  readonly joined: string;
  readonly tables: readonly { readonly offset: number; readonly bytes: string }[];
}

/** Bytes that one call turns into letters: more would be too many arguments. */
const CHUNK = 8192;
function letters(bytes: Bytes): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += CHUNK) text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(text);
}
/** Letter by letter: an iterator over them takes ten times as long. */
function bytesIn(text: string): Bytes {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let k = 0; k < bytes.length; k++) bytes[k] = binary.charCodeAt(k);
  return bytes;
}

export const packed = (image: Image): PackedImage => ({
  ...image,
  main: letters(image.main),
  joined: letters(image.joined),
  tables: image.tables.map(({ offset, bytes }) => ({ offset, bytes: letters(bytes) })),
});
export const unpacked = (image: PackedImage): Image => ({
  ...image,
  main: bytesIn(image.main),
  joined: bytesIn(image.joined),
  tables: image.tables.map(({ offset, bytes }) => ({ offset, bytes: bytesIn(bytes) })),
});
