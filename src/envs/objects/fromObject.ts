/**
 * @file Any JavaScript game as a vector of environments: objects are stepped one after the other in this thread.
 */
import { type ActionSpace, EnvironmentError, MOST_COUNT, needCount, type ObservationSpace } from "../define.ts";
import type { StepArrays } from "../vector/face.ts";
import { checkOptions } from "../vector/options.ts";
import { GAME_OPTIONS, GameBoard, GameVec, type GameVecOptions } from "./board.ts";
import type { Game, GameKind, GameSpaces } from "./game.ts";
import { type GameRows, gameRows } from "./rows.ts";

/** Everything about the game of one environment: what `setState` takes. */
export interface GameState {
  /** What the game's own `getState` gave. */
  readonly game: unknown;
  readonly observation: readonly number[];
  readonly steps: number;
  readonly episode: number;
  /** The sum of rewards of this episode so far. */
  readonly return: number;
  readonly ended: boolean;
}

/** Games in this thread; everything means what it means in VecEnv. */
export class ObjectVec<
  O extends ObservationSpace = ObservationSpace,
  A extends ActionSpace = ActionSpace,
> extends GameVec<O, A> {
  readonly #rows: GameRows;
  readonly #games: Game<O, A>[] = [];

  constructor(kind: GameKind<O, A>, n: number, options: GameVecOptions = {}) {
    checkOptions(kind.id ?? "game", options, GAME_OPTIONS);
    super(new GameBoard(kind, n, options));
    const { memory, rowOptions } = this.board;
    const make = (index: number): Game<O, A> => {
      const game = kind.make(index);
      this.#games.push(game);
      return game;
    };
    this.#rows = gameRows(make, memory, rowOptions, 0, n);
    const failure = this.#rows.create();
    if (!failure) return;
    this.board.dispose();
    throw this.board.failed(failure);
  }

  reset(which?: ArrayLike<number | boolean>): StepArrays {
    this.board.prepareReset(which);
    return this.board.finish(this.#rows.reset());
  }
  step(actions: ArrayLike<number>): StepArrays {
    this.board.prepareStep(actions);
    return this.board.finish(this.#rows.step());
  }

  /** Whether `getState` and `setState` can be used: all games have both. */
  get restorable(): boolean {
    return this.#games.every((game) => typeof game.getState === "function" && typeof game.setState === "function");
  }
  /** Where environment i stands, as plain values, to go on from later. */
  getState(i: number): GameState {
    const { memory } = this.board;
    return {
      game: this.#restorableGame(i).getState?.(),
      observation: Array.from(this.#observation(i)),
      steps: memory.steps[i] as number,
      episode: memory.episodes[i] as number,
      return: memory.runningReturn[i] as number,
      ended: memory.ended[i] !== 0,
    };
  }
  /** Puts environment i where `getState` found it; its row of `out.obs` follows. */
  setState(i: number, state: GameState): void {
    const game = this.#restorableGame(i);
    const row = this.#observation(i);
    checkState(`${this.env.id}: environment ${i}`, state, row.length);
    game.setState?.(state.game as never);
    const { memory } = this.board;
    row.set(state.observation);
    memory.steps[i] = state.steps;
    memory.episodes[i] = state.episode;
    memory.runningReturn[i] = state.return;
    memory.ended[i] = state.ended ? 1 : 0;
  }
  #observation(i: number): StepArrays["obs"] {
    const { obs } = this.board.memory;
    const size = obs.length / this.n;
    return obs.subarray(i * size, (i + 1) * size);
  }
  #restorableGame(i: number): Game<O, A> {
    needCount(`${this.env.id}: the number of an environment`, i, 0, this.n - 1);
    if (this.restorable) return this.#games[i] as Game<O, A>;
    throw new EnvironmentError(
      `${this.env.id}: where its games stand is not to be had; give them the functions getState and setState`,
    );
  }

  /** Disposes of the games too. */
  dispose(): void {
    if (!this.board.dispose()) return;
    const failure = this.#rows.dispose();
    if (failure) throw this.board.failed(failure);
  }
}

/** Refuses what `getState` cannot have given. */
function checkState(where: string, state: GameState, size: number): void {
  const refuse = (why: string): never => {
    throw new EnvironmentError(`${where}: ${why}; nothing was changed`);
  };
  if (typeof state !== "object" || state === null) refuse(`a state is a record, as getState gives it, not ${state}`);
  const { observation, steps, episode, return: sum, ended } = state;
  needCount(`${where}: steps`, steps, 0, MOST_COUNT);
  needCount(`${where}: episode`, episode, 0, MOST_COUNT);
  if (typeof sum !== "number") refuse(`return must be a number, it is ${String(sum)}`);
  if (typeof ended !== "boolean") refuse(`ended must be true or false, it is ${String(ended)}`);
  if (!Array.isArray(observation) || observation.length !== size || observation.some((x) => typeof x !== "number"))
    refuse(`observation must be a list of ${size} numbers`);
}

/** A vector of games: a kind with `make` for any number of environments, or one object for one. */
export function fromObject<const O extends ObservationSpace, const A extends ActionSpace>(
  game: GameKind<O, A> | (GameSpaces<O, A> & Game<O, A>),
  n = 1,
  options: GameVecOptions = {},
): ObjectVec<O, A> {
  if ("make" in game) return new ObjectVec(game, n, options);
  if (n !== 1)
    throw new EnvironmentError(
      `${game.id ?? "game"}: one object cannot be ${n} environments; hand over { make, observation, action } instead`,
    );
  return new ObjectVec({ ...spacesOf(game), make: () => game }, n, options);
}

/** The spaces without the functions, which would lose their object. */
function spacesOf<O extends ObservationSpace, A extends ActionSpace>(from: GameSpaces<O, A>): GameSpaces<O, A> {
  const { id = "game", observation, action, maxSteps } = from;
  return maxSteps === undefined ? { id, observation, action } : { id, observation, action, maxSteps };
}
