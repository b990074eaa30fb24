/**
 * @file The memory plan: where a program's own buffers lie in its arena.
 *
 * State comes first and is never shared. A temp lives from the first to the last statement of the entry that touches
 * it (a loop counts as one statement, and so does a call with all that happens inside); temps that do not live at the
 * same time may share memory. First fit over intervals, largest first: simple, and close to optimal for programs that
 * are mostly chains.
 */
import type { Buffer, Module } from "../ir/nodes.ts";
import { STORAGE_BYTES } from "../ir/types.ts";
import { usedBuffers } from "../ir/walk.ts";
import { ARENA_HEADER, type ArenaLayout } from "../targets/target.ts";

/** First and last statement of the entry that touch a buffer. */
export interface Lifetime {
  readonly buffer: Buffer;
  readonly first: number;
  readonly last: number;
}

const ALIGN = 64;
/** Bytes that a buffer takes in an arena. */
export const bytesOf = (b: Buffer): number =>
  Math.max(1, Math.ceil(((b.length as number) * STORAGE_BYTES[b.storage]) / ALIGN)) * ALIGN;

/** When each temp of a module is live, counted in statements of its entry. */
export function lifetimes(module: Module): Lifetime[] {
  const found = new Map<Buffer, { first: number; last: number }>();
  module.entry.body.forEach((s, at) => {
    for (const b of usedBuffers([s])) {
      if (b.space !== "temp") continue;
      const known = found.get(b);
      if (known) known.last = at;
      else found.set(b, { first: at, last: at });
    }
  });
  return [...found].map(([buffer, life]) => ({ buffer, ...life }));
}

/** Whether two buffers hold something at the same time. */
export const liveTogether = (a: Lifetime, b: Lifetime): boolean => a.first <= b.last && b.first <= a.last;

/** Places every state and temp buffer of a module. */
export function planArena(module: Module): ArenaLayout {
  const offsets = new Map<Buffer, number>();
  let top = ARENA_HEADER;
  for (const b of usedBuffers(module.entry.body)) {
    if (b.space !== "state") continue;
    offsets.set(b, top);
    top += bytesOf(b);
  }
  const placed: { readonly life: Lifetime; readonly begin: number; readonly end: number }[] = [];
  const bySize = lifetimes(module).sort((a, b) => bytesOf(b.buffer) - bytesOf(a.buffer));
  let end = top;
  for (const life of bySize) {
    const size = bytesOf(life.buffer);
    const rivals = placed.filter((p) => liveTogether(p.life, life)).sort((a, b) => a.begin - b.begin);
    let begin = top;
    for (const r of rivals) if (r.begin < begin + size && begin < r.end) begin = r.end;
    placed.push({ life, begin, end: begin + size });
    offsets.set(life.buffer, begin);
    end = Math.max(end, begin + size);
  }
  return { offsets, bytes: end };
}
