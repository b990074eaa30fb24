/**
 * @file Calls of kernels inside of programs: plain code (an environment's step, a buffer's row) between tensors.
 *
 * Arrays are handed over as tensors or as states. A state is changed in place. Of a tensor that the kernel writes to it
 * gets a copy, and what it made of it is the result; others it reads where they lie.
 */
import type { Module } from "../ir/nodes.ts";
import { STORED_TYPE } from "../ir/types.ts";
import type { ArrayOf, Constant, Declaration, Inline, KernelLike, Row, Scalar, Struct } from "../kernel/declare.ts";
import { KERNEL_SPEC } from "../kernel/declare.ts";
import { flatten, type Leaf } from "../kernel/flatten.ts";
import { type Kernel, storageOf } from "../kernel/kernel.ts";
import { writtenBuffers } from "../runtime/signature.ts";
import { outcomeOf, refuse } from "./build.ts";
import type { CallEffect, Node, TensorType } from "./nodes.ts";
import { recording } from "./recorder.ts";
import { describeShape, elementsOf } from "./shape.ts";
import { State } from "./state.ts";
import { nodeOf, Tensor } from "./tensor.ts";

type NotAnArgument = Constant | Inline | KernelLike;
type Columns<E, A> = E extends Scalar
  ? A
  : E extends Row<infer R>
    ? Columns<R, A>
    : E extends ArrayOf<infer R>
      ? Columns<R, A>
      : E extends Struct<infer F>
        ? { readonly [K in keyof F]: Columns<F[K], A> }
        : { readonly [K in keyof E]: Columns<E[K], A> };
type Entry<T, A, S> = T extends Scalar
  ? S
  : T extends ArrayOf<infer E>
    ? Columns<E, A>
    : T extends Struct<infer F>
      ? { readonly [K in keyof F]: Entry<F[K], A, S> }
      : Entries<T, A, S>;
type Entries<D, A, S> = { readonly [K in keyof D as D[K] extends NotAnArgument ? never : K]: Entry<D[K], A, S> };

/** What a kernel is given inside a program: tensors or states for its arrays, tensors of one element for its numbers. */
export type TensorArguments<D> = Entries<D, Tensor | State, Tensor | number | boolean>;
/** What its arrays hold behind the call; numbers are as they were given. */
export type TensorResults<D> = Entries<D, Tensor, Tensor>;

type Record = { [name: string]: unknown };
const lookUp = (args: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((o, key) => (o as Record | undefined)?.[key], args);
function put(into: Record, path: readonly string[], value: unknown): void {
  let at = into;
  for (const key of path.slice(0, -1)) {
    at[key] ??= {};
    at = at[key] as Record;
  }
  at[path.at(-1) as string] = value;
}

/** What a call hands over, sorted by what becomes of it. */
interface Sorted {
  readonly given: Map<string, Node>;
  readonly scalars: Map<string, Node>;
  readonly states: Map<string, State>;
}

/** Checks the elements of an array against its declaration. */
function checkArray(name: string, leaf: Leaf, of: Tensor | State, rows: Map<string, number>): void {
  const count = elementsOf(of.shape);
  const says = `${of.dtype} ${describeShape(of.shape)}`;
  if (STORED_TYPE[of.dtype] !== storageOf(leaf.dtype))
    refuse(name, `"${leaf.name}" is an array of ${leaf.dtype}, not ${says}`);
  if (leaf.length !== undefined && leaf.length !== count)
    refuse(name, `"${leaf.name}" has ${leaf.length} elements, not ${count}: ${says}`);
  if (count % leaf.each !== 0) refuse(name, `"${leaf.name}" has rows of ${leaf.each} elements, which ${says} is not`);
  if (leaf.group === undefined) return;
  const known = rows.get(leaf.group) ?? count / leaf.each;
  rows.set(leaf.group, known);
  if (known !== count / leaf.each)
    refuse(name, `"${leaf.name}" has ${count / leaf.each} rows, other fields of "${leaf.group}" ${known}`);
}

/** A number of the call. */
function scalarOf(name: string, leaf: Leaf, given: unknown): Node {
  const dtype: TensorType = leaf.dtype === "u8" ? "i32" : leaf.dtype;
  if (typeof given === "number" || typeof given === "boolean") return nodeOf(Number(given), dtype);
  if (!(given instanceof Tensor)) refuse(name, `"${leaf.name}" is missing: it is a ${leaf.dtype}`);
  if (given.dtype !== dtype || given.shape.length > 0)
    refuse(name, `"${leaf.name}" is one ${leaf.dtype}, not ${given.dtype} ${describeShape(given.shape)}`);
  return given.node;
}

function sorted(name: string, leaves: readonly Leaf[], args: unknown): Sorted {
  const found: Sorted = { given: new Map(), scalars: new Map(), states: new Map() };
  const rows = new Map<string, number>();
  for (const leaf of leaves) {
    const value = lookUp(args, leaf.path);
    if (leaf.kind === "scalar") found.scalars.set(leaf.name, scalarOf(name, leaf, value));
    else if (value instanceof Tensor || value instanceof State) {
      checkArray(name, leaf, value, rows);
      if (value instanceof Tensor) found.given.set(leaf.name, value.node);
      else if ([...found.states.values()].includes(value))
        refuse(name, `"${leaf.name}" is the state ${value.name}, which stands for another array already`);
      else found.states.set(leaf.name, value);
    } else refuse(name, `"${leaf.name}" is missing: it is an array of ${leaf.dtype}, a tensor or a state`);
  }
  return found;
}

/** Runs a kernel at this point of the program. */
export function call<D extends Declaration>(kernel: Kernel<D>, args: TensorArguments<D>): TensorResults<D> {
  const name = kernel.kernelName;
  const spec = kernel[KERNEL_SPEC];
  if (spec.options.numerics === "fused")
    refuse(name, "it asks for fused numerics, which kernels inside of tensor programs cannot have");
  const leaves = flatten(spec.declaration);
  const { given, scalars, states } = sorted(name, leaves, args);
  const module: Module = kernel.ir();
  const effect: CallEffect = { kind: "call", module, given, scalars, states };
  recording().call(effect);
  const written = new Set([...writtenBuffers(module.entry)].map((b) => b.name));
  const results: Record = {};
  for (const leaf of leaves) {
    const before = given.get(leaf.name) ?? scalars.get(leaf.name);
    const state = states.get(leaf.name);
    const changed = before && leaf.kind === "buffer" && written.has(leaf.name);
    const after = changed ? outcomeOf(effect, leaf.name, before.dtype, before.shape) : before;
    put(results, leaf.path, state ? state.value : new Tensor(after as Node));
  }
  return results as TensorResults<D>;
}
