/**
 * @file A Program: the unit of execution. One module, compiled whole for one target, with its arena in the heap;
 * running it is one crossing from JavaScript into compiled code.
 */
import { type TypedArray, viewArray } from "../ir/arrays.ts";
import type { Buffer, Module } from "../ir/nodes.ts";
import { lower, type Numerics, type PassOptions } from "../ir/pipeline.ts";
import { printModule } from "../ir/print.ts";
import { LockstepError } from "../platform/errors.ts";
import type { ArenaLayout, Entry, Executable, Prepared, Target } from "../targets/target.ts";
import { ArgumentHelpers } from "./arguments.ts";
import { debugLevel, report, reportCall, verifying } from "./debug.ts";
import { type Heap, heap } from "./heap.ts";
import { bindArguments, type Counter, type MarshalOptions, marshal } from "./marshal.ts";
import { planArena } from "./plan.ts";
import { type ParameterDetails, signatureOf } from "./signature.ts";
import { verifyPlan } from "./verifyPlan.ts";

export interface ProgramOptions {
  /** Upper limit of threads, the calling one included; as many as there are cores unless given. */
  readonly threads: number;
  /** Leaves subscripts unchecked: out of range is then undefined behaviour. */
  readonly unchecked: boolean;
  readonly numerics?: Numerics | undefined;
  /** What the front end knows of its parameters beyond the module. */
  readonly details?: ParameterDetails | undefined;
}

interface Loaded {
  readonly layout: ArenaLayout;
  readonly executable: Executable;
  readonly arena: number;
  readonly options: MarshalOptions;
  readonly run: (args: unknown) => void;
}

export class Program {
  readonly module: Module;
  readonly target: Target;
  readonly #options: ProgramOptions;
  readonly #heap: Heap;
  readonly #counter: Counter = { crossings: 0, disposed: false };
  /** Offsets of all scratch regions, one per binding where the target needs that. */
  readonly #scratches: number[] = [];
  /** The scratch region of each bound function that has one of its own. */
  readonly #blocks = new WeakMap<() => void, number>();
  #loaded: Loaded | undefined;

  constructor(module: Module, target: Target, options: ProgramOptions) {
    this.module = module;
    this.target = target;
    this.#options = options;
    this.#heap = heap();
  }

  /** How often JavaScript has crossed into this program's compiled code. */
  get crossings(): number {
    return this.#counter.crossings;
  }

  /** Bytes of the program's own memory: state, and temporaries that share it as far as they can. */
  get arenaBytes(): number {
    return this.#load().layout.bytes;
  }

  /** Compiles now instead of at the first run. */
  load(): void {
    this.#load();
  }

  #load(): Loaded {
    if (this.#counter.disposed) throw new LockstepError(`${this.module.name} has been disposed of`);
    this.#loaded ??= this.#compile();
    return this.#loaded;
  }

  #compile(): Loaded {
    const { executable, arena: layout, sites } = this.#prepare();
    const arena = this.#heap.allocate(layout.bytes);
    const entry = this.#instantiate(executable, arena);
    const signature = signatureOf(this.module, this.#options.details);
    const helpers = new ArgumentHelpers(signature, sites, this.#heap);
    const options = { signature, entry, arena, heap: this.#heap, helpers, counter: this.#counter };
    const run = marshal(options);
    return {
      layout,
      executable,
      arena,
      options,
      run: debugLevel() >= 2 ? reportCall(this.module, signature, run) : run,
    };
  }

  /** What the target has kept of the module, unless everything is to be checked; otherwise lowers and compiles it. */
  #prepare(): Prepared {
    const start = performance.now();
    const { module, target } = this;
    const { threads } = this.#options;
    const origin = { module, options: this.#passOptions };
    const kept = verifying() ? undefined : target.kept;
    const found = kept?.find(origin, { threads });
    if (found) return found;
    const { lowered, prepared } = this.#compiledAnew();
    const { executable, arena: layout } = prepared;
    kept?.keep(origin, prepared);
    report({ module, lowered, target, executable, layout, milliseconds: performance.now() - start });
    return prepared;
  }
  #compiledAnew(): { readonly lowered: Module; readonly prepared: Prepared } {
    const lowered = this.#lowered();
    const arena = planArena(lowered, this.module);
    if (verifying()) verifyPlan(lowered, arena);
    const executable = this.target.compile({ module: lowered, arena }, { threads: this.#options.threads });
    return { lowered, prepared: { executable, arena, sites: lowered.sites } };
  }

  get #passOptions(): PassOptions {
    const { unchecked, numerics, threads } = this.#options;
    return { ...this.target.machine, unchecked, numerics, threads };
  }

  #lowered(): Module {
    return lower(this.module, { ...this.#passOptions, verify: verifying() });
  }

  #instantiate(executable: Executable, arena: number): Entry {
    if (executable.scratchBytes === 0) return executable.instantiate(arena, arena);
    const scratch = this.#heap.allocate(executable.scratchBytes);
    this.#scratches.push(scratch);
    return executable.instantiate(arena, scratch);
  }

  /** The function that runs the program on an object of arguments; compiles first if need be. */
  get run(): (args: unknown) => void {
    return this.#load().run;
  }

  /** A function without arguments that runs on these: the cheapest way to run again and again. */
  bind(args: unknown): () => void {
    const { executable, arena, options } = this.#load();
    if (options.entry.convention !== "block") return bindArguments(options, args);
    // An argument block belongs to one binding.
    const scratches = this.#scratches.length;
    const entry = this.#instantiate(executable, arena);
    try {
      const bound = bindArguments({ ...options, entry }, args);
      this.#blocks.set(bound, this.#scratches[scratches] as number);
      return bound;
    } catch (error) {
      this.#release(this.#scratches[scratches] as number);
      throw error;
    }
  }

  /** Gives back what a function from `bind` holds; it must not be called any more. */
  unbind(bound: () => void): void {
    const block = this.#blocks.get(bound);
    if (block === undefined) return;
    this.#blocks.delete(bound);
    this.#release(block);
  }
  #release(scratch: number): void {
    const at = this.#scratches.indexOf(scratch);
    if (at < 0) return;
    this.#scratches.splice(at, 1);
    this.#heap.release(scratch);
  }

  /** The memory of one of the program's own buffers: what a `state` holds between runs. */
  view(buffer: Buffer): TypedArray {
    const { arena, layout } = this.#load();
    const offset = layout.offsets.get(buffer);
    if (offset === undefined) throw new LockstepError(`${this.module.name} has no buffer ${buffer.name} of its own`);
    return viewArray(buffer.storage, this.#heap.buffer, arena + offset, buffer.length as number);
  }

  /** The IR as it was written or after all passes, or the target's code. */
  show(what: "ir" | "lowered" | "code"): string {
    switch (what) {
      case "ir":
        return printModule(this.module);
      case "lowered":
        return printModule(this.#lowered());
      case "code":
        return this.#load().executable.source() ?? this.#compiledAnew().prepared.executable.source() ?? "";
      default:
        return what satisfies never;
    }
  }

  get disposed(): boolean {
    return this.#counter.disposed;
  }

  /** Gives the program's memory back. It cannot run any more, nor can functions that were bound to it. */
  dispose(): void {
    this.#counter.disposed = true;
    if (!this.#loaded) return;
    const { arena, options } = this.#loaded;
    options.helpers.dispose();
    for (const offset of [arena, ...this.#scratches.splice(0)]) this.#heap.release(offset);
    this.#loaded = undefined;
  }
}
