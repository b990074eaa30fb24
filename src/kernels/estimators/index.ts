/**
 * @file Estimators over rollouts and weights.
 */
export type { Floats, RunChoice } from "../inputs.ts";
export { explainedVariance, type NormaliseOptions, normaliseAdvantages } from "./advantages.ts";
export { averageWeights, polyakUpdate, reptileStep } from "./arena.ts";
export { type GaeInput, type GaeOptions, type GaeResult, gae } from "./gae.ts";
export { type ImageArray, randomShift, type ShiftOptions } from "./images.ts";
export type { Ends, Layout, LayoutChoice, Rollout } from "./inputs.ts";
export { lapPriorities, type PriorityInput, type PriorityOptions } from "./priorities.ts";
export {
  type DiscountedInput,
  type DiscountOptions,
  discountedSums,
  type LambdaReturnsOptions,
  lambdaReturns,
  type NStepReturnsOptions,
  nStepReturns,
} from "./returns.ts";
export {
  type GoalInput,
  type GoalOptions,
  goalPotentials,
  type ShapingInput,
  type ShapingOptions,
  shapeRewards,
} from "./shaping.ts";
export { type VtraceInput, type VtraceOptions, type VtraceResult, vtrace } from "./vtrace.ts";
