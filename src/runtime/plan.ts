/**
 * @file The memory plan: where a program's own buffers lie in its arena.
 *
 * State comes first and is never shared. Temps that do not live at the same time (lifetimes.ts) may share memory. First
 * fit over intervals, largest first: simple, and close to optimal for programs that are mostly chains.
 */
import type { Buffer, Module } from "../ir/nodes.ts";
import { STORAGE_BYTES } from "../ir/types.ts";
import { usedBuffers } from "../ir/walk.ts";
import { ARENA_HEADER, type ArenaLayout } from "../targets/target.ts";
import { freshInLoops, type Lifetime, lifetimes, liveTogether } from "./lifetimes.ts";

const ALIGN = 64;
/** Bytes that a buffer takes in an arena. */
export const bytesOf = (b: Buffer): number =>
  Math.max(1, Math.ceil(((b.length as number) * STORAGE_BYTES[b.storage]) / ALIGN)) * ALIGN;

/** Places every state and temp buffer of a lowered module; `written` is the module as the front end wrote it. */
export function planArena(module: Module, written: Module = module): ArenaLayout {
  const offsets = new Map<Buffer, number>();
  let top = ARENA_HEADER;
  for (const b of usedBuffers(module.entry.body)) {
    if (b.space !== "state") continue;
    offsets.set(b, top);
    top += bytesOf(b);
  }
  const placed: { readonly life: Lifetime; readonly begin: number; readonly end: number }[] = [];
  const bySize = lifetimes(module, freshInLoops(written)).sort((a, b) => bytesOf(b.buffer) - bytesOf(a.buffer));
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
