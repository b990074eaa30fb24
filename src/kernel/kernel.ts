/**
 * @file `kernel()`: a plain TypeScript function that can be called as compiled code.
 *
 * The source is read when the kernel is first used, and compiled once per target. A kernel is its own function: calling
 * it runs the best target there is; `on` picks another; `bind` fixes the arguments; `show` prints what it became.
 */
import type { TypedArray } from "../ir/arrays.ts";
import type { Module } from "../ir/nodes.ts";
import type { Numerics } from "../ir/pipeline.ts";
import type { StorageType } from "../ir/types.ts";
import { LockstepError } from "../platform/errors.ts";
import { heap } from "../runtime/heap.ts";
import { openProgram } from "../runtime/open.ts";
import type { Program } from "../runtime/program.ts";
import type { ParameterDetails } from "../runtime/signature.ts";
import type { TargetChoice } from "../runtime/targets.ts";
import { compileKernel } from "./compile.ts";
import {
  type CallArguments,
  type Declaration,
  KERNEL_SPEC,
  type KernelFunction,
  type KernelLike,
  type KernelOptions,
  kernelSpec,
  type Scalar,
  type ScalarName,
} from "./declare.ts";
import { flatten, type Leaf } from "./flatten.ts";

/** How a kernel is compiled for one use of it. */
export interface RunOptions {
  /** Upper limit of threads, the calling one included. */
  readonly threads?: number;
  /** Leaves subscripts unchecked: faster, and undefined behaviour when one is out of range. */
  readonly unchecked?: boolean;
  /** How sums of products round; the kernel's own choice unless given. */
  readonly numerics?: Numerics;
}

/** A kernel on one target. */
export interface KernelOn<D extends Declaration> {
  (args: CallArguments<D>): void;
  /** A function without arguments that runs on these: all checks are made now. */
  bind(args: CallArguments<D>): () => void;
  readonly program: Program;
}

export interface Kernel<D extends Declaration = Declaration> extends KernelLike<D> {
  /** Runs on the best target there is. */
  (args: CallArguments<D>): void;
  readonly kernelName: string;
  /** The function as it was written: for reading and debugging; equal to compiled code only to a tolerance. */
  readonly raw: KernelFunction<D>;
  on(target: TargetChoice, options?: RunOptions): KernelOn<D>;
  bind(args: CallArguments<D>): () => void;
  /** What the kernel is compiled to: its IR, before and after the passes of the best target, or a target's code. */
  show(what: "ir" | "lowered" | "js" | "wasm" | "c"): string;
  /** The module that front end A made of the source. */
  ir(): Module;
}

/** What the runtime checks of parameters beyond their types. */
export function detailsOf(leaves: readonly Leaf[]): ParameterDetails {
  return new Map(leaves.map((l) => [l.name, { each: l.each, group: l.group, byte: l.dtype === "u8" }]));
}

const optionsKey = (target: string, o: RunOptions): string =>
  `${target} ${o.threads ?? ""} ${o.unchecked ?? ""} ${o.numerics ?? ""}`;

/** Makes a kernel from a declaration of its parameters and a function. */
export function kernel<const D extends Declaration>(
  declaration: D,
  fn: KernelFunction<D>,
  options: KernelOptions = {},
): Kernel<D> {
  const spec = kernelSpec(declaration, fn as never, options, kernel as never);
  let module: Module | undefined;
  const opened = new Map<string, KernelOn<D>>();
  const ir = (): Module => (module ??= compileKernel(spec));
  const on = (target: TargetChoice, run: RunOptions = {}): KernelOn<D> => {
    const key = optionsKey(target, run);
    let found = opened.get(key);
    if (!found || found.program.disposed) {
      const details = detailsOf(flatten(declaration));
      found = kernelOn<D>(openProgram(ir(), target, { numerics: options.numerics, ...run, details }));
      opened.set(key, found);
    }
    return found;
  };
  let best = (args: CallArguments<D>): void => {
    best = on("auto").program.run;
    best(args);
  };
  const call = (args: CallArguments<D>): void => best(args);
  return Object.assign(call, {
    [KERNEL_SPEC]: spec,
    kernelName: spec.name,
    raw: fn,
    on,
    ir,
    bind: (args: CallArguments<D>) => on("auto").bind(args),
    show: (what: Parameters<Kernel<D>["show"]>[0]) => show(on, what),
  });
}

function kernelOn<D extends Declaration>(program: Program): KernelOn<D> {
  const { run } = program;
  const call = (args: CallArguments<D>): void => run(args);
  return Object.assign(call, { program, bind: (args: CallArguments<D>) => program.bind(args) });
}

function show<D extends Declaration>(on: Kernel<D>["on"], what: Parameters<Kernel<D>["show"]>[0]): string {
  switch (what) {
    case "ir":
    case "lowered":
      return on("auto").program.show(what);
    case "js":
    case "wasm":
      return on(what).program.show("code");
    case "c":
      return on("native").program.show("code");
    default:
      return what satisfies never;
  }
}

interface ArrayTypes {
  f32: Float32Array;
  f64: Float64Array;
  i32: Int32Array;
  u32: Uint32Array;
  u8: Uint8Array;
  bool: Uint8Array;
}

/** How elements of a declared type are stored. */
export const storageOf = (dtype: ScalarName): StorageType => (dtype === "bool" ? "u8" : dtype);

/** A zeroed array in lockstep's memory, which every target uses without a copy. */
export function allocate<D extends ScalarName>(type: Scalar<D>, length: number): ArrayTypes[D] {
  return heap().array(storageOf(type.dtype), length) as ArrayTypes[D];
}

/** The same, with elements to start from. */
export function allocateFrom<D extends ScalarName>(type: Scalar<D>, elements: ArrayLike<number>): ArrayTypes[D] {
  const array = allocate(type, elements.length);
  (array as TypedArray).set(elements);
  return array;
}

/** Gives the memory of an array from `allocate` back; the array must not be used any more. */
export function free(array: TypedArray): void {
  if (!heap().owns(array.buffer))
    throw new LockstepError(`free: this ${array.constructor.name} was not made by allocate`);
  heap().release(array.byteOffset);
}
