/**
 * @file Charts with curves: several series, each with a band where it has one; joined points, or steps.
 *
 * Values that are not numbers leave gaps. A curve with more points than the picture can show keeps the lowest and the
 * highest of each column of pixels, so that files stay small and peaks stay visible.
 */
import {
  alongX,
  alongY,
  EDGE,
  heightOfXAxis,
  legendEntries,
  legendOf,
  nothingToShow,
  type Plot,
  titleOf,
  widestLabel,
  widthOfYAxis,
  xAxis,
  yAxis,
} from "./frame.ts";
import { GREATEST, type Scale, type ScaleKind, scaleOf } from "./scale.ts";
import { element, line, picture, rounded } from "./svg.ts";
import { type Stroke, strokeOf } from "./theme.ts";

export interface Series {
  /** Its name in the legend; a single series may have none (""). */
  readonly label: string;
  readonly x: readonly number[];
  readonly y: readonly number[];
  /** The band around it, point by point. */
  readonly low?: readonly number[] | undefined;
  readonly high?: readonly number[] | undefined;
  /** Which of the chart's colours it has; its own place among the series unless given. */
  readonly colour?: number;
}

export interface LineChartOptions {
  readonly title?: string;
  readonly series: readonly Series[];
  readonly xLabel?: string;
  readonly yLabel?: string;
  readonly xScale?: ScaleKind;
  readonly yScale?: ScaleKind;
  /** Ends that the axis has at least. */
  readonly xRange?: readonly [number, number];
  /** Values outside are drawn at its ends: for numbers with wild outliers. */
  readonly yRange?: readonly [number, number];
  /** The axis holds zero. */
  readonly fromZero?: boolean;
  /** Points are joined by steps: each value holds until the next. */
  readonly steps?: boolean;
  readonly width?: number;
  /** Grows when the legend has more than two rows. */
  readonly height?: number;
}

const WIDTH = 640;
const HEIGHT = 360;
/** Pixels for a tick, along each axis. */
const TICK_ROOM = { x: 80, y: 36 };
const MOST_Y_TICKS = 6;
/** Pixels for the legend within the height that was asked for. */
const LEGEND_ROOM = 40;

interface Spot {
  readonly x: number;
  readonly y: number;
}

/** Series with values within the range; those that cannot be shown are NaN. */
function limited(series: readonly Series[], [least, greatest]: readonly [number, number]): Series[] {
  const limit = (values: readonly number[] | undefined): number[] | undefined =>
    values?.map((value) => (Math.abs(value) <= GREATEST ? Math.min(Math.max(value, least), greatest) : Number.NaN));
  return series.map((one) => ({ ...one, y: limit(one.y) ?? [], low: limit(one.low), high: limit(one.high) }));
}

/** Whether the curve or the band has something to draw at point `k`. */
const isShownAt = ({ y, low, high }: Series, k: number): boolean =>
  Number.isFinite(y[k]) || (Number.isFinite(low?.[k]) && Number.isFinite(high?.[k]));

/** Runs of neighbouring spots that exist. */
function unbroken(spots: readonly Spot[]): Spot[][] {
  const runs: Spot[][] = [];
  let open: Spot[] = [];
  for (const spot of spots) {
    if (Number.isFinite(spot.x) && Number.isFinite(spot.y)) {
      if (open.length === 0) runs.push(open);
      open.push(spot);
    } else {
      open = [];
    }
  }
  return runs;
}

/** At most about four spots for a column of pixels: its first, lowest, highest and last. */
function thinned(spots: readonly Spot[], columns: number): readonly Spot[] {
  if (spots.length <= 4 * columns) return spots;
  const kept: Spot[] = [];
  let column: Spot[] = [];
  const close = (): void => {
    const [first, last] = [column[0], column[column.length - 1]];
    if (first === undefined || last === undefined) return;
    const lowest = column.reduce((a, b) => (b.y > a.y ? b : a));
    const highest = column.reduce((a, b) => (b.y < a.y ? b : a));
    kept.push(...column.filter((spot) => spot === first || spot === last || spot === lowest || spot === highest));
    column = [];
  };
  for (const spot of spots) {
    if (column.length > 0 && Math.floor(spot.x) !== Math.floor((column[0] as Spot).x)) close();
    column.push(spot);
  }
  close();
  return kept;
}

const written = ({ x, y }: Spot): string => `${rounded(x)} ${rounded(y)}`;

/** The path through spots, from point to point or in steps. */
function pathOf(spots: readonly Spot[], steps: boolean): string {
  return spots
    .map((spot, k) => {
      if (k === 0) return `M${written(spot)}`;
      return steps ? `H${rounded(spot.x)}V${rounded(spot.y)}` : `L${written(spot)}`;
    })
    .join("");
}

