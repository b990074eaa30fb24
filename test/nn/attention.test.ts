/**
 * @file Attention against plain loops: all keys, earlier ones, and those of a mask.
 */
import { expect, test } from "vitest";
import { attention } from "../../src/nn/index.ts";
import { gradients, input, program, type Tensor } from "../../src/tensor/index.ts";
import { numbers } from "../tensor/support.ts";

const [HEADS, QUERIES, KEYS, SIZE, WIDE] = [2, 3, 4, 5, 6];
const q = numbers(HEADS * QUERIES * SIZE, 1);
const k = numbers(HEADS * KEYS * SIZE, 2);
const v = numbers(HEADS * KEYS * WIDE, 3);
const mask = [1, 0, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1];

function plain(sees: (row: number, key: number) => boolean, scale: number): number[] {
  const out: number[] = [];
  for (let h = 0; h < HEADS; h++)
    for (let i = 0; i < QUERIES; i++) {
      const weights = Array.from({ length: KEYS }, (_, j) => {
        let score = 0;
        for (let d = 0; d < SIZE; d++)
          score += (q[(h * QUERIES + i) * SIZE + d] as number) * (k[(h * KEYS + j) * SIZE + d] as number);
        return sees(i, j) ? Math.exp(score * scale) : 0;
      });
      const all = weights.reduce((a, b) => a + b);
      for (let d = 0; d < WIDE; d++)
        out.push(weights.reduce((sum, w, j) => sum + (w / all) * (v[(h * KEYS + j) * WIDE + d] as number), 0));
    }
  return out;
}

test("a query that sees nothing is 0, and spoils no gradient", () => {
  const made = program("blind", () => {
    const [x, values] = [input("x", "f64", [2, 3]), input("v", "f64", [2, 2])];
    const seen = attention(x, x, values, { mask: input("mask", "bool", [2, 2]) });
    const [gx, gv] = gradients(seen.sum(), [x, values]) as [Tensor, Tensor];
    return { seen, gx, gv };
  });
  const { seen, gx, gv } = made.run({ x: [1, 2, 3, 4, 5, 6], v: [1, 2, 3, 4], mask: [0, 0, 0, 1] });
  expect(Array.from(seen)).toEqual([0, 0, 3, 4]);
  expect(Array.from(gv)).toEqual([0, 0, 1, 1]);
  expect(gx.every((g) => g === 0)).toBe(true);
  made.dispose();
});

test("shares of values: all, earlier, masked, both", () => {
  const made = program("attending", () => {
    const [queries, keys, values] = [
      input("q", "f64", [HEADS, QUERIES, SIZE]),
      input("k", "f64", [HEADS, KEYS, SIZE]),
      input("v", "f64", [HEADS, KEYS, WIDE]),
    ];
    const seen = input("mask", "bool", [QUERIES, KEYS]);
    const [firstKeys, firstValues] = [keys.slice(1, 0, QUERIES), values.slice(1, 0, QUERIES)];
    return {
      all: attention(queries, keys, values),
      scaled: attention(queries, keys, values, { scale: 2 }),
      causal: attention(queries, firstKeys, firstValues, { causal: true }),
      masked: attention(queries, keys, values, { mask: seen }),
      both: attention(queries, firstKeys, firstValues, { mask: seen.slice(1, 0, QUERIES), causal: true }),
    };
  });
  const found = made.run({ q, k, v, mask });
  const usual = 1 / Math.sqrt(SIZE);
  const masked = (i: number, j: number): boolean => mask[i * KEYS + j] === 1;
  const near = (values: readonly number[]) => values.map((x) => expect.closeTo(x, 12));
  expect(Array.from(found.all)).toEqual(near(plain(() => true, usual)));
  expect(Array.from(found.scaled)).toEqual(near(plain(() => true, 2)));
  expect(Array.from(found.causal)).toEqual(near(plain((i, j) => j <= i, usual)));
  expect(Array.from(found.masked)).toEqual(near(plain(masked, usual)));
  // The second query sees itself alone.
  expect(Array.from(found.both)).toEqual(near(plain((i, j) => j <= i && masked(i, j), usual)));
  made.dispose();
});
