/**
 * @file Means, spreads and quantiles of samples: the numbers that everything else here is built from.
 *
 * Quantiles interpolate linearly between neighbouring samples. NaNs are not left out: who has missing values removes
 * them first, so that a number never stands for fewer samples than it seems to.
 */
import { LockstepError } from "../platform/errors.ts";

/** A statistic that the given samples do not have. */
export class StatisticsError extends LockstepError {
  override readonly name = "StatisticsError";
}

export function requireSamples(what: string, samples: ArrayLike<number>, least = 1): void {
  if (samples.length >= least) return;
  throw new StatisticsError(`${what} needs at least ${least} sample${least === 1 ? "" : "s"}, got ${samples.length}`);
}

export function sum(samples: ArrayLike<number>): number {
  let total = 0;
  for (let i = 0; i < samples.length; i++) total += samples[i] as number;
  return total;
}

export function mean(samples: ArrayLike<number>): number {
  requireSamples("a mean", samples);
  return sum(samples) / samples.length;
}

/** The mean squared distance from the mean, over the number of samples less `ddof` (0: population, 1: sample). */
export function variance(samples: ArrayLike<number>, ddof = 0): number {
  requireSamples("a variance", samples, ddof + 1);
  const centre = mean(samples);
  let total = 0;
  for (let i = 0; i < samples.length; i++) total += ((samples[i] as number) - centre) ** 2;
  return total / (samples.length - ddof);
}

export const std = (samples: ArrayLike<number>, ddof = 0): number => Math.sqrt(variance(samples, ddof));

/** The mean of logarithms, back on the scale of the samples: what ratios are averaged with. */
export const geometricMean = (samples: ArrayLike<number>): number =>
  Math.exp(mean(Float64Array.from(samples, (x) => Math.log(x))));

export const sortedCopy = (samples: ArrayLike<number>): Float64Array => Float64Array.from(samples).sort();

/** The value below which a share `q` (0 to 1) of the sorted samples lies. */
export function quantile(sorted: ArrayLike<number>, q: number): number {
  requireSamples("a quantile", sorted);
  const place = q * (sorted.length - 1);
  const below = sorted[Math.floor(place)] as number;
  const above = sorted[Math.ceil(place)] as number;
  return below + (above - below) * (place - Math.floor(place));
}

export const median = (samples: ArrayLike<number>): number => quantile(sortedCopy(samples), 0.5);