const spotsOf = (x: readonly number[], y: readonly number[], plot: Plot, xs: Scale, ys: Scale): Spot[] =>
  x.map((place, k) => ({ x: alongX(plot, xs, place), y: alongY(plot, ys, y[k] ?? Number.NaN) }));

function curveParts(spots: readonly Spot[], stroke: Stroke, steps: boolean, columns: number): string[] {
  return unbroken(spots).map((run) => {
    const [first] = run as [Spot];
    if (run.length === 1) return element("circle", { cx: first.x, cy: first.y, r: 2.5, fill: stroke.colour });
    return element("path", {
      d: pathOf(thinned(run, columns), steps),
      fill: "none",
      stroke: stroke.colour,
      "stroke-width": 1.8,
      "stroke-linejoin": "round",
      "stroke-dasharray": stroke.dash,
    });
  });
}

/** The band of a series, in pieces where it has gaps: along its upper edge and back along the lower one. */
function bandParts(low: readonly Spot[], high: readonly Spot[], colour: string, columns: number): string[] {
  const whole = (k: number): boolean =>
    [low[k], high[k]].every((spot) => spot !== undefined && Number.isFinite(spot.x) && Number.isFinite(spot.y));
  const masked = (edge: readonly Spot[]): Spot[] =>
    edge.map((spot, k) => (whole(k) ? spot : { x: spot.x, y: Number.NaN }));
  const [lower, upper] = [unbroken(masked(low)), unbroken(masked(high))];
  return upper.map((run, k) => {
    const back = [...thinned(lower[k] ?? [], columns)].reverse();
    const d = `${pathOf(thinned(run, columns), false)}${back.map((spot) => `L${written(spot)}`).join("")}Z`;
    return element("path", { d, fill: colour, "fill-opacity": 0.18 });
  });
}

function seriesParts(series: readonly Series[], steps: boolean, plot: Plot, xs: Scale, ys: Scale): string[] {
  const columns = plot.right - plot.left;
  const bands: string[] = [];
  const curves: string[] = [];
  series.forEach(({ x, y, low, high, colour }, k) => {
    const stroke = strokeOf(colour ?? k);
    const spots = (values: readonly number[]): Spot[] => spotsOf(x, values, plot, xs, ys);
    if (low && high) bands.push(...bandParts(spots(low), spots(high), stroke.colour, columns));
    curves.push(...curveParts(spots(y), stroke, steps, columns));
  });
  return [...bands, ...curves];
}

/** The chart as an SVG picture. */
export function lineChart(options: LineChartOptions): string {
  const { width = WIDTH, xLabel, yLabel, xRange = [], steps = false } = options;
  const series = limited(options.series, options.yRange ?? [-GREATEST, GREATEST]);
  const title = titleOf(options.title, width);
  const legend = legendOf(legendEntries(series), title.height, width);
  const top = title.height + legend.height + 6;
  const height = (options.height ?? HEIGHT) + Math.max(legend.height - LEGEND_ROOM, 0);
  const bottom = height - heightOfXAxis(xLabel);
  const label = options.title ?? "curves";
  const yCount = Math.min(Math.max(Math.floor((bottom - top) / TICK_ROOM.y), 2), MOST_Y_TICKS);
  const values = series.flatMap(({ y, low = [], high = [] }) => [...y, ...low, ...high]);
  const ys = scaleOf(options.fromZero ? [0, ...values] : values, {
    kind: options.yScale,
    count: yCount,
    ends: "padded",
  });
  const left = ys === undefined ? EDGE : widthOfYAxis(ys, yLabel);
  const xCount = Math.max(Math.floor((width - left - EDGE) / TICK_ROOM.x), 2);
  const places = series.flatMap((one) => one.x.filter((_, k) => isShownAt(one, k)));
  const xs = scaleOf(places.length === 0 ? [] : [...places, ...xRange], { kind: options.xScale, count: xCount });
  if (xs === undefined || ys === undefined) {
    return picture(width, height, label, [...title.parts, ...legend.parts, nothingToShow({ width, height })]);
  }
  const half = widestLabel(xs.ticks) / 2 + 4;
  const plot = { left: Math.max(left, half), top, right: width - Math.max(EDGE, half), bottom };
  return picture(width, height, label, [
    ...title.parts,
    ...legend.parts,
    ...xAxis(plot, xs, xLabel),
    ...yAxis(plot, ys, yLabel),
    line(plot.left, plot.bottom, plot.right, plot.bottom, "axis"),
    ...seriesParts(series, steps, plot, xs, ys),
  ]);
}
