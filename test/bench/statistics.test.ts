import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { speedup, summarise } from "../../src/bench/statistics.ts";
import { median } from "../../src/stats/index.ts";

describe("summaries", () => {
  test("take unsorted samples", () => {
    expect(summarise([5, 1, 4, 2, 3])).toEqual({ median: 3, mean: 3, p25: 2, p75: 4, p99: 4.96, min: 1, max: 5 });
  });

  test("do not depend on the order of the samples", () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1e9, noNaN: true }), { minLength: 1 }), (samples) => {
        expect(median([...samples].reverse())).toBe(median(samples));
        const { min, p25, median: middle, p75, max } = summarise(samples);
        expect([min, p25, middle, p75, max]).toEqual([min, p25, middle, p75, max].sort((a, b) => a - b));
      }),
    );
  });
});

describe("speedup", () => {
  const spread = (centre: number): number[] => Array.from({ length: 41 }, (_, k) => centre * (1 + (k - 20) / 400));

  test("is the ratio of medians with an interval around it", () => {
    const { ratio, low, high } = speedup(spread(100), spread(300));
    expect(ratio).toBeCloseTo(3, 12);
    expect(low).toBeGreaterThan(2.9);
    expect(low).toBeLessThan(3);
    expect(high).toBeGreaterThan(3);
    expect(high).toBeLessThan(3.1);
  });

  test("has no width without spread", () => {
    expect(speedup([2, 2, 2], [8, 8, 8])).toEqual({ ratio: 4, low: 4, high: 4 });
  });

  test("is the same every time, and another seed gives another interval", () => {
    const ours = spread(1);
    const theirs = spread(1.01);
    expect(speedup(ours, theirs, 5)).toEqual(speedup(ours, theirs, 5));
    expect(speedup(ours, theirs, 5)).not.toEqual(speedup(ours, theirs, 6));
  });
});
