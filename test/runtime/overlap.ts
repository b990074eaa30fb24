/**
 * @file Looks for memory that two live buffers of a program share: what tests ask of every plan.
 */
import type { Buffer, Module } from "../../src/ir/nodes.ts";
import { bytesOf, lifetimes, liveTogether } from "../../src/runtime/plan.ts";
import type { ArenaLayout } from "../../src/targets/target.ts";

/** Two live buffers of a layout that overlap, if there are any. */
export function findOverlap(module: Module, layout: ArenaLayout): readonly [Buffer, Buffer] | undefined {
  const lives = lifetimes(module);
  const always = [...layout.offsets.keys()].filter((b) => b.space === "state");
  const all = [...lives, ...always.map((buffer) => ({ buffer, first: 0, last: Number.POSITIVE_INFINITY }))];
  for (const [k, a] of all.entries()) {
    for (const b of all.slice(k + 1)) {
      const [from, to] = [layout.offsets.get(a.buffer) as number, layout.offsets.get(b.buffer) as number];
      if (liveTogether(a, b) && from < to + bytesOf(b.buffer) && to < from + bytesOf(a.buffer))
        return [a.buffer, b.buffer];
    }
  }
  return undefined;
}
