/**
 * The drawn numbers follow their distributions. Seeds are fixed; limits are those of one chance in about 1,000 or less.
 */
import { describe, expect, it } from "vitest";
import { Builder, constant } from "../../src/ir/build.ts";
import type { Expr } from "../../src/ir/nodes.ts";
import { HostStream } from "../../src/random/index.ts";
import { negativeLog, normalFrom } from "../../src/random/transforms.ts";
import {
  chiSquareDeviation,
  correlation,
  draws,
  kolmogorovSmirnov,
  moments,
  normalCdf,
  uniformDeviation,
} from "./statistics.ts";

const N = 100_000;
const KS_LIMIT = 1.95;
const LIMIT = 3.1;
/** The deviation of a mean of N numbers of deviation 1. */
const NOISE = 1 / Math.sqrt(N);

/** Counts of n draws of 0..cells-1. */
function tally(cells: number, n: number, draw: () => number): Float64Array {
  const counts = new Float64Array(cells);
  for (let k = 0; k < n; k++) {
    const at = draw();
    counts[at] = (counts[at] as number) + 1;
  }
  return counts;
}

describe("bits", () => {
  it("has every bit set in half of the draws, and no two bits alike", () => {
    const s = new HostStream(3, 1);
    const ones = new Float64Array(32);
    const pairs = new Float64Array(32);
    for (let k = 0; k < N; k++) {
      const word = s.bits();
      const next = word ^ ((word << 1) | (word >>> 31));
      for (let bit = 0; bit < 32; bit++) {
        ones[bit] = (ones[bit] as number) + ((word >>> bit) & 1);
        pairs[bit] = (pairs[bit] as number) + ((next >>> bit) & 1);
      }
    }
    for (const count of [...ones, ...pairs]) expect(Math.abs(count / N - 0.5)).toBeLessThan(4 * 0.5 * NOISE);
  });

  it("fills the cells of two draws in a row evenly", () => {
    const s = new HostStream(3, 2);
    expect(
      Math.abs(uniformDeviation(tally(4096, 2 * N, () => (s.bits() >>> 26) * 64 + (s.bits() >>> 26)))),
    ).toBeLessThan(LIMIT);
  });
});

describe("uniform", () => {
  it("is even on [0, 1)", () => {
    const s = new HostStream(4, 1);
    const sample = draws(N, () => s.uniform());
    expect(kolmogorovSmirnov(sample, (x) => x)).toBeLessThan(KS_LIMIT);
    expect(Math.min(...sample)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...sample)).toBeLessThan(1);
    const { mean, variance } = moments(sample);
    expect(Math.abs(mean - 0.5)).toBeLessThan(4 * Math.sqrt(1 / 12) * NOISE);
    expect(Math.abs(variance - 1 / 12)).toBeLessThan(4 * Math.sqrt(1 / 180) * NOISE);
  });

  it("is even between limits", () => {
    const s = new HostStream(4, 2);
    expect(
      kolmogorovSmirnov(
        draws(N, () => s.uniform(-3, 5)),
        (x) => (x + 3) / 8,
      ),
    ).toBeLessThan(KS_LIMIT);
  });
});

describe("int", () => {
  it.each([1, 2, 3, 7, 10, 64, 1000])("is even below %i", (n) => {
    const s = new HostStream(5, n);
    const counts = tally(n, N, () => s.int(n));
    expect(counts.length).toBe(n);
    if (n > 1) expect(Math.abs(uniformDeviation(counts))).toBeLessThan(LIMIT);
  });

  // Without rejection the residues would come out as 2 : 1 : 1 and 3 : 3 : 2.
  it.each([3 * 2 ** 30, 3 * 2 ** 29])("has no bias below %i", (n) => {
    const s = new HostStream(6, 1);
    expect(Math.abs(uniformDeviation(tally(3, N, () => s.below(n) % 3)))).toBeLessThan(LIMIT);
    expect(Math.abs(uniformDeviation(tally(64, N, () => Math.floor((s.below(n) / n) * 64))))).toBeLessThan(LIMIT);
  });
  it("has no bias below the largest such i32", () => {
    const s = new HostStream(6, 2);
    expect(Math.abs(uniformDeviation(tally(3, N, () => s.int(3 * 2 ** 29) % 3)))).toBeLessThan(LIMIT);
  });

  it("is 0 for no choice, and counts as a draw", () => {
    const s = new HostStream(6, 3);
    expect([s.int(0), s.int(-5), s.int(1), s.drawn]).toEqual([0, 0, 0, 3]);
  });
});

