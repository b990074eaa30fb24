/**
 * Known answers: Threefry's published vectors and recorded draws of jax, on the host and as IR.
 */
import { describe, expect, it } from "vitest";
import { type Builder, constant, get, i32, unary } from "../../src/ir/build.ts";
import type { Expr } from "../../src/ir/nodes.ts";
import { createStream, HostStream, threefry, threefry2x32 } from "../../src/random/index.ts";
import { unitInterval } from "../../src/random/transforms.ts";
import { fixtures, wordsOf } from "./support.ts";

const u32 = (x: number): Expr => constant("u32", x);
const f32 = (x: number): Expr => constant("f32", x);
const wordOf = (float: number): number => new Uint32Array(new Float32Array([float]).buffer)[0] as number;

/** A word in a variable. */
function held(b: Builder, word: number): Expr {
  const at = b.local("held", "i32");
  b.assign(at, i32(word));
  return get(at);
}

describe("Threefry-2x32-20", () => {
  const cases = fixtures("threefry2x32");
  it("has cases", () => expect(cases.length).toBeGreaterThanOrEqual(5));

  it.each(cases)("$name", ({ inputs, expected }) => {
    const out = new Uint32Array(2);
    const asIr = (words: (b: Builder) => readonly Expr[]): number[] =>
      wordsOf(2, (b, to) => {
        const [k0, k1, c0, c1] = words(b) as [Expr, Expr, Expr, Expr];
        const [word0, word1] = threefry2x32(b, k0, k1, c0, c1);
        to(0, word0);
        to(1, word1);
      });
    inputs.keys.forEach((key, n) => {
      const counter = inputs.counters[n] as [number, number];
      threefry(...key, ...counter, out);
      expect(Array.from(out)).toEqual(expected.outputs[n]);
      const input = [...key, ...counter];
      expect(asIr(() => input.map(u32))).toEqual(expected.outputs[n]);
      // Signed words, and not known when the module is built.
      expect(asIr((b) => input.map((word) => held(b, word)))).toEqual(expected.outputs[n]);
    });
  });
});

it.each(fixtures("bits_to_float32"))("$name", ({ inputs, expected }) => {
  const floats = inputs.bits.map((word) => unitInterval(u32(word)));
  expect(floats.map((e) => e.kind === "const" && e.value)).toEqual(expected.floats.data);
});

describe("what jax draws in its partitionable mode", () => {
  it.each(fixtures("jax_random"))("$name on the host", ({ inputs, expected: { partitionable: jax } }) => {
    const stream = (): HostStream => new HostStream(...inputs.key);
    const times = <T>(n: number, draw: (s: HostStream) => T, from = stream()): T[] =>
      Array.from({ length: n }, () => draw(from));
    expect(times(5, (s) => s.bits())).toEqual(jax.bits5);
    expect(times(6, (s) => s.bits())).toEqual(jax.bits2x3);
    expect(times(5, (s) => s.uniform())).toEqual(jax.uniform5.data);
    times(4, (s) => s.uniform(-2, 2)).forEach((x, n) => {
      expect(x).toBeCloseTo(jax.uniform_pm2.data[n] as number, 6);
    });
    expect(times(8, (s) => s.bernoulli(0.3))).toEqual(jax["bernoulli_0.3"]);
    const used = new HostStream(1, 2);
    used.bits();
    used.restart(...inputs.key);
    expect(times(5, (s) => s.bits(), used)).toEqual(jax.bits5);
    const keys = inputs.fold_in_data.map((d) => stream().fold(d));
    expect(keys.map((s) => [s.key0, s.key1])).toEqual(jax.fold_in);
    const rows = [0, 1, 2, 3, 4].map((d) => stream().fold(d));
    expect(rows.map((s) => [s.key0, s.key1])).toEqual(jax.split5);
  });

  it.each(fixtures("jax_random"))("$name as IR", ({ inputs, expected: { partitionable: jax } }) => {
    const [k0, k1] = inputs.key;
    const open = (b: Builder): ReturnType<typeof createStream> => createStream(b, u32(k0), u32(k1));
    const bits = wordsOf(6, (b, to) => {
      const s = open(b);
      for (let k = 0; k < 6; k++) to(k, s.bits());
    });
    expect(bits).toEqual(jax.bits2x3);
    const uniform = wordsOf(5, (b, to) => {
      const s = open(b);
      for (let k = 0; k < 5; k++) to(k, unary("bits", s.uniform()));
    });
    expect(uniform).toEqual(jax.uniform5.data.map(wordOf));
    const flips = wordsOf(8, (b, to) => {
      const s = open(b);
      for (let k = 0; k < 8; k++) to(k, s.bernoulli(f32(0.3)));
    });
    expect(flips).toEqual(jax["bernoulli_0.3"].map(Number));
    const keys = wordsOf(6, (b, to) => {
      inputs.fold_in_data.forEach((d, k) => {
        const [word0, word1] = open(b).fold(u32(d)).key.words;
        to(2 * k, word0);
        to(2 * k + 1, word1);
      });
    });
    expect(keys).toEqual(jax.fold_in.flat());
  });
});
