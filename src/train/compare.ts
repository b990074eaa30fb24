/**
 * @file Several runs compared: learning curves, final returns, and across environments, on one scale, performance
 * profiles, aggregates and the probability that one method is better than another.
 *
 * Everything here is data; `comparePage.ts` makes pictures and pages of it. What could mislead (one run only, runs of
 * different length, settings that differ within a group) is said in notes rather than decided in silence.
 */
import {
  type Aggregate,
  type AggregateIntervals,
  aggregate,
  aggregateIntervals,
  BASELINES,
  type Band,
  type BootstrapOptions,
  bootstrapBand,
  type Interval,
  improvementInterval,
  normaliseScore,
  probabilityOfImprovement,
  type Scores,
  StatisticsError,
  spaced,
} from "../stats/index.ts";
import { type Group, grouped, groupOf, type Measure, measureFor, methodOf, stepsOf } from "./groups.ts";
import { configEntries, type RunData } from "./runFiles.ts";

export interface EnvironmentComparison {
  readonly env: string;
  readonly measure: Measure;
  readonly groups: readonly Group[];
}

export interface MethodProfile extends Band {
  readonly method: string;
}

export interface MethodAggregate {
  readonly method: string;
  readonly point: Aggregate;
  readonly intervals: AggregateIntervals;
}

/** Methods on one scale, over environments that all of them were run on. */
export interface Overall {
  readonly envs: readonly string[];
  readonly taus: readonly number[];
  readonly profiles: readonly MethodProfile[];
  readonly aggregates: readonly MethodAggregate[];
}

export interface Improvement {
  readonly method: string;
  readonly over: string;
  /** Environments that both were run on. */
  readonly envs: readonly string[];
  readonly probability: number;
  readonly ci: Interval;
}

export interface Comparison {
  readonly runs: number;
  /** All methods, in the order in which they were given: their place is their colour. */
  readonly methods: readonly string[];
  readonly environments: readonly EnvironmentComparison[];
  /** Null when no environment has a baseline that all methods were run on. */
  readonly overall: Overall | null;
  readonly improvements: readonly Improvement[];
  readonly notes: readonly string[];
}

const GREATEST_TAU = 1.5;
const TAUS = 200;
/** Runs of a group differ in length when the shortest has less than this part of the longest. */
const SAME_LENGTH = 0.99;
/** Keys of configurations that may differ between seeds of the same thing: they do not change what is learned. */
const OWN_TO_A_RUN =
  /^(seed|name|out|format|label|target|threads|split|evalEvery|evalEpisodes|checkpointEvery|keep.*)$/;

/** Keys whose values differ among runs that are taken as seeds of one thing. */
function differingKeys(runs: readonly RunData[]): string[] {
  const configs = runs.map(({ config }) => new Map(configEntries(config)));
  const keys = new Set(configs.flatMap((config) => [...config.keys()]));
  const isDiffering = (key: string): boolean => new Set(configs.map((config) => config.get(key))).size > 1;
  return [...keys].filter((key) => !OWN_TO_A_RUN.test(key) && isDiffering(key));
}

/** What a reader should know before trusting the numbers of a group. */
function notesOn(runs: readonly RunData[], group: Group): string[] {
  const name = `${group.method} on ${group.env}`;
  const found: string[] = [];
  const lengths = runs.map(stepsOf);
  const differing = differingKeys(runs);
  if (runs.length === 1) found.push(`${name}: one run only, so that there are no intervals; more seeds are needed`);
  if (new Set(group.seeds).size < group.seeds.length) found.push(`${name}: some runs have the same seed`);
  if (Math.min(...lengths) < SAME_LENGTH * Math.max(...lengths)) {
    found.push(
      `${name}: runs have from ${Math.min(...lengths)} to ${Math.max(...lengths)} steps; curves end with the shortest`,
    );
  }
  if (differing.length > 0) {
    found.push(`${name}: runs differ in ${differing.join(", ")} and are taken as one; labels would tell them apart`);
  }
  if (group.final === null) found.push(`${name}: no run has a return yet`);
  else if (group.finals.length < runs.length)
    found.push(`${name}: ${runs.length - group.finals.length} runs have no return yet`);
  if (group.sources.some((source) => source !== "final evaluation")) {
    found.push(`${name}: final returns are of the ${group.sources.join(" and the ")}`);
  }
  return [...found, ...runs.flatMap(({ folder, warnings }) => warnings.map((warning) => `${folder}: ${warning}`))];
}

