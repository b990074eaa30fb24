/**
 * @file Training: runs from beginning to end, what they keep, and what is made of it.
 */
export {
  type Callback,
  type CallbackAnswer,
  type CheckpointContext,
  type EarlyStoppingOptions,
  type EndContext,
  type EvaluationContext,
  earlyStopping,
  type IterationContext,
  type RunContext,
  rewardThreshold,
  type Timing,
  timing,
} from "./callbacks.ts";
export {
  CheckpointError,
  type CheckpointInfo,
  Checkpoints,
  type Evaluated,
  type KeepPolicy,
} from "./checkpoints.ts";
export { type Comparison, compareRuns } from "./compare.ts";
export { type Chart, type ChartSize, comparisonCharts } from "./compareCharts.ts";
export { comparisonFiles, comparisonTable } from "./comparePage.ts";
export * from "./config/index.ts";
export { type DiagnosticsOptions, diagnostics, NonFiniteError } from "./diagnostics.ts";
export type { TrainingEnvironment } from "./environments.ts";
export { type EvaluateOptions, EvaluationError, Evaluator, evaluate, SEED_DISTANCE } from "./evaluation.ts";
export * from "./loggers/index.ts";
export type { Participants, ResumeOptions, TrainOptions } from "./plan.ts";
export {
  type Actions,
  type ActOptions,
  Policy,
  type PolicyBatch,
  PolicyError,
  type PolicyOptions,
  policyOf,
} from "./policy.ts";
export type * from "./records.ts";
export { reportHtml } from "./report.ts";
export { type RunDocument, RunDocumentError, readDocument } from "./runDocument.ts";
export { type ReadRunOptions, type RunData, RunFileError, readRun } from "./runFiles.ts";
export { RUN_FILES, RunFolder, RunFolderError, runName } from "./runFolder.ts";
export { environmentPicture, writeRunReport } from "./runReport.ts";
export { type LoadPolicyOptions, loadPolicy, type PolicyFiles } from "./savedPolicy.ts";
export { resume, Trainer, train } from "./trainer.ts";
