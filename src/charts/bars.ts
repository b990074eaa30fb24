/**
 * @file Charts with bars: one bar a row with its label on the left and its value on the right, and a single bar cut into
 * shares. Lying bars leave room for long labels, and the picture grows with their number.
 */
import {
  alongX,
  EDGE,
  heightOfXAxis,
  legendOf,
  nothingToShow,
  type Plot,
  titleOf,
  widestLabel,
  xAxis,
} from "./frame.ts";
import { formatShare, formatValue } from "./numbers.ts";
import { GREATEST, type Scale, scaleOf } from "./scale.ts";
import { element, line, picture, text } from "./svg.ts";
import { AXIS, CLASSES, cutToWidth, FAINT_INK, strokeOf, TEXT, textWidth } from "./theme.ts";

export interface Bar {
  readonly label: string;
  readonly value: number;
  /** The ends of its error bar. */
  readonly low?: number;
  readonly high?: number;
  /** Which of the chart's colours it has; its own place among the bars unless given. */
  readonly colour?: number;
}

export interface BarChartOptions {
  readonly title?: string;
  readonly bars: readonly Bar[];
  readonly xLabel?: string;
  /** A line across all bars, at a value to compare with. */
  readonly reference?: number;
  /** Ends that the axis has at least. */
  readonly range?: readonly [number, number];
  /** How values are written beside bars. */
  readonly format?: (value: number) => string;
  readonly width?: number;
}

const WIDTH = 640;
const ROW = 30;
const THICKNESS = 16;
const WIDEST_LABEL = 0.4;
const TICK_ROOM = 80;

const isShown = (value: number | undefined): value is number => value !== undefined && Math.abs(value) <= GREATEST;

function errorBar(x1: number, x2: number, y: number): string {
  const d = `M${x1} ${y - 4}V${y + 4}M${x1} ${y}H${x2}M${x2} ${y - 4}V${y + 4}`;
  return element("path", { d, fill: "none", class: CLASSES.axis, stroke: FAINT_INK, "stroke-width": 1.5 });
}

function barParts(bar: Bar, k: number, plot: Plot, scale: Scale): string[] {
  const y = plot.top + k * ROW + ROW / 2;
  if (!isShown(bar.value)) return [];
  const [zero, end] = [alongX(plot, scale, 0), alongX(plot, scale, bar.value)];
  const { colour } = strokeOf(bar.colour ?? k);
  const body = { x: Math.min(zero, end), y: y - THICKNESS / 2, width: Math.abs(end - zero), height: THICKNESS };
  const parts = [element("rect", { ...body, rx: 2, fill: colour, "fill-opacity": 0.85 })];
  const { low, high } = bar;
  if (isShown(low) && isShown(high)) {
    parts.push(errorBar(Math.round(alongX(plot, scale, low)), Math.round(alongX(plot, scale, high)), y));
  }
  return parts;
}

/** Where the text of a row stands. */
const baseline = (top: number, k: number): number => top + k * ROW + ROW / 2 + 4;

/** A dashed line across the bars. */
function referencePart(plot: Plot, scale: Scale, value: number): string {
  const x = alongX(plot, scale, value);
  const look = { class: CLASSES.axis, stroke: AXIS, "stroke-dasharray": "4 3", "stroke-width": 1.5 };
  return element("line", { x1: x, y1: plot.top, x2: x, y2: plot.bottom, ...look });
}

/** The chart as an SVG picture. */
export function barChart(options: BarChartOptions): string {
  const { bars, xLabel, reference, range = [], width = WIDTH, format = formatValue } = options;
  const title = titleOf(options.title, width);
  const top = title.height;
  const bottom = top + Math.max(bars.length, 1) * ROW;
  const height = bottom + heightOfXAxis(xLabel);
  const label = options.title ?? "bars";
  const cut = bars.map((bar) => cutToWidth(bar.label, width * WIDEST_LABEL, TEXT.label));
  const values = bars.map((bar) => format(bar.value));
  const widest = (texts: readonly string[]): number => Math.max(0, ...texts.map((t) => textWidth(t, TEXT.label)));
  const [left, right] = [EDGE + widest(cut) + 8, width - EDGE - widest(values) - 8];
  const ends = bars.flatMap(({ value, low = value, high = value }) => (isShown(value) ? [value, low, high] : []));
  const count = Math.max(Math.floor((right - left) / TICK_ROOM), 2);
  const all = ends.length === 0 ? [] : [0, ...ends, ...range, ...(reference === undefined ? [] : [reference])];
  const scale = scaleOf(all, { count, ends: "ticks" });
  if (scale === undefined) return picture(width, height, label, [...title.parts, nothingToShow({ width, height })]);
  const half = widestLabel(scale.ticks) / 2 + 4;
  const plot = { left: Math.max(left, half), top, right: Math.min(right, width - half), bottom };
  const zero = alongX(plot, scale, 0);
  return picture(width, height, label, [
    ...title.parts,
    ...xAxis(plot, scale, xLabel),
    ...bars.flatMap((bar, k) => barParts(bar, k, plot, scale)),
    line(zero, top, zero, bottom, "axis"),
    ...(reference === undefined ? [] : [referencePart(plot, scale, reference)]),
    ...cut.map((name, k) => text(left - 8, baseline(top, k), name, { anchor: "end", size: TEXT.label })),
    ...values.map((value, k) => text(right + 8, baseline(top, k), value, { size: TEXT.label })),
  ]);
}

export interface Share {
  readonly label: string;
  readonly value: number;
}

export interface SharesChartOptions {
  readonly title?: string;
  readonly shares: readonly Share[];
  readonly format?: (value: number) => string;
  readonly width?: number;
}

const SHARES_THICKNESS = 26;

/** One bar cut into shares, named below it with their values and percentages. Values below zero count as none. */
export function sharesChart(options: SharesChartOptions): string {
  const { width = WIDTH, format = formatValue } = options;
  const shares = options.shares.map(({ label, value }) => ({ label, value: value > 0 ? value : 0 }));
  const total = shares.reduce((sum, { value }) => sum + value, 0);
  const title = titleOf(options.title, width);
  const label = options.title ?? "shares";
  if (!(total > 0 && Number.isFinite(total))) {
    const height = title.height + SHARES_THICKNESS + EDGE;
    return picture(width, height, label, [...title.parts, nothingToShow({ width, height: height + title.height })]);
  }
  const room = width - 2 * EDGE;
  let x = EDGE;
  const bar = shares.map(({ value }, k) => {
    const wide = (value / total) * room;
    const part = { x, y: title.height, width: wide, height: SHARES_THICKNESS };
    x += wide;
    return element("rect", { ...part, fill: strokeOf(k).colour });
  });
  const entries = shares.map((share, k) => ({
    label: `${share.label} ${formatShare(share.value / total)} (${format(share.value)})`,
    stroke: strokeOf(k),
    filled: true,
  }));
  const legend = legendOf(entries, title.height + SHARES_THICKNESS + 10, width);
  const height = title.height + SHARES_THICKNESS + 10 + legend.height + EDGE / 2;
  return picture(width, height, label, [...title.parts, ...bar, ...legend.parts]);
}
