import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { barChart, type LineChartOptions, lineChart, sharesChart } from "../../src/charts/index.ts";
import { escapeXml } from "../../src/charts/svg.ts";
import { cutToWidth, strokeOf, textWidth } from "../../src/charts/theme.ts";
import { textBoxes, textFaults, xmlFault } from "./support.ts";

const texts = (svg: string): string[] => textBoxes(svg).map(({ content }) => content);
const paths = (svg: string): string[] => [...svg.matchAll(/<path d="([^"]*)" fill="none"/g)].map(([, d = ""]) => d);
const numbersIn = (path: string): number[] => (path.match(/-?\d+(\.\d+)?/g) ?? []).map(Number);
const points = (count: number): number[] => Array.from({ length: count }, (_, k) => k);

const value = fc.oneof(
  { weight: 8, arbitrary: fc.double({ min: -1e7, max: 1e7 }) },
  { weight: 1, arbitrary: fc.double() },
);
const label = fc.oneof(fc.string({ maxLength: 120 }), fc.string({ unit: "grapheme", maxLength: 60 }));

describe("line charts", () => {
  test("are whole and legible whatever they show", () => {
    const series = fc.record({
      label,
      x: fc.array(value, { maxLength: 20 }),
      y: fc.array(value, { maxLength: 20 }),
      low: fc.array(value, { maxLength: 20 }),
      high: fc.array(value, { maxLength: 20 }),
    });
    const chart: fc.Arbitrary<LineChartOptions> = fc.record({
      series: fc.array(series, { maxLength: 12 }),
      title: label,
      xLabel: label,
      yLabel: label,
      xScale: fc.constantFrom("linear", "log"),
      yScale: fc.constantFrom("linear", "log"),
      steps: fc.boolean(),
      fromZero: fc.boolean(),
      width: fc.integer({ min: 280, max: 1200 }),
      height: fc.integer({ min: 200, max: 600 }),
    });
    fc.assert(
      fc.property(chart, (options) => {
        const svg = lineChart(options);
        expect(xmlFault(svg)).toBe("");
        expect(textFaults(svg)).toEqual([]);
        expect(svg).not.toMatch(/NaN|Infinity|undefined/);
      }),
      { numRuns: 300 },
    );
  });

  test("put values where they belong", () => {
    const svg = lineChart({ series: [{ label: "", x: [0, 50, 100], y: [0, 10, 5] }] });
    const [x0, y0, x1, y1, x2, y2] = numbersIn(paths(svg)[0] ?? "") as [number, number, number, number, number, number];
    expect(x1 - x0).toBeCloseTo(x2 - x1, 1);
    expect(y0 - y1).toBeCloseTo(2 * (y0 - y2), 1);
    expect(y1).toBeLessThan(y0);
  });

  test("leave gaps where there are no values", () => {
    const y = [1, 2, Number.NaN, 3, 4, Number.POSITIVE_INFINITY, 5];
    const svg = lineChart({ series: [{ label: "", x: points(7), y }] });
    expect(paths(svg)).toHaveLength(2);
    expect(svg.match(/<circle/g)).toHaveLength(1);
  });

  test("leave out what is too large for any scale", () => {
    const band = { low: [0, 0], high: [0, 0] };
    const svg = lineChart({ series: [{ label: "", x: [0, -1.0772854334071318e304], y: [0], ...band }] });
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
  });

  test("have room for bands where there is no curve", () => {
    const svg = lineChart({
      series: [
        { label: "", x: [-2e65], y: [], low: [0], high: [0] },
        { label: "", x: [3e-238], y: [0] },
      ],
    });
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
  });

  test("say when there is nothing to show", () => {
    const empty = [[], [Number.NaN, Number.NaN]].map((y) => lineChart({ series: [{ label: "", x: points(2), y }] }));
    for (const svg of empty) expect(texts(svg)).toEqual(["no data"]);
    expect(texts(lineChart({ series: [] }))).toEqual(["no data"]);
  });

  test("draw one band for each unbroken piece of it", () => {
    const svg = lineChart({
      series: [{ label: "", x: points(5), y: points(5), low: [0, 0, Number.NaN, 2, 3], high: [1, 2, 3, 4, 5] }],
    });
    expect(svg.match(/fill-opacity="0.18"/g)).toHaveLength(2);
  });

  test("name several series, and one that has a name", () => {
    const one = { x: [0, 1], y: [0, 1] };
    expect(texts(lineChart({ series: [{ label: "ppo", ...one }] }))).toContain("ppo");
    expect(
      texts(
        lineChart({
          series: [
            { label: "ppo", ...one },
            { label: "a2c", ...one },
          ],
        }),
      ),
    ).toEqual(expect.arrayContaining(["ppo", "a2c"]));
  });

  test("keep the peaks of long curves, in few points", () => {
    const y = points(100_000).map((k) => (k === 54_321 ? 100 : Math.sin(k)));
    const svg = lineChart({ series: [{ label: "", x: points(100_000), y }] });
    const calm = lineChart({ series: [{ label: "", x: points(100), y: points(100).map(Math.sin) }] });
    expect(svg.length).toBeLessThan(60_000);
    const highest = (picture: string): number =>
      Math.min(...numbersIn(paths(picture)[0] ?? "").filter((_, k) => k % 2 === 1));
    expect(highest(svg)).toBeLessThan(highest(calm) + 30);
  });

  test("count steps in thousands and millions", () => {
    const upTo = (steps: number): string[] => texts(lineChart({ series: [{ label: "", x: [0, steps], y: [0, 1] }] }));
    expect(upTo(1e6)).toEqual(expect.arrayContaining(["0.2M", "1.0M"]));
    expect(upTo(1e5)).toEqual(expect.arrayContaining(["20k", "100k"]));
    expect(upTo(5000)).toEqual(expect.arrayContaining(["1,000", "5,000"]));
  });

  test("hold the ends of a range, and values within another", () => {
    const series = [{ label: "", x: [40, 60], y: [-1000, 0.5] }];
    const svg = lineChart({ series, xRange: [0, 100], yRange: [-1, 1] });
    expect(texts(svg)).toEqual(expect.arrayContaining(["0", "100", "-1.0", "0.5"]));
  });

  test("with steps go along before they go up", () => {
    const svg = lineChart({ steps: true, series: [{ label: "", x: [0, 1], y: [0, 1] }] });
    expect(paths(svg)[0]).toMatch(/^M[\d.]+ [\d.]+H[\d.]+V[\d.]+$/);
  });
});

