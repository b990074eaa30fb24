/**
 * @file What a run tells while it goes on, and who listens: the records of iterations and evaluations, the summary at
 * its end, and the loggers that receive them.
 *
 * Keys are spelled as they stand in files (metrics.jsonl, summary.json): one name from the program to the disk.
 */

import type { ReturnSummary } from "../stats/returns.ts";

/** What tells a run from others. */
export interface RunIdentity {
  readonly algo: string;
  readonly env: string;
  readonly seed: number;
  readonly target: string;
  readonly threads: number;
  readonly numerics: string;
}

/** What a run is, told to every logger before anything happens. */
export interface RunInfo extends RunIdentity {
  /** Environment steps that the run will have made at its end. */
  readonly total_steps: number;
  /** The whole configuration, as in config.json. */
  readonly config: { readonly [key: string]: unknown };
  /** The run folder; absent for a run that writes none. */
  readonly folder?: string;
  /** Where a resumed run goes on: what was logged after it is not part of the run. Absent for a new run. */
  readonly resumed?: { readonly iteration: number; readonly steps: number };
}

/** Named numbers of an iteration: snake_case, NaN where there is none (no episode ended, for example). */
export type Metrics = { readonly [name: string]: number };

export interface IterationRecord {
  readonly kind: "iteration";
  /** From 1 on: how many iterations are done. */
  readonly iteration: number;
  /** Environment steps done, all environments together. */
  readonly steps: number;
  /** Seconds since the run began, of all its parts when it was resumed. */
  readonly wall_s: number;
  readonly metrics: Metrics;
}

/** Returns of whole episodes, summed up. */
export type EvaluationResult = ReturnSummary;

export interface EvaluationRecord {
  readonly kind: "evaluation";
  readonly iteration: number;
  readonly steps: number;
  readonly wall_s: number;
  readonly evaluation: EvaluationResult;
}

export type RunRecord = IterationRecord | EvaluationRecord;

/** What `train --json` prints and summary.json holds. */
export interface RunSummary extends RunIdentity {
  readonly steps: number;
  readonly iterations: number;
  /** Why it ended: all steps done, a callback's wish, a signal. */
  readonly ended: "finished" | "stopped" | "interrupted";
  readonly wall_s: number;
  /** Seconds in training iterations alone. */
  readonly train_s: number;
  readonly steps_per_s: number;
  /** How often JavaScript crossed into compiled code to iterate. */
  readonly crossings: number;
  readonly evaluation: EvaluationResult | null;
  readonly parameters_sha256: string;
  readonly run: string | null;
}

/** Receives what a run tells. All parts are optional; errors of a logger are the run's own errors. */
export interface Logger {
  start?(info: RunInfo): void;
  record?(record: RunRecord): void;
  /** A line for people: a warning of the diagnostics, a checkpoint that was written. */
  notice?(text: string): void;
  /** The run is over; what is buffered is written out. */
  end?(summary: RunSummary): void | Promise<void>;
}
