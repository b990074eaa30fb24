/**
 * @file Buffers: what experience is kept in and drawn from.
 */
export type { ArrayFor, Column, ColumnSpec, ColumnSpecs, ColumnType, ColumnView } from "./columns.ts";
export { FileReplayBuffer, type FileReplayOptions } from "./file.ts";
export {
  type GoalStrategy,
  type GoalTransition,
  goalStep,
  type HerBatch,
  HerBuffer,
  type HerOptions,
  type HerSnapshot,
  sparseReward,
} from "./her.ts";
export { mixedCount, sampleMixed } from "./mixed.ts";
export { type NStepBatch, NStepBuffer, type NStepOptions } from "./nstep.ts";
export {
  type NormaliseRewards,
  type OfflineArrays,
  OfflineDataset,
  type OfflineOptions,
  type TrajectoryBatch,
} from "./offline.ts";
export {
  Pipeline,
  PipelineClosedError,
  type PipelineHandle,
  type PipelineInput,
  type PipelineOptions,
  type PipelineRecord,
} from "./pipeline.ts";
export {
  type PrioritizedBatch,
  type PrioritizedOptions,
  PrioritizedReplayBuffer,
  type PrioritizedSnapshot,
} from "./prioritized.ts";
export type { Flag, RowValue } from "./pushing.ts";
export { ReplayBuffer, type ReplayOptions, type ReplaySnapshot, type SharedReplay } from "./replay.ts";
export type {
  BatchArrays,
  NextObservations,
  PushBatch,
  PushSlices,
  RingSnapshot,
  Transition,
  TransitionBatch,
  TransitionOptions,
} from "./ring.ts";
export {
  type RolloutBatch,
  RolloutBuffer,
  type RolloutColumns,
  type RolloutOptions,
  type RolloutStep,
} from "./rollout.ts";
export { SequenceBuffer, type SequenceOptions, type SequenceSnapshot } from "./sequence.ts";
export { SumTree, type SumTreeOptions } from "./sumTree.ts";
export { ExperienceTable, type TableOptions, type TableRow, type TableRows } from "./table.ts";
