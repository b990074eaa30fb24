/**
 * @file `program()`: many kernels and loops over them as one compiled module; running it is one crossing.
 *
 * The builder function runs once, on handles instead of arrays, and records what to do. Temporary arrays live in the
 * program's arena, where those that are not needed at the same time share memory; state stays between runs.
 */
import type { TypedArray } from "../ir/arrays.ts";
import { Builder, buffer, constant, func, get, i32, local } from "../ir/build.ts";
import type { Buffer, Expr, Func, Local, Module, Site } from "../ir/nodes.ts";
import type { Numerics } from "../ir/pipeline.ts";
import { entryWithin } from "../ir/sites.ts";
import type { DType, StorageType } from "../ir/types.ts";
import { LockstepError } from "../platform/errors.ts";
import { openProgram } from "../runtime/open.ts";
import type { Program } from "../runtime/program.ts";
import { writtenBuffers } from "../runtime/signature.ts";
import type { TargetChoice } from "../runtime/targets.ts";
import {
  type ArrayOf,
  type CallArguments,
  type Declaration,
  KERNEL_SPEC,
  type Row,
  type Scalar,
  type ScalarName,
  type Struct,
} from "./declare.ts";
import { flatten, type Leaf } from "./flatten.ts";
import { detailsOf, type Kernel, type RunOptions, storageOf } from "./kernel.ts";

/** A program is built wrongly: an argument of another type, a missing one, a length that does not fit. */
export class ProgramError extends LockstepError {
  override readonly name = "ProgramError";
}

/** An array inside a program: a parameter, a temp or a state. */
export interface ArrayHandle<D extends ScalarName = ScalarName> {
  readonly handle: "array";
  readonly dtype: D;
  readonly buffer: Buffer;
}
/** A number inside a program: a parameter or a loop's index. */
export interface ScalarHandle<D extends ScalarName = ScalarName> {
  readonly handle: "scalar";
  readonly dtype: D;
  readonly value: Expr;
}

type HandleColumns<E> =
  E extends Scalar<infer D>
    ? ArrayHandle<D>
    : E extends Row<infer R>
      ? HandleColumns<R>
      : E extends ArrayOf<infer R>
        ? HandleColumns<R>
        : E extends Struct<infer F>
          ? { readonly [K in keyof F]: HandleColumns<F[K]> }
          : never;
/** What the builder function sees of a declaration. */
export type Handles<D> = {
  readonly [K in keyof D]: D[K] extends Scalar<infer S>
    ? ScalarHandle<S>
    : D[K] extends ArrayOf<infer E>
      ? HandleColumns<E>
      : Handles<D[K]>;
};
/** What a kernel takes inside a program: handles, and numbers for scalars. */
type Accepts<T> =
  T extends ArrayHandle<infer D>
    ? ArrayHandle<D>
    : T extends ScalarHandle<infer D>
      ? ScalarHandle<D> | (D extends "bool" ? boolean : number)
      : { readonly [K in keyof T]: Accepts<T[K]> };
type KernelHandles<D extends Declaration> = Accepts<Handles<Pick<D, keyof CallArguments<D> & keyof D>>>;

export interface ProgramTools {
  /** Runs a kernel. */
  call<D extends Declaration>(kernel: Kernel<D>, args: KernelHandles<D>): void;
  /** Runs what `body` records `count` times, one after the other. */
  repeat(count: number | ScalarHandle<"i32">, body: (i: ScalarHandle<"i32">) => void): void;
  /** An array for intermediate values; undefined at the start of a run. */
  temp<D extends ScalarName>(type: Scalar<D>, length: number): ArrayHandle<D>;
  /** An array that keeps its values between runs; zero at first. */
  state<D extends ScalarName>(type: Scalar<D>, length: number): ArrayHandle<D>;
}

const valueType = (dtype: ScalarName): DType => (dtype === "u8" ? "i32" : dtype);
const isHandle = (v: unknown): v is ArrayHandle | ScalarHandle => typeof v === "object" && v !== null && "handle" in v;

