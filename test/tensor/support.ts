/**
 * @file Runs the same tensor code on every target, whole and operation by operation.
 */
import type { Numerics } from "../../src/ir/pipeline.ts";
import { availability } from "../../src/runtime/targets.ts";
import type { TargetName } from "../../src/targets/target.ts";
import { type Outputs, program, type TensorProgramOptions } from "../../src/tensor/index.ts";

export const TARGETS: readonly TargetName[] = (["js", "wasm", "native"] as const).filter(
  (name) => availability(name).target !== undefined,
);

/** All ways to run that must give the same bits without fused numerics. */
export const MODES: readonly TensorProgramOptions[] = TARGETS.flatMap((target) => [
  { target, numerics: "unfused" as Numerics, threads: 1 },
  { target, numerics: "unfused" as Numerics, threads: 2 },
  { target, numerics: "unfused" as Numerics, eager: true },
]);

export type Results = { readonly [name: string]: readonly number[] };

/** What a program gives for some inputs, after some runs. */
export function results(
  build: () => Outputs,
  inputs: { readonly [name: string]: ArrayLike<number> },
  options: TensorProgramOptions,
  runs = 1,
): Results {
  const made = program("test", build, options);
  try {
    for (let k = 0; k < runs; k++) made.run(inputs);
    return Object.fromEntries(Object.entries(made.outputs).map(([name, array]) => [name, Array.from(array)]));
  } finally {
    made.dispose();
  }
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
