/**
 * @file Looks for memory that two live buffers of a program share: what tests ask of every plan.
 *
 * Knows nothing of lifetimes. The program is run by the interpreter, once with memory of their own for all temps, filled
 * with one thing before, and once with the planned arena, filled with another: where a value is overwritten before it
 * is read for the last time, or read before it is written, the two differ.
 */
import { newArray, type TypedArray, viewArray } from "../../src/ir/arrays.ts";
import { interpret } from "../../src/ir/interpret.ts";
import type { Buffer, Module } from "../../src/ir/nodes.ts";
import { usedBuffers } from "../../src/ir/walk.ts";
import type { ArenaLayout } from "../../src/targets/target.ts";

const bytesOf = (array: TypedArray): Uint8Array => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

/** What arrays hold behind a run with the given memory for the program's own buffers. */
function ran(
  module: Module,
  given: readonly TypedArray[],
  params: readonly number[],
  arena: ReadonlyMap<Buffer, TypedArray>,
): number[][] {
  const buffers = given.map((array) => array.slice() as TypedArray);
  const fault = interpret(module, { buffers, params, arena });
  return [[fault], ...buffers.map((array) => Array.from(bytesOf(array)))];
}

/** The number of the first array (0: the fault) that a module's plan spoils when it runs on these arguments. */
export function findSpoiled(
  module: Module,
  layout: ArenaLayout,
  given: readonly TypedArray[],
  params: readonly number[] = [],
): number | undefined {
  const own = [...usedBuffers(module.entry.body)].filter((b) => b.space === "temp" || b.space === "state");
  const memory = new Uint8Array(layout.bytes + 64).fill(0x5a);
  const apart = new Map(own.map((b) => [b, newArray(b.storage, b.length as number)]));
  for (const [b, array] of apart) if (b.space === "temp") bytesOf(array).fill(0x33);
  const planned = new Map(
    own.map((b) => {
      const view = viewArray(b.storage, memory.buffer, layout.offsets.get(b) as number, b.length as number);
      if (b.space === "state") view.fill(0);
      return [b, view];
    }),
  );
  const [wanted, got] = [apart, planned].map((arena) => ran(module, given, params, arena)) as [number[][], number[][]];
  const at = wanted.findIndex((bytes, k) => bytes.some((byte, j) => byte !== got[k]?.[j]));
  return at < 0 ? undefined : at;
}
