/**
 * @file Episodes of an evaluation, summed up.
 *
 * Keys are spelled as they stand in files: the result goes into metrics.jsonl and summary.json as it is.
 */
import { interquartileMean } from "./aggregate.ts";
import { mean, requireSamples, StatisticsError, std } from "./basic.ts";
import { type BootstrapOptions, bootstrap, type Interval } from "./bootstrap.ts";

export interface ReturnSummary {
  readonly episodes: number;
  readonly mean: number;
  /** Population form: over the number of episodes. */
  readonly std: number;
  readonly min: number;
  readonly max: number;
  /** Interquartile mean. */
  readonly iqm: number;
  /** 95 % bootstrap interval of the interquartile mean. */
  readonly ci: Interval;
  readonly mean_length: number;
}

/** The returns and lengths of whole episodes in numbers; the same for the same returns, every time. */
export function summarise(
  returns: ArrayLike<number>,
  lengths: ArrayLike<number>,
  options: BootstrapOptions = {},
): ReturnSummary {
  requireSamples("the summary of an evaluation", returns);
  if (lengths.length !== returns.length) {
    throw new StatisticsError(
      `there are ${returns.length} returns and ${lengths.length} lengths; one of each per episode`,
    );
  }
  const values = Array.from(returns);
  return {
    episodes: values.length,
    mean: mean(values),
    std: std(values),
    min: values.reduce((a, b) => Math.min(a, b)),
    max: values.reduce((a, b) => Math.max(a, b)),
    iqm: interquartileMean(values),
    ci: bootstrap([values], ([drawn]) => interquartileMean(drawn as Float64Array), options),
    mean_length: mean(lengths),
  };
}
