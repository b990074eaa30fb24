/**
 * @file A game: any JavaScript object that can begin and step, one for each environment. Nothing is compiled; the object
 * keeps its own state and its own random numbers, for which it is given a seed at each beginning.
 */
import { type ActionSpace, EnvironmentError, type ObservationSpace } from "../define.ts";
import type { Discrete, ValueOf } from "../spaces.ts";

/** What a game is told when an episode begins. */
export interface GameStart {
  /** A whole number from 0 to 2^53 - 1 that belongs to this environment and episode alone. */
  readonly seed: number;
  /** The environment's number. */
  readonly index: number;
  /** The episode's number, from 0. */
  readonly episode: number;
}
/** What a game shows: a whole number, or a flat list of numbers. */
export type GameObservation<O extends ObservationSpace> = O extends Discrete ? number : ArrayLike<number>;
export interface GameResult<O extends ObservationSpace = ObservationSpace> {
  readonly observation: GameObservation<O>;
  readonly reward: number;
  /** The episode has come to its own end. */
  readonly terminated: boolean;
  /** The episode has been cut short; false unless given. */
  readonly truncated?: boolean;
}
export interface Game<O extends ObservationSpace = ObservationSpace, A extends ActionSpace = ActionSpace> {
  reset(start: GameStart): GameObservation<O>;
  /** One step. A row of actions is a view of memory that is written anew: copy what is to be kept. */
  step(action: ValueOf<A>): GameResult<O>;
  /** All that the rest of the episode depends on, as plain data: with both of these, runs can be resumed exactly. */
  getState?(): unknown;
  /** Goes on from what `getState` gave, of this object or of another. */
  setState?(state: never): void;
  /** Called when the vector is disposed of. */
  dispose?(): void;
}
export interface GameSpaces<O extends ObservationSpace = ObservationSpace, A extends ActionSpace = ActionSpace> {
  /** "game" unless given. */
  readonly id?: string;
  readonly observation: O;
  readonly action: A;
  /** Steps after which an episode is truncated; without a limit unless given. */
  readonly maxSteps?: number;
}
/** A kind of game: its spaces, and how the object of each environment is made. */
export interface GameKind<O extends ObservationSpace = ObservationSpace, A extends ActionSpace = ActionSpace>
  extends GameSpaces<O, A> {
  make(index: number): Game<O, A>;
}

/** A game did what it must not, or threw an error. The vector has to be reset as a whole before it steps again. */
export class GameError extends EnvironmentError {
  override readonly name: string = "GameError";
  /** The environment. */
  readonly index: number;
  constructor(message: string, index: number, options: ErrorOptions = {}) {
    super(message, options);
    this.index = index;
  }
}
