/**
 * @file Numbers for readers: three or four figures, thousands apart, k and M for counts.
 */

const UNITS: readonly (readonly [number, string])[] = [
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

/** 1234567.8 as 1,234,568 with no decimals. */
export function grouped(value: number, decimals = 0): string {
  const [whole = "", fraction] = Math.abs(value).toFixed(decimals).split(".");
  const apart = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  const isZero = Number(value.toFixed(decimals)) === 0;
  return `${value < 0 && !isZero ? "-" : ""}${apart}${fraction === undefined ? "" : `.${fraction}`}`;
}

/** Decimals that make about `figures` figures of a number. */
const decimalsFor = (value: number, figures: number): number =>
  Math.min(Math.max(figures - 1 - Math.floor(Math.log10(Math.abs(value))), 0), 6);

/** "-" for what is not a number, and the infinities by name. */
function special(value: number): string | undefined {
  if (Number.isNaN(value)) return "-";
  return Number.isFinite(value) ? undefined : value > 0 ? "inf" : "-inf";
}

/** A measured value: 450.8, -86.02, 0.0123, 12,345, 2.5e-7. */
export function formatValue(value: number): string {
  const named = special(value);
  if (named !== undefined) return named;
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (size < 1e-3 || size >= 1e9)
    return value
      .toExponential(2)
      .replace(/\.?0+e/, "e")
      .replace("e+", "e");
  const written = grouped(value, size < 1 ? decimalsFor(value, 3) : Math.min(decimalsFor(value, 4), 2));
  return written.includes(".") ? written.replace(/\.?0+$/, "") : written;
}

/** A count: 950, 12.3k, 1.05M. */
export function formatCount(value: number): string {
  const named = special(value);
  if (named !== undefined) return named;
  const found = UNITS.find(([unit]) => Math.abs(value) >= unit * 0.9995);
  if (found === undefined) return formatValue(Math.round(value * 100) / 100);
  const scaled = value / found[0];
  const written = grouped(scaled, decimalsFor(scaled, 3));
  return `${written.includes(".") ? written.replace(/\.?0+$/, "") : written}${found[1]}`;
}

/** 0.4213 as 42.1 %. */
export const formatShare = (share: number): string => (Number.isNaN(share) ? "-" : `${(share * 100).toFixed(1)} %`);

const MINUTE = 60;
const HOUR = 3600;

/** A duration: 12.3 ms, 4.56 s, 3 min 20 s, 2 h 05 min. */
export function formatSeconds(seconds: number): string {
  const named = special(seconds);
  if (named !== undefined) return named;
  if (seconds < 1) return `${formatValue(seconds * 1000)} ms`;
  if (seconds < MINUTE) return `${formatValue(seconds)} s`;
  const whole = Math.round(seconds);
  if (whole < HOUR) return `${Math.floor(whole / MINUTE)} min ${whole % MINUTE} s`;
  const minutes = Math.floor((whole % HOUR) / MINUTE);
  return `${Math.floor(whole / HOUR)} h ${String(minutes).padStart(2, "0")} min`;
}

/** Decimals that show a step: at most six, and none that would be zero in all labels. */
function decimalsOfStep(step: number): number {
  const isShown = (decimals: number): boolean => Math.abs(Number(step.toFixed(decimals)) - step) <= step / 100;
  return [0, 1, 2, 3, 4, 5].find(isShown) ?? 6;
}

/** The labels of ticks `step` apart: one unit and as many decimals as the step needs for all of them. */
export function tickLabels(values: readonly number[], step: number): string[] {
  const size = Math.max(...values.map(Math.abs), step);
  if ((step < 1e-4 && size < 1e-2) || size >= 1e13) {
    return values.map((value) => formatValue(Number(value.toPrecision(6))));
  }
  const [unit, name] = UNITS.find(([unit]) => size >= (unit === 1e3 ? 1e4 : unit)) ?? [1, ""];
  const decimals = decimalsOfStep(step / unit);
  return values.map((value) => (value === 0 ? "0" : `${grouped(value / unit, decimals)}${name}`));
}
