/**
 * @file Numbers for a display that changes: short, and no more figures than the eye can follow.
 */
import { formatCount } from "../../charts/numbers.ts";

/** 12345 per second as 12.3 k/s. */
export const formatRate = (perSecond: number): string =>
  Number.isFinite(perSecond) ? formatCount(perSecond).replace(/[kMG]?$/, (unit) => ` ${unit}/s`) : "-";

/** Units with the lesser one that stands behind them, and their seconds. */
const UNITS: readonly (readonly [unit: string, seconds: number, lesser: string, lesserSeconds: number])[] = [
  ["d", 86_400, "h", 3600],
  ["h", 3600, "m", 60],
  ["m", 60, "s", 1],
];

/** 4.2s, 42s, 1m 05s, 2h 03m, 3d 04h. */
export function formatDuration(seconds: number): string {
  if (!Number.isFinite(seconds)) return "-";
  // What would be rounded to 10.0 is a whole number already.
  if (seconds < 9.95) return `${Math.max(0, seconds).toFixed(1)}s`;
  const whole = Math.round(seconds);
  const found = UNITS.find(([, size]) => whole >= size);
  if (found === undefined) return `${whole}s`;
  const [unit, size, lesser, lesserSize] = found;
  const rest = String(Math.floor((whole % size) / lesserSize)).padStart(2, "0");
  return `${Math.floor(whole / size)}${unit} ${rest}${lesser}`;
}

/** A text from elsewhere without the characters that would move a terminal's cursor. */
export const printable = (text: string): string => text.replaceAll(/\p{Cc}+/gu, " ");
