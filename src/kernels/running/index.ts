/**
 * @file Running statistics: moments, moving means, detectors of change, normalisers.
 */
export {
  CusumDetector,
  type CusumOptions,
  type CusumState,
  PageHinkleyDetector,
  type PageHinkleyOptions,
  type PageHinkleyState,
} from "./detectors.ts";
export { type EmaOptions, type EmaState, ExponentialMoments } from "./ema.ts";
export {
  type MomentsState,
  type NormaliseRowsOptions,
  RunningMoments,
  RunningVectorMoments,
  type VectorMomentsOptions,
  type VectorMomentsState,
} from "./moments.ts";
export {
  ObservationNormaliser,
  type ObservationNormaliserOptions,
  type ObservationNormaliserState,
  RewardNormaliser,
  type RewardNormaliserOptions,
  type RewardNormaliserState,
} from "./normalisers.ts";