/** Puts flat leaves back into the nested shape of a declaration. */
function nest(entries: readonly { path: readonly string[]; value: unknown }[]): { [name: string]: unknown } {
  const root: { [name: string]: unknown } = {};
  for (const { path, value } of entries) {
    let at = root;
    for (const key of path.slice(0, -1)) {
      at[key] ??= {};
      at = at[key] as { [name: string]: unknown };
    }
    at[path.at(-1) as string] = value;
  }
  return root;
}

const lookUp = (args: unknown, name: string): unknown =>
  name.split(".").reduce<unknown>((o, key) => (o as { [key: string]: unknown } | undefined)?.[key], args);

/** Records calls and loops as the entry function of a module. */
class Recorder {
  readonly #name: string;
  readonly b = new Builder();
  readonly sites: Site[] = [];
  readonly #kernels = new Map<Kernel, Func>();
  /** What the builder function is given; it takes them apart. */
  readonly tools: ProgramTools = {
    call: (kernel, args) => this.#call(kernel as unknown as Kernel, args),
    repeat: (count, body) => this.#repeat(count, body),
    temp: (type, length) => this.#own(type, length, "temp"),
    state: (type, length) => this.#own(type, length, "state"),
  };
  #arrays = 0;

  readonly #numerics: Numerics | undefined;

  constructor(name: string, numerics: Numerics | undefined) {
    this.#name = name;
    this.#numerics = numerics;
  }

  #call(kernel: Kernel, args: unknown): void {
    const callee = this.#function(kernel);
    const fail = (what: string): never => {
      throw new ProgramError(`${this.#name}: ${kernel.kernelName} ${what}`);
    };
    const buffers = callee.buffers.map((b) => {
      const given = lookUp(args, b.name);
      if (!isHandle(given) || given.handle !== "array") return fail(`needs an array for "${b.name}"`);
      const got = given.buffer;
      if (got.storage !== b.storage) return fail(`takes ${b.storage} for "${b.name}", not ${got.storage}`);
      if (b.length !== undefined && got.length !== b.length)
        return fail(`takes ${b.length} elements for "${b.name}", not ${got.length ?? "any number of them"}`);
      return got;
    });
    this.#checkAliases(callee, buffers, fail);
    const values = callee.params.map((p) => this.#value(p, lookUp(args, p.name), fail));
    this.b.emit({ kind: "call", func: callee, buffers, args: values });
  }

  /** Compiled code takes its arrays for separate: one that is written is handed over once. */
  #checkAliases(callee: Func, buffers: readonly Buffer[], fail: (what: string) => never): void {
    const written = writtenBuffers(callee);
    callee.buffers.forEach((b, j) => {
      const twin = callee.buffers.find((other, k) => k !== j && buffers[k] === buffers[j] && written.has(other));
      if (twin) fail(`writes "${twin.name}", which is the same array as "${b.name}"; hand over separate ones`);
    });
  }

  #value(p: Local, given: unknown, fail: (what: string) => never): Expr {
    if (typeof given === "number" || typeof given === "boolean") {
      const value = constant(p.dtype, given);
      const whole = p.dtype === "i32" || p.dtype === "u32";
      if (whole && value.value !== given) return fail(`takes ${p.dtype} for "${p.name}", not ${given}`);
      return value;
    }
    if (!isHandle(given) || given.handle !== "scalar") return fail(`needs a number for "${p.name}"`);
    if (given.value.dtype !== p.dtype) return fail(`takes ${p.dtype} for "${p.name}", not ${given.value.dtype}`);
    return given.value;
  }

  /** A kernel's function, with its faults renumbered to this program's sites. */
  #function(kernel: Kernel): Func {
    let found = this.#kernels.get(kernel);
    if (!found) {
      const wish = kernel[KERNEL_SPEC].options.numerics;
      if (wish !== undefined && wish !== (this.#numerics ?? "unfused"))
        throw new ProgramError(
          `${this.#name}: ${kernel.kernelName} asks for ${wish} numerics; give the program the option numerics: "${wish}"`,
        );
      found = entryWithin(kernel.ir(), this.sites);
      this.#kernels.set(kernel, found);
    }
    return found;
  }

  #repeat(count: number | ScalarHandle<"i32">, body: (i: ScalarHandle<"i32">) => void): void {
    if (typeof count === "number" && !(Number.isInteger(count) && count >= 0))
      throw new ProgramError(`${this.#name}: repeat needs a whole number from 0 on, not ${count}`);
    const end = typeof count === "number" ? i32(count) : count.value;
    this.b.for("round", { begin: i32(0), end }, (index) => body({ handle: "scalar", dtype: "i32", value: index }));
  }

  #own<D extends ScalarName>(type: Scalar<D>, length: number, space: "temp" | "state"): ArrayHandle<D> {
    if (!(Number.isInteger(length) && length > 0))
      throw new ProgramError(`${this.#name}: a ${space} needs a whole number of elements from 1 on, not ${length}`);
    this.#arrays += 1;
    const storage: StorageType = storageOf(type.dtype);
    return { handle: "array", dtype: type.dtype, buffer: buffer(`${space}${this.#arrays}`, storage, space, length) };
  }
}

