/**
 * @file Runs the math macros over arrays, on any target or on the interpreter.
 */
import { Builder, buffer, func, get, i32, lengthOf, load, local } from "../../src/ir/build.ts";
import { interpret, newArray, type TypedArray } from "../../src/ir/interpret.ts";
import type { Buffer, Module } from "../../src/ir/nodes.ts";
import { lower, type Numerics, type PassOptions } from "../../src/ir/pipeline.ts";
import { STORED_TYPE, type StorageType } from "../../src/ir/types.ts";
import type { Macro, MathName } from "../../src/math/index.ts";
import { heap } from "../../src/runtime/heap.ts";
import { Program } from "../../src/runtime/program.ts";
import { createJsTarget } from "../../src/targets/js/index.ts";
import type { Target } from "../../src/targets/target.ts";
import type { Float } from "./samples.ts";

export type Macros = { readonly [name: string]: Macro };
export type Values = { readonly [name: string]: TypedArray };

/** How a macro's results are stored, found by writing it aside. */
function resultType(macro: Macro, dtype: Float, operands: number): StorageType {
  const xs = Array.from({ length: operands }, (_, k) => get(local(`x${k}`, dtype)));
  return STORED_TYPE[macro(new Builder(), ...xs).dtype];
}

/** One parallel loop per macro: out[i] = f(x[i]) or f(x[i], y[i]). */
export function moduleOf(macros: Macros, dtype: Float, operands: 1 | 2): Module {
  const inputs = ["x", "y"].slice(0, operands).map((name) => buffer(name, dtype, "param"));
  const count = lengthOf(inputs[0] as Buffer);
  const b = new Builder();
  const outputs = Object.entries(macros).map(([name, macro]) => {
    const out = buffer(name, resultType(macro, dtype, operands), "param");
    b.for("i", { begin: i32(0), end: count, axis: "parallel" }, (i) => {
      b.store(out, i, macro(b, ...inputs.map((input) => load(input, i))));
    });
    return out;
  });
  return { name: "math", entry: func("math", [...inputs, ...outputs], [], b.statements), sites: [] };
}

const arraysFor = (module: Module, inputs: readonly TypedArray[]): { [name: string]: TypedArray } =>
  Object.fromEntries(
    module.entry.buffers.map((b, k) => [b.name, inputs[k] ?? newArray(b.storage, inputs[0]?.length ?? 0)]),
  );

export function onInterpreter(module: Module, inputs: readonly TypedArray[], machine?: PassOptions): Values {
  const arrays = arraysFor(module, inputs);
  interpret(machine ? lower(module, machine) : module, { buffers: Object.values(arrays), params: [] });
  return arrays;
}

export function onTarget(
  target: Target,
  module: Module,
  inputs: readonly TypedArray[],
  numerics: Numerics = "unfused",
): Values {
  const arrays = arraysFor(module, inputs);
  const program = new Program(module, target, { threads: 1, unchecked: false, numerics });
  program.run(arrays);
  program.dispose();
  return arrays;
}

/** Results of the js target: fast enough for some hundred thousand values, and the reference of all others. */
export function evaluate(
  macros: Macros,
  dtype: Float,
  inputs: readonly TypedArray[],
  numerics: Numerics = "unfused",
): Values {
  const module = moduleOf(macros, dtype, inputs.length === 1 ? 1 : 2);
  return onTarget(createJsTarget(heap().memory), module, inputs, numerics);
}

/** A number as text that tells -0 from 0, and no NaN from another. */
export const shown = (x: number): string => (Object.is(x, -0) ? "-0" : String(x));

const sigmoid = (x: number): number => (x < 0 ? Math.exp(x) / (1 + Math.exp(x)) : 1 / (1 + Math.exp(-x)));
const OWN = { exp2: (x: number): number => 2 ** x, sigmoid, rsqrt: (x: number): number => 1 / Math.sqrt(x) };

/** A function in f64, of one or two arguments: JavaScript's own where it has one. */
export function mathF64(name: MathName): (x: number, y: number) => number {
  return name in OWN ? OWN[name as keyof typeof OWN] : Math[name as Exclude<MathName, keyof typeof OWN>];
}