describe("normal", () => {
  const s = new HostStream(7, 1);
  const sample = draws(2 * N, () => s.normal());

  it("follows its distribution", () => {
    expect(kolmogorovSmirnov(sample, normalCdf)).toBeLessThan(KS_LIMIT);
    const noise = NOISE / Math.SQRT2;
    const { mean, variance, skewness, kurtosis } = moments(sample);
    expect(Math.abs(mean)).toBeLessThan(4 * noise);
    expect(Math.abs(variance - 1)).toBeLessThan(4 * Math.sqrt(2) * noise);
    expect(Math.abs(skewness)).toBeLessThan(4 * Math.sqrt(6) * noise);
    expect(Math.abs(kurtosis - 3)).toBeLessThan(4 * Math.sqrt(24) * noise);
  });

  it("has the right tails", () => {
    const edges = [-3.5, -3, -2.5, 2.5, 3, 3.5];
    const counts = tally(edges.length + 1, 0, () => 0);
    for (const x of sample) {
      const at = edges.filter((edge) => x >= edge).length;
      counts[at] = (counts[at] as number) + 1;
    }
    const below = (k: number): number => (k < 0 ? 0 : k >= edges.length ? 1 : normalCdf(edges[k] as number));
    const expected = (k: number): number => (below(k) - below(k - 1)) * sample.length;
    expect(Math.abs(chiSquareDeviation(counts, expected, edges.length))).toBeLessThan(LIMIT);
  });

  it("does not depend on the draw before", () => {
    const half = sample.length / 2;
    const even = draws(half, (k) => sample[2 * k] as number);
    const odd = draws(half, (k) => sample[2 * k + 1] as number);
    expect(Math.abs(correlation(even, odd))).toBeLessThan(4 * NOISE);
    expect(
      Math.abs(
        correlation(
          even.map((x) => x * x),
          odd.map((x) => x * x),
        ),
      ),
    ).toBeLessThan(4 * NOISE);
  });
});

describe("the transforms", () => {
  const b = new Builder();
  const u32 = (x: number): Expr => constant("u32", x);
  const folded = (e: Expr): number => (e.kind === "const" ? e.value : Number.NaN);
  const words = (seed: number): number[] => {
    const s = new HostStream(8, seed);
    const near = Array.from({ length: 2000 }, (_, k) => [k, 2 ** 32 - 1 - 37 * k, 2 ** (k % 32) + k]).flat();
    return [...near, ...Array.from({ length: 10_000 }, () => s.bits())].map((word) => word >>> 0);
  };
  const unit = (word: number): number => Math.fround(Math.fround(word) + 0.5) / 2 ** 32;

  it("takes logarithms to 2e-7", () => {
    for (const word of words(1)) {
      const exact = -Math.log(unit(word));
      expect(Math.abs(folded(negativeLog(b, u32(word))) - exact)).toBeLessThanOrEqual(2e-7 * exact);
    }
  });
  it("makes normal numbers to 4e-7", () => {
    const angles = words(3);
    words(2).forEach((word, k) => {
      const angle = angles[angles.length - 1 - k] as number;
      const exact = Math.sqrt(-2 * Math.log(unit(word))) * Math.sin((((angle | 0) / 2 ** 31) * Math.PI) / 2);
      expect(Math.abs(folded(normalFrom(b, u32(word), u32(angle))) - exact)).toBeLessThanOrEqual(
        4e-7 * Math.abs(exact),
      );
    });
  });
  it("is finite at the ends", () => {
    expect(folded(negativeLog(b, u32(0)))).toBeCloseTo(33 * Math.LN2, 5);
    expect(folded(negativeLog(b, u32(2 ** 32 - 1)))).toBe(0);
    expect(folded(normalFrom(b, u32(0), u32(2 ** 31)))).toBeCloseTo(-6.7637, 4);
    expect(folded(normalFrom(b, u32(0), u32(2 ** 31 - 1)))).toBeCloseTo(6.7637, 4);
  });
});

it("exponential follows its distribution", () => {
  const s = new HostStream(9, 1);
  const sample = draws(N, () => s.exponential());
  expect(kolmogorovSmirnov(sample, (x) => -Math.expm1(-x))).toBeLessThan(KS_LIMIT);
  const { mean, variance } = moments(sample);
  expect(Math.abs(mean - 1)).toBeLessThan(4 * NOISE);
  expect(Math.abs(variance - 1)).toBeLessThan(4 * Math.sqrt(8) * NOISE);
  expect(Math.min(...sample)).toBeGreaterThanOrEqual(0);
});

