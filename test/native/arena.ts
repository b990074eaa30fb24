/**
 * @file A memory plan for tests: every temp and state buffer has a place of its own.
 */
import type { Buffer, Module } from "../../src/ir/nodes.ts";
import { STORAGE_BYTES } from "../../src/ir/types.ts";
import { functionsOf, usedBuffers } from "../../src/ir/walk.ts";
import { ARENA_HEADER, type Lowered } from "../../src/targets/target.ts";

export const align = (n: number): number => Math.ceil(n / 64) * 64;

export function planArena(module: Module): Lowered {
  const offsets = new Map<Buffer, number>();
  let bytes = ARENA_HEADER;
  for (const f of functionsOf(module)) {
    for (const b of usedBuffers(f.body)) {
      if ((b.space !== "temp" && b.space !== "state") || offsets.has(b)) continue;
      offsets.set(b, bytes);
      bytes = align(bytes + (b.length ?? 0) * STORAGE_BYTES[b.storage]);
    }
  }
  return { module, arena: { offsets, bytes } };
}
