/**
 * @file Which rows a sample takes: kernels that write row numbers, and the key of a call.
 *
 * A sample is a pure function of the seed and the number of the call: the host turns both into a key (Threefry with its
 * 20 rounds), the kernel encrypts one counter per pair of rows and uses both words. It does so with 13 rounds, the
 * fewest for which the generator passes all batteries of tests: drawing rows is a third of the cost of a sample. A word
 * becomes a number below the count by the upper half of a product; the few words that would favour some numbers are
 * replaced by another draw, so that every row is exactly equally likely.
 */
import { constant, i32, inline } from "../kernel/declare.ts";
import { type Kernel, kernel } from "../kernel/kernel.ts";
import { threefry } from "../random/host.ts";

/** Words of the control array that the host fills before a call. */
export const CONTROL = { key0: 0, key1: 1, start: 2, count: 3, capacity: 4, limit: 5, stride: 6, newest: 7 } as const;
export const CONTROL_WORDS = 16;

/** Draws are written in pairs: the array for `size` of them has an even length. */
export const drawsLength = (size: number): number => size + (size & 1);

const rotate = inline((x: number, left: number) => (x << left) | (x >>> (32 - left)));

/**
 * Rows drawn with equal chances, with replacement, from `count` rows that begin at `start` and wrap at `capacity`.
 * Row i of the first half comes from the first word of counter i, row i of the second half from the second.
 */
export const drawRows = kernel(
  { control: i32.array(CONTROL_WORDS), draws: i32.array(), rotate },
  ({ control, draws, rotate }, { parallel, rng, mulHigh }) => {
    const k0 = control[0]!;
    const k1 = control[1]!;
    const k2 = k0 ^ k1 ^ 0x1bd11bda;
    const start = control[2]!;
    const count = control[3]! >>> 0;
    const capacity = control[4]!;
    const limit = control[5]! >>> 0;
    const half = draws.length >> 1;
    const group = (
      a: { x0: number; x1: number },
      keys: { first: number; second: number },
      r: { a: number; b: number; c: number; d: number },
    ) => {
      let x0 = a.x0;
      let x1 = a.x1;
      x0 = x0 + x1;
      x1 = rotate(x1, r.a) ^ x0;
      x0 = x0 + x1;
      x1 = rotate(x1, r.b) ^ x0;
      x0 = x0 + x1;
      x1 = rotate(x1, r.c) ^ x0;
      x0 = x0 + x1;
      x1 = rotate(x1, r.d) ^ x0;
      return { x0: x0 + keys.first, x1: x1 + keys.second };
    };
    const odd = { a: 13, b: 15, c: 26, d: 6 };
    const even = { a: 17, b: 29, c: 16, d: 24 };
    parallel(half, (i) => {
      const s1 = group({ x0: k0, x1: i + k1 }, { first: k1, second: k2 + 1 }, odd);
      const s2 = group(s1, { first: k2, second: k0 + 2 }, even);
      const s3 = group(s2, { first: k0, second: k1 + 3 }, odd);
      const x0 = s3.x0 + s3.x1;
      const x1 = rotate(s3.x1, 17) ^ x0;
      let first = mulHigh(x0 >>> 0, count) | 0;
      let second = mulHigh(x1 >>> 0, count) | 0;
      if (Math.imul(x0, count | 0) >>> 0 < limit) first = rng(k0 + 1, k1 + i).int(count | 0);
      if (Math.imul(x1, count | 0) >>> 0 < limit) second = rng(k0 + 2, k1 + i).int(count | 0);
      first = first + start;
      second = second + start;
      draws[i] = first >= capacity ? first - capacity : first;
      draws[half + i] = second >= capacity ? second - capacity : second;
    });
  },
  { name: "drawRows" },
);

/**
 * Looks up the rows of a pool that drawn transitions refer to: columns of their records, in words of four bytes. The
 * next observation is that of the transition in `after`.
 */
export function lookUpRows(stride: number, row: number, nextRow: number): Kernel {
  const at = constant({ stride, row, nextRow });
  return kernel(
    { draws: i32.array(), after: i32.array(), records: i32.array(), row: i32.array(), nextRow: i32.array(), at },
    ({ draws, after, records, row, nextRow, at }) => {
      for (let i = 0; i < draws.length; i++) {
        row[i] = records[draws[i]! * at.stride + at.row]!;
        nextRow[i] = records[after[i]! * at.stride + at.nextRow]!;
      }
    },
    { name: "lookUpRows" },
  ) as unknown as Kernel;
}

/** The seed of a buffer as key words. */
export interface SeedWords {
  readonly word0: number;
  readonly word1: number;
}
export const seedWords = (seed: number): SeedWords => ({
  word0: Math.floor(seed / 2 ** 32) >>> 0,
  word1: seed >>> 0,
});

const words = new Uint32Array(2);

/** Writes the key of a call to the control words. `attempt` tells repetitions of one call apart. */
export function writeKey(control: Int32Array, seed: SeedWords, call: number, attempt = 0): void {
  threefry(seed.word0, seed.word1, Math.floor(call / 2 ** 32) + attempt * 2 ** 20, call >>> 0, words);
  control[0] = words[0] as number;
  control[1] = words[1] as number;
}

/** Writes the window that rows are drawn from. */
export function writeWindow(control: Int32Array, start: number, count: number, capacity: number): void {
  if (control[3] !== count) {
    control[3] = count;
    control[5] = 2 ** 32 % count;
  }
  control[2] = start;
  control[4] = capacity;
}
