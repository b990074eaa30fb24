/**
 * @file A curve in one line of text.
 */
import { GREATEST } from "./scale.ts";

const LEVELS = "▁▂▃▄▅▆▇█";

/** The values in at most `width` characters: each is the mean of its part of them, a space where there is none. */
export function sparkline(values: readonly number[], width: number): string {
  const columns = Math.min(Math.max(Math.floor(width), 0), values.length);
  const means = Array.from({ length: columns }, (_, k) => {
    const part = values
      .slice(Math.floor((k * values.length) / columns), Math.floor(((k + 1) * values.length) / columns))
      .filter((value) => Math.abs(value) <= GREATEST);
    return part.reduce((sum, value) => sum + value, 0) / part.length;
  });
  const known = means.filter(Number.isFinite);
  const [least, greatest] = [Math.min(...known), Math.max(...known)];
  return means
    .map((value) => {
      if (!Number.isFinite(value)) return " ";
      if (least === greatest) return LEVELS[3];
      return LEVELS[Math.min(Math.floor(((value - least) / (greatest - least)) * LEVELS.length), LEVELS.length - 1)];
    })
    .join("");
}
