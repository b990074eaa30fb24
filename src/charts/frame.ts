/**
 * @file What stands around the data: title, legend, axes with their labels. It is laid out first, from the widths of
 * its text; what is left is the plot.
 */
import type { Scale, Tick } from "./scale.ts";
import { element, line, text } from "./svg.ts";
import { cutToWidth, type Stroke, strokeOf, TEXT, textWidth } from "./theme.ts";

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** A rectangle of the picture. */
export interface Plot {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

export const EDGE = 12;
const LEGEND_ROW = 18;
const SWATCH = 18;
const LEGEND_GAP = 14;
const LONGEST_LABEL = 0.9;

/** The title, cut to the width, and the height it takes. */
export function titleOf(
  title: string | undefined,
  width: number,
): { readonly parts: string[]; readonly height: number } {
  if (title === undefined) return { parts: [], height: EDGE };
  const shown = cutToWidth(title, width - 2 * EDGE, TEXT.title);
  return {
    parts: [text(EDGE, EDGE + TEXT.title - 2, shown, { size: TEXT.title, bold: true })],
    height: EDGE + TEXT.title + 10,
  };
}

export interface LegendEntry {
  readonly label: string;
  readonly stroke: Stroke;
  /** A filled square in place of a piece of line. */
  readonly filled?: boolean;
}

function swatch({ stroke, filled }: LegendEntry, x: number, y: number): string {
  if (filled) return element("rect", { x: x + 3, y: y - 9, width: 11, height: 11, rx: 2, fill: stroke.colour });
  const [y1, y2] = [y - 4, y - 4];
  const look = { stroke: stroke.colour, "stroke-width": 2.5, "stroke-dasharray": stroke.dash };
  return element("line", { x1: x, y1, x2: x + SWATCH - 4, y2, ...look });
}

/** Entries in rows from `top` on, as many in a row as fit, and the height they take. */
export function legendOf(
  entries: readonly LegendEntry[],
  top: number,
  width: number,
): { readonly parts: string[]; readonly height: number } {
  const parts: string[] = [];
  let [x, row] = [EDGE, 0];
  for (const entry of entries) {
    const shown = cutToWidth(entry.label, (width - 2 * EDGE - SWATCH) * LONGEST_LABEL, TEXT.label);
    const wide = SWATCH + textWidth(shown, TEXT.label);
    if (x > EDGE && x + wide > width - EDGE) {
      x = EDGE;
      row++;
    }
    const y = top + row * LEGEND_ROW + TEXT.label;
    parts.push(swatch(entry, x, y), text(x + SWATCH, y, shown, { size: TEXT.label }));
    x += wide + LEGEND_GAP;
  }
  return { parts, height: entries.length === 0 ? 0 : (row + 1) * LEGEND_ROW + 4 };
}

/** Series by their labels; nothing for a single one without a name. */
export const legendEntries = (
  series: readonly { readonly label: string; readonly colour?: number }[],
): LegendEntry[] =>
  series.length === 1 && series[0]?.label === ""
    ? []
    : series.map(({ label, colour }, k) => ({ label, stroke: strokeOf(colour ?? k) }));

export const widestLabel = (ticks: readonly Tick[]): number =>
  Math.max(0, ...ticks.map(({ label }) => textWidth(label, TEXT.tick)));

export const alongX = (plot: Plot, scale: Scale, value: number): number =>
  plot.left + scale.place(value) * (plot.right - plot.left);
export const alongY = (plot: Plot, scale: Scale, value: number): number =>
  plot.bottom - scale.place(value) * (plot.bottom - plot.top);

/** Ticks whose labels stand clear of each other: every one, every second, and so on. */
function clearTicks(plot: Plot, scale: Scale): readonly Tick[] {
  const { ticks } = scale;
  for (let every = 1; every < ticks.length; every++) {
    const kept = ticks.filter((_, k) => k % every === 0);
    let end = Number.NEGATIVE_INFINITY;
    const isClear = kept.every(({ value, label }) => {
      const [middle, half] = [alongX(plot, scale, value), textWidth(label, TEXT.tick) / 2];
      const clear = middle - half >= end + 6;
      end = middle + half;
      return clear;
    });
    if (isClear) return kept;
  }
  return ticks.slice(0, 1);
}

/** Vertical grid lines with labels below the plot, and what is measured along them. */
export function xAxis(plot: Plot, scale: Scale, label: string | undefined): string[] {
  const parts = clearTicks(plot, scale).flatMap(({ value, label: name }) => {
    const x = alongX(plot, scale, value);
    return [
      line(x, plot.top, x, plot.bottom, "grid"),
      text(x, plot.bottom + 15, name, { anchor: "middle", faint: true }),
    ];
  });
  if (label !== undefined) {
    const shown = cutToWidth(label, plot.right - plot.left, TEXT.label);
    const middle = (plot.left + plot.right) / 2;
    parts.push(text(middle, plot.bottom + 33, shown, { anchor: "middle", size: TEXT.label, faint: true }));
  }
  return parts;
}

export const heightOfXAxis = (label: string | undefined): number => (label === undefined ? 24 : 42);

/** Horizontal grid lines with labels on their left, and what is measured, upright, further left. */
export function yAxis(plot: Plot, scale: Scale, label: string | undefined): string[] {
  const parts = scale.ticks.flatMap(({ value, label: name }) => {
    const y = alongY(plot, scale, value);
    return [
      line(plot.left, y, plot.right, y, "grid"),
      text(plot.left - 6, y + 4, name, { anchor: "end", faint: true }),
    ];
  });
  if (label !== undefined) {
    const shown = cutToWidth(label, plot.bottom - plot.top, TEXT.label);
    const middle = (plot.top + plot.bottom) / 2;
    parts.push(text(EDGE + 8, middle, shown, { anchor: "middle", size: TEXT.label, faint: true, turn: -90 }));
  }
  return parts;
}

/** How much room the left side needs: labels of ticks, and the upright text. */
export const widthOfYAxis = (scale: Scale, label: string | undefined): number =>
  (label === undefined ? EDGE : EDGE + TEXT.label + 8) + widestLabel(scale.ticks) + 6;

/** Words in place of data. */
export const nothingToShow = ({ width, height }: Size): string =>
  text(width / 2, height / 2 + 4, "no data", { anchor: "middle", size: TEXT.label, faint: true });
