import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { columns, cutToLength } from "../../src/charts/columns.ts";
import { formatCount, formatSeconds, formatShare, formatValue, grouped, tickLabels } from "../../src/charts/numbers.ts";
import { scaleOf } from "../../src/charts/scale.ts";
import { sparkline } from "../../src/charts/sparkline.ts";

describe("numbers", () => {
  test.each([
    [450.8, "450.8"],
    [-86.02, "-86.02"],
    [500, "500"],
    [12_345.6, "12,346"],
    [0, "0"],
    [0.0123, "0.0123"],
    [1.2e-4, "1.2e-4"],
    [3e12, "3e12"],
    [Number.NaN, "-"],
    [Number.NEGATIVE_INFINITY, "-inf"],
    [-0.0004999, "-5e-4"],
  ])("the value %d is %s", (value, text) => expect(formatValue(value)).toBe(text));

  test.each([
    [950, "950"],
    [12_345, "12.3k"],
    [1_050_000, "1.05M"],
    [999_999, "1M"],
    [1000, "1k"],
    [2.5e9, "2.5G"],
    [0, "0"],
    [100_000, "100k"],
    [Number.NaN, "-"],
  ])("the count %d is %s", (value, text) => expect(formatCount(value)).toBe(text));

  test.each([
    [0.0123, "12.3 ms"],
    [4.56, "4.56 s"],
    [200, "3 min 20 s"],
    [7500, "2 h 05 min"],
    [59.999, "60 s"],
    [3599.7, "1 h 00 min"],
  ])("%d seconds are %s", (seconds, text) => expect(formatSeconds(seconds)).toBe(text));

  test("shares and groups of three", () => {
    expect(formatShare(0.4213)).toBe("42.1 %");
    expect(grouped(-1_234_567.8, 1)).toBe("-1,234,567.8");
    expect(grouped(-0.01)).toBe("0");
    expect(grouped(999)).toBe("999");
  });

  test("labels of ticks have one form", () => {
    expect(tickLabels([0, 0.5, 1, 1.5], 0.5)).toEqual(["0", "0.5", "1.0", "1.5"]);
    expect(tickLabels([0, 2.5e5, 5e5, 1e6], 2.5e5)).toEqual(["0", "0.25M", "0.50M", "1.00M"]);
    expect(tickLabels([1e-4, 2e-4], 1e-4)).toEqual(["0.0001", "0.0002"]);
    expect(tickLabels([1e-5, 2e-5], 1e-5)).toEqual(["1e-5", "2e-5"]);
  });
});

describe("scales", () => {
  const range = fc.tuple(
    fc.double({ min: -1e12, max: 1e12, noNaN: true }),
    fc.double({ min: 1e-6, max: 1e9, noNaN: true }),
  );

  test("have round ticks in order, within their ends", () => {
    fc.assert(
      fc.property(
        range,
        fc.integer({ min: 2, max: 10 }),
        fc.constantFrom("tight", "padded", "ticks"),
        ([low, width], count, ends) => {
          fc.pre(width > Math.abs(low) * 1e-8);
          const scale = scaleOf([low, low + width], { count, ends: ends as "tight" | "padded" | "ticks" });
          const places = scale?.ticks.map(({ value }) => scale.place(value)) ?? [];
          expect(places.length).toBeLessThanOrEqual(count + 2);
          expect(places).toEqual([...places].sort((a, b) => a - b));
          for (const place of places) expect(Math.abs(place - 0.5)).toBeLessThanOrEqual(0.51);
          for (const value of [low, low + width])
            expect(Math.abs((scale?.place(value) ?? 2) - 0.5)).toBeLessThanOrEqual(0.5 + 1e-6);
        },
      ),
    );
  });

  test("do not go past zero to make room", () => {
    const scale = scaleOf([0.1, 500], { count: 5, ends: "padded" });
    expect([scale?.from, (scale?.to ?? 0) > 500]).toEqual([0, true]);
  });

  test("of logarithms have decades, and no place for what is not above zero", () => {
    const scale = scaleOf([1e-3, 100, -5, 0], { kind: "log", count: 6 });
    expect(scale?.ticks.map(({ label }) => label)).toEqual(["0.001", "0.01", "0.1", "1", "10", "100"]);
    expect(scale?.place(0)).toBeNaN();
    expect(scale?.place(Math.sqrt(1e-3 * 100))).toBeCloseTo(0.5, 12);
    expect(scaleOf([500, 90_000], { kind: "log", count: 5 })?.ticks.map(({ label }) => label)).toEqual([
      "1k",
      "3k",
      "10k",
      "30k",
    ]);
    expect(scaleOf([-1, 0], { kind: "log", count: 5 })).toBeUndefined();
  });
});

describe("sparklines", () => {
  test("go from low to high", () => {
    expect(sparkline([0, 1, 2, 3, 4, 5, 6, 7], 8)).toBe("▁▂▃▄▅▆▇█");
    expect(sparkline([7, 0], 8)).toBe("█▁");
    expect(sparkline([1, 1, 1], 3)).toBe("▄▄▄");
  });

  test("take means when there are more values than columns, and leave out what is missing", () => {
    expect(sparkline([0, 0, 10, 10], 2)).toBe("▁█");
    expect(sparkline([0, Number.NaN, 10], 3)).toBe("▁ █");
    expect(sparkline([Number.NaN], 5)).toBe(" ");
    expect(sparkline([], 5)).toBe("");
    expect(sparkline([1, 2], 0)).toBe("");
  });

  test("are never longer than asked for", () => {
    fc.assert(
      fc.property(fc.array(fc.double(), { maxLength: 300 }), fc.integer({ min: 0, max: 80 }), (values, width) => {
        expect(sparkline(values, width).length).toBe(Math.min(width, values.length));
      }),
    );
  });
});

describe("columns", () => {
  test("line up, on the right where numbers stand", () => {
    expect(
      columns(
        [
          ["name", "n"],
          ["a", "10"],
          ["long name", "5"],
        ],
        [1],
      ),
    ).toEqual(["name        n", "a          10", "long name   5"]);
  });

  test("are cut to a length", () => {
    expect(cutToLength("environment", 6)).toBe("envir…");
    expect(cutToLength("env", 6)).toBe("env");
  });
});
