/**
 * @file Matrix products: every shape gives the bits of plain loops in the order that shapes alone determine, whatever the
 * tile, the target and the number of threads.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { interpret } from "../../src/ir/interpret.ts";
import { lower } from "../../src/ir/pipeline.ts";
import { emitModule } from "../../src/tensor/emit/module.ts";
import type { TileMachine } from "../../src/tensor/emit/tiles.ts";
import { input, program, TensorError, type TensorProgramOptions } from "../../src/tensor/index.ts";
import { record, recording } from "../../src/tensor/recorder.ts";
import { Scheduler } from "../../src/tensor/schedule.ts";
import { outputsOf, type Port, Wiring } from "../../src/tensor/wiring.ts";
import { TARGETS } from "./support.ts";

interface Case {
  readonly m: number;
  readonly k: number;
  readonly n: number;
  /** Which factors lie column after column. */
  readonly turned: "" | "a" | "b" | "ab";
}

/** Numbers whose products are not exact, without a pattern that a wrong order would leave alone. */
const numbers = (count: number, seed: number): Float32Array =>
  Float32Array.from({ length: count }, (_, i) => Math.sin((i + 1) * 12.9898 + seed) * (1 + ((i * 7919) % 13)));

const factors = ({ m, k, n }: Case) => ({ a: numbers(m * k, 1), b: numbers(k * n, 2) });

const added = (xs: readonly number[]): number => xs.reduce((sum, x) => Math.fround(sum + x), 0);

/** Eight sums by turns, added by halves. */
function byTurns(xs: readonly number[]): number {
  let sums = Array.from({ length: 8 }, (_, r) => added(xs.filter((_, p) => p % 8 === r)));
  while (sums.length > 1) {
    const half = sums.length / 2;
    sums = sums.slice(0, half).map((x, r) => Math.fround(x + (sums[r + half] as number)));
  }
  return sums[0] as number;
}

/** How the products of a result are added up: in their order, by turns where columns are few, in parts where rows are many. */
function orderOf({ m, k, n, turned }: Case): (xs: readonly number[]) => number {
  if (!turned.includes("a")) return n < 8 && k >= 16 && k % 8 === 0 ? byTurns : added;
  const block = Array.from({ length: 97 }, (_, i) => 128 - i).find((size) => size <= k / 4 && k % size === 0);
  if (!block || k < 256 || (k / block) * m * n > 2 ** 19 || (m * n >= 8192 && block < 128)) return added;
  if (n % 16 > 0 && (n > 4 || m < 16)) return added;
  return (xs) =>
    added(Array.from({ length: k / block }, (_, part) => added(xs.slice(part * block, (part + 1) * block))));
}

/** Every product and every sum rounded; computed once. */
function plain(one: Case): Float32Array {
  const found = known.get(named(one)) ?? summed(one);
  known.set(named(one), found);
  return found;
}
const known = new Map<string, Float32Array>();
function summed(one: Case): Float32Array {
  const { m, k, n, turned } = one;
  const { a, b } = factors(one);
  const order = orderOf(one);
  const product = (i: number, j: number, p: number): number => {
    const x = a[turned.includes("a") ? p * m + i : i * k + p] as number;
    const y = b[turned.includes("b") ? j * k + p : p * n + j] as number;
    return Math.fround(x * y);
  };
  return Float32Array.from({ length: m * n }, (_, e) =>
    order(Array.from({ length: k }, (_, p) => product(Math.floor(e / n), e % n, p))),
  );
}

const build =
  ({ m, k, n, turned }: Case) =>
  () => {
    const a = input("a", "f32", turned.includes("a") ? [k, m] : [m, k]);
    const b = input("b", "f32", turned.includes("b") ? [n, k] : [k, n]);
    return { c: (turned.includes("a") ? a.transpose() : a).matmul(turned.includes("b") ? b.transpose() : b) };
  };

function computed(one: Case, options: TensorProgramOptions): Float32Array {
  const made = program("product", build(one), options);
  try {
    return Float32Array.from(made.run(factors(one)).c);
  } finally {
    made.dispose();
  }
}

