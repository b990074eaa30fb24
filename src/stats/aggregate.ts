/**
 * @file Scores of several runs on several tasks in one number: interquartile mean, median, mean, optimality gap,
 * performance profiles and the probability of improvement.
 *
 * Two conventions are in use for some of them, named after the packages they are known from: "rliable" (the default
 * everywhere) and "rlox". They differ in what counts as the middle half, in ties, and in the optimality gap.
 */
import { mean, median, requireSamples, sortedCopy } from "./basic.ts";
import { type BootstrapOptions, bootstrap, type Interval } from "./bootstrap.ts";

export type Convention = "rliable" | "rlox";

/** Scores by task, then by run: scores[task][run]. Tasks may have different numbers of runs. */
export type Scores = readonly ArrayLike<number>[];

/** The places of the middle half among n sorted samples, from the first to before the last. */
const MIDDLE_HALF: { readonly [C in Convention]: (n: number) => readonly [number, number] } = {
  rliable: (n) => [Math.floor(n / 4), n - Math.floor(n / 4)],
  rlox: (n) => [Math.ceil(n / 4), Math.floor((3 * n) / 4)],
};

/**
 * The mean of the middle half. "rliable" drops floor(n / 4) samples at each end, "rlox" keeps those from ceil(n / 4)
 * to floor(3 n / 4), and all where that leaves none.
 */
export function interquartileMean(samples: ArrayLike<number>, convention: Convention = "rliable"): number {
  requireSamples("an interquartile mean", samples);
  const [from, to] = MIDDLE_HALF[convention](samples.length);
  return from < to ? mean(sortedCopy(samples).subarray(from, to)) : mean(samples);
}

const flattened = (scores: Scores): number[] => scores.flatMap((task) => Array.from(task));
const taskMeans = (scores: Scores): number[] => scores.map(mean);

/** How far scores stay below `target`, where more than that does not count. */
export const optimalityGap = (scores: Scores, target = 1): number =>
  target - mean(scores.map((task) => mean(Float64Array.from(task, (score) => Math.min(score, target)))));

export interface Aggregate {
  readonly iqm: number;
  readonly median: number;
  readonly mean: number;
  readonly optimality_gap: number;
}

type Aggregator = (scores: Scores) => number;

const AGGREGATES: { readonly [C in Convention]: { readonly [N in keyof Aggregate]: Aggregator } } = {
  rliable: {
    iqm: (scores) => interquartileMean(flattened(scores)),
    median: (scores) => median(taskMeans(scores)),
    mean: (scores) => mean(taskMeans(scores)),
    optimality_gap: (scores) => optimalityGap(scores),
  },
  rlox: {
    iqm: (scores) => interquartileMean(flattened(scores), "rlox"),
    median: (scores) => median(flattened(scores)),
    mean: (scores) => mean(flattened(scores)),
    optimality_gap: (scores) => 1 - interquartileMean(flattened(scores), "rlox"),
  },
};

/**
 * "rliable": the interquartile mean over all scores, median and mean over the means of tasks, and the mean distance
 * to 1. "rlox": all over all scores, and 1 less the interquartile mean as the optimality gap.
 */
export function aggregate(scores: Scores, convention: Convention = "rliable"): Aggregate {
  const { iqm, median, mean, optimality_gap } = AGGREGATES[convention];
  return { iqm: iqm(scores), median: median(scores), mean: mean(scores), optimality_gap: optimality_gap(scores) };
}

export type AggregateIntervals = { readonly [N in keyof Aggregate]: Interval };

/** The intervals of the same numbers, runs drawn again within each task. */
export function aggregateIntervals(
  scores: Scores,
  options: BootstrapOptions & { readonly convention?: Convention } = {},
): AggregateIntervals {
  const rules = AGGREGATES[options.convention ?? "rliable"];
  const interval = (rule: Aggregator): Interval => bootstrap(scores, rule, options);
  return {
    iqm: interval(rules.iqm),
    median: interval(rules.median),
    mean: interval(rules.mean),
    optimality_gap: interval(rules.optimality_gap),
  };
}

const REACHES: { readonly [C in Convention]: (score: number, tau: number) => boolean } = {
  rliable: (score, tau) => score > tau,
  rlox: (score, tau) => score >= tau,
};

/** For each tau, the share of runs that score above it ("rlox": at least it), averaged over tasks. */
export function performanceProfile(
  scores: Scores,
  taus: ArrayLike<number>,
  convention: Convention = "rliable",
): number[] {
  const reaches = REACHES[convention];
  return Array.from(taus, (tau) =>
    mean(scores.map((task) => mean(Float64Array.from(task, (score) => (reaches(score, tau) ? 1 : 0))))),
  );
}

/** The share of pairs in which x is above y, ties as halves. */
function chanceToBeAbove(x: ArrayLike<number>, y: ArrayLike<number>): number {
  requireSamples("a probability of improvement", x);
  requireSamples("a probability of improvement", y);
  let above = 0;
  for (let i = 0; i < x.length; i++) {
    for (let j = 0; j < y.length; j++) above += (Math.sign((x[i] as number) - (y[j] as number)) + 1) / 2;
  }
  return above / (x.length * y.length);
}

/** How likely a run of x is better than one of y on the same task, averaged over tasks (Mann-Whitney). */
export const probabilityOfImprovement = (x: Scores, y: Scores): number =>
  mean(x.map((task, t) => chanceToBeAbove(task, y[t] ?? [])));

/** Its interval, runs of both sides drawn again within each task. */
export const improvementInterval = (x: Scores, y: Scores, options: BootstrapOptions = {}): Interval =>
  bootstrap(
    [...x, ...y],
    (drawn) => probabilityOfImprovement(drawn.slice(0, x.length), drawn.slice(x.length)),
    options,
  );
