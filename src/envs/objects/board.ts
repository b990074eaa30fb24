/**
 * @file What vectors of games have in common: memory, checks before anything is changed, seeds, and errors.
 *
 * Who steps the games asks here first, lets them step, and comes back with what went wrong, if anything. The meaning of
 * everything is that of VecEnv.
 */
import { bool, f32, f64, i32, type Scalar } from "../../kernel/declare.ts";
import { allocate, free } from "../../kernel/kernel.ts";
import type { OptionNames } from "../../platform/suggest.ts";
import { HostStream } from "../../random/index.ts";
import {
  type ActionSpace,
  actionSize,
  EnvironmentError,
  MOST_COUNT,
  needCount,
  type ObservationSpace,
  observationSize,
} from "../define.ts";
import type { Autoreset, StepArrays, VectorEnv } from "../vector/face.ts";
import { checkedAutoreset, checkedFirst, checkedLimit } from "../vector/options.ts";
import { hasEnded, wrongAction, wrongCount } from "../vector/refusals.ts";
import { actionType, isActionNumber, observationType } from "../vector/spaces.ts";
import { GameError, type GameSpaces } from "./game.ts";
import type { Failure, GameMemory, RowOptions } from "./rows.ts";

export interface GameVecOptions {
  /** A whole number from 0 on; 0 unless given. */
  readonly seed?: number;
  /** When ended environments start over; "same-step" unless given. */
  readonly autoreset?: Autoreset;
  /** Steps after which an episode is truncated; the game's own limit unless given, Infinity for none. */
  readonly maxSteps?: number;
  /** The index of the first environment; 0 unless given. */
  readonly firstIndex?: number;
}
export const GAME_OPTIONS: OptionNames<GameVecOptions> = {
  seed: true,
  autoreset: true,
  maxSteps: true,
  firstIndex: true,
};

/** A game as vectors show it. */
export interface GameEnv<O extends ObservationSpace, A extends ActionSpace> {
  readonly id: string;
  readonly observation: O;
  readonly action: A;
  readonly maxSteps: number | undefined;
}

function makeMemory(n: number, observation: ObservationSpace, action: ActionSpace): GameMemory {
  const numbers = n * observationSize(observation);
  const type = observationType({ observation }) as Scalar<"f32">;
  return {
    obs: allocate(type, numbers),
    finalObs: allocate(type, numbers),
    reward: allocate(f32, n),
    terminated: allocate(bool, n),
    truncated: allocate(bool, n),
    actions: allocate(actionType(action) as Scalar<"f32">, n * actionSize(action)),
    which: allocate(bool, n),
    ended: allocate(bool, n),
    steps: allocate(i32, n),
    episodes: allocate(i32, n),
    runningReturn: allocate(f32, n),
    episodeReturn: allocate(f32, n),
    episodeLength: allocate(i32, n),
    seeds: allocate(f64, n),
  };
}

export class GameBoard<O extends ObservationSpace, A extends ActionSpace> {
  readonly env: GameEnv<O, A>;
  readonly n: number;
  readonly autoreset: Autoreset;
  readonly memory: GameMemory;
  readonly out: StepArrays;
  readonly rowOptions: RowOptions;
  readonly #base: HostStream;
  /** The episode whose seed is the next one of each environment. */
  readonly #seeded: Int32Array;
  #begun = false;
  #disposed = false;

  constructor(spaces: GameSpaces<O, A>, n: number, options: GameVecOptions) {
    const { id = "game", observation, action, maxSteps } = spaces;
    const { seed = 0, autoreset = "same-step", firstIndex = 0 } = options;
    this.env = { id, observation, action, maxSteps };
    this.n = needCount(`${id}: the number of environments`, n, 1, MOST_COUNT);
    needCount(`${id}: the seed`, seed, 0);
    checkedFirst(id, firstIndex, n);
    this.autoreset = checkedAutoreset(id, autoreset);
    const space: ObservationSpace = observation;
    this.rowOptions = {
      autoreset,
      limit: checkedLimit(id, maxSteps, options.maxSteps),
      firstIndex,
      observationSize: observationSize(space),
      actionSize: actionSize(action),
      observation: space.kind === "discrete" ? space : { kind: "box", start: 0, n: 0 },
      bytes: space.kind === "box" && space.dtype === "u8",
      scalarAction: action.kind === "discrete",
    };
    this.#base = new HostStream(seed >>> 0, Math.floor(seed / 2 ** 32));
    this.#seeded = new Int32Array(n).fill(-1);
    this.memory = makeMemory(n, space, action);
    const { obs, finalObs, reward, terminated, truncated } = this.memory;
    this.out = { obs, reward, terminated, truncated, finalObs };
  }

