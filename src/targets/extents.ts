/**
 * @file The memory that buffers take in an arena, and which of them lie in the same.
 */
import type { Buffer } from "../ir/nodes.ts";
import { STORAGE_BYTES } from "../ir/types.ts";
import type { ArenaLayout } from "./target.ts";

/** Bytes from the arena's base, without what fills up the last line. */
export interface Extent {
  readonly buffer: Buffer;
  readonly begin: number;
  readonly end: number;
}

/** Undefined for a buffer that does not lie in the arena. */
export function extentOf(buffer: Buffer, { offsets }: ArenaLayout): Extent | undefined {
  const begin = offsets.get(buffer);
  if (begin === undefined) return undefined;
  return { buffer, begin, end: begin + (buffer.length ?? 0) * STORAGE_BYTES[buffer.storage] };
}

/** Pairs that share bytes; what is empty shares none. */
export function overlapping(extents: readonly Extent[]): [Extent, Extent][] {
  const ordered = extents.filter(({ begin, end }) => begin < end).sort((a, b) => a.begin - b.begin);
  return ordered.flatMap((a, k) => {
    const behind = ordered.slice(k + 1);
    const apart = behind.findIndex((b) => b.begin >= a.end);
    return (apart < 0 ? behind : behind.slice(0, apart)).map((b): [Extent, Extent] => [a, b]);
  });
}
