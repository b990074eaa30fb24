/**
 * @file Curves measured at different places, brought to common ones.
 */
import { StatisticsError } from "./basic.ts";

/** A curve as pairs of numbers; x rises. */
export interface Curve {
  readonly x: readonly number[];
  readonly y: readonly number[];
}

/** `count` places from `from` to `to`, evenly spaced, both ends included. */
export function spaced(from: number, to: number, count: number): number[] {
  if (count === 1) return [to];
  return Array.from({ length: count }, (_, k) => (k === count - 1 ? to : from + ((to - from) * k) / (count - 1)));
}

/** The curve at other places, in rising order: on the line between neighbours, NaN outside of what was measured. */
export function interpolate({ x, y }: Curve, at: readonly number[]): number[] {
  if (x.length !== y.length) throw new StatisticsError(`a curve has ${x.length} places and ${y.length} values`);
  let next = 0;
  return at.map((place) => {
    while (next < x.length && (x[next] as number) < place) next++;
    if (next === x.length) return Number.NaN;
    const [right, value] = [x[next] as number, y[next] as number];
    if (right === place) return value;
    if (next === 0) return Number.NaN;
    const [left, before] = [x[next - 1] as number, y[next - 1] as number];
    return before + ((value - before) * (place - left)) / (right - left);
  });
}
