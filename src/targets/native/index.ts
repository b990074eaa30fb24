/**
 * @file The native target: C through the system's compiler, loaded into the process.
 *
 * Programs work on the shared heap in place: its base address is taken once (growing a shared memory does not move
 * it), and every buffer is that plus its byte offset.
 */
import type { CompileOptions, Entry, Executable, Lowered, Machine, Target } from "../target.ts";
import { LibraryCache } from "./cache.ts";
import { build, buildFlags, type Compiler, findCompiler } from "./compiler.ts";
import { CONTEXT_DOUBLES, CONTEXT_LAUNCH, CONTEXT_THREADS, type Emitted, ENTRY_SYMBOL, emit } from "./emit.ts";
import { NativeBuildError, NativeUnavailableError } from "./errors.ts";
import { addressOf, loadFunction, requireKoffi } from "./library.ts";
import { POOL_SOURCE, POOL_SYMBOL } from "./pool.ts";

export { NativeBuildError, NativeUnavailableError } from "./errors.ts";

export interface NativeOptions {
  /** The heap; must be shared, so that it never moves. */
  readonly memory: WebAssembly.Memory;
  /** Upper limit of threads in a launch, the caller's included. */
  readonly threads: number;
  /** Environment variables; the process's own unless given. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** The target with what `doctor` tells about it. */
export interface NativeTarget extends Target {
  readonly name: "native";
  readonly compiler: Compiler;
  readonly cacheFolder: string;
  /** How many libraries this target compiled, and how many it found in the cache. */
  readonly counts: { readonly built: number; readonly reused: number };
}

/** The target, or why there is none here. */
export type NativeResult = { readonly target: NativeTarget } | { readonly target: undefined; readonly reason: string };

export function createNativeTarget(options: NativeOptions): NativeResult {
  try {
    return { target: new CompilerTarget(options) };
  } catch (error) {
    if (error instanceof NativeUnavailableError || error instanceof NativeBuildError)
      return { target: undefined, reason: error.message };
    throw error;
  }
}

class CompilerTarget implements NativeTarget {
  readonly name = "native";
  readonly machine: Machine;
  readonly compiler: Compiler;
  readonly counts = { built: 0, reused: 0 };
  readonly #cache: LibraryCache;
  readonly #memory: WebAssembly.Memory;
  readonly #base: number;
  readonly #threads: number;
  readonly #flags: readonly string[];
  #launch: number | undefined;

  constructor({ memory, threads, env = process.env }: NativeOptions) {
    if (process.platform === "win32")
      throw new NativeUnavailableError("the native target runs on Linux and macOS; Windows uses wasm");
    if (!(memory.buffer instanceof SharedArrayBuffer))
      throw new NativeUnavailableError("the native target needs a shared memory, which does not move when it grows");
    requireKoffi();
    this.#cache = LibraryCache.fromEnvironment(env);
    this.compiler = findCompiler(env, this.#cache);
    this.#flags = buildFlags(this.compiler);
    this.#memory = memory;
    this.#base = addressOf(memory.buffer);
    this.#threads = threads;
    const { vectorBytes, vectorRegisters, fastFma } = this.compiler;
    this.machine = { vectorBytes, vectorRegisters, fastFma, launches: true };
  }

  get cacheFolder(): string {
    return this.#cache.folder;
  }

  compile(lowered: Lowered, options: CompileOptions): Executable {
    const emitted = emit(lowered, this.machine);
    const entry = this.#load(emitted.source, this.#flags, ENTRY_SYMBOL, "int", ["double"]);
    const threads = Math.max(1, Math.min(this.#threads, options.threads));
    return {
      scratchBytes: Math.ceil((CONTEXT_DOUBLES + emitted.blockDoubles) / 8) * 64,
      instantiate: (arena, scratch) => this.#bind(emitted, entry, threads, arena, scratch),
      source: () => emitted.source,
    };
  }

  #bind(emitted: Emitted, entry: (at: number) => number, threads: number, arena: number, scratch: number): Entry {
    const context = new Float64Array(this.#memory.buffer, scratch, CONTEXT_DOUBLES);
    const block = new Float64Array(this.#memory.buffer, scratch + 8 * CONTEXT_DOUBLES, emitted.blockDoubles);
    context[CONTEXT_LAUNCH] = threads > 1 ? this.#launchAddress() : 0;
    context[CONTEXT_THREADS] = threads;
    block[0] = this.#base + arena;
    const at = this.#base + scratch + 8 * CONTEXT_DOUBLES;
    return { convention: "block", block, base: this.#base, call: () => entry(at) };
  }

  /** The pool is built and loaded when the first program may use threads. */
  #launchAddress(): number {
    this.#launch ??= this.#load(POOL_SOURCE, [...this.#flags, "-pthread"], POOL_SYMBOL, "double", [])();
    return this.#launch;
  }

  #load(
    source: string,
    flags: readonly string[],
    symbol: string,
    result: "int" | "double",
    parameters: readonly "double"[],
  ): (...args: number[]) => number {
    const { compiler } = this;
    const recipe = {
      source,
      flags,
      identity: compiler.identity,
      build: (to: string) => build(compiler, source, flags, to),
    };
    const obtain = (): string => {
      const { path, built } = this.#cache.obtain(recipe);
      this.counts[built ? "built" : "reused"]++;
      return path;
    };
    try {
      return loadFunction(obtain(), symbol, result, parameters);
    } catch (error) {
      if (error instanceof NativeBuildError) throw error;
      // Another process may have evicted the entry between the check and the load: once more, then it is an error.
      try {
        return loadFunction(obtain(), symbol, result, parameters);
      } catch (again) {
        if (again instanceof NativeBuildError) throw again;
        throw new NativeBuildError("a compiled program could not be loaded", (again as Error).message);
      }
    }
  }
}
