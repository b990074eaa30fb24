/**
 * Every draw gives the same bits as IR (as written, scalar, vectorised) and on the host, and on every target.
 */
import { describe, expect, it } from "vitest";
import { add, and, Builder, binary, buffer, constant, convert, func, get, i32, load, mul } from "../../src/ir/build.ts";
import { interpret, type TypedArray } from "../../src/ir/interpret.ts";
import type { Expr } from "../../src/ir/nodes.ts";
import { lower } from "../../src/ir/pipeline.ts";
import { createStream, HostStream, Permutation, permutedIndex, shuffle } from "../../src/random/index.ts";
import { heap } from "../../src/runtime/heap.ts";
import { Program } from "../../src/runtime/program.ts";
import { variants } from "../lockstep/variants.ts";
import { type Draw, interpreted, MACHINES, moduleOf } from "./support.ts";

const u32 = (x: number): Expr => constant("u32", x);
const f32 = (x: number): Expr => constant("f32", x);
const KEY = [0x9abcdef0, 7] as const;
const COUNT = 75;
const WEIGHTS = [0.1, 0, 3, -2, 1e-3, 0.9, Number.NaN, 2];

/** The last of several draws. */
const last = <T>(...draws: readonly T[]): T => draws.at(-1) as T;

/** A draw as IR and the same on the host. */
type Pair = readonly [draw: Draw, host: (stream: HostStream, i: number) => number];

const CASES: { readonly [name: string]: Pair } = {
  bits: [(s) => s.bits(), (s) => s.bits()],
  "the third draw": [(s) => last(s.bits(), s.normal(), s.bits()), (s) => last(s.bits(), s.normal(), s.bits())],
  uniform: [(s) => s.uniform(), (s) => s.uniform()],
  "uniform between limits": [(s) => s.uniform(f32(-0.05), f32(0.3)), (s) => s.uniform(-0.05, 0.3)],
  "the first of a pair": [(s) => s.pair()[0], (s) => s.pair().first],
  "the second of a pair between limits": [(s) => s.pair(f32(-0.05), f32(0.3))[1], (s) => s.pair(-0.05, 0.3).second],
  "int of a constant": [(s) => s.int(i32(10)), (s) => s.int(10)],
  "int of a power of two": [(s) => s.int(i32(64)), (s) => s.int(64)],
  "int of i": [(s, _, i) => s.int(i), (s, i) => s.int(i)],
  "int of large numbers": [
    (s, _, i) => s.int(binary("sub", i32(0x7fffffff), mul(i, i32(0x800000)))),
    (s, i) => s.int(0x7fffffff - i * 0x800000),
  ],
  "int of nothing": [(s, _, i) => s.int(binary("sub", i32(3), i)), (s, i) => s.int(3 - i)],
  "below 3 * 2^30": [(s) => s.below(u32(3 * 2 ** 30)), (s) => s.below(3 * 2 ** 30)],
  "below a number that repeats half of the draws": [
    (s, b, i) => s.below(b.let("n", add(u32(2 ** 31 + 1), convert("u32", i)))),
    (s, i) => s.below(2 ** 31 + 1 + i),
  ],
  "a draw after one that may repeat": [
    (s) => last(s.below(u32(2 ** 31 + 1)), s.bits()),
    (s) => last(s.below(2 ** 31 + 1), s.bits()),
  ],
  normal: [(s) => s.normal(), (s) => s.normal()],
  exponential: [(s) => s.exponential(), (s) => s.exponential()],
  bernoulli: [(s) => s.bernoulli(f32(0.7)), (s) => Number(s.bernoulli(0.7))],
  categorical: [
    (s, b) => {
      const weights = buffer("weights", "f32", "table", WEIGHTS.length, { data: WEIGHTS });
      return s.categorical((k) => b.let("w", load(weights, k)), i32(WEIGHTS.length));
    },
    (s) => s.categorical(WEIGHTS),
  ],
  "categorical with weights and counts of its own": [
    (s, _, i) => s.categorical((k) => and(add(k, i), i32(7)), and(i, i32(15))),
    (s, i) =>
      s.categorical(
        Array.from({ length: 16 }, (__, k) => (k + i) & 7),
        i & 15,
      ),
  ],
  fold: [(s, _, i) => s.fold(binary("sub", i, i32(9))).bits(), (s, i) => s.fold(i - 9).bits()],
  "a stream goes on after a fold": [
    (s) => last(s.fold(i32(3)).bits(), s.bits()),
    (s) => last(s.fold(3).bits(), s.bits()),
  ],
  "a place": [(s, _, i) => s.at(i).bits(), (s, i) => s.at(i).bits()],
  "a draw that may repeat, at a place": [
    (s, _, i) => s.at(i).below(u32(2 ** 31 + 1)),
    (s, i) => s.at(i).below(2 ** 31 + 1),
  ],
  "a fold and a split at a place": [
    (s, _, i) => s.at(i).fold(i).split().bits(),
    (s, i) => s.at(i).fold(i).split().bits(),
  ],
  "a stream goes on after a place": [(s) => last(s.at(i32(3)).bits(), s.bits()), (s) => last(s.at(3).bits(), s.bits())],
  split: [(s) => s.split().bits(), (s) => s.split().bits()],
  "a stream goes on after a split": [(s) => last(s.split().bits(), s.bits()), (s) => last(s.split().bits(), s.bits())],
  "draws in branches": [
    (s, b, i) => {
      const x = b.local("x", "u32");
      b.assign(x, u32(0));
      b.if(
        binary("eq", and(i, i32(1)), i32(0)),
        () => b.assign(x, s.bits()),
        () => b.assign(x, binary("xor", s.bits(), s.bits())),
      );
      return add(get(x), s.bits());
    },
    (s, i) => {
      const x = (i & 1) === 0 ? s.bits() : s.bits() ^ s.bits();
      return (x + s.bits()) >>> 0;
    },
  ],
  "draws in loops": [
    (s, b, i) => {
      const x = b.local("x", "f32");
      b.assign(x, f32(0));
      b.for("k", { begin: i32(0), end: and(i, i32(7)) }, () => b.assign(x, add(get(x), s.uniform())));
      return add(get(x), s.normal());
    },
    (s, i) => {
      let x = 0;
      for (let k = 0; k < (i & 7); k++) x = Math.fround(x + s.uniform());
      return Math.fround(x + s.normal());
    },
  ],
  permutedIndex: [
    (_, b, i) => permutedIndex(b, u32(5), u32(6), i, i32(COUNT)),
    (_, i) => new HostStream(5, 6).permutation(COUNT).at(i),
  ],
  "permutation of a power of two": [
    (s, b, i) => new Permutation(b, s, i32(64)).at(and(i, i32(63))),
    (s, i) => s.permutation(64).at(i & 63),
  ],
  "permutations of i elements": [(s, b, i) => new Permutation(b, s, i).at(i32(3)), (s, i) => s.permutation(i).at(3)],
};

