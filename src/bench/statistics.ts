/**
 * @file What is computed from samples: percentiles, and the confidence interval of a ratio of medians.
 *
 * Percentiles interpolate linearly between neighbouring samples. The interval is a percentile bootstrap: both sides
 * are drawn again with replacement, independently. Draws come from a fixed seed, so that a report made twice from
 * the same samples is the same.
 */

export interface Summary {
  readonly median: number;
  readonly mean: number;
  readonly p25: number;
  readonly p75: number;
  readonly p99: number;
  readonly min: number;
  readonly max: number;
}

/** The value below which a share `q` (0 to 1) of the sorted samples lies. */
export function percentile(sorted: ArrayLike<number>, q: number): number {
  if (sorted.length === 0) throw new RangeError("percentile of no samples");
  const place = q * (sorted.length - 1);
  const below = sorted[Math.floor(place)] ?? Number.NaN;
  const above = sorted[Math.ceil(place)] ?? Number.NaN;
  return below + (above - below) * (place - Math.floor(place));
}

const sortedCopy = (samples: readonly number[]): Float64Array => Float64Array.from(samples).sort();

export const median = (samples: readonly number[]): number => percentile(sortedCopy(samples), 0.5);

export function summarise(samples: readonly number[]): Summary {
  const sorted = sortedCopy(samples);
  return {
    median: percentile(sorted, 0.5),
    mean: sorted.reduce((sum, x) => sum + x, 0) / sorted.length,
    p25: percentile(sorted, 0.25),
    p75: percentile(sorted, 0.75),
    p99: percentile(sorted, 0.99),
    min: percentile(sorted, 0),
    max: percentile(sorted, 1),
  };
}

/** Uniform integers below a limit, from a seed: a 32-bit counter through a bit mixer. */
function drawer(seed: number): (limit: number) => number {
  let counter = seed >>> 0;
  return (limit) => {
    counter = (counter + 0x9e3779b9) >>> 0;
    let x = counter;
    x = Math.imul(x ^ (x >>> 16), 0x21f0aaad);
    x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
    x = (x ^ (x >>> 15)) >>> 0;
    return Math.floor((x / 0x1_0000_0000) * limit);
  };
}

function resampledMedian(samples: readonly number[], draw: (limit: number) => number): number {
  const again = new Float64Array(samples.length);
  for (let i = 0; i < again.length; i++) again[i] = samples[draw(samples.length)] ?? Number.NaN;
  return percentile(again.sort(), 0.5);
}

export interface Ratio {
  /** median(baseline) / median(ours): above 1 when ours is faster. */
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
}

const RESAMPLES = 1000;

/** How many times faster `ours` is than `baseline`, with a 95 % interval. */
export function speedup(ours: readonly number[], baseline: readonly number[], seed = 1): Ratio {
  const draw = drawer(seed);
  const ratios = new Float64Array(RESAMPLES);
  for (let k = 0; k < RESAMPLES; k++) ratios[k] = resampledMedian(baseline, draw) / resampledMedian(ours, draw);
  ratios.sort();
  return {
    ratio: median(baseline) / median(ours),
    low: percentile(ratios, 0.025),
    high: percentile(ratios, 0.975),
  };
}
