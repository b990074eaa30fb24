/**
 * @file Runs one module of random kernels on the interpreter and on targets, on equal inputs.
 */
import { Builder, buffer, func } from "../../src/ir/build.ts";
import { interpret, newArray, type TypedArray } from "../../src/ir/interpret.ts";
import type { Buffer, Func, Module } from "../../src/ir/nodes.ts";
import { lower, type PassOptions } from "../../src/ir/pipeline.ts";
import { heap } from "../../src/runtime/heap.ts";
import { Program } from "../../src/runtime/program.ts";
import type { Target } from "../../src/targets/target.ts";
import { type Arrays, buildKernel, ELEMENTS, type KernelTree, STORAGES } from "./generate.ts";

/** Arrays without a fixed length need guards around subscripts; with one, most subscripts are proved. */
const buffersNamed = (prefix: string, length: number | undefined): Arrays["inputs"] =>
  Object.fromEntries(
    STORAGES.map((s) => [s, buffer(`${prefix}_${s}`, s, "param", length)]),
  ) as unknown as Arrays["inputs"];
const arraysFor = (kernels: number, fixed: boolean): Arrays => ({
  inputs: buffersNamed("in", fixed ? ELEMENTS : undefined),
  outputs: buffersNamed("out", fixed ? ELEMENTS * kernels : undefined),
});
const listOf = (arrays: Arrays): Buffer[] => [
  ...STORAGES.map((s) => arrays.inputs[s]),
  ...STORAGES.map((s) => arrays.outputs[s]),
];

/** One module with all kernels: each a function of its own, called in turn. */
export function moduleOf(kernels: readonly KernelTree[], fixed = true): Module {
  const entryArrays = arraysFor(kernels.length, fixed);
  const b = new Builder();
  kernels.forEach((tree, k) => {
    const arrays = arraysFor(kernels.length, fixed);
    const inner = new Builder();
    buildKernel(inner, tree, arrays, k * ELEMENTS);
    const callee: Func = func(`kernel${k}`, listOf(arrays), [], inner.statements);
    b.emit({ kind: "call", func: callee, buffers: listOf(entryArrays), args: [] });
  });
  return { name: "random", entry: func("random", listOf(entryArrays), [], b.statements), sites: [] };
}

const SPECIAL = [
  0,
  -0,
  1,
  -1,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  1e-42,
  5e-324,
  2 ** 31,
  -(2 ** 31),
  0.5,
];

/** A value for element i of an input: edge cases first, then a spread. */
function sample(storage: string, i: number): number {
  if (storage.startsWith("f")) {
    const special = SPECIAL[i];
    return special !== undefined ? special : Math.sin(i * 12.9898) * 10 ** ((i % 9) - 4);
  }
  return Math.floor(Math.sin(i * 78.233) * 2147483647) >> ((i % 5) * 6);
}

export function freshArrays(kernels: number, inHeap: boolean): { readonly [name: string]: TypedArray } {
  const make = (storage: (typeof STORAGES)[number], n: number): TypedArray =>
    inHeap ? heap().array(storage, n) : newArray(storage, n);
  const arrays: { [name: string]: TypedArray } = {};
  for (const s of STORAGES) {
    const input = make(s, ELEMENTS);
    for (let i = 0; i < ELEMENTS; i++) input[i] = sample(s, i);
    arrays[`in_${s}`] = input;
    arrays[`out_${s}`] = make(s, ELEMENTS * kernels);
  }
  return arrays;
}

export function release(arrays: { readonly [name: string]: TypedArray }): void {
  for (const a of Object.values(arrays)) heap().release(a.byteOffset);
}

/** The outputs as bits, NaNs made equal, by kernel. */
export function outputBits(arrays: { readonly [name: string]: TypedArray }, kernel: number): string {
  return STORAGES.map((s) => {
    const part = (arrays[`out_${s}`] as TypedArray).slice(kernel * ELEMENTS, (kernel + 1) * ELEMENTS);
    return Array.from(part, (v) => (Number.isNaN(v) ? "NaN" : Object.is(v, -0) ? "-0" : String(v))).join(" ");
  }).join("\n");
}

/** As it was written, or lowered for a machine. */
export function runInterpreter(
  module: Module,
  kernels: number,
  machine: PassOptions | undefined,
): { readonly [name: string]: TypedArray } {
  const arrays = freshArrays(kernels, false);
  const buffers = module.entry.buffers.map((b) => arrays[b.name] as TypedArray);
  interpret(machine ? lower(module, machine) : module, { buffers, params: [] });
  return arrays;
}

export function runTarget(
  module: Module,
  kernels: number,
  target: Target,
  threads: number,
): { readonly [name: string]: TypedArray } {
  const arrays = freshArrays(kernels, true);
  const program = new Program(module, target, { threads, unchecked: false });
  program.run(arrays);
  program.dispose();
  return arrays;
}
