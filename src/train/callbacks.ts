/**
 * @file Callbacks: who takes part in a run while it goes on, and may end it; and the ready ones.
 *
 * What a callback remembers is kept in checkpoints when it has a name, `save` and `load`, so that a resumed run decides
 * as the whole one would have. An error of a callback is the run's own error.
 */
import { PHASES, type Phase, type PhaseSeconds } from "../algorithms/iteration.ts";
import type { Policy } from "./policy.ts";
import type { EvaluationRecord, IterationRecord, RunInfo, RunSummary } from "./records.ts";

/** What every callback is told. */
export interface RunContext {
  readonly info: RunInfo;
  /** Iterations and environment steps done. */
  readonly iteration: number;
  readonly steps: number;
  /** The policy as it is now. */
  readonly policy: Policy;
  /** A line for people. */
  notice(text: string): void;
  /** Ends the run after this iteration, with a checkpoint and an evaluation. */
  stop(reason: string): void;
  /** Asks for a checkpoint at the end of this iteration. */
  checkpoint(): void;
}
export interface IterationContext extends RunContext {
  readonly record: IterationRecord;
}
export interface EvaluationContext extends RunContext {
  readonly record: EvaluationRecord;
  /** Whether no evaluation before was as good. */
  readonly isBest: boolean;
}
export interface CheckpointContext extends RunContext {
  /** The file with the tensors. */
  readonly path: string;
}
export interface EndContext extends RunContext {
  readonly summary: RunSummary;
}

/** "stop" ends the run. */
export type CallbackAnswer = undefined | "stop";
type Maybe<T> = T | Promise<T>;

export interface Callback {
  /** Needed for `save` and `load`; one callback of a name. */
  readonly name?: string;
  onStart?(context: RunContext): Maybe<CallbackAnswer>;
  onIteration?(context: IterationContext): Maybe<CallbackAnswer>;
  onEvaluation?(context: EvaluationContext): Maybe<CallbackAnswer>;
  onCheckpoint?(context: CheckpointContext): Maybe<CallbackAnswer>;
  onEnd?(context: EndContext): Maybe<undefined>;
  /** What is to be remembered, as plain data. */
  save?(): unknown;
  /** Takes back what `save` gave; it comes from a file, so its form is not certain. */
  load?(state: unknown): void;
}

const figure = (x: number): string => String(Number(x.toPrecision(6)));

export interface EarlyStoppingOptions {
  /** Evaluations in a row that may pass without a better one. */
  readonly patience: number;
  /** How much better counts; 0 unless given. */
  readonly minDelta?: number;
}

/** Ends a run whose evaluations do not get better any more. */
export function earlyStopping({ patience, minDelta = 0 }: EarlyStoppingOptions): Callback {
  let best = Number.NEGATIVE_INFINITY;
  let since = 0;
  return {
    name: "earlyStopping",
    onEvaluation(context) {
      const { mean } = context.record.evaluation;
      since = mean > best + minDelta ? 0 : since + 1;
      if (since === 0) best = mean;
      if (since >= patience) context.stop(`no evaluation was better than ${figure(best)} for ${since} evaluations`);
    },
    save: () => ({ best, since }),
    load(state) {
      const { best: kept, since: count } = { best: undefined, since: undefined, ...(state as object | null) };
      if (typeof kept === "number") best = kept;
      if (typeof count === "number") since = count;
    },
  };
}

/** Ends a run whose evaluation reaches a mean return. */
export function rewardThreshold(threshold: number): Callback {
  return {
    name: "rewardThreshold",
    onEvaluation(context) {
      const { mean } = context.record.evaluation;
      if (mean >= threshold) context.stop(`the evaluation reached ${figure(mean)}, of ${figure(threshold)} wanted`);
    },
  };
}

export interface Timing extends Callback {
  /** Seconds of all iterations of this process, by phase. */
  readonly seconds: Readonly<PhaseSeconds>;
}

/** Sums up where the time of iterations goes; the run has to measure it (`split`). A line at the end tells shares. */
export function timing(): Timing {
  const seconds: PhaseSeconds = { policy: 0, environment: 0, gae: 0, update: 0, other: 0 };
  const share = (phase: Phase, total: number): string => `${phase} ${((100 * seconds[phase]) / total).toFixed(1)} %`;
  return {
    seconds,
    onIteration({ record }) {
      for (const phase of PHASES) seconds[phase] += record.metrics[`time_${phase}`] ?? 0;
    },
    onEnd({ notice }) {
      const total = PHASES.reduce((sum, phase) => sum + seconds[phase], 0);
      if (total > 0) notice(`time in ${PHASES.map((phase) => share(phase, total)).join(", ")}`);
      else notice("phases were not measured: timing() needs a run with split iterations");
    },
  };
}
