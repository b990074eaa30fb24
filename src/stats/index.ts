/**
 * @file Statistics of runs: means and quantiles, bootstrap intervals, aggregates over runs and tasks, scores.
 */
export * from "./aggregate.ts";
export * from "./baselines.ts";
export { geometricMean, mean, median, quantile, StatisticsError, sortedCopy, std, sum, variance } from "./basic.ts";
export * from "./bootstrap.ts";
export * from "./curves.ts";
export * from "./returns.ts";
