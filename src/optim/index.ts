/**
 * @file Optimisers, clipping and schedules, recorded into programs.
 */
export { type Clip, type ClipForm, type Clipped, clipByNorm, globalNorm } from "./clipping.ts";
export {
  type AdamOptions,
  adam,
  adamw,
  type OptimizerOptions,
  type OptimizerStep,
  type RmspropOptions,
  rmsprop,
  type SgdOptions,
  sgd,
} from "./optimizers.ts";
export {
  cosineSchedule,
  exponentialSchedule,
  linearSchedule,
  piecewiseSchedule,
  type Schedule,
  type Scheduled,
  warmupCosineSchedule,
} from "./schedules.ts";