  #seedFor(i: number, episode: number): void {
    if (this.#seeded[i] === episode) return;
    const stream = this.#base.fold(this.rowOptions.firstIndex + i).fold(episode);
    const low = stream.bits();
    this.memory.seeds[i] = low + (stream.bits() >>> 11) * 2 ** 32;
    this.#seeded[i] = episode;
  }

  #needUsable(): void {
    if (this.#disposed) throw new EnvironmentError(`${this.env.id}: the vector has been disposed of`);
  }

  prepareReset(which: ArrayLike<number | boolean> | undefined): void {
    this.#needUsable();
    if (which !== undefined && which.length !== this.n)
      throw new EnvironmentError(`${this.env.id}: a mask of ${which.length} does not fit ${this.n} environments`);
    if (which !== undefined && !this.#begun) throw this.#notBegun();
    const { memory } = this;
    for (let i = 0; i < this.n; i++) {
      const chosen = which === undefined || Boolean(which[i]);
      memory.which[i] = chosen ? 1 : 0;
      if (!chosen) continue;
      memory.episodes[i] = which === undefined ? 0 : (memory.episodes[i] as number) + 1;
      this.#seedFor(i, memory.episodes[i] as number);
    }
    // Until all have begun there is nothing to step.
    if (which === undefined) this.#begun = false;
  }
  #notBegun(): EnvironmentError {
    return new EnvironmentError(`${this.env.id}: call reset() first`);
  }

  prepareStep(actions: ArrayLike<number>): void {
    this.#needUsable();
    const { env, memory } = this;
    const own = memory.actions;
    if (!this.#begun) throw this.#notBegun();
    if (actions?.length !== own.length) throw wrongCount(env, this.n, actions?.length, 1);
    this.#checkActions(actions);
    const over = this.autoreset === "disabled" ? memory.ended.indexOf(1) : -1;
    if (over >= 0) throw hasEnded(env, over);
    if (actions !== own) own.set(actions);
    // Those that begin anew in this step.
    if (this.autoreset !== "disabled")
      for (let i = 0; i < this.n; i++) this.#seedFor(i, (memory.episodes[i] as number) + 1);
  }

  /** As compiled code does for VecEnv: whole numbers in range, and no NaN. */
  #checkActions(actions: ArrayLike<number>): void {
    const { action }: GameEnv<ObservationSpace, ActionSpace> = this.env;
    const each = actionSize(action);
    for (let k = 0; k < actions.length; k++)
      if (!isActionNumber(action, actions[k] as number, k % each))
        throw wrongAction(this.env, this.n, Math.floor(k / each), actions);
  }

  /** The arrays, or the error that came up. */
  finish(failure: Failure | undefined): StepArrays {
    if (failure) throw this.failed(failure);
    this.#begun = true;
    return this.out;
  }
  /** Forgets where the games stand: the next call has to be a reset of all. */
  failed({ index, message, ...more }: Failure): GameError {
    this.#begun = false;
    return new GameError(`${this.env.id}: environment ${index}: ${message}; reset() starts all over`, index, more);
  }

  /** Gives the memory back unless someone may still write to it; whether there was anything to do. */
  dispose(quiet = true): boolean {
    if (this.#disposed) return false;
    this.#disposed = true;
    if (quiet) for (const array of Object.values(this.memory)) free(array);
    return true;
  }
}

/** The face of a vector of games, over its board. */
export abstract class GameVec<O extends ObservationSpace, A extends ActionSpace> implements VectorEnv {
  protected readonly board: GameBoard<O, A>;

  constructor(board: GameBoard<O, A>) {
    this.board = board;
  }

  get env(): GameEnv<O, A> {
    return this.board.env;
  }
  get n(): number {
    return this.board.n;
  }
  get autoreset(): Autoreset {
    return this.board.autoreset;
  }
  get out(): StepArrays {
    return this.board.out;
  }
  get episodeReturn(): Float32Array {
    return this.board.memory.episodeReturn;
  }
  get episodeLength(): Int32Array {
    return this.board.memory.episodeLength;
  }
  /** Episodes that each environment has begun, less one. */
  get episodes(): Int32Array {
    return this.board.memory.episodes;
  }
  /** Steps of the current episodes. */
  get steps(): Int32Array {
    return this.board.memory.steps;
  }
  /** The array that steps read actions from: filling it and handing it over saves a copy. */
  get actions(): Float32Array | Int32Array {
    return this.board.memory.actions;
  }

  abstract reset(which?: ArrayLike<number | boolean>): StepArrays;
  abstract step(actions: ArrayLike<number>): StepArrays;
  abstract dispose(): void;
}
