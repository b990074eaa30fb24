/**
 * @file Scales: from values to places between 0 and 1, with ticks at round values.
 */
import { formatCount, formatValue, tickLabels } from "./numbers.ts";

export interface Tick {
  readonly value: number;
  readonly label: string;
}

export interface Scale {
  readonly from: number;
  readonly to: number;
  readonly ticks: readonly Tick[];
  /** 0 at `from`, 1 at `to`; NaN where the scale has no such value. */
  place(value: number): number;
}

export type ScaleKind = "linear" | "log";

/** Values beyond are not shown: their ranges would not be numbers. */
export const GREATEST = 1e300;

const STEPS = [1, 2, 2.5, 5, 10];

/** The round step that cuts a range into at most `count` parts. */
function roundStep(range: number, count: number): number {
  const raw = range / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const factor = STEPS.find((step) => step * power >= raw * (1 - 1e-9)) ?? 10;
  return factor * power;
}

/** Ranges that are narrower, against the size of their values, count as one value: their ticks would look the same. */
const NARROWEST = 1e-9;
const LEAST = 1e-300;

/** A range with some width: equal ends are moved apart. */
function widened(least: number, greatest: number): readonly [number, number] {
  const size = Math.max(Math.abs(least), Math.abs(greatest));
  if (greatest - least > Math.max(size * NARROWEST, LEAST)) return [least, greatest];
  const by = Math.abs(least) * 0.1 || 1;
  return [least - by, greatest + by];
}

/** How far an axis reaches: to the values themselves, a little further, or out to the next ticks. */
export type Ends = "tight" | "padded" | "ticks";

const PADDING = 0.05;

/** Both ends moved out a little, but not past zero. */
function padded(low: number, high: number): readonly [number, number] {
  const by = (high - low) * PADDING;
  return [low >= 0 ? Math.max(low - by, 0) : low - by, high <= 0 ? Math.min(high + by, 0) : high + by];
}

function linearScale(least: number, greatest: number, count: number, ends: Ends): Scale {
  const wide = widened(least, greatest);
  const [low, high] = ends === "padded" ? padded(...wide) : wide;
  const step = roundStep(high - low, Math.max(count, 1));
  const outwards = ends === "ticks";
  const first = outwards ? Math.floor(low / step + 1e-9) : Math.ceil(low / step - 1e-9);
  const last = outwards ? Math.ceil(high / step - 1e-9) : Math.floor(high / step + 1e-9);
  const values = Array.from({ length: Math.max(last - first + 1, 0) }, (_, k) =>
    Number(((first + k) * step).toPrecision(12)),
  );
  const [from, to] = outwards ? [first * step, last * step] : [low, high];
  const labels = tickLabels(values, step);
  return {
    from,
    to,
    ticks: values.map((value, k) => ({ value, label: labels[k] as string })),
    place: (value) => (Math.abs(value) > GREATEST ? Number.NaN : (value - from) / (to - from)),
  };
}

/** What ticks of a logarithmic scale are multiplied with within a decade: the fewer decades, the more ticks. */
function factorsWithin(decades: number): readonly number[] {
  return decades <= 1.5 ? [1, 2, 5] : decades <= 3 ? [1, 3] : [1];
}

const logLabel = (value: number): string => (value >= 1e3 ? formatCount(value) : formatValue(value));

/** Decades are read at a glance, so that they may stand closer than other ticks. */
const LOG_CROWDING = 1.5;

function logScale(least: number, greatest: number, count: number): Scale {
  const half = least < greatest ? 0 : 0.5;
  const [low, high] = [Math.log10(least) - half, Math.log10(greatest) + half];
  const factors = factorsWithin(high - low);
  const every = Math.max(Math.ceil((high - low) / Math.max(count * LOG_CROWDING, 1)), 1);
  const values: number[] = [];
  for (let power = Math.floor(low); power <= high + 1e-9; power++) {
    if (power % every !== 0) continue;
    for (const factor of factors) values.push(Number(`${factor}e${power}`));
  }
  const isInside = (value: number): boolean => Math.log10(value) >= low - 1e-9 && Math.log10(value) <= high + 1e-9;
  return {
    from: 10 ** low,
    to: 10 ** high,
    ticks: values.filter(isInside).map((value) => ({ value, label: logLabel(value) })),
    place: (value) => (value > 0 ? (Math.log10(value) - low) / (high - low) : Number.NaN),
  };
}

export interface ScaleOptions {
  readonly kind?: ScaleKind | undefined;
  /** At most about so many ticks. */
  readonly count: number;
  /** Of linear scales; "tight" unless given. */
  readonly ends?: Ends;
}

/** A scale that holds all values that it can have; undefined when there are none. */
export function scaleOf(
  values: Iterable<number>,
  { kind = "linear", count, ends = "tight" }: ScaleOptions,
): Scale | undefined {
  let [least, greatest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    if (!(Math.abs(value) <= GREATEST) || (kind === "log" && value <= 0)) continue;
    least = Math.min(least, value);
    greatest = Math.max(greatest, value);
  }
  if (least > greatest) return undefined;
  return kind === "log" ? logScale(least, greatest, count) : linearScale(least, greatest, count, ends);
}
