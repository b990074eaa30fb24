/**
 * @file The measuring of a profile: the same training twice, as one program and in phases, its kernels one by one, and
 * single operations of the data plane.
 */
import { basename } from "node:path";
import type { Algorithm } from "../algorithms/algorithm.ts";
import { systemBlock } from "../bench/system.ts";
import type { TimingOptions } from "../bench/timing.ts";
import type { Environment } from "../envs/define.ts";
import { environment } from "../envs/registry.ts";
import { chooseTarget } from "../runtime/targets.ts";
import { median } from "../stats/index.ts";
import type { TargetName } from "../targets/target.ts";
import { type Timing, timing } from "../train/callbacks.ts";
import { resolveEnvironment } from "../train/environments.ts";
import type { TrainOptions } from "../train/plan.ts";
import type { Measured, ProfiledRun } from "../train/profile.ts";
import { type KernelTime, kernelTimes } from "../train/profileKernels.ts";
import type { Logger, RunSummary } from "../train/records.ts";
import { Trainer } from "../train/trainer.ts";
import { isFile } from "./environment.ts";
import type { Say } from "./output.ts";
import { microBenchmarks } from "./profileBenchmarks.ts";

export interface ProfileChoices {
  /** Whether kernels are timed one by one; each is compiled by itself for it. */
  readonly kernels: boolean;
  readonly timing?: TimingOptions;
}

/** A run and what was seen of it. */
interface Observed {
  readonly run: ProfiledRun;
  readonly summary: RunSummary;
  readonly target: TargetName;
  readonly timing: Timing;
}

/** Environments that stand in for those that cannot be stepped by the library itself. */
const STAND_IN = "CartPole-v1";

/** Trains from beginning to end under the clock; `look` sees the algorithm before it is given back. */
async function observed(made: TrainOptions, split: boolean, look?: (algorithm: Algorithm) => void): Promise<Observed> {
  const perStep: number[] = [];
  const phases = timing();
  const logger: Logger = {
    record: (record) => {
      if (record.kind === "iteration") perStep.push(1 / (record.metrics.steps_per_s ?? Number.NaN));
    },
  };
  const begin = performance.now();
  const trainer = Trainer.create({ ...made, split, evalEpisodes: 0, callbacks: [phases], loggers: [logger] });
  try {
    trainer.algorithm.load();
    const loaded = performance.now();
    // Normalisers have a program of their own, which runs once when the others are made.
    const before = trainer.algorithm.crossings;
    const summary = await trainer.run();
    const end = performance.now();
    look?.(trainer.algorithm);
    const { train_s, steps, iterations } = summary;
    const [wall_s, init_s] = [(end - begin) / 1000, (loaded - begin) / 1000];
    const milliseconds = perStep.map((seconds) => seconds * trainer.algorithm.stepsPerIteration * 1000);
    const run = {
      wall_s,
      init_s,
      train_s,
      other_s: wall_s - init_s - train_s,
      steps_per_s: steps / train_s,
      iteration_ms: median(milliseconds),
      first_iteration_ms: milliseconds[0] as number,
      crossings_per_iteration: (summary.crossings - before) / iterations,
    };
    return { run, summary, target: trainer.algorithm.target, timing: phases };
  } finally {
    trainer.dispose();
  }
}

/** Algorithms that can say what their programs consist of. */
interface Explaining {
  explain(options: { readonly time: boolean }): string;
}
const isExplaining = (algorithm: Algorithm): algorithm is Algorithm & Explaining =>
  typeof (algorithm as Partial<Explaining>).explain === "function";

/** The keys of a configuration that reports are about; algorithms without minibatches take a rollout at once. */
function settingsOf({ hyperparameters = {} }: TrainOptions): Measured["settings"] {
  const whole = (key: string, otherwise: number): number => {
    const value = hyperparameters[key];
    return typeof value === "number" ? value : otherwise;
  };
  const [n_envs, n_steps, epochs] = [whole("nEnvs", 1), whole("nSteps", 1), whole("nEpochs", 1)];
  const rows = n_envs * n_steps;
  const batch_size = whole("batchSize", rows);
  const normalised = hyperparameters.normalizeObs === true || hyperparameters.normalizeReward === true;
  return { n_envs, n_steps, epochs, batch_size, updates: epochs * Math.ceil(rows / batch_size), normalised };
}

function machineNow(): Pick<Measured, "machine" | "date"> {
  const { machine, os, versions, date } = systemBlock();
  return { date, machine: { cpu: machine.cpu, cores: machine.cores, os: `${os} ${machine.architecture}`, versions } };
}

/** Measures training as it is configured. */
export async function measureProfile(made: TrainOptions, choices: ProfileChoices, say: Say): Promise<Measured> {
  const { playground } = resolveEnvironment(made.env);
  const isCompiled = typeof playground !== "function";
  let kernels: readonly KernelTime[] | null = null;
  const lookAtKernels = (algorithm: Algorithm): void => {
    if (!choices.kernels || !isExplaining(algorithm)) return;
    say("timing kernels one by one; the first time each is compiled");
    kernels = kernelTimes(algorithm.explain({ time: true }));
  };
  say(`training ${made.steps} steps${isCompiled ? " as one program" : ""}`);
  const whole = isCompiled ? await observed(made, false, lookAtKernels) : undefined;
  if (isCompiled) say(`training ${made.steps} steps in phases`);
  const split = await observed(made, true, whole ? undefined : lookAtKernels);
  const { algo, env, seed, target, threads, numerics, steps, iterations } = split.summary;
  say("timing single operations");
  const stepped: Environment = isCompiled ? playground : environment(STAND_IN);
  return {
    algo,
    // Where a file lies is nothing for a report.
    env: isFile(env) ? basename(env) : env,
    target,
    best_target: chooseTarget().target.name,
    threads,
    numerics,
    seed,
    steps,
    iterations,
    settings: settingsOf(made),
    ...machineNow(),
    whole: whole?.run ?? null,
    split: split.run,
    phases: phasesOf(split),
    benchmarks: await microBenchmarks(stepped, { target: split.target, threads }, choices.timing),
    kernels,
  };
}

/** Seconds by phase; what the clock around iterations saw beyond them is "other", so that all are the whole. */
function phasesOf({ timing: { seconds }, run }: Observed): Measured["phases"] {
  const tracked = Object.values(seconds).reduce((sum, s) => sum + s, 0);
  return { ...seconds, other: seconds.other + Math.max(0, run.train_s - tracked) };
}
