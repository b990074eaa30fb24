/**
 * @file The sides of the suite `nn` compute what plain loops compute; nothing is timed for its own sake here.
 */
import { describe, expect, test } from "vitest";
import { gate } from "../../src/bench/gate.ts";
import { type Reading, readingOf } from "../../src/bench/peak.ts";
import { Recorder } from "../../src/bench/suite.ts";
import { type NnSide, nnCase, nnCases } from "../../src/bench/suites/nn-cases.ts";
import { measureLibraries } from "../../src/bench/suites/nn-script.ts";
import { BenchTargets } from "../../src/bench/targets.ts";

type Values = ArrayLike<number>;

/** x w + b, row by row. */
function layer(x: readonly number[][], side: NnSide, prefix: string, k: string): number[][] {
  const { shape } = side.parameters.find(`${prefix}w${k}`);
  const [w, b] = [side.parameters.array(`${prefix}w${k}`), side.parameters.array(`${prefix}b${k}`)];
  const outputs = shape[1] as number;
  return x.map((row) =>
    Array.from({ length: outputs }, (_, j) =>
      row.reduce((sum, value, i) => sum + value * (w[i * outputs + j] as number), b[j] as number),
    ),
  );
}
function network(x: readonly number[][], side: NnSide, prefix: string, between: (v: number) => number): number[][] {
  let rows = x.map((row) => [...row]);
  for (const k of [0, 1, 2]) {
    rows = layer(rows, side, prefix, `${k}`);
    if (k < 2) rows = rows.map((row) => row.map(between));
  }
  return rows;
}
const rowsOf = (values: Values, size: number): number[][] =>
  Array.from({ length: values.length / size }, (_, i) => Array.from(values).slice(i * size, (i + 1) * size));
const relu = (v: number): number => Math.max(v, 0);
const LIMIT = { absolute: 1e-4, relative: 1e-4 };

test("eight workloads with all of their batches", () => {
  const names = nnCases().map((one) => one.name);
  expect(new Set(names).size).toBe(21);
  for (const name of ["act 1", "q values 256", "SAC sample 32", "TD3 act 1", "twin Q 256"])
    expect(names).toContain(name);
  for (const name of ["PPO step 64", "DQN step 256", "critic step 64"]) expect(names).toContain(name);
});

describe("on wasm", () => {
  test("q values are those of the plain network", () => {
    const one = nnCase("q values", 32);
    const side = one.make({ target: "wasm" });
    const wanted = network(rowsOf(one.inputs.obs as Values, 4), side, "", relu).flat();
    side.run();
    gate("q", side.outputs().q as Values, wanted, LIMIT);
  });

  test("acting gives logits, values, and the log-probability of what was drawn", () => {
    const one = nnCase("act", 32);
    const side = one.make({ target: "wasm" });
    side.run();
    const { logits, value, action, logProb } = side.outputs() as { [name: string]: Values };
    const obs = rowsOf(one.inputs.obs as Values, 4);
    const wanted = network(obs, side, "actor.", Math.tanh);
    gate("logits", logits as Values, wanted.flat(), LIMIT);
    gate("values", value as Values, network(obs, side, "critic.", Math.tanh).flat(), LIMIT);
    const logs = wanted.map(
      (row, i) =>
        (row[action?.[i] as number] as number) - Math.log(Math.exp(row[0] as number) + Math.exp(row[1] as number)),
    );
    gate("log-probabilities", logProb as Values, logs, LIMIT);
    expect(new Set(Array.from(action as Values))).toEqual(new Set([0, 1]));
  });

  test("a step of DQN has the plain loss, and makes it smaller", () => {
    const one = nnCase("DQN step", 64);
    const side = one.make({ target: "wasm" });
    const q = network(rowsOf(one.inputs.obs as Values, 4), side, "", relu);
    const before = Float32Array.from(side.parameters.arena.array);
    const wanted = q.reduce((sum, row) => sum + ((row[0] as number) - 1) ** 2, 0) / 64;
    side.run();
    gate("loss", side.outputs().loss as Values, [wanted], LIMIT);
    const moved = before.filter((x, i) => Math.abs(x - (side.outputs().parameters?.[i] as number)) > 0.9e-4);
    expect(moved.length).toBeGreaterThan(before.length / 4);
    for (let k = 0; k < 50; k++) side.run();
    expect((side.outputs().loss as Values)[0]).toBeLessThan(wanted);
  });

  test("a step of PPO is the same on two threads", () => {
    const sides = [1, 2].map((threads) => nnCase("PPO step", 64).make({ target: "wasm", threads }));
    for (const side of sides) for (let k = 0; k < 3; k++) side.run();
    expect(sides[1]?.outputs()).toEqual(sides[0]?.outputs());
  });
});

test("the limit of memory is that of reading every number once", () => {
  const made = readingOf("wasm", 1000) as Reading;
  expect(made.numbers.length).toBeGreaterThanOrEqual(1000);
  made.numbers.forEach((_, i) => {
    made.numbers[i] = i % 7;
  });
  made.run();
  const sum = (values: Float32Array): number => values.reduce((total, x) => total + x, 0);
  expect(sum(made.sums)).toBe(sum(made.numbers));
  made.dispose();
});

test("without peers the bars against libraries say what they need", async () => {
  const timing = { samples: 1, sampleNs: 1, warmUpNs: 1 };
  const recorder = new Recorder({ quick: true, peers: false, timing, say: () => {} });
  await measureLibraries(recorder, new BenchTargets(recorder, []));
  const { bars } = recorder.report("nn");
  expect(bars).toHaveLength(8);
  expect(bars.every((bar) => !bar.met && bar.reason === "needs --peers")).toBe(true);
});
