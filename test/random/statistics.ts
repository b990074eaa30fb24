/**
 * @file Goodness of fit: chi-square and Kolmogorov-Smirnov statistics, scaled so that one limit serves all.
 */

/** How many standard deviations chi-square lies above its mean, by Wilson and Hilferty's cube root. */
export function chiSquareDeviation(
  counts: ArrayLike<number>,
  expected: (k: number) => number,
  freedom: number,
): number {
  let chi = 0;
  for (let k = 0; k < counts.length; k++) {
    const mean = expected(k);
    if (mean === 0 && counts[k] !== 0) return Number.POSITIVE_INFINITY;
    if (mean > 0) chi += ((counts[k] as number) - mean) ** 2 / mean;
  }
  const spread = 2 / (9 * freedom);
  return (Math.cbrt(chi / freedom) - (1 - spread)) / Math.sqrt(spread);
}

/** The same for equally likely outcomes. */
export function uniformDeviation(counts: ArrayLike<number>): number {
  let total = 0;
  for (let k = 0; k < counts.length; k++) total += counts[k] as number;
  return chiSquareDeviation(counts, () => total / counts.length, counts.length - 1);
}

/** sqrt(n) times the largest distance of the sample's distribution from `cdf`; above 1.95 in one of 1,000 samples. */
export function kolmogorovSmirnov(sample: Float64Array, cdf: (x: number) => number): number {
  const sorted = sample.slice().sort();
  const n = sorted.length;
  let distance = 0;
  sorted.forEach((x, k) => {
    const p = cdf(x);
    distance = Math.max(distance, p - k / n, (k + 1) / n - p);
  });
  return Math.sqrt(n) * distance;
}

export interface Moments {
  readonly mean: number;
  readonly variance: number;
  readonly skewness: number;
  readonly kurtosis: number;
}
export function moments(sample: Float64Array): Moments {
  const average = (f: (x: number) => number): number => sample.reduce((sum, x) => sum + f(x), 0) / sample.length;
  const mean = average((x) => x);
  const variance = average((x) => (x - mean) ** 2);
  return {
    mean,
    variance,
    skewness: average((x) => (x - mean) ** 3) / variance ** 1.5,
    kurtosis: average((x) => (x - mean) ** 4) / variance ** 2,
  };
}

export function correlation(x: Float64Array, y: Float64Array): number {
  const a = moments(x);
  const b = moments(y);
  const products = x.reduce((sum, v, k) => sum + (v - a.mean) * ((y[k] as number) - b.mean), 0);
  return products / x.length / Math.sqrt(a.variance * b.variance);
}

/** The normal distribution function, from the series of exp(-x^2 / 2) times the integral. */
export function normalCdf(x: number): number {
  if (Math.abs(x) > 7) return x > 0 ? 1 : 0;
  let term = x;
  let sum = x;
  for (let k = 1; k < 120; k++) {
    term *= (x * x) / (2 * k + 1);
    sum += term;
  }
  return 0.5 + (sum * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI);
}

export const draws = (n: number, draw: (k: number) => number): Float64Array =>
  Float64Array.from({ length: n }, (_, k) => draw(k));