/** Shapes around the sizes of tiles and vectors, packed and not. */
const SHAPES: readonly Case[] = [
  { m: 1, k: 1, n: 1, turned: "" },
  { m: 1, k: 256, n: 6, turned: "" },
  { m: 1, k: 2, n: 1, turned: "" },
  { m: 3, k: 5, n: 7, turned: "ab" },
  { m: 64, k: 64, n: 2, turned: "a" },
  { m: 33, k: 65, n: 70, turned: "" },
  { m: 33, k: 65, n: 70, turned: "b" },
  { m: 53, k: 90, n: 75, turned: "" },
  { m: 61, k: 101, n: 83, turned: "a" },
  { m: 26, k: 100, n: 90, turned: "ab" },
  { m: 104, k: 70, n: 128, turned: "a" },
  // Long enough for blocks of the inner axis: as the second factor lies, and packed; the last block is shorter.
  { m: 64, k: 307, n: 64, turned: "a" },
  { m: 21, k: 530, n: 17, turned: "a" },
  { m: 60, k: 307, n: 272, turned: "a" },
  // Sums over many rows, in parts: as the second factor lies, and packed.
  { m: 64, k: 1024, n: 64, turned: "a" },
  { m: 64, k: 512, n: 2, turned: "a" },
  { m: 17, k: 300, n: 3, turned: "a" },
  { m: 5, k: 256, n: 48, turned: "ab" },
  { m: 70, k: 512, n: 160, turned: "a" },
  // A single row and many columns: blocks of the inner axis, the last one shorter, and columns that fill no vector.
  { m: 1, k: 64, n: 256, turned: "" },
  { m: 1, k: 19, n: 131, turned: "" },
  { m: 1, k: 4, n: 64, turned: "" },
  { m: 1, k: 3, n: 64, turned: "" },
  { m: 1, k: 33, n: 256, turned: "b" },
  // Few columns: several rows to a tile, a rest of them, all widths.
  { m: 1, k: 16, n: 1, turned: "" },
  { m: 7, k: 24, n: 5, turned: "b" },
  { m: 39, k: 64, n: 1, turned: "" },
  { m: 22, k: 40, n: 2, turned: "b" },
  { m: 9, k: 16, n: 7, turned: "" },
];
const named = ({ m, k, n, turned }: Case): string => `${m} x ${k} x ${n}${turned && ` with ${turned} turned`}`;

describe.each(TARGETS)("on %s", (target) => {
  test.each(SHAPES.map((one) => [named(one), one] as const))("%s has the bits of a plain loop", (_, one) => {
    for (const threads of [1, 2]) expect(computed(one, { target, threads, numerics: "unfused" })).toEqual(plain(one));
  });
});

test("a single row of f64: the same bits on all targets", () => {
  const [k, n] = [19, 260];
  const values = (count: number, seed: number) => Array.from({ length: count }, (_, i) => Math.sin(i * 12.9898 + seed));
  const found = TARGETS.map((target) => {
    const made = program(
      "row",
      () => ({
        c: input("a", "f64", [1, k])
          .matmul(input("b", "f64", [k, n]))
          .add(1)
          .relu(),
      }),
      { target, threads: 2 },
    );
    const c = Array.from(made.run({ a: values(k, 1), b: values(k * n, 2) }).c);
    made.dispose();
    return c;
  });
  const [a, b] = [values(k, 1), values(k * n, 2)];
  const plainly = Array.from({ length: n }, (_, j) =>
    Math.max(0, 1 + a.reduce((sum, x, p) => sum + x * (b[p * n + j] as number), 0)),
  );
  for (const one of found) expect(one).toEqual(plainly);
});

test.each(SHAPES.map((one) => [named(one), one] as const))("%s fused: the same bits on wasm and native", (_, one) => {
  const found = TARGETS.filter((target) => target !== "js").map((target) =>
    computed(one, { target, numerics: "fused" }),
  );
  for (const other of found.slice(1)) expect(other).toEqual(found[0]);
});

/** Runs a product as it is emitted for a machine, by the interpreter. */
function interpreted(one: Case, machine: TileMachine, vectorRegisters: number): Float32Array {
  const { root, inputs } = record(() => {
    for (const [key, tensor] of Object.entries(build(one)())) recording().output(key, tensor.node);
  });
  const { a, b } = factors(one);
  const c = new Float32Array(one.m * one.n);
  const ports = new Map<string, Port>();
  for (const [name, node] of inputs) ports.set(`input ${name}`, { node, array: name === "a" ? a : b });
  for (const [name, node] of outputsOf(root)) ports.set(`output ${name}`, { node, array: c });
  const wiring = new Wiring(ports, "arena");
  const steps = new Scheduler(root, wiring, { fuse: true }).plan(root);
  const module = emitModule("product", steps, [...wiring.arrays.keys()], machine);
  const lowered = lower(module, {
    vectorBytes: machine.lanes > 1 ? machine.lanes * 4 : 0,
    vectorRegisters,
    launches: false,
  });
  interpret(lowered, { buffers: [...wiring.arrays.values()], params: [] });
  return c;
}

/** Tiles of machines that are not this one: vectors of 16, 32 and 64 bytes, 16 and 32 registers, and none. */
const MACHINES: readonly (readonly [TileMachine, number])[] = [
  [{ lanes: 1, rows: 4, vectors: 1, fused: false, threads: 1 }, 16],
  [{ lanes: 4, rows: 4, vectors: 2, fused: false, threads: 1 }, 16],
  [{ lanes: 8, rows: 6, vectors: 2, fused: false, threads: 1 }, 16],
  [{ lanes: 16, rows: 4, vectors: 4, fused: false, threads: 1 }, 32],
  [{ lanes: 4, rows: 7, vectors: 4, fused: false, threads: 1 }, 32],
];

