/**
 * @file Runs in groups: those of one algorithm, environment and label are seeds of the same thing, and are summed up
 * together.
 *
 * What a run is worth is its final evaluation. Runs that have none are worth the mean of their last evaluations, or of
 * their last episodes while learning; a group says which it was.
 */
import {
  type Band,
  type BootstrapOptions,
  bootstrap,
  bootstrapBand,
  type Curve,
  type Interval,
  interpolate,
  interquartileMean,
  mean,
  median,
  spaced,
} from "../stats/index.ts";
import type { RunData } from "./runFiles.ts";

/** What learning curves show: evaluations where there are some, episodes of training otherwise. */
export type Measure = "evaluation" | "training";
/** What finals come from. */
export type FinalSource = "final evaluation" | "last evaluations" | "last episodes";

export interface LearningCurve extends Band {
  readonly steps: readonly number[];
}

/** A number over the runs of a group; there is no interval of a single run. */
export interface Estimate {
  readonly value: number;
  readonly ci: Interval | null;
}

export interface Group {
  readonly algo: string;
  readonly env: string;
  readonly label: string;
  /** Algorithm and label: what is compared across environments. */
  readonly method: string;
  readonly seeds: readonly number[];
  /** Steps of the longest run. */
  readonly steps: number;
  /** Null when no run has two points. */
  readonly curve: LearningCurve | null;
  /** One number per run that has one. */
  readonly finals: readonly number[];
  readonly sources: readonly FinalSource[];
  /** The interquartile mean of the finals; null when no run has one. */
  readonly final: Estimate | null;
  readonly stepsPerSecond: Estimate | null;
}

const CURVE_POINTS = 200;
const LAST_EVALUATIONS = 3;
/** The part of the iterations, at the end, whose episodes count. */
const LAST_PART = 0.1;

export const methodOf = ({ algo, label }: Pick<RunData, "algo" | "label">): string =>
  label === "" ? algo : `${algo} ${label}`;

/** Runs by algorithm, environment and label, in the order in which they were given. */
export function grouped(runs: readonly RunData[]): RunData[][] {
  const groups = new Map<string, RunData[]>();
  for (const run of runs) {
    const key = JSON.stringify([run.algo, run.env, run.label]);
    const group = groups.get(key);
    if (group) group.push(run);
    else groups.set(key, [run]);
  }
  return [...groups.values()];
}

const lastRecord = ({ iterations, evaluations }: RunData): number =>
  Math.max(iterations.at(-1)?.steps ?? 0, evaluations.at(-1)?.steps ?? 0);
export const stepsOf = (run: RunData): number => run.summary?.steps ?? lastRecord(run);

/** The points of a run that have a value; of two at the same step the later counts. */
function curveOf(run: RunData, measure: Measure): Curve {
  const points: (readonly [number, number])[] =
    measure === "evaluation"
      ? run.evaluations.map(({ steps, evaluation }) => [steps, evaluation.mean])
      : run.iterations.map(({ steps, metrics }) => [steps, metrics.episode_return ?? Number.NaN]);
  const byStep = new Map(points.filter(([, y]) => Number.isFinite(y)));
  const sorted = [...byStep].sort(([a], [b]) => a - b);
  return { x: sorted.map(([x]) => x), y: sorted.map(([, y]) => y) };
}

/** Evaluations, when each of the runs has at least two; what training saw otherwise. */
export const measureFor = (runs: readonly RunData[]): Measure =>
  runs.every((run) => curveOf(run, "evaluation").x.length >= 2) ? "evaluation" : "training";

/** Runs on common points, over the steps that all of them have; null when there are none. */
function learningCurve(runs: readonly RunData[], measure: Measure, options: BootstrapOptions): LearningCurve | null {
  const curves = runs.map((run) => curveOf(run, measure)).filter(({ x }) => x.length >= 2);
  if (curves.length === 0) return null;
  const from = Math.max(...curves.map(({ x }) => x[0] as number));
  const to = Math.min(...curves.map(({ x }) => x.at(-1) as number));
  if (from >= to) return null;
  const steps = spaced(from, to, CURVE_POINTS);
  return { steps, ...bootstrapBand([curves.map((curve) => interpolate(curve, steps))], options) };
}

/** What a run is worth, from the best source that it has. */
function finalOf(run: RunData): { readonly value: number; readonly source: FinalSource } | undefined {
  const final = run.summary?.evaluation?.mean;
  if (final !== undefined && Number.isFinite(final)) return { value: final, source: "final evaluation" };
  const evaluations = curveOf(run, "evaluation").y.slice(-LAST_EVALUATIONS);
  if (evaluations.length > 0) return { value: mean(evaluations), source: "last evaluations" };
  const episodes = curveOf(run, "training").y;
  const last = episodes.slice(-Math.max(Math.ceil(episodes.length * LAST_PART), 1));
  return last.length === 0 ? undefined : { value: mean(last), source: "last episodes" };
}

function speedOf({ summary, iterations }: RunData): number {
  if (summary !== null && summary.steps_per_s > 0) return summary.steps_per_s;
  const speeds = iterations.map(({ metrics }) => metrics.steps_per_s ?? Number.NaN).filter(Number.isFinite);
  return speeds.length === 0 ? Number.NaN : median(speeds);
}

function estimate(
  values: readonly number[],
  statistic: (values: ArrayLike<number>) => number,
  options: BootstrapOptions,
): Estimate | null {
  if (values.length === 0) return null;
  const ci = values.length < 2 ? null : bootstrap([values], ([drawn]) => statistic(drawn ?? []), options);
  return { value: statistic(values), ci };
}

/** The runs of one group, summed up. */
export function groupOf(runs: readonly RunData[], measure: Measure, options: BootstrapOptions): Group {
  const [first] = runs as [RunData];
  const finals = runs.map(finalOf).filter((final) => final !== undefined);
  const values = finals.map(({ value }) => value);
  return {
    algo: first.algo,
    env: first.env,
    label: first.label,
    method: methodOf(first),
    seeds: runs.map(({ seed }) => seed),
    steps: Math.max(...runs.map(stepsOf)),
    curve: learningCurve(runs, measure, options),
    finals: values,
    sources: [...new Set(finals.map(({ source }) => source))],
    final: estimate(values, interquartileMean, options),
    stepsPerSecond: estimate(runs.map(speedOf).filter(Number.isFinite), mean, options),
  };
}
