/**
 * @file Blocks of rows that share memory: the same bits for every number of threads, less memory for fewer of them, and
 * memory for all rows where something else needs them.
 */
import { describe, expect, test } from "vitest";
import { sharesOf } from "../../src/tensor/emit/slots.ts";
import { gradients, input, type Outputs, program, repeat, state, type Tensor } from "../../src/tensor/index.ts";
import { checkPlan, numbers, QUICK_MODES, results, TARGETS } from "./support.ts";

const WIDTH = 6;
const given = (rows: number) => ({
  x: numbers(rows * 3, 1),
  w: numbers(3 * WIDTH, 2),
  v: numbers(WIDTH * WIDTH, 3),
  y: numbers(rows * WIDTH, 4),
});
/** A step of training whose layers only its own rows see; with `whole`, one of them is needed as a whole, too. */
const network =
  (rows: number, whole = false) =>
  (): Outputs => {
    const w = input("w", "f32", [3, WIDTH]);
    const v = input("v", "f32", [WIDTH, WIDTH]);
    const first = input("x", "f32", [rows, 3]).matmul(w).tanh();
    const second = first.matmul(v).tanh();
    const error = second.sub(input("y", "f32", [rows, WIDTH]));
    const [gw, gv] = gradients(error.mul(error).mean(), [w, v]) as [Tensor, Tensor];
    return whole ? { gw, gv, seen: first.sum([0]), last: second } : { gw, gv };
  };

describe("shares", () => {
  test.each([
    [8, 1, 1],
    [8, 2, 2],
    [8, 3, 4],
    [8, 5, 8],
    [8, 64, 8],
    [6, 4, 6],
    [7, 2, 7],
    [1, 2, 1],
  ])("%i blocks for %i threads are %i", (blocks, threads, shares) => {
    expect(sharesOf(blocks, threads)).toBe(shares);
  });
});

describe.each([256, 384, 1024])("%i rows", (rows) => {
  test.each([false, true])("have the same bits on every target and thread; needed as a whole: %s", (whole) => {
    const [build, inputs] = [network(rows, whole), given(rows)];
    const wanted = results(build, inputs, { target: "js", numerics: "unfused", eager: true });
    for (const mode of QUICK_MODES) expect(results(build, inputs, mode), JSON.stringify(mode)).toEqual(wanted);
    for (const threads of [3, 4])
      expect(results(build, inputs, { target: "js", numerics: "unfused", threads })).toEqual(wanted);
  });
});

test("the interpreter finds nothing spoiled, and loops that are parallel", () => {
  const build = (): Outputs => {
    const [w, v] = [input("w", "f32", [2, 2]), input("v", "f32", [2, 2])];
    const first = input("x", "f32", [256, 2]).matmul(w);
    const second = first.mul(first).matmul(v);
    const [gw, gv] = gradients(second.mul(second).mean(), [w, v]) as [Tensor, Tensor];
    return { gw, gv, second };
  };
  const inputs = { x: numbers(512, 1), w: numbers(4, 2), v: numbers(4, 3) };
  expect(checkPlan(build, inputs)).toEqual(results(build, inputs, { target: "js", numerics: "unfused" }));
});

test("rows that are chosen by what was loaded", () => {
  const build = (): Outputs => {
    const w = input("w", "f32", [3, WIDTH]);
    const hidden = input("x", "f32", [256, 3]).matmul(w).tanh();
    const chosen = hidden.mul(input("choice", "i32", [256]).oneHot(WIDTH, "f32")).sum([1]);
    const table = input("y", "f32", [256, WIDTH]).gather(input("choice", "i32", [256]));
    const [gw] = gradients(chosen.mul(hidden.mul(table).sum([1])).mean(), [w]) as [Tensor];
    return { gw };
  };
  const inputs = { ...given(256), choice: Int32Array.from({ length: 256 }, (_, k) => (k * 7) % WIDTH) };
  const { v: _, ...used } = inputs;
  const wanted = results(build, used, { target: "js", numerics: "unfused", eager: true });
  for (const mode of QUICK_MODES) expect(results(build, used, mode), JSON.stringify(mode)).toEqual(wanted);
});

test("two groups of a loop, one after the other", () => {
  const build = (): Outputs => {
    const w = state("f32", [3, WIDTH], { from: given(1).w, name: "w" });
    const x = input("x", "f32", [256, 3]);
    repeat(3, () => {
      const hidden = x.matmul(w.value).tanh();
      const scaled = hidden.div(hidden.abs().max());
      const [g] = gradients(scaled.mul(scaled).mean(), [hidden]) as [Tensor];
      w.assign(w.value.sub(x.transpose().matmul(g.mul(hidden).tanh()).mul(0.1)));
    });
    return { w: w.value };
  };
  const { x } = given(256);
  const wanted = results(build, { x }, { target: "js", numerics: "unfused", eager: true });
  for (const mode of QUICK_MODES) expect(results(build, { x }, mode), JSON.stringify(mode)).toEqual(wanted);
});

test.each(TARGETS)("fewer threads need less memory on %s", (target) => {
  const bytes = (threads: number): number => {
    const made = program("bytes", network(1024), { target, threads }).load();
    try {
      return Number(/arena ([\d.]+) KiB/.exec(made.explain())?.[1]);
    } finally {
      made.dispose();
    }
  };
  expect(bytes(1)).toBeGreaterThan(0);
  expect(bytes(1)).toBeLessThan(bytes(2));
  expect(bytes(2)).toBeLessThan(bytes(8));
});
