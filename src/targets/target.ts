/**
 * @file The contract between lockstep and a target.
 *
 * A target turns a lowered Module into something callable. It knows IR and memory, nothing of kernels, tensors or
 * environments. What differs between machines is data (`Machine`), which the passes read; what differs between
 * calling conventions is the three forms of Executable, which the runtime's marshalling code is written for.
 */
import type { Buffer, Module, Site } from "../ir/nodes.ts";
import type { PassOptions } from "../ir/pipeline.ts";

export type TargetName = "js" | "wasm" | "native";

/** What the passes need to know of a machine. */
export interface Machine {
  /** Bytes of a vector register; 0 keeps all code scalar. */
  readonly vectorBytes: number;
  /** Vector registers, to decide how much of a body may be interleaved. */
  readonly vectorRegisters: number;
  /** Whether `fma` is one instruction; elsewhere it is emulated exactly and avoided where numerics allow. */
  readonly fastFma: boolean;
  /** Parallel loops become functions that a thread pool can call (`launch`). */
  readonly launches: boolean;
  /** Chosen lanes of a vector can be stored next to each other (`pack`). */
  readonly packs?: boolean;
  /** The compiler behind does well by short functions only. */
  readonly shortFunctions?: boolean;
}

/**
 * Where the arena's buffers live, in bytes from its base. The first `ARENA_HEADER` bytes are for control words; the
 * first of them is the fault number.
 */
export interface ArenaLayout {
  readonly offsets: ReadonlyMap<Buffer, number>;
  readonly bytes: number;
}
export const ARENA_HEADER = 64;
export const FAULT_WORD = 0;

/** A module after all passes for one machine, with its memory plan. */
export interface Lowered {
  readonly module: Module;
  readonly arena: ArenaLayout;
}

/**
 * Arguments stand in this order: for every buffer of the entry its data and, where its length is not static, its
 * number of elements; then the scalars (bool as 0 or 1). The result is the fault number, 0 when all went well.
 */
export type Entry =
  /** Typed arrays, which bring their own lengths, and numbers. */
  | { readonly convention: "arrays"; readonly call: (...args: (ArrayBufferView | number)[]) => number }
  /** Byte offsets in the shared heap, and numbers; the arena's offset comes first. */
  | { readonly convention: "offsets"; readonly call: (...args: number[]) => number }
  /**
   * Machine addresses as doubles, and numbers, written to `block` beforehand, from block[1] on (block[0], the arena's
   * address, is set by the target). `base` is the heap's own address.
   */
  | { readonly convention: "block"; readonly block: Float64Array; readonly base: number; readonly call: () => number };

/** Something compiled, bound to one arena. Several may be made from one Executable. */
export interface Executable {
  /** Bytes the target needs next to the arena's own (stacks, launch frames, argument block); aligned to 64. */
  readonly scratchBytes: number;
  /** Binds to memory: `arena` and `scratch` are byte offsets in the heap. */
  instantiate(arena: number, scratch: number): Entry;
  /** The generated source or a readable form of it, for `show`; undefined where only the compiled form was kept. */
  source(): string | undefined;
}

export interface CompileOptions {
  /** Upper limit of threads for `launch`, the caller's included. */
  readonly threads: number;
}

/** A module as its front end wrote it, and what the passes are told: all that lowering depends on. */
export interface Origin {
  readonly module: Module;
  readonly options: PassOptions;
}

/** A compiled module with what the runtime needs to know of its lowered form. */
export interface Prepared {
  readonly executable: Executable;
  readonly arena: ArenaLayout;
  /** What each fault number means. */
  readonly sites: readonly Site[];
}

/** Compiled modules that outlive the process, found by what they were made from: finding one spares lowering it. */
export interface KeptPrograms {
  find(origin: Origin, options: CompileOptions): Prepared | undefined;
  /** Keeps what this target's `compile` made. */
  keep(origin: Origin, prepared: Prepared): void;
}

export interface Target {
  readonly name: TargetName;
  readonly machine: Machine;
  compile(lowered: Lowered, options: CompileOptions): Executable;
  /** Where the target keeps anything. */
  readonly kept?: KeptPrograms | undefined;
}
