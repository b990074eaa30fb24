/**
 * @file What a bench computes from samples: their quantiles, and how many times faster one side is.
 *
 * The interval of a ratio is a bootstrap of both sides, drawn independently from a fixed seed.
 */
import { bootstrap, mean, median, quantile, sortedCopy } from "../stats/index.ts";

export interface Summary {
  readonly median: number;
  readonly mean: number;
  readonly p25: number;
  readonly p75: number;
  readonly p99: number;
  readonly min: number;
  readonly max: number;
}

export function summarise(samples: readonly number[]): Summary {
  const sorted = sortedCopy(samples);
  return {
    median: quantile(sorted, 0.5),
    mean: mean(sorted),
    p25: quantile(sorted, 0.25),
    p75: quantile(sorted, 0.75),
    p99: quantile(sorted, 0.99),
    min: quantile(sorted, 0),
    max: quantile(sorted, 1),
  };
}

export interface Ratio {
  /** median(baseline) / median(ours): above 1 when ours is faster. */
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
}

const RESAMPLES = 1000;

/** How many times faster `ours` is than `baseline`, with an interval: of 95 % unless another level is wanted. */
export function speedup(ours: readonly number[], baseline: readonly number[], seed = 1, level = 0.95): Ratio {
  const middle = (drawn: Float64Array | undefined): number => quantile((drawn ?? new Float64Array()).sort(), 0.5);
  const [low, high] = bootstrap([ours, baseline], ([o, b]) => middle(b) / middle(o), {
    resamples: RESAMPLES,
    seed,
    level,
  });
  return { ratio: median(baseline) / median(ours), low, high };
}
