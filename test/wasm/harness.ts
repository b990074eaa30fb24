/**
 * @file Runs hand-built modules on the WebAssembly target and on the interpreter, and compares what they leave.
 */
import { buffer, func } from "../../src/ir/build.ts";
import { interpret, newArray, type TypedArray } from "../../src/ir/interpret.ts";
import type { Buffer, Local, Module, Stmt } from "../../src/ir/nodes.ts";
import { STORAGE_BYTES, type StorageType } from "../../src/ir/types.ts";
import { functionsOf, usedBuffers } from "../../src/ir/walk.ts";
import { ARENA_HEADER, type ArenaLayout, type Executable } from "../../src/targets/target.ts";
import { createWasmTarget, GUARD_BYTES, type WasmFeatures, wasmFeatures } from "../../src/targets/wasm/index.ts";

export const newMemory = (shared = true): WebAssembly.Memory =>
  new WebAssembly.Memory({ initial: 64, maximum: 1024, shared });

/** Variants of the target that must all agree. */
export const VARIANTS: { readonly [name: string]: Partial<WasmFeatures> } = {
  "as found": {},
  "without relaxed SIMD": { relaxedSimd: false, fusedMadd: false, wide: false },
  "for joined pairs": { wide: true },
};
export const featuresOf = (less: Partial<WasmFeatures>): WasmFeatures => ({ ...wasmFeatures(), ...less });

export const moduleOf = (
  name: string,
  buffers: readonly Buffer[],
  params: readonly Local[],
  body: readonly Stmt[],
): Module => ({ name, entry: func(name, buffers, params, body), sites: [] });

/** A param buffer; its length is left to the call. */
export const array = (name: string, storage: StorageType, length?: number): Buffer =>
  buffer(name, storage, "param", length);

/** Temp and state buffers one behind the other. */
export function planArena(module: Module): ArenaLayout {
  const offsets = new Map<Buffer, number>();
  let bytes = ARENA_HEADER;
  for (const f of functionsOf(module)) {
    for (const b of usedBuffers(f.body)) {
      if ((b.space !== "temp" && b.space !== "state") || offsets.has(b)) continue;
      offsets.set(b, bytes);
      bytes += Math.ceil(((b.length ?? 0) * STORAGE_BYTES[b.storage]) / 64) * 64 + 64;
    }
  }
  return { offsets, bytes };
}

export interface Bound {
  readonly executable: Executable;
  readonly memory: WebAssembly.Memory;
  /** Copies arrays in, calls, copies them out; returns the fault number. */
  run(arrays: readonly TypedArray[], params?: readonly number[]): number;
}

export interface BindOptions {
  readonly memory?: WebAssembly.Memory;
  readonly threads?: number;
  readonly features?: Partial<WasmFeatures>;
  /** Operations from which on launches use several threads. */
  readonly minOperations?: number;
}

/** Compiles a module; arena, scratch and arrays lie one behind the other in a memory of its own. */
export function bind(module: Module, options: BindOptions = {}): Bound {
  const memory = options.memory ?? newMemory();
  const { target } = createWasmTarget({
    memory,
    features: featuresOf(options.features ?? {}),
    minOperations: options.minOperations ?? 60_000,
  });
  if (!target) throw new Error("no WebAssembly");
  const arena = planArena(module);
  const executable = target.compile({ module, arena }, { threads: options.threads ?? 1 });
  const scratch = GUARD_BYTES + arena.bytes;
  const free = scratch + executable.scratchBytes;
  new Uint8Array(memory.buffer, GUARD_BYTES, arena.bytes).fill(0);
  const entry = executable.instantiate(GUARD_BYTES, scratch);
  if (entry.convention !== "offsets") throw new Error("unexpected convention");
  return {
    executable,
    memory,
    run(arrays, params = []) {
      let at = free;
      const args: number[] = [];
      const views = arrays.map((array, k) => {
        at = Math.ceil(at / 64) * 64;
        const view = new Uint8Array(memory.buffer, at, array.byteLength);
        view.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
        args.push(at);
        if (module.entry.buffers[k]?.length === undefined) args.push(array.length);
        at += array.byteLength + 64;
        return view;
      });
      const fault = entry.call(GUARD_BYTES, ...args, ...params);
      arrays.forEach((array, k) => {
        new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(views[k] as Uint8Array);
      });
      return fault;
    },
  };
}

export const copy = <T extends TypedArray>(array: T): T => array.slice() as T;

/** Numbers as text, with -0 and one kind of NaN. */
export const shown = (array: TypedArray): string[] =>
  Array.from(array, (x) => (Object.is(x, -0) ? "-0" : Number.isNaN(x) ? "NaN" : `${x}`));

export interface Outcome {
  readonly fault: number;
  readonly arrays: readonly string[][];
}

export function onInterpreter(module: Module, arrays: readonly TypedArray[], params: readonly number[] = []): Outcome {
  const copies = arrays.map(copy);
  const fault = interpret(module, { buffers: copies, params });
  return { fault, arrays: copies.map(shown) };
}
export function onWasm(
  module: Module,
  arrays: readonly TypedArray[],
  params: readonly number[] = [],
  options: BindOptions = {},
): Outcome {
  const copies = arrays.map(copy);
  const fault = bind(module, options).run(copies, params);
  return { fault, arrays: copies.map(shown) };
}

export { newArray };
