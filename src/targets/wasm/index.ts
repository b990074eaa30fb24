/**
 * @file The WebAssembly target: lowered programs become modules of their own over the shared heap.
 */
import type { Buffer } from "../../ir/nodes.ts";
import type { CompileOptions, Entry, Executable, Lowered, Machine, Target } from "../target.ts";
import { compileProgram, ENTRY, type ProgramCode } from "./compile.ts";
import { compileJoined, type WasmFeatures, wasmFeatures } from "./features.ts";
import { alignUp, GLOBALS, SCRATCH_HEADER } from "./layout.ts";
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

const ARRAYS = { f32: Float32Array, f64: Float64Array, i32: Int32Array, u32: Uint32Array, u8: Uint8Array } as const;
function bytesOfTable({ storage, data = [] }: Buffer): Uint8Array {
  return new Uint8Array(ARRAYS[storage].from(data).buffer);
}

class WasmExecutable implements Executable {
  readonly scratchBytes: number;
  readonly #code: ProgramCode;
  /** The module, and the one of functions with joined pairs. */
  readonly #bytes: readonly Uint8Array<ArrayBuffer>[];
  readonly #module: WebAssembly.Module;
  readonly #joined: WebAssembly.Module | undefined;
  readonly #memory: WebAssembly.Memory;
  readonly #threads: number;
  readonly #program: number;

  constructor(code: ProgramCode, memory: WebAssembly.Memory, threads: number) {
    this.#code = code;
    this.#memory = memory;
    this.#threads = threads;
    const main = encodeModule(code.module);
    const joined = code.joined && encodeModule(code.joined);
    this.#bytes = joined ? [main, joined] : [main];
    this.#module = new WebAssembly.Module(main);
    this.#joined = joined && compileJoined(joined);
    this.#program = ++programs;
    const carried = code.threaded ? main.length + (joined?.length ?? 0) : 0;
    this.scratchBytes = alignUp(code.scratch.moduleBytes + carried, 64);
  }

  instantiate(_arena: number, scratch: number): Entry {
    const { buffer } = this.#memory;
    for (const [table, offset] of this.#code.tables) new Uint8Array(buffer, scratch + offset).set(bytesOfTable(table));
    const control = this.#code.threaded ? this.#prepareThreads(buffer, scratch) : 0;
    const env = { memory: this.#memory, [GLOBALS[0]]: scratch, [GLOBALS[1]]: control };
    const functions = this.#joined ? new WebAssembly.Instance(this.#joined, { env }).exports : {};
    const instance = new WebAssembly.Instance(this.#module, { env, [FUNCTION_IMPORTS]: functions });
    return { convention: "offsets", call: instance.exports[ENTRY] as (...args: number[]) => number };
  }

  /** Leaves the module where helpers find it; returns the place of the control block. */
  #prepareThreads(buffer: ArrayBufferLike, scratch: number): number {
    const header = new Int32Array(buffer, scratch, SCRATCH_HEADER.bytes / 4);
    header[SCRATCH_HEADER.program / 4] = this.#program;
    const [main, joined] = this.#bytes;
    const lengths = [main?.length ?? 0, joined?.length ?? 0] as const;
    header[SCRATCH_HEADER.byteLength / 4] = lengths[0];
    header[SCRATCH_HEADER.joinedLength / 4] = lengths[1];
    const carried = new Uint8Array(buffer, scratch + this.#code.scratch.moduleBytes, lengths[0] + lengths[1]);
    if (main) carried.set(main);
    if (joined) carried.set(joined, lengths[0]);
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
  readonly #memory: WebAssembly.Memory;
  readonly #features: WasmFeatures;
  readonly #minOperations: number | undefined;

  constructor(options: WasmTargetOptions, features: WasmFeatures) {
    this.#minOperations = options.minOperations;
    this.#memory = options.memory;
    this.#features = features;
    this.machine = {
      vectorBytes: options.vectorBytes ?? (features.wide ? 32 : 16),
      vectorRegisters: VECTOR_REGISTERS,
      fastFma: features.fusedMadd,
      launches: true,
    };
  }

  compile(lowered: Lowered, { threads }: CompileOptions): Executable {
    const sharedMemory = typeof SharedArrayBuffer !== "undefined" && this.#memory.buffer instanceof SharedArrayBuffer;
    const code = compileProgram(lowered, {
      sharedMemory,
      joined: this.#features.wide && this.machine.vectorBytes > 16,
      relaxed: this.#features.relaxedSimd,
      fusedMadd: this.#features.fusedMadd,
      threads,
      ...(this.#minOperations === undefined ? {} : { minOperations: this.#minOperations }),
    });
    return new WasmExecutable(code, this.#memory, threads);
  }
}
