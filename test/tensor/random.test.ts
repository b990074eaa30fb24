/**
 * @file Random programs: the meaning of a recording (oracle.ts), what the interpreter of IR says, the whole program and
 * operation by operation, on every target and with every number of threads, agree to the bit.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { program, type TensorProgramOptions } from "../../src/tensor/index.ts";
import { record, recording } from "../../src/tensor/recorder.ts";
import { Oracle, type Value } from "./oracle.ts";
import { batchRecipe, prepared, type Recipe, recipe } from "./recipes.ts";
import { checkPlan, type Results, TARGETS } from "./support.ts";

const RUNS = 2;
type Prepared = ReturnType<typeof prepared>;

function ran({ build, inputs, reset }: Prepared, options: TensorProgramOptions): Results {
  reset();
  const made = program("random", build, { numerics: "unfused", ...options });
  try {
    for (let k = 0; k < RUNS; k++) made.run(inputs);
    return Object.fromEntries(Object.entries(made.outputs).map(([name, array]) => [name, Array.from(array, plain)]));
  } finally {
    made.dispose();
  }
}
/** Minus zero is a number like others. */
const plain = (x: number): number => (Object.is(x, -0) ? -0 : x);

/** What exact arithmetic says, where it says anything. */
function meant({ build, inputs, reset, states }: Prepared): Map<string, Value> {
  reset();
  const { root } = record(() => {
    for (const [name, t] of Object.entries(build())) recording().output(name, t.node);
  });
  let held = new Map(states.map((s) => [s, { data: Array.from(s.array), exact: true }] as const));
  const given = new Map(Object.entries(inputs));
  let outputs = new Map<string, Value>();
  for (let k = 0; k < RUNS; k++) {
    const oracle = new Oracle(root, given, held);
    held = new Map(oracle.states) as typeof held;
    outputs = oracle.outputs;
  }
  return outputs;
}

function agree(recipes: readonly Recipe[], modes: readonly TensorProgramOptions[], withOracle: boolean): void {
  const all = prepared(recipes);
  try {
    const [first = {}, ...others] = modes;
    const wanted = ran(all, first);
    all.reset();
    const interpreted = checkPlan(all.build, all.inputs, RUNS);
    // It knows matrix products as they are without fused numerics.
    if (interpreted && first.numerics !== "fused") expect(interpreted, "the interpreter").toEqual(wanted);
    if (withOracle)
      for (const [name, { data, exact }] of meant(all)) {
        if (exact)
          expect(
            wanted[name]?.map((x) => x + 0),
            name,
          ).toEqual(data.map((x) => x + 0));
      }
    for (const mode of others) expect(ran(all, mode), JSON.stringify(mode)).toEqual(wanted);
  } finally {
    all.dispose();
  }
}

const runs = (n: number) => Number(globalThis.process?.env?.RANDOM_RUNS ?? n);

describe("random programs", () => {
  test("mean what they say, whole and operation by operation", () => {
    fc.assert(
      fc.property(recipe, (one) =>
        agree(
          [one],
          [
            { target: "js", threads: 1 },
            { target: "js", eager: true, threads: 1 },
          ],
          true,
        ),
      ),
      { numRuns: runs(50) },
    );
  }, 120_000);

  test("give the same bits as WebAssembly, with any number of threads", () => {
    const wasm = { target: "wasm" } as const;
    fc.assert(
      fc.property(fc.array(recipe, { minLength: 1, maxLength: 4 }), (some) =>
        agree(
          some,
          [
            { target: "js", threads: 1 },
            { ...wasm, threads: 1 },
            { ...wasm, threads: 2 },
            { ...wasm, eager: true },
          ],
          false,
        ),
      ),
      { numRuns: runs(12) },
    );
  }, 120_000);

  test("of batches mean what they say, their rows in groups or not", () => {
    fc.assert(
      fc.property(batchRecipe, (one) =>
        agree(
          [one],
          [
            { target: "wasm", threads: 2 },
            { target: "wasm", threads: 1 },
            { target: "js", threads: 1 },
            { target: "js", eager: true, threads: 1 },
          ],
          true,
        ),
      ),
      { numRuns: runs(30) },
    );
  }, 120_000);

  test.skipIf(!TARGETS.includes("native"))(
    "give the same bits as native code, with fused numerics too",
    () => {
      const native = { target: "native" } as const;
      fc.assert(
        fc.property(fc.array(recipe, { minLength: 6, maxLength: 10 }), (some) => {
          agree(
            some,
            [
              { target: "js", threads: 1 },
              { ...native, threads: 1 },
              { ...native, threads: 2 },
            ],
            false,
          );
          const fused = { numerics: "fused" } as const;
          agree(
            some,
            [
              { target: "wasm", ...fused },
              { ...native, ...fused },
            ],
            false,
          );
        }),
        { numRuns: runs(2) },
      );
    },
    120_000,
  );
});
