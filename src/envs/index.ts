/**
 * @file Environments: definitions, spaces, the registry, vectors of environments, drawing and checking.
 */
export * from "./bsuite/index.ts";
export type { Canvas, Colour, Point } from "./canvas.ts";
export * from "./check/index.ts";
export * from "./classic/index.ts";
export {
  type ActionOf,
  type ActionSpace,
  actionSize,
  defineEnv,
  type Environment,
  EnvironmentError,
  type EnvSpec,
  type ObservationSpace,
  observationSize,
  type Params,
  type ParamsOf,
  type StepContext,
  type StepResult,
  type Tables,
} from "./define.ts";
export { drawEnvironment } from "./draw/frame.ts";
export { type Drawing, drawn, type Shape } from "./draw/shapes.ts";
export { type SvgOptions, toSvg } from "./draw/svg.ts";
export { type TerminalOptions, toTerminal } from "./draw/terminal.ts";
export * from "./minatar/index.ts";
export * from "./misc/index.ts";
export * from "./objects/index.ts";
export {
  type EnvironmentId,
  type EnvironmentOutline,
  environment,
  environmentOutlines,
  environments,
  UnknownEnvironmentError,
} from "./registry.ts";
export {
  type Box,
  type BoxType,
  box,
  contains,
  type Dict,
  type Discrete,
  describeSpace,
  dict,
  discrete,
  type FlatNumbers,
  flatSize,
  flattenInto,
  flattenValue,
  type MaskOf,
  type MultiBinary,
  type MultiDiscrete,
  masked,
  multiBinary,
  multiDiscrete,
  type Space,
  SpaceError,
  sample,
  type Tuple,
  tuple,
  unflatten,
  type ValueOf,
} from "./spaces.ts";
export type { StateArrays, StateValues } from "./vector/arrays.ts";
export type { VectorEnv } from "./vector/face.ts";
export type { Autoreset } from "./vector/kernel.ts";
export { type Episode, type EpisodeOptions, replayEpisode } from "./vector/replay.ts";
export {
  type ActionArray,
  type ActionSource,
  type Collected,
  type EnvState,
  type StepArrays,
  type StepTarget,
  VecEnv,
  type VecEnvOptions,
} from "./vector/vecEnv.ts";
export {
  actionRepeat,
  clipAction,
  clipObservation,
  clipReward,
  type FlatObservation,
  flatten,
  frameStack,
  type NormalisedState,
  NormalisedVec,
  type NormaliseOptions as NormalisedVecOptions,
  normalise,
  rewardScale,
  type StackFields,
  type StickyFields,
  stickyActions,
  timeLimit,
} from "./wrappers/index.ts";