/** The finals of a method's groups on some environments, on the scale of baselines. */
function scoresOf(groups: readonly Group[], method: string, envs: readonly string[]): number[][] {
  return envs.map((env) => {
    const group = groups.find((one) => one.method === method && one.env === env);
    return (group?.finals ?? []).map((value) => normaliseScore(value, env));
  });
}

/** Environments that all of some methods have finals on. */
function shared(groups: readonly Group[], methods: readonly string[]): string[] {
  const has = (method: string, env: string): boolean =>
    groups.some((group) => group.method === method && group.env === env && group.finals.length > 0);
  return [...new Set(groups.map(({ env }) => env))].filter((env) => methods.every((method) => has(method, env)));
}

/** For each run, 1 where its score is above tau and 0 elsewhere: the mean of these is the profile. */
const indicators = (scores: Scores, taus: readonly number[]): number[][][] =>
  scores.map((task) => Array.from(task, (score) => taus.map((tau) => (score > tau ? 1 : 0))));

function overallOf(groups: readonly Group[], methods: readonly string[], options: BootstrapOptions): Overall | null {
  const envs = shared(groups, methods).filter((env) => BASELINES.has(env));
  if (envs.length === 0) return null;
  const taus = spaced(0, GREATEST_TAU, TAUS);
  const all = methods.map((method) => ({ method, scores: scoresOf(groups, method, envs) }));
  return {
    envs,
    taus,
    profiles: all.map(({ method, scores }) => ({ method, ...bootstrapBand(indicators(scores, taus), options) })),
    aggregates: all.map(({ method, scores }) => ({
      method,
      point: aggregate(scores),
      intervals: aggregateIntervals(scores, options),
    })),
  };
}

/** Each pair of methods once. Finals are compared environment by environment, so that no baseline is needed. */
function improvementsOf(
  groups: readonly Group[],
  methods: readonly string[],
  options: BootstrapOptions,
): Improvement[] {
  const finals = (method: string, envs: readonly string[]): Scores =>
    envs.map((env) => groups.find((group) => group.method === method && group.env === env)?.finals ?? []);
  const pairs = methods.flatMap((method, k) => methods.slice(k + 1).map((over) => [method, over] as const));
  return pairs.flatMap(([method, over]) => {
    const envs = shared(groups, [method, over]);
    if (envs.length === 0) return [];
    const [x, y] = [finals(method, envs), finals(over, envs)];
    return [
      { method, over, envs, probability: probabilityOfImprovement(x, y), ci: improvementInterval(x, y, options) },
    ];
  });
}

function overallNotes(overall: Overall | null, envs: readonly string[]): string[] {
  if (overall === null) {
    return ["no environment with a baseline has returns of all methods: there is no performance profile"];
  }
  const left = envs.filter((env) => !overall.envs.includes(env));
  if (left.length === 0) return [];
  return [`left out of the performance profile: ${left.join(", ")} (no baseline, or not run by all methods)`];
}

/** Runs in groups of algorithm, environment and label, compared. */
export function compareRuns(runs: readonly RunData[], options: BootstrapOptions = {}): Comparison {
  if (runs.length === 0) throw new StatisticsError("there are no runs to compare; give at least one");
  const methods = [...new Set(runs.map(methodOf))];
  const notes: string[] = [];
  const environments = [...new Set(runs.map(({ env }) => env))].map((env) => {
    const here = runs.filter((run) => run.env === env);
    const measure = measureFor(here);
    const groups = grouped(here).map((members) => {
      const group = groupOf(members, measure, options);
      notes.push(...notesOn(members, group));
      return group;
    });
    return { env, measure, groups };
  });
  const groups = environments.flatMap((environment) => environment.groups);
  const overall = overallOf(groups, methods, options);
  notes.push(
    ...overallNotes(
      overall,
      environments.map(({ env }) => env),
    ),
  );
  return {
    runs: runs.length,
    methods,
    environments,
    overall,
    improvements: improvementsOf(groups, methods, options),
    notes,
  };
}