const shapes = fc.record({
  m: fc.integer({ min: 1, max: 40 }),
  k: fc.integer({ min: 1, max: 40 }),
  n: fc.integer({ min: 1, max: 40 }),
  turned: fc.constantFrom("" as const, "a" as const, "b" as const, "ab" as const),
});

test("random shapes give the same bits for every tile", () => {
  fc.assert(
    fc.property(shapes, fc.constantFrom(...MACHINES), (one, [machine, registers]) => {
      expect(interpreted(one, machine, registers)).toEqual(plain(one));
    }),
    { numRuns: 60 },
  );
});

test.each(MACHINES)("packed panels give the same bits for the tile %o", (machine, registers) => {
  const one: Case = { m: 59, k: 90, n: 77, turned: "a" };
  expect(interpreted(one, machine, registers)).toEqual(plain(one));
});

test("sums whose parts would be too large are taken as a whole", () => {
  const large = program("large", build({ m: 520, k: 256, n: 256, turned: "a" }), { target: "js" });
  const small = program("small", build({ m: 64, k: 256, n: 64, turned: "a" }), { target: "js" });
  expect(large.explain()).toMatch(/matmul \[520, 256\] x \[256, 256\] +\[520, 256\]/);
  expect(small.explain()).toMatch(/matmul \[64, 256\] x \[256, 64\] +\[4, 4096\]/);
  for (const made of [large, small]) made.dispose();
});

describe.each(TARGETS)("sums over rows on %s", (target) => {
  test.each([
    [1024, 5],
    [512, 48],
    [300, 2],
  ])("of %i rows and %i columns are parts added in order", (rows, columns) => {
    const x = numbers(rows * columns, 3);
    const made = program("sums", () => ({ y: input("x", "f32", [rows, columns]).sum(0) }), { target });
    const block = rows / ({ 1024: 8, 512: 4, 300: 4 } as { readonly [rows: number]: number })[rows]!;
    const expected = Float32Array.from({ length: columns }, (_, j) => {
      const column = Array.from({ length: rows }, (_, i) => x[i * columns + j] as number);
      return added(Array.from({ length: rows / block }, (_, p) => added(column.slice(p * block, (p + 1) * block))));
    });
    expect(Float32Array.from(made.run({ x }).y)).toEqual(expected);
    made.dispose();
  });
});

describe.each(TARGETS)("what becomes of a product on %s", (target) => {
  test.each([
    [1, 7, 16],
    [40, 20, 48],
    [61, 90, 128],
    [512, 16, 32],
  ])("%i x %i x %i, scaled and cut, has the bits of operation by operation", (m, k, n) => {
    const given = { ...factors({ m, k, n, turned: "" }), bias: numbers(n, 5), mask: numbers(m * n, 6) };
    const recipe = () => {
      const [a, b] = [input("a", "f32", [m, k]), input("b", "f32", [k, n])];
      const [bias, mask] = [input("bias", "f32", [n]), input("mask", "f32", [m, n])];
      return { cut: a.matmul(b).add(bias).relu(), scaled: a.matmul(b.mul(2)).mul(mask.mul(mask).sub(1)) };
    };
    const whole = program("finish", recipe, { target });
    const eager = program("finish", recipe, { target, eager: true });
    expect(whole.explain()).toContain("then");
    const [x, y] = [whole.run(given), eager.run(given)];
    for (const name of ["cut", "scaled"] as const) expect(x[name]).toEqual(y[name]);
    for (const made of [whole, eager]) made.dispose();
  });
});

describe.each(TARGETS)("on %s", (target) => {
  test("a comparison of a product is stored as it is finished", () => {
    const [m, k, n] = [5, 8, 16];
    const recipe = () => ({
      y: input("a", "f32", [m, k])
        .matmul(input("b", "f32", [k, n]))
        .gt(0),
    });
    const [whole, eager] = [false, true].map((isEager) => program("greater", recipe, { target, eager: isEager }));
    const given = factors({ m, k, n, turned: "" });
    expect(whole?.explain()).toContain("then");
    expect(whole?.run(given)).toEqual(eager?.run(given));
    for (const made of [whole, eager]) made?.dispose();
  });

  test("a sum in parts of something turned that lies in memory of its own comes behind it", () => {
    const recipe = () => {
      const [x, w, y] = [input("x", "f32", [256, 20]), input("w", "f32", [20, 32]), input("y", "f32", [256, 16])];
      const turned = x.matmul(w).tanh().transpose();
      return { again: turned.reshape([256, 32]).mul(2), product: turned.matmul(y) };
    };
    const given = { x: numbers(256 * 20, 1), w: numbers(20 * 32, 2), y: numbers(256 * 16, 3) };
    const [whole, eager] = [false, true].map((isEager) => program("turned", recipe, { target, eager: isEager }));
    expect(whole?.run(given)).toEqual(eager?.run(given));
    for (const made of [whole, eager]) made?.dispose();
  });
});

test("an empty inner axis is refused", () => {
  expect(() => program("empty", build({ m: 2, k: 0, n: 2, turned: "" }))).toThrow(TensorError);
});
