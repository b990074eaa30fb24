/**
 * @file Whether two samples come from one distribution: the chi-square test of homogeneity, with a bound far out.
 */

/** Cells with fewer counts than this are put together: the statistic's distribution is known for full cells only. */
const LEAST_COUNT = 12;

/** Chi-square of two samples of counts, with its degrees of freedom. */
export function chiSquareOfTwo(
  a: ReadonlyMap<string, number>,
  b: ReadonlyMap<string, number>,
): { statistic: number; freedom: number } {
  const cells: [number, number][] = [];
  let rest: [number, number] = [0, 0];
  for (const key of new Set([...a.keys(), ...b.keys()])) {
    const cell: [number, number] = [a.get(key) ?? 0, b.get(key) ?? 0];
    if (cell[0] + cell[1] >= LEAST_COUNT) cells.push(cell);
    else rest = [rest[0] + cell[0], rest[1] + cell[1]];
  }
  if (rest[0] + rest[1] > 0) cells.push(rest);
  const total = cells.reduce<[number, number]>((sum, cell) => [sum[0] + cell[0], sum[1] + cell[1]], [0, 0]);
  const all = total[0] + total[1];
  let statistic = 0;
  for (const cell of cells)
    for (const side of [0, 1] as const) {
      const expected = ((cell[0] + cell[1]) * total[side]) / all;
      statistic += (cell[side] - expected) ** 2 / expected;
    }
  return { statistic, freedom: cells.length - 1 };
}

/** What the statistic exceeds once in three million times (Wilson and Hilferty's approximation at five sigma). */
export function chiSquareBound(freedom: number): number {
  if (freedom < 1) return 1e-9;
  const spread = 2 / (9 * freedom);
  return freedom * (1 - spread + 5 * Math.sqrt(spread)) ** 3;
}

/**
 * The largest distance between the share of a sample up to x and what it should be (Kolmogorov and Smirnov), in units
 * of 1 / sqrt(count).
 */
export function largestGap(sample: readonly number[], share: (x: number) => number): number {
  const count = sample.length;
  let gap = 0;
  [...sample]
    .sort((a, b) => a - b)
    .forEach((x, k) => {
      gap = Math.max(gap, Math.abs((k + 1) / count - share(x)), Math.abs(k / count - share(x)));
    });
  return gap * Math.sqrt(count);
}
/** What `largestGap` exceeds once in three million times, whatever the distribution. */
export const GAP_BOUND = 2.8;

/** The share of the standard normal distribution up to x, off by less than 1e-7 (Abramowitz and Stegun 26.2.17). */
export function normalShare(x: number): number {
  const t = 1 / (1 + 0.2316419 * Math.abs(x));
  const tail = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  const upper = (Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)) * tail;
  return x > 0 ? 1 - upper : upper;
}
