/**
 * @file Confidence intervals by the percentile bootstrap: samples are drawn again with replacement, many times, and the
 * interval spans the middle of what the statistic came out as.
 *
 * Draws come from a fixed seed, so that a report made twice from the same samples is the same. Strata (tasks, or the
 * two sides of a ratio) are each drawn again on their own, which keeps their sizes.
 */
import { HostStream } from "../random/host.ts";
import { mean, quantile, requireSamples, StatisticsError } from "./basic.ts";

export interface BootstrapOptions {
  /** How often samples are drawn again; 2,000 unless given. */
  readonly resamples?: number;
  /** The share of outcomes inside of the interval; 0.95 unless given. */
  readonly level?: number;
  readonly seed?: number;
}

/** The low and the high end. */
export type Interval = readonly [number, number];

const RESAMPLES = 2000;
const LEVEL = 0.95;
const SEED = 42;

function settings(options: BootstrapOptions): Required<BootstrapOptions> {
  const { resamples = RESAMPLES, level = LEVEL, seed = SEED } = options;
  if (!(Number.isInteger(resamples) && resamples >= 1)) {
    throw new StatisticsError(`resamples is ${resamples}; it must be a whole number of at least 1`);
  }
  if (!(level > 0 && level < 1)) throw new StatisticsError(`level is ${level}; it must lie between 0 and 1`);
  return { resamples, level, seed };
}

/** The ends between which the middle share of outcomes lies; sorts them. NaN outcomes give no interval. */
function middle(outcomes: Float64Array, level: number): Interval {
  outcomes.sort();
  const tail = (1 - level) / 2;
  return [quantile(outcomes, tail), quantile(outcomes, 1 - tail)];
}

/** The interval of a statistic of one or more strata; the statistic may sort or change the arrays it is given. */
export function bootstrap(
  strata: readonly ArrayLike<number>[],
  statistic: (drawn: readonly Float64Array[]) => number,
  options: BootstrapOptions = {},
): Interval {
  const { resamples, level, seed } = settings(options);
  for (const stratum of strata) requireSamples("a bootstrap", stratum);
  const stream = new HostStream(seed, 0);
  const drawn = strata.map((stratum) => new Float64Array(stratum.length));
  const outcomes = new Float64Array(resamples);
  for (let k = 0; k < resamples; k++) {
    drawn.forEach((again, s) => {
      const stratum = strata[s] as ArrayLike<number>;
      for (let i = 0; i < again.length; i++) again[i] = stratum[stream.below(stratum.length)] as number;
    });
    outcomes[k] = statistic(drawn);
  }
  return middle(outcomes, level);
}

/** Curves on common points, in mean and interval. */
export interface Band {
  readonly mean: readonly number[];
  readonly low: readonly number[];
  readonly high: readonly number[];
}

/** The means of one stratum at a point: of its curves as they are, and of each time they were drawn again. */
interface Redrawn {
  readonly mean: number;
  readonly again: (k: number) => number;
}

function redrawer(curves: readonly ArrayLike<number>[], resamples: number, stream: HostStream) {
  requireSamples("a band", curves.length === 0 ? [] : [0]);
  const count = curves.length;
  const chosen = Uint32Array.from({ length: resamples * count }, () => stream.below(count));
  return (point: number): Redrawn => {
    const here = Float64Array.from(curves, (curve) => curve[point] as number);
    const again = (k: number): number => {
      let total = 0;
      for (let i = k * count; i < (k + 1) * count; i++) total += here[chosen[i] as number] as number;
      return total / count;
    };
    return { mean: mean(here), again };
  };
}

/**
 * The mean of several curves at each of their points, with its interval; of several strata of curves, the mean of their
 * means. Whole curves are drawn again, the same ones for all points: neighbouring points belong to the same runs.
 */
export function bootstrapBand(strata: readonly (readonly ArrayLike<number>[])[], options: BootstrapOptions = {}): Band {
  const { resamples, level, seed } = settings(options);
  const stream = new HostStream(seed, 0);
  const redrawers = strata.map((curves) => redrawer(curves, resamples, stream));
  const points = strata[0]?.[0]?.length ?? 0;
  const band = { mean: [] as number[], low: [] as number[], high: [] as number[] };
  const outcomes = new Float64Array(resamples);
  for (let p = 0; p < points; p++) {
    const here = redrawers.map((at) => at(p));
    for (let k = 0; k < resamples; k++)
      outcomes[k] = here.reduce((total, { again }) => total + again(k), 0) / here.length;
    const [low, high] = middle(outcomes, level);
    band.mean.push(mean(here.map((stratum) => stratum.mean)));
    band.low.push(low);
    band.high.push(high);
  }
  return band;
}
