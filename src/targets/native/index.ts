/**
 * @file The native target: C through the system's compiler, loaded into the process.
 *
 * Programs work on the shared heap in place: its base address is taken once (growing a shared memory does not move
 * it), and every buffer is that plus its byte offset.
 */
import { PlanStore } from "../plans.ts";
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
import { keyOfLibrary, LibraryCache } from "./cache.ts";
import { build, buildFlags, type Compiler, findCompiler } from "./compiler.ts";
import { CONTEXT_DOUBLES, CONTEXT_LAUNCH, CONTEXT_THREADS, ENTRY_SYMBOL, emit } from "./emit.ts";
import { NativeBuildError, NativeUnavailableError } from "./errors.ts";
import { addressOf, loadFunction, preferLargePages, requireKoffi } from "./library.ts";
import { POOL_SOURCE, POOL_SYMBOL } from "./pool.ts";
import { codeVersion } from "./version.ts";

export { NativeBuildError, NativeUnavailableError } from "./errors.ts";
export { openNotes } from "./notes.ts";

export interface NativeOptions {
  /** The heap; must be shared, so that it never moves. */
  readonly memory: WebAssembly.Memory;
  /** Upper limit of threads in a launch, the caller's included. */
  readonly threads: number;
  /** Environment variables; the process's own unless given. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Tells this code from others that share a cache; the code's own hash unless given. */
  readonly version?: string;
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

/** What is noted of a module's library: the key of its entry, and the doubles of the argument block. */
interface Noted {
  readonly library: string;
  readonly blockDoubles: number;
}

/** A library's function, and what it takes to call it. */
interface Library {
  readonly call: (at: number) => number;
  /** The key of its entry in the cache. */
  readonly key: string;
  readonly source: string;
  readonly blockDoubles: number;
}

type Bind = (library: Library, arena: number, scratch: number) => Entry;

class NativeExecutable implements Executable {
  readonly library: Library;
  readonly scratchBytes: number;
  readonly #bind: Bind;
  constructor(library: Library, bind: Bind) {
    this.library = library;
    this.scratchBytes = Math.ceil((CONTEXT_DOUBLES + library.blockDoubles) / 8) * 64;
    this.#bind = bind;
  }
  instantiate(arena: number, scratch: number): Entry {
    return this.#bind(this.library, arena, scratch);
  }
  source(): string {
    return this.library.source;
  }
}

class CompilerTarget implements NativeTarget, KeptPrograms {
  readonly name = "native";
  readonly machine: Machine;
  readonly compiler: Compiler;
  readonly counts = { built: 0, reused: 0 };
  readonly #cache: LibraryCache;
  readonly #memory: WebAssembly.Memory;
  readonly #base: number;
  readonly #threads: number;
  readonly #flags: readonly string[];
  readonly #plans: PlanStore<Noted> | undefined;
  #launch: number | undefined;

  constructor({ memory, threads, env = process.env, version = codeVersion() }: NativeOptions) {
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
    preferLargePages(memory.buffer);
    this.#threads = threads;
    const { vectorBytes, vectorRegisters, fastFma } = this.compiler;
    this.machine = { vectorBytes, vectorRegisters, fastFma, launches: true, packs: vectorBytes === 64 };
    if (version !== undefined)
      this.#plans = new PlanStore(this.#cache, [version, this.compiler.identity, ...this.#flags]);
  }

  get cacheFolder(): string {
    return this.#cache.folder;
  }

  /** Undefined where this code has no version by which anything could be kept. */
  get kept(): KeptPrograms | undefined {
    return this.#plans && this;
  }

  compile(lowered: Lowered, options: CompileOptions): Executable {
    const { source, blockDoubles } = emit(lowered, this.machine);
    const { call, path } = this.#load(source, this.#flags, ENTRY_SYMBOL, "int", ["double"]);
    return this.#executable({ call, key: keyOfLibrary(path), source, blockDoubles }, options);
  }

  find(origin: Origin, options: CompileOptions): Prepared | undefined {
    const plan = this.#plans?.find(origin);
    const entry = plan && this.#cache.reuse(plan.code.library);
    if (!entry) return undefined;
    try {
      const call = loadFunction(entry.path, ENTRY_SYMBOL, "int", ["double"]);
      this.counts.reused++;
      const { arena, sites, code } = plan;
      const { library: key, blockDoubles } = code;
      const executable = this.#executable({ call, key, source: entry.source, blockDoubles }, options);
      return { executable, arena, sites };
    } catch {
      // It may have been evicted since it was checked; it is built again then.
      return undefined;
    }
  }

  keep(origin: Origin, { executable, arena, sites }: Prepared): void {
    if (!(executable instanceof NativeExecutable)) return;
    const { key: library, blockDoubles } = executable.library;
    this.#plans?.keep(origin, { arena, sites, code: { library, blockDoubles } });
  }

  #executable(library: Library, options: CompileOptions): Executable {
    const threads = Math.max(1, Math.min(this.#threads, options.threads));
    return new NativeExecutable(library, (of, arena, scratch) => this.#bind(of, threads, arena, scratch));
  }

  #bind({ call, blockDoubles }: Library, threads: number, arena: number, scratch: number): Entry {
    const context = new Float64Array(this.#memory.buffer, scratch, CONTEXT_DOUBLES);
    const block = new Float64Array(this.#memory.buffer, scratch + 8 * CONTEXT_DOUBLES, blockDoubles);
    context[CONTEXT_LAUNCH] = threads > 1 ? this.#launchAddress() : 0;
    context[CONTEXT_THREADS] = threads;
    block[0] = this.#base + arena;
    const at = this.#base + scratch + 8 * CONTEXT_DOUBLES;
    return { convention: "block", block, base: this.#base, call: () => call(at) };
  }

  /** The pool is built and loaded when the first program may use threads. */
  #launchAddress(): number {
    this.#launch ??= this.#load(POOL_SOURCE, [...this.#flags, "-pthread"], POOL_SYMBOL, "double", []).call();
    return this.#launch;
  }

  #load(
    source: string,
    flags: readonly string[],
    symbol: string,
    result: "int" | "double",
    parameters: readonly "double"[],
  ): { readonly call: (...args: number[]) => number; readonly path: string } {
    const { compiler } = this;
    const recipe = {
      source,
      flags,
      identity: compiler.identity,
      build: (to: string) => build(compiler, source, flags, to),
    };
    const load = () => {
      const { path, built } = this.#cache.obtain(recipe);
      this.counts[built ? "built" : "reused"]++;
      return { call: loadFunction(path, symbol, result, parameters), path };
    };
    try {
      return load();
    } catch (error) {
      if (error instanceof NativeBuildError) throw error;
      // Another process may have evicted the entry between the check and the load: once more, then it is an error.
      try {
        return load();
      } catch (again) {
        if (again instanceof NativeBuildError) throw again;
        throw new NativeBuildError("a compiled program could not be loaded", (again as Error).message);
      }
    }
  }
}
