/**
 * @file Made-up runs: as data, and as folders.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import type { EvaluationResult, IterationRecord, Metrics, RunSummary } from "../../src/train/records.ts";
import type { RunData } from "../../src/train/runFiles.ts";

export const STEPS = 1000;

export const evaluationOf = (mean: number): EvaluationResult => ({
  episodes: 10,
  mean,
  std: 1,
  min: mean - 2,
  max: mean + 2,
  iqm: mean,
  ci: [mean - 1, mean + 1],
  mean_length: 50,
});

export const iteration = (k: number, metrics: Metrics): IterationRecord => ({
  kind: "iteration",
  iteration: k,
  steps: k * STEPS,
  wall_s: k / 10,
  metrics,
});

export const summaryOf = (
  run: Pick<RunData, "algo" | "env" | "seed">,
  iterations: number,
  evaluation: EvaluationResult | null,
): RunSummary => ({
  algo: run.algo,
  env: run.env,
  seed: run.seed,
  target: "wasm",
  threads: 2,
  numerics: "fused",
  steps: iterations * STEPS,
  iterations,
  ended: "finished",
  wall_s: 12.5,
  train_s: 10,
  steps_per_s: 250_000 + run.seed,
  crossings: iterations,
  evaluation,
  parameters_sha256: "0123456789abcdef".repeat(4),
  run: null,
});

export interface MadeUp {
  readonly algo?: string;
  readonly env?: string;
  readonly label?: string;
  readonly seed?: number;
  readonly iterations?: number;
  /** The return after an iteration, in training and in evaluations. */
  readonly returns?: (iteration: number) => number;
  readonly evaluated?: boolean;
  readonly finished?: boolean;
  readonly config?: { readonly [key: string]: unknown };
}

/** A run whose return is a function of its iterations; evaluated after each. */
export function madeUp(options: MadeUp = {}): RunData {
  const { algo = "ppo", env = "CartPole-v1", label = "", seed = 1, iterations = 20 } = options;
  const { returns = (k) => 20 * k, evaluated = true, finished = true, config = {} } = options;
  const numbers = Array.from({ length: iterations }, (_, k) => k + 1);
  const place = (k: number) => ({ iteration: k, steps: k * STEPS, wall_s: k / 10 });
  return {
    folder: `runs/${algo}-${seed}`,
    algo,
    env,
    label,
    seed,
    config: { algo, env, seed, ...config },
    iterations: numbers.map((k) => iteration(k, { episode_return: returns(k), steps_per_s: 200_000 })),
    evaluations: evaluated
      ? numbers.map((k) => ({ kind: "evaluation", ...place(k), evaluation: evaluationOf(returns(k)) }))
      : [],
    summary: finished
      ? summaryOf({ algo, env, seed }, iterations, evaluated ? evaluationOf(returns(iterations)) : null)
      : null,
    warnings: [],
  };
}

/** The files of a run folder by name; a file that is undefined is not there. */
export type Files = { readonly [name: string]: string | undefined };

export function filesOf(run: RunData): Files {
  const records = [...run.iterations, ...run.evaluations].sort((a, b) => a.iteration - b.iteration);
  return {
    "config.json": JSON.stringify(run.config),
    "metrics.jsonl": records.map((record) => `${JSON.stringify(record)}\n`).join(""),
    "summary.json": run.summary === null ? undefined : JSON.stringify(run.summary),
  };
}

export function writeRun(folder: string, files: Files): string {
  mkdirSync(folder, { recursive: true });
  for (const [name, content] of Object.entries(files))
    if (content !== undefined) writeFileSync(`${folder}/${name}`, content);
  return folder;
}
