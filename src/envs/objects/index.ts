/**
 * @file JavaScript games as environments: in this thread, or in others.
 */
export {
  type AsyncGameKind,
  AsyncVec,
  type AsyncVecOptions,
  asyncVec,
  type GameModule,
  GameThreadError,
} from "./asyncVec.ts";
export type { GameEnv, GameVecOptions } from "./board.ts";
export { fromObject, type GameState, ObjectVec } from "./fromObject.ts";
export {
  type Game,
  GameError,
  type GameKind,
  type GameObservation,
  type GameResult,
  type GameSpaces,
  type GameStart,
} from "./game.ts";
