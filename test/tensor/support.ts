/**
 * @file Runs the same tensor code on every target, whole and operation by operation.
 */
import { expect } from "vitest";
import { newArray, type TypedArray } from "../../src/ir/arrays.ts";
import { interpret } from "../../src/ir/interpret.ts";
import { floatOperationsOf } from "../../src/ir/passes/cost.ts";
import { lower, type Numerics } from "../../src/ir/pipeline.ts";
import { STORED_TYPE } from "../../src/ir/types.ts";
import { planArena } from "../../src/runtime/plan.ts";
import { availability, chooseTarget } from "../../src/runtime/targets.ts";
import type { TargetName } from "../../src/targets/target.ts";
import { emitModule } from "../../src/tensor/emit/module.ts";
import {
  gradients,
  input,
  type Outputs,
  program,
  type Tensor,
  type TensorProgramOptions,
} from "../../src/tensor/index.ts";
import type { Node } from "../../src/tensor/nodes.ts";
import { tileMachine } from "../../src/tensor/program.ts";
import { record, recording } from "../../src/tensor/recorder.ts";
import { Scheduler } from "../../src/tensor/schedule.ts";
import { elementsOf, type Shape } from "../../src/tensor/shape.ts";
import { outputsOf, type Port, Wiring } from "../../src/tensor/wiring.ts";
import { findSpoiled } from "../runtime/overlap.ts";

export const TARGETS: readonly TargetName[] = (["js", "wasm", "native"] as const).filter(
  (name) => availability(name).target !== undefined,
);

/** All ways to run that must give the same bits without fused numerics. */
export const MODES: readonly TensorProgramOptions[] = TARGETS.flatMap((target) => [
  { target, numerics: "unfused" as Numerics, threads: 1 },
  { target, numerics: "unfused" as Numerics, threads: 2 },
  { target, numerics: "unfused" as Numerics, eager: true },
]);

/** The same but for native code operation by operation, which is a run of the C compiler for each of them. */
export const QUICK_MODES: readonly TensorProgramOptions[] = MODES.filter(
  ({ target, eager }) => !(target === "native" && eager),
);

export type Results = { readonly [name: string]: readonly number[] };

/** What a program gives for some inputs, after some runs. */
export function results(
  build: () => Outputs,
  inputs: { readonly [name: string]: ArrayLike<number> },
  options: TensorProgramOptions,
  runs = 1,
): Results {
  if (options.target === "js" && options.threads === 1) checkPlan(build, inputs);
  const made = program("test", build, options);
  try {
    for (let k = 0; k < runs; k++) made.run(inputs);
    return Object.fromEntries(Object.entries(made.outputs).map(([name, array]) => [name, Array.from(array)]));
  } finally {
    made.dispose();
  }
}

/** Operations of a program up to which its memory plan is checked by running it twice, slowly. */
const CHECKED_WORK = 60_000;

/**
 * Checks that no value of a program lies where another one is still needed, and that parallel loops are. What the
 * interpreter says its outputs are after some runs; nothing of programs that would take it too long.
 */
export function checkPlan(
  build: () => Outputs,
  inputs: { readonly [name: string]: ArrayLike<number> },
  runs = 1,
): Results | undefined {
  const recorded = record(() => {
    for (const [name, t] of Object.entries(build())) recording().output(name, t.node);
  });
  const port = (kind: string, nodes: Iterable<readonly [string, Node]>): [string, Port][] =>
    [...nodes].map(([name, node]) => {
      const array = newArray(STORED_TYPE[node.dtype], elementsOf(node.shape));
      if (kind === "input") array.set(inputs[name] ?? []);
      return [`${kind} ${name}`, { node, array }];
    });
  const ports = new Map([...port("input", recorded.inputs), ...port("output", outputsOf(recorded.root))]);
  const wiring = new Wiring(ports, "arena");
  const steps = new Scheduler(recorded.root, wiring, { fuse: true }).plan(recorded.root);
  const machine = tileMachine(chooseTarget("js").target, "unfused", 2);
  const module = emitModule("checked", steps, [...wiring.arrays.keys()], machine);
  const work = floatOperationsOf(module.entry.body, (e) => (e.kind === "const" ? e.value : undefined));
  if (work > CHECKED_WORK) return undefined;
  const lowered = lower(module, { vectorBytes: 16, launches: true, verify: false });
  const arrays = [...wiring.arrays.values()];
  expect(findSpoiled(lowered, planArena(lowered, module), arrays), "the memory plan").toBeUndefined();
  // As it was written: the interpreter throws when iterations that are called parallel meet. States are copies.
  const buffers = arrays.map((array) => array.slice() as TypedArray);
  for (let k = 0; k < runs; k++) interpret(module, { buffers, params: [] });
  const outputs = [...outputsOf(recorded.root).keys()].map((name): [string, number[]] => {
    const at = arrays.indexOf((ports.get(`output ${name}`) as Port).array);
    return [name, at < 0 ? [] : Array.from(buffers[at] as TypedArray)];
  });
  return Object.fromEntries(outputs);
}

/** Numbers without pattern: the same for the same seed. */
export function numbers(count: number, seed = 1, scale = 1): Float64Array {
  let x = seed * 7919 + 17;
  return Float64Array.from({ length: count }, () => {
    x = Math.imul(x ^ (x >>> 15), 0x2c1b3c6d) + 0x9e3779b9;
    x ^= x >>> 12;
    return ((x >>> 0) / 2 ** 31 - 1) * scale;
  });
}

/**
 * Compares the gradients of a number made of some tensors with finite differences in f64. `domain` maps numbers between
 * -1 and 1 to where the function is smooth.
 */
export function checkGradients(
  shapes: readonly Shape[],
  of: (xs: readonly Tensor[]) => Tensor,
  { seed = 3, tolerance = 1e-6, domain = (x: number) => x } = {},
): void {
  const made = program(
    "gradients",
    () => {
      const xs = shapes.map((shape, k) => input(`x${k}`, "f64", shape));
      const value = of(xs);
      return { value, ...Object.fromEntries(gradients(value, xs).map((g, k) => [`g${k}`, g])) };
    },
    { target: "js", threads: 1 },
  );
  const at = shapes.map((shape, k) => numbers(elementsOf(shape), k + seed).map(domain));
  const given = () => Object.fromEntries(at.map((x, k) => [`x${k}`, x]));
  made.run(given());
  const found = shapes.map((_, k) => Array.from((made.outputs as { [name: string]: TypedArray })[`g${k}`] ?? []));
  const step = 1e-5;
  for (const [k, x] of at.entries()) {
    for (let i = 0; i < x.length; i++) {
      const middle = x[i] as number;
      const value = (shift: number): number => {
        x[i] = middle + shift;
        return made.run(given()).value[0] as number;
      };
      const wanted = (8 * (value(step) - value(-step)) - (value(2 * step) - value(-2 * step))) / (12 * step);
      x[i] = middle;
      expect(
        Math.abs((found[k]?.[i] as number) - wanted),
        `gradient ${k}, ${i}: ${found[k]?.[i]}, ${wanted}`,
      ).toBeLessThan(tolerance * (1 + Math.abs(wanted)));
    }
  }
  made.dispose();
}