export interface KernelProgram<D extends Declaration = Declaration> {
  /** Runs on the best target there is. */
  (args: CallArguments<D>): void;
  on(target: TargetChoice, options?: RunOptions): Program;
  bind(args: CallArguments<D>): () => void;
  /** What a state holds; each Program that `on` gives has its own. */
  read(state: ArrayHandle, from?: Program): TypedArray;
  ir(): Module;
}

/** Records a program from kernels and loops over them. */
export function program<const D extends Declaration>(
  declaration: D,
  build: (args: Handles<D>, tools: ProgramTools) => void,
  options: { readonly name?: string; readonly numerics?: Numerics } = {},
): KernelProgram<D> {
  const name = options.name ?? (build.name || "program");
  const leaves = flatten(declaration);
  const recorder = new Recorder(name, options.numerics);
  const parameters = leaves.map((leaf) => parameterOf(leaf));
  const handles = nest(parameters.map(({ leaf, handle }) => ({ path: leaf.path, value: handle })));
  build(handles as Handles<D>, recorder.tools);
  const buffers = parameters.flatMap(({ handle }) => (handle.handle === "array" ? [handle.buffer] : []));
  const params = parameters.flatMap(({ param }) => (param ? [param] : []));
  const module: Module = { name, entry: func(name, buffers, params, recorder.b.statements), sites: recorder.sites };
  const opened = new Map<string, Program>();
  const on = (target: TargetChoice, run: RunOptions = {}): Program => {
    const key = JSON.stringify([target, run]);
    let found = opened.get(key);
    if (!found || found.disposed) {
      found = openProgram(module, target, { numerics: options.numerics, ...run, details: detailsOf(leaves) });
      opened.set(key, found);
    }
    return found;
  };
  return Object.assign((args: CallArguments<D>): void => on("auto").run(args), {
    on,
    ir: () => module,
    bind: (args: CallArguments<D>) => on("auto").bind(args),
    read: (state: ArrayHandle, from: Program = on("auto")) => from.view(state.buffer),
  });
}

interface Parameter {
  readonly leaf: Leaf;
  readonly handle: ArrayHandle | ScalarHandle;
  readonly param: Local | undefined;
}

function parameterOf(leaf: Leaf): Parameter {
  if (leaf.kind === "buffer") {
    const made = buffer(leaf.name, storageOf(leaf.dtype), "param", leaf.length);
    return { leaf, handle: { handle: "array", dtype: leaf.dtype, buffer: made }, param: undefined };
  }
  const param = local(leaf.name, valueType(leaf.dtype));
  return { leaf, handle: { handle: "scalar", dtype: leaf.dtype, value: get(param) }, param };
}
