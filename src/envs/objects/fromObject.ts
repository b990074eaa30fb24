/**
 * @file Any JavaScript game as a vector of environments: objects are stepped one after the other in this thread.
 */
import { type ActionSpace, EnvironmentError, type ObservationSpace } from "../define.ts";
import type { StepArrays } from "../vector/face.ts";
import { GameBoard, GameVec, type GameVecOptions } from "./board.ts";
import type { Game, GameKind, GameSpaces } from "./game.ts";
import { type GameRows, gameRows } from "./rows.ts";

/** Games in this thread; everything means what it means in VecEnv. */
export class ObjectVec<
  O extends ObservationSpace = ObservationSpace,
  A extends ActionSpace = ActionSpace,
> extends GameVec<O, A> {
  readonly #rows: GameRows;

  constructor(kind: GameKind<O, A>, n: number, options: GameVecOptions = {}) {
    super(new GameBoard(kind, n, options));
    const { memory, rowOptions } = this.board;
    this.#rows = gameRows((index) => kind.make(index), memory, rowOptions, 0, n);
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

  /** Disposes of the games too. */
  dispose(): void {
    if (!this.board.dispose()) return;
    const failure = this.#rows.dispose();
    if (failure) throw this.board.failed(failure);
  }
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
