/**
 * @file Records of a made-up run, and folders to log into.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach } from "vitest";
import type {
  EvaluationRecord,
  EvaluationResult,
  IterationRecord,
  Logger,
  Metrics,
  RunInfo,
  RunRecord,
  RunSummary,
} from "../../../src/train/records.ts";

export const STEPS = 1024;

export const sampleInfo = (changes: Partial<RunInfo> = {}): RunInfo => ({
  algo: "ppo",
  env: "CartPole-v1",
  seed: 42,
  target: "native",
  threads: 2,
  numerics: "fused",
  total_steps: 10 * STEPS,
  config: { gamma: 0.99, hidden: [64, 64] },
  ...changes,
});

export const iterationRecord = (iteration: number, metrics: Metrics = {}): IterationRecord => ({
  kind: "iteration",
  iteration,
  steps: iteration * STEPS,
  wall_s: iteration / 4,
  metrics: { policy_loss: -0.01 * iteration, entropy: 0.69, episode_return: 20 * iteration, ...metrics },
});

export const sampleResult: EvaluationResult = {
  episodes: 30,
  mean: 187.5,
  std: 12.25,
  min: 150,
  max: 200,
  iqm: 190,
  ci: [180, 195],
  mean_length: 188,
};

export const evaluationRecord = (iteration: number): EvaluationRecord => ({
  kind: "evaluation",
  iteration,
  steps: iteration * STEPS,
  wall_s: iteration / 4 + 0.125,
  evaluation: sampleResult,
});

/** Iterations from one to another, an evaluation after every third. */
export function sampleRecords(from: number, to: number): RunRecord[] {
  const records: RunRecord[] = [];
  for (let k = from; k <= to; k++) {
    records.push(iterationRecord(k, k === 2 ? { episode_return: Number.NaN } : {}));
    if (k % 3 === 0) records.push(evaluationRecord(k));
  }
  return records;
}

export const sampleSummary = (changes: Partial<RunSummary> = {}): RunSummary => ({
  algo: "ppo",
  env: "CartPole-v1",
  seed: 42,
  target: "native",
  threads: 2,
  numerics: "fused",
  steps: 10 * STEPS,
  iterations: 10,
  ended: "finished",
  wall_s: 2.5,
  train_s: 2,
  steps_per_s: 5120,
  crossings: 10,
  evaluation: null,
  parameters_sha256: "00",
  run: null,
  ...changes,
});

/** A run that logs some records, resumed after an iteration where one is given; not ended unless asked. */
export function log(
  logger: Logger,
  records: readonly RunRecord[],
  { resumedAt, ends = true }: { readonly resumedAt?: number; readonly ends?: boolean } = {},
): void {
  const resumed = resumedAt === undefined ? {} : { resumed: { iteration: resumedAt, steps: resumedAt * STEPS } };
  logger.start?.(sampleInfo(resumed));
  for (const record of records) logger.record?.(record);
  if (ends) void logger.end?.(sampleSummary());
}

const made: string[] = [];
afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** An empty folder that is removed after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-loggers-"));
  made.push(folder);
  return folder;
}
