/**
 * @file The WebAssembly target: lowered programs become modules of their own over the shared heap.
 */
import { newArray } from "../../ir/arrays.ts";
import type { Buffer } from "../../ir/nodes.ts";
import type { CompileOptions, Entry, Executable, Lowered, Machine, Target } from "../target.ts";
import { type CodeOptions, compileProgram, ENTRY, type ProgramCode } from "./compile.ts";
import { compileJoined, compileWhole, type WasmFeatures, wasmFeatures } from "./features.ts";
import { alignUp, GLOBALS, PROCESS, SCRATCH_HEADER } from "./layout.ts";
import { poolOf } from "./pool.ts";
import { printModule } from "./print.ts";
import { encodeModule, FUNCTION_IMPORTS } from "./writer.ts";

export { type WasmFeatures, wasmFeatures } from "./features.ts";
export { GUARD_BYTES } from "./layout.ts";

export interface WasmTargetOptions {
  /** The heap. Its first GUARD_BYTES belong to the target, and it has at most 65535 pages. */
  readonly memory: WebAssembly.Memory;
  /** What may be used of the engine; less than there is, for comparisons. */
  readonly features?: WasmFeatures;
  /** Bytes of a vector for the passes: 0 keeps all code scalar. */
  readonly vectorBytes?: number;
  /** Estimated operations from which on a launch uses several threads; for tests. */
  readonly minOperations?: number;
}

/** v128 registers that a loop may fill on a machine with 16, one being the engine's. */
const VECTOR_REGISTERS = 15;

let programs = 0;

function bytesOfTable({ storage, data = [] }: Buffer): Uint8Array {
  const array = newArray(storage, data.length);
  array.set(data);
  return new Uint8Array(array.buffer);
}

const isShared = (memory: WebAssembly.Memory): boolean =>
  typeof SharedArrayBuffer !== "undefined" && memory.buffer instanceof SharedArrayBuffer;

/** Longest wait for another thread that compiles. */
const LOCK_MILLISECONDS = 2000;

/** Runs `compile` while no other thread of the process does; false when another one does not come to an end. */
function withCompileLock<T>(memory: WebAssembly.Memory, compile: (alone: boolean) => T): T {
  if (!isShared(memory)) return compile(true);
  const words = new Int32Array(memory.buffer);
  const at = PROCESS.compiling / 4;
  const until = performance.now() + LOCK_MILLISECONDS;
  while (Atomics.compareExchange(words, at, 0, 1) !== 0) {
    if (performance.now() > until) return compile(false);
    Atomics.wait(words, at, 1, 1);
  }
  try {
    return compile(true);
  } finally {
    Atomics.store(words, at, 0);
    Atomics.notify(words, at);
  }
}

/** The compiled module, and that of functions with joined pairs where there are any. */
interface Compiled {
  readonly main: WebAssembly.Module;
  readonly joined: WebAssembly.Module | undefined;
}

class WasmExecutable implements Executable {
  readonly scratchBytes: number;
  readonly #code: ProgramCode;
  readonly #main: Uint8Array<ArrayBuffer>;
  readonly #joined: Uint8Array<ArrayBuffer>;
  readonly #modules: Compiled;
  readonly #memory: WebAssembly.Memory;
  readonly #threads: number;
  readonly #program = ++programs;

  constructor(code: ProgramCode, memory: WebAssembly.Memory, options: CodeOptions) {
    this.#code = code;
    this.#memory = memory;
    this.#threads = options.threads;
    this.#main = encodeModule(code.module);
    this.#joined = code.joined ? encodeModule(code.joined) : new Uint8Array(0);
    this.#modules = options.joined
      ? withCompileLock(memory, (alone) => this.#compileWhole(alone))
      : { main: new WebAssembly.Module(this.#main), joined: undefined };
    const carried = code.threaded ? this.#main.length + this.#joined.length : 0;
    this.scratchBytes = alignUp(code.scratch.moduleBytes + carried, 64);
  }

  #compileWhole(alone: boolean): Compiled {
    const main = compileWhole(this.#main);
    if (!this.#code.joined) return { main, joined: undefined };
    return { main, joined: (alone ? compileJoined : compileWhole)(this.#joined) };
  }

  instantiate(_arena: number, scratch: number): Entry {
    const { buffer } = this.#memory;
    for (const [table, offset] of this.#code.tables) new Uint8Array(buffer, scratch + offset).set(bytesOfTable(table));
    const control = this.#code.threaded ? this.#prepareThreads(buffer, scratch) : 0;
    const env = { memory: this.#memory, [GLOBALS[0]]: scratch, [GLOBALS[1]]: control };
    const { main, joined } = this.#modules;
    const functions = joined ? new WebAssembly.Instance(joined, { env }).exports : {};
    const instance = new WebAssembly.Instance(main, { env, [FUNCTION_IMPORTS]: functions });
    return { convention: "offsets", call: instance.exports[ENTRY] as (...args: number[]) => number };
  }

  /** Leaves the modules where helpers find them; returns the place of the control block. */
  #prepareThreads(buffer: ArrayBufferLike, scratch: number): number {
    const header = new Int32Array(buffer, scratch, SCRATCH_HEADER.bytes / 4);
    header[SCRATCH_HEADER.program / 4] = this.#program;
    header[SCRATCH_HEADER.byteLength / 4] = this.#main.length;
    header[SCRATCH_HEADER.joinedLength / 4] = this.#joined.length;
    const at = scratch + this.#code.scratch.moduleBytes;
    new Uint8Array(buffer, at, this.#main.length).set(this.#main);
    new Uint8Array(buffer, at + this.#main.length, this.#joined.length).set(this.#joined);
    const pool = poolOf(this.#memory);
    pool.ensure(this.#threads - 1);
    return pool.control;
  }

  source(): string {
    const { module, joined } = this.#code;
    return [module, ...(joined ? [joined] : [])].map(printModule).join("\n");
  }
}

/** Why there is no target, where the engine lacks something that all code needs. */
export type WasmResult = { readonly target: Target } | { readonly target: undefined; readonly reason: string };

export function createWasmTarget(options: WasmTargetOptions): WasmResult {
  if (typeof WebAssembly === "undefined") return { target: undefined, reason: "there is no WebAssembly here" };
  const features = options.features ?? wasmFeatures();
  if (!features.simd) return { target: undefined, reason: "this engine's WebAssembly has no SIMD" };
  return { target: new WasmTarget(options, features) };
}

class WasmTarget implements Target {
  readonly name = "wasm";
  readonly machine: Machine;
  readonly #options: WasmTargetOptions;
  readonly #features: WasmFeatures;

  constructor(options: WasmTargetOptions, features: WasmFeatures) {
    this.#options = options;
    this.#features = features;
    this.machine = {
      vectorBytes: options.vectorBytes ?? (features.wide ? 32 : 16),
      vectorRegisters: VECTOR_REGISTERS,
      fastFma: features.fusedMadd,
      launches: true,
    };
  }

  compile(lowered: Lowered, { threads }: CompileOptions): Executable {
    const { memory, minOperations } = this.#options;
    const options: CodeOptions = {
      sharedMemory: isShared(memory),
      relaxed: this.#features.relaxedSimd,
      fusedMadd: this.#features.fusedMadd,
      joined: this.#features.wide && this.machine.vectorBytes > 16,
      threads,
      ...(minOperations === undefined ? {} : { minOperations }),
    };
    return new WasmExecutable(compileProgram(lowered, options), memory, options);
  }
}
