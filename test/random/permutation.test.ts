/**
 * Permutations are permutations, and look as random as they should.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HostPermutation, HostStream } from "../../src/random/index.ts";
import { chiSquareDeviation, uniformDeviation } from "./statistics.ts";

const LIMIT = 3.1;
const word = fc.integer({ min: 0, max: 0xffffffff });

const elements = (p: HostPermutation, n: number): number[] => Array.from({ length: n }, (_, i) => p.at(i));
function add(counts: Float64Array, at: number): void {
  counts[at] = (counts[at] as number) + 1;
}

it("reaches each of 0..n-1 once", () => {
  fc.assert(
    fc.property(word, word, fc.integer({ min: 1, max: 3000 }), (key0, key1, n) => {
      const reached = new Set(elements(new HostPermutation(key0, key1, n), n));
      expect(reached.size).toBe(n);
      for (const x of reached) expect(x >= 0 && x < n).toBe(true);
    }),
    { numRuns: 150 },
  );
});

it("reaches each once around powers of two", () => {
  for (const n of [1, 2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 255, 256, 257, 65_535, 65_536, 65_537])
    expect(new Set(elements(new HostStream(1, n).permutation(n), n)).size).toBe(n);
});

it("stays in range for any n and i", () => {
  fc.assert(
    fc.property(word, word, fc.integer(), fc.integer(), (key0, key1, n, i) => {
      const x = new HostPermutation(key0, key1, n).at(i);
      expect(x >= 0 && x < Math.max(n, 1)).toBe(true);
    }),
    { numRuns: 500 },
  );
  const last = new HostPermutation(1, 2, 2 ** 31 - 1);
  expect(new Set([0, 1, 2, 2 ** 31 - 2].map((i) => last.at(i))).size).toBe(4);
});

/** The number of an order among all orders of its elements. */
function rank(order: readonly number[]): number {
  return order.reduce((sum, x, i) => sum * (order.length - i) + order.slice(i + 1).filter((y) => y < x).length, 0);
}

const factorial = (n: number): number => (n < 2 ? 1 : n * factorial(n - 1));

describe.each([2, 3, 4, 5, 6])("all orders of %i elements are equally likely", (n) => {
  const orders = factorial(n);
  const samples = Math.max(2000, orders * 60);

  it("by index", () => {
    const s = new HostStream(2, n);
    const counts = new Float64Array(orders);
    for (let k = 0; k < samples; k++) add(counts, rank(elements(s.permutation(n), n)));
    expect(uniformDeviation(counts)).toBeLessThan(LIMIT);
  });

  it("shuffled", () => {
    const s = new HostStream(3, n);
    const counts = new Float64Array(orders);
    for (let k = 0; k < samples; k++) {
      const order = Array.from({ length: n }, (_, i) => i);
      s.shuffle(order);
      add(counts, rank(order));
    }
    expect(uniformDeviation(counts)).toBeLessThan(LIMIT);
  });
});

describe.each([7, 8, 16, 17, 33, 64, 100])("an order of %i elements", (n) => {
  const samples = 4000;
  const s = new HostStream(4, n);
  const places = new Float64Array(n * n);
  const differences = new Float64Array(n - 1);
  const pairs = new Float64Array(n * n);
  let fixed = 0;
  for (let k = 0; k < samples; k++) {
    const order = elements(s.permutation(n), n);
    order.forEach((x, i) => {
      add(places, i * n + x);
      if (x === i) fixed++;
      if (i > 0) add(differences, ((x - (order[i - 1] as number) + n) % n) - 1);
    });
    add(pairs, (order[0] as number) * n + (order[1] as number));
  }

  it("puts every element at every place", () => {
    expect(chiSquareDeviation(places, () => samples / n, (n - 1) ** 2)).toBeLessThan(LIMIT);
  });
  it("puts any two next to each other", () => {
    expect(uniformDeviation(differences)).toBeLessThan(LIMIT);
    const expected = (at: number): number => (at % n === Math.floor(at / n) ? 0 : samples / (n * (n - 1)));
    expect(chiSquareDeviation(pairs, expected, n * (n - 1) - 1)).toBeLessThan(LIMIT);
  });
  it("leaves one element in its place on average", () => {
    expect(Math.abs(fixed / samples - 1)).toBeLessThan(4 / Math.sqrt(samples));
  });
});

it("permutations of different keys have nothing in common", () => {
  const n = 1000;
  const s = new HostStream(5, 1);
  let agreements = 0;
  for (let k = 0; k < 200; k++) {
    const a = s.permutation(n);
    // Keys one bit apart.
    const key = s.bits();
    const [b, c] = [new HostPermutation(key, 77, n), new HostPermutation(key ^ (1 << (k % 32)), 77, n)];
    for (let i = 0; i < n; i++) agreements += Number(a.at(i) === b.at(i)) + Number(b.at(i) === c.at(i));
  }
  expect(Math.abs(agreements / 400 - 1)).toBeLessThan(4 / Math.sqrt(400));
});
