/**
 * @file The WebAssembly target: lowered programs become modules of their own over the shared heap. Those of large programs
 * are kept where notes are; engines compile them anew.
 */
import { isLarge, type NotesOfVersion, PlanStore } from "../plans.ts";
import type {
  CompileOptions,
  Entry,
  Executable,
  KeptPrograms,
  Lowered,
  Machine,
  Origin,
  Prepared,
  Target,
} from "../target.ts";
import { type CodeOptions, compileProgram, ENTRY, type ProgramCode } from "./compile.ts";
import { compileJoined, compileWhole, type WasmFeatures, wasmFeatures } from "./features.ts";
import { type Image, imageOf, type PackedImage, packed, unpacked } from "./image.ts";
import { alignUp, GLOBALS, PROCESS, SCRATCH_HEADER } from "./layout.ts";
import { poolOf } from "./pool.ts";
import { printModule } from "./print.ts";
import { FUNCTION_IMPORTS } from "./writer.ts";

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
  /** Where modules are kept between processes. */
  readonly kept?: NotesOfVersion | undefined;
}

/** v128 registers that a loop may fill on a machine with 16, one being the engine's. */
const VECTOR_REGISTERS = 15;

let programs = 0;

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
  readonly image: Image;
  readonly #modules: Compiled;
  readonly #memory: WebAssembly.Memory;
  readonly #threads: number;
  readonly #source: (() => string) | undefined;
  readonly #program = ++programs;

  constructor(image: Image, memory: WebAssembly.Memory, options: CodeOptions, source?: () => string) {
    const { main, joined, threaded, moduleBytes } = image;
    this.image = image;
    this.#source = source;
    this.#memory = memory;
    this.#threads = options.threads;
    this.#modules = options.joined
      ? withCompileLock(memory, (alone) => this.#compileWhole(alone))
      : { main: new WebAssembly.Module(main), joined: undefined };
    this.scratchBytes = alignUp(moduleBytes + (threaded ? main.length + joined.length : 0), 64);
  }

  #compileWhole(alone: boolean): Compiled {
    const main = compileWhole(this.image.main);
    const { joined } = this.image;
    if (joined.length === 0) return { main, joined: undefined };
    return { main, joined: (alone ? compileJoined : compileWhole)(joined) };
  }

  source(): string | undefined {
    return this.#source?.();
  }

  instantiate(_arena: number, scratch: number): Entry {
    const { buffer } = this.#memory;
    for (const { offset, bytes } of this.image.tables) new Uint8Array(buffer, scratch + offset).set(bytes);
    const control = this.image.threaded ? this.#prepareThreads(buffer, scratch) : 0;
    const env = { memory: this.#memory, [GLOBALS[0]]: scratch, [GLOBALS[1]]: control };
    const { main, joined } = this.#modules;
    const functions = joined ? new WebAssembly.Instance(joined, { env }).exports : {};
    const instance = new WebAssembly.Instance(main, { env, [FUNCTION_IMPORTS]: functions });
    return { convention: "offsets", call: instance.exports[ENTRY] as (...args: number[]) => number };
  }

  /** Leaves the modules where helpers find them; returns the place of the control block. */
  #prepareThreads(buffer: ArrayBufferLike, scratch: number): number {
    const header = new Int32Array(buffer, scratch, SCRATCH_HEADER.bytes / 4);
    const { main, joined, moduleBytes } = this.image;
    header[SCRATCH_HEADER.program / 4] = this.#program;
    header[SCRATCH_HEADER.byteLength / 4] = main.length;
    header[SCRATCH_HEADER.joinedLength / 4] = joined.length;
    const at = scratch + moduleBytes;
    new Uint8Array(buffer, at, main.length).set(main);
    new Uint8Array(buffer, at + main.length, joined.length).set(joined);
    const pool = poolOf(this.#memory);
    pool.ensure(this.#threads - 1);
    return pool.control;
  }
}

const sourceOf = ({ module, joined }: ProgramCode): string =>
  [module, ...(joined ? [joined] : [])].map(printModule).join("\n");

/** Why there is no target, where the engine lacks something that all code needs. */
export type WasmResult = { readonly target: Target } | { readonly target: undefined; readonly reason: string };

export function createWasmTarget(options: WasmTargetOptions): WasmResult {
  if (typeof WebAssembly === "undefined") return { target: undefined, reason: "there is no WebAssembly here" };
  const features = options.features ?? wasmFeatures();
  if (!features.simd) return { target: undefined, reason: "this engine's WebAssembly has no SIMD" };
  return { target: new WasmTarget(options, features) };
}

class WasmTarget implements Target, KeptPrograms {
  readonly name = "wasm";
  readonly machine: Machine;
  readonly #options: WasmTargetOptions;
  readonly #features: WasmFeatures;
  readonly #plans: PlanStore<PackedImage> | undefined;

  constructor(options: WasmTargetOptions, features: WasmFeatures) {
    this.#options = options;
    this.#features = features;
    this.machine = {
      vectorBytes: options.vectorBytes ?? (features.wide ? 32 : 16),
      vectorRegisters: VECTOR_REGISTERS,
      fastFma: features.fusedMadd,
      launches: true,
      // The pass that joins vectors gives up on long functions.
      shortFunctions: features.wide,
    };
    const { kept } = options;
    // Threads are among the options of passes.
    if (kept) this.#plans = new PlanStore(kept.notes, [kept.version, JSON.stringify(this.#codeOptions(1))]);
  }

  /** Undefined where there is nowhere to keep anything. */
  get kept(): KeptPrograms | undefined {
    return this.#plans && this;
  }

  compile(lowered: Lowered, { threads }: CompileOptions): Executable {
    const options = this.#codeOptions(threads);
    const code = compileProgram(lowered, options);
    return new WasmExecutable(imageOf(code), this.#options.memory, options, () => sourceOf(code));
  }

  find(origin: Origin, { threads }: CompileOptions): Prepared | undefined {
    const plan = isLarge(origin) ? this.#plans?.find(origin) : undefined;
    if (!plan) return undefined;
    const { arena, sites, code } = plan;
    const executable = new WasmExecutable(unpacked(code), this.#options.memory, this.#codeOptions(threads));
    return { executable, arena, sites };
  }

  keep(origin: Origin, { executable, arena, sites }: Prepared): void {
    if (!(executable instanceof WasmExecutable) || !isLarge(origin)) return;
    this.#plans?.keep(origin, { arena, sites, code: packed(executable.image) });
  }

  #codeOptions(threads: number): CodeOptions {
    const { memory, minOperations } = this.#options;
    return {
      sharedMemory: isShared(memory),
      relaxed: this.#features.relaxedSimd,
      fusedMadd: this.#features.fusedMadd,
      joined: this.#features.wide && this.machine.vectorBytes > 16,
      threads,
      ...(minOperations === undefined ? {} : { minOperations }),
    };
  }
}