it.each([0.001, 0.3, 0.5, 0.97])("bernoulli is true with probability %f", (p) => {
  const s = new HostStream(10, 1);
  const hits = draws(N, () => Number(s.bernoulli(p))).reduce((sum, x) => sum + x, 0);
  expect(Math.abs(hits / N - p)).toBeLessThan(4 * Math.sqrt(p * (1 - p)) * NOISE);
});
it("bernoulli knows never and always", () => {
  const s = new HostStream(10, 2);
  for (let k = 0; k < 1000; k++) {
    expect([s.bernoulli(0), s.bernoulli(1), s.bernoulli(Number.NaN), s.bernoulli(-1)]).toEqual([
      false,
      true,
      false,
      false,
    ]);
  }
});

describe("categorical", () => {
  it.each([
    [[1, 2, 3, 4]],
    [[0, 5, 0, 1, 0]],
    [[1e-3, 1, 1e-2, Number.NaN, -4, 0.5]],
    [[1e30, 3e30]],
    [Array.from({ length: 100 }, (_, k) => k % 7)],
  ])("follows its weights %j", (weights) => {
    const s = new HostStream(11, weights.length);
    const positive = weights.map((w) => (w > 0 ? w : 0));
    const total = positive.reduce((sum, w) => sum + w, 0);
    const counts = tally(weights.length, N, () => s.categorical(weights));
    const choices = positive.filter((w) => w > 0).length;
    const deviation = chiSquareDeviation(counts, (k) => ((positive[k] as number) / total) * N, choices - 1);
    expect(Math.abs(deviation)).toBeLessThan(LIMIT);
  });

  it("always chooses something that has a weight", () => {
    const s = new HostStream(11, 100);
    for (let k = 0; k < 1000; k++) {
      // Smallest denormals: the share times the sum rounds up to the sum.
      expect(s.categorical([0, 1e-45, 0])).toBe(1);
      expect([1, 3]).toContain(s.categorical([0, 1, 0, 2e-7, 0]));
    }
    expect([s.categorical([]), s.categorical([0, 0]), s.categorical([0, 1], 1)]).toEqual([0, 0, 0]);
  });
});

describe("streams", () => {
  it("draws number n whatever was drawn before", () => {
    const draw = { bits: 0, uniform: 0, normal: 0, exponential: 0 };
    const kinds = Object.keys(draw) as (keyof typeof draw)[];
    const alone = kinds.map((kind, k) => {
      const s = new HostStream(12, 1);
      s.drawn = 20 + k;
      return s[kind]();
    });
    const s = new HostStream(12, 1);
    for (let k = 0; k < 20; k++) [() => s.below(2 ** 31 + 1), () => s.normal(), () => s.split()][k % 3]?.();
    expect(kinds.map((kind) => s[kind]())).toEqual(alone);
  });

  it("gives folded, split and repeated keys that are all different", () => {
    const seen = new Set<string>();
    const note = (s: HostStream): void => void seen.add(`${s.key0} ${s.key1}`);
    const parent = new HostStream(12, 2);
    for (let k = 0; k < 1000; k++) {
      note(parent.fold(k));
      note(parent.fold(-k - 1));
      note(parent.split());
    }
    expect(seen.size).toBe(3000);
    expect(parent.drawn).toBe(1000);
  });

  it("makes neighbouring streams independent", () => {
    const root = new HostStream(12, 3);
    const first = draws(N / 2, (k) => root.fold(k).normal());
    const second = draws(N / 2, (k) =>
      root
        .fold(k + 1)
        .fold(0)
        .normal(),
    );
    const limit = 4 * Math.SQRT2 * NOISE;
    expect(Math.abs(correlation(first.slice(1), first.slice(0, -1)))).toBeLessThan(limit);
    expect(Math.abs(correlation(first, second))).toBeLessThan(limit);
    expect(kolmogorovSmirnov(first, normalCdf)).toBeLessThan(KS_LIMIT);
  });

  it("wraps after 2^32 draws", () => {
    const s = new HostStream(12, 4);
    const first = s.bits();
    s.drawn = 2 ** 32 - 1;
    s.bits();
    expect(s.bits()).toBe(first);
  });
});