const onHost = ([, host]: Pair): number[] =>
  Array.from({ length: COUNT }, (_, i) => host(new HostStream(...KEY).fold(i), i));

describe.each(Object.entries(CASES))("%s", (_, pair) => {
  it.each(Object.entries(MACHINES))("host and IR, %s", (__, machine) => {
    expect(Array.from(interpreted(pair[0], COUNT, KEY, machine))).toEqual(onHost(pair));
  });
});

it("is vectorised", () => {
  for (const [name, [draw]] of Object.entries(CASES)) {
    const { module } = moduleOf([draw], COUNT);
    const text = JSON.stringify(lower(module, { vectorBytes: 32, launches: false }).entry.body);
    expect(text.includes('"axis":"vector"'), name).toBe(true);
  }
});

it.each(variants().filter((v) => v.kind === "target"))("the same on $name", ({ target, threads }) => {
  const { module, outputs } = moduleOf(
    Object.values(CASES).map(([draw]) => draw),
    COUNT,
  );
  const arrays = outputs.map((out) => heap().array(out.storage, COUNT));
  const program = new Program(module, target, { threads, unchecked: false });
  program.run({ k0: KEY[0], k1: KEY[1], ...Object.fromEntries(outputs.map((out, k) => [out.name, arrays[k]])) });
  program.dispose();
  for (const [k, [name, pair]] of Object.entries(CASES).entries())
    expect(Array.from(arrays[k] as TypedArray), name).toEqual(onHost(pair));
  for (const array of arrays) heap().release(array.byteOffset);
});

it.each(Object.entries(MACHINES))("shuffles like the host, %s", (_, machine) => {
  const list = buffer("list", "i32", "param");
  const b = new Builder();
  const stream = createStream(b, u32(1), u32(2));
  for (const n of [40, 1, 0, 13]) shuffle(b, stream, list, i32(n));
  const module = { name: "shuffle", entry: func("shuffle", [list], [], b.statements), sites: [] };
  const array = Int32Array.from({ length: 40 }, (__, k) => 3 * k);
  const expected = array.slice();
  const host = new HostStream(1, 2);
  for (const n of [40, 1, 0, 13]) host.shuffle(expected, n);
  expect(interpret(machine ? lower(module, machine) : module, { buffers: [array], params: [] })).toBe(0);
  expect(array).toEqual(expected);
  expect(Array.from(array).sort((x, y) => x - y)).toEqual(Array.from({ length: 40 }, (__, k) => 3 * k));
});