describe("bar charts", () => {
  test("are whole and legible whatever they show", () => {
    const bar = fc.record({ label, value, low: value, high: value });
    fc.assert(
      fc.property(
        fc.array(bar, { maxLength: 12 }),
        label,
        fc.integer({ min: 280, max: 1200 }),
        (bars, title, width) => {
          const svg = barChart({ title, bars, width, xLabel: "return" });
          expect(xmlFault(svg)).toBe("");
          expect(textFaults(svg)).toEqual([]);
          expect(svg).not.toMatch(/NaN|Infinity|undefined/);
        },
      ),
      { numRuns: 200 },
    );
  });

  test("are as long as their values, from zero on", () => {
    const svg = barChart({
      bars: [
        { label: "a", value: 10 },
        { label: "b", value: -5 },
      ],
    });
    const [first, second] = [...svg.matchAll(/<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"/g)].map(
      ([, x, width]) => ({
        x: Number(x),
        width: Number(width),
      }),
    );
    expect(first?.width).toBeCloseTo(2 * (second?.width ?? 0), 1);
    expect((second?.x ?? 0) + (second?.width ?? 0)).toBeCloseTo(first?.x ?? 0, 1);
  });

  test("have error bars where both ends are known, and a line to compare with", () => {
    const svg = barChart({
      bars: [
        { label: "a", value: 1, low: 0.5, high: 2 },
        { label: "b", value: 1 },
      ],
      reference: 0.5,
    });
    expect(paths(svg)).toHaveLength(1);
    expect(svg.match(/stroke-dasharray="4 3"/g)).toHaveLength(1);
  });
});

describe("shares", () => {
  const shares = [
    { label: "environment", value: 3 },
    { label: "update", value: 1 },
    { label: "lost", value: Number.NaN },
  ];

  test("fill the bar and are named with their part", () => {
    const svg = sharesChart({ shares, width: 424 });
    const widths = [...svg.matchAll(/<rect x="[\d.]+" y="[\d.]+" width="([\d.]+)" height="26"/g)].map(([, w]) =>
      Number(w),
    );
    expect(widths).toEqual([300, 100, 0]);
    expect(texts(svg)).toEqual(["environment 75.0 % (3)", "update 25.0 % (1)", "lost 0.0 % (0)"]);
    expect([xmlFault(svg), textFaults(svg)]).toEqual(["", []]);
  });

  test("of nothing are not drawn", () => {
    expect(texts(sharesChart({ shares: [] }))).toEqual(["no data"]);
  });
});

describe("text", () => {
  test("is escaped, and has no characters that XML does not know", () => {
    expect(escapeXml(`<a href="x">&'`)).toBe("&#60;a href=&#34;x&#34;&#62;&#38;&#39;");
    expect(escapeXml("a\u0000b\ud800c")).toBe("a\ufffdb\ufffdc");
    expect(escapeXml("\u{1f600}")).toBe("\u{1f600}");
    const svg = lineChart({ title: `<script>alert("1")</script>`, series: [] });
    expect(svg).not.toContain("<script");
    expect(xmlFault(svg)).toBe("");
  });

  test("is cut where there is no room", () => {
    fc.assert(
      fc.property(label, fc.integer({ min: 20, max: 300 }), (text, width) => {
        expect(textWidth(cutToWidth(text, width, 12), 12)).toBeLessThanOrEqual(width);
      }),
    );
    expect(cutToWidth("short", 200, 12)).toBe("short");
    expect(cutToWidth("a label that is long", 60, 12)).toMatch(/^a l.*…$/);
  });

  test("series have looks of their own", () => {
    const looks = points(32).map((k) => JSON.stringify(strokeOf(k)));
    expect(new Set(looks).size).toBe(32);
  });
});
