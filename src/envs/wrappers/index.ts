/**
 * @file Wrappers: functions from environments to environments, which stay compiled, and normalisation around a vector.
 */
export { actionRepeat, clipAction, type StickyFields, stickyActions } from "./actions.ts";
export { frameStack, type StackFields } from "./frameStack.ts";
export { type NormalisedState, NormalisedVec, type NormaliseOptions, normalise } from "./normalise.ts";
export { clipObservation, type FlatObservation, flatten } from "./observations.ts";
export { clipReward, rewardScale, timeLimit } from "./rewards.ts";
