/**
 * @file The stepping of games: one text for the thread that calls and for worker threads, so that both do the same.
 *
 * `gameRows` uses nothing from outside, because its text is sent to threads. It reports failures instead of throwing.
 */
import type { Autoreset } from "../vector/face.ts";
import type { GameStart } from "./game.ts";

/** What games and vector share: one element or row per environment. */
export interface GameMemory {
  readonly obs: Float32Array | Uint8Array | Int32Array;
  readonly finalObs: Float32Array | Uint8Array | Int32Array;
  readonly reward: Float32Array;
  readonly terminated: Uint8Array;
  readonly truncated: Uint8Array;
  readonly actions: Float32Array | Int32Array;
  /** Environments that a reset is about. */
  readonly which: Uint8Array;
  readonly ended: Uint8Array;
  readonly steps: Int32Array;
  readonly episodes: Int32Array;
  readonly runningReturn: Float32Array;
  readonly episodeReturn: Float32Array;
  readonly episodeLength: Int32Array;
  /** The seed of the episode that each environment begins next. */
  readonly seeds: Float64Array;
}
/** Plain data, to be sent to threads. */
export interface RowOptions {
  readonly autoreset: Autoreset;
  readonly limit: number;
  readonly firstIndex: number;
  /** Numbers per observation and per action. */
  readonly observationSize: number;
  readonly actionSize: number;
  readonly observation: { readonly kind: "box" | "discrete"; readonly start: number; readonly n: number };
  readonly bytes: boolean;
  readonly scalarAction: boolean;
}
/** What went wrong, and where. */
export interface Failure {
  readonly index: number;
  readonly message: string;
  /** What the game threw; not known of another thread's. */
  readonly cause?: unknown;
}
/** Each gives what went wrong first, if anything. */
export interface GameRows {
  create(): Failure | undefined;
  reset(): Failure | undefined;
  step(): Failure | undefined;
  dispose(): Failure | undefined;
}

interface PlainGame {
  reset(start: GameStart): unknown;
  step(action: unknown): unknown;
  dispose?(): void;
}

/** The games of environments from..to - 1. */
export function gameRows(
  make: (index: number) => unknown,
  memory: GameMemory,
  options: RowOptions,
  from: number,
  to: number,
): GameRows {
  const { obs, finalObs, actions, reward, terminated, truncated, ended, steps, episodes } = memory;
  const { observationSize: size, actionSize, observation, autoreset } = options;
  const games: PlainGame[] = [];
  const rows: unknown[] = [];
  /** What is thrown for a game that answers wrongly, in place of an error of its own. */
  const problem = { text: "" };
  let at = from;
  let doing = "";

  const refuse = (text: string): never => {
    problem.text = text;
    throw problem;
  };
  const attempt = (work: () => void): Failure | undefined => {
    try {
      work();
      return undefined;
    } catch (error) {
      if (error === problem) return { index: at, message: problem.text };
      const said = error instanceof Error ? error.message : String(error);
      return { index: at, message: `${doing} threw an error: ${said}`, cause: error };
    }
  };
  const show = (value: unknown, where: string): void => {
    if (observation.kind === "discrete") {
      const fine = Number.isInteger(value) && (value as number) >= observation.start;
      if (!fine || (value as number) >= observation.start + observation.n)
        refuse(
          `${where} gave the observation ${value}, which is not one of ${observation.n} from ${observation.start} on`,
        );
      obs[at] = value as number;
      return;
    }
    const list = value as ArrayLike<number> | null | undefined;
    if (typeof list !== "object" || list === null || list.length !== size)
      refuse(`${where} gave an observation of ${list?.length ?? typeof value} numbers instead of ${size}`);
    for (let k = 0; k < size; k++) {
      const x = (list as ArrayLike<number>)[k] as number;
      const fits = options.bytes
        ? Number.isInteger(x) && x >= 0 && x <= 255
        : typeof x === "number" && !Number.isNaN(x);
      if (!fits) refuse(`${where} gave an observation with ${x} at ${k}, not ${options.bytes ? "a byte" : "a number"}`);
      obs[at * size + k] = x;
    }
  };
  const begin = (): void => {
    steps[at] = 0;
    memory.runningReturn[at] = 0;
    ended[at] = 0;
    doing = "reset()";
    const start = { seed: memory.seeds[at] as number, index: options.firstIndex + at, episode: episodes[at] as number };
    show((games[at - from] as PlainGame).reset(start), "reset()");
  };
  const stepOne = (): void => {
    doing = "step()";
    const action = options.scalarAction ? actions[at] : rows[at - from];
    const result = (games[at - from] as PlainGame).step(action) as
      | { readonly [name: string]: unknown }
      | null
      | undefined;
    if (typeof result !== "object" || result === null)
      refuse(`step() gave ${result}, not { observation, reward, terminated, truncated }`);
    const given = result as { readonly [name: string]: unknown };
    const amount = Math.fround(given.reward as number);
    if (typeof given.reward !== "number" || !Number.isFinite(amount))
      refuse(`step() gave the reward ${given.reward}, which is not a finite number`);
    if (typeof given.terminated !== "boolean")
      refuse(`step() gave terminated ${given.terminated}, which must be true or false`);
    if (given.truncated !== undefined && typeof given.truncated !== "boolean")
      refuse(`step() gave truncated ${given.truncated}, which must be true or false`);
    show(given.observation, "step()");
    const time = (steps[at] as number) + 1;
    const cut = given.truncated === true || time >= options.limit;
    const total = Math.fround((memory.runningReturn[at] as number) + amount);
    reward[at] = amount;
    terminated[at] = given.terminated ? 1 : 0;
    truncated[at] = cut ? 1 : 0;
    steps[at] = time;
    memory.runningReturn[at] = total;
    if (!given.terminated && !cut) return;
    for (let k = at * size; k < (at + 1) * size; k++) finalObs[k] = obs[k] as number;
    memory.episodeReturn[at] = total;
    memory.episodeLength[at] = time;
    ended[at] = 1;
    if (autoreset !== "same-step") return;
    episodes[at] = (episodes[at] as number) + 1;
    begin();
  };
  return {
    create: () =>
      attempt(() => {
        for (at = from; at < to; at++) {
          doing = "make()";
          const game = make(options.firstIndex + at) as PlainGame | null | undefined;
          if (typeof game?.reset !== "function" || typeof game.step !== "function")
            refuse("make() gave no object with the functions reset and step");
          games.push(game as PlainGame);
          rows.push(actions.subarray(at * actionSize, (at + 1) * actionSize));
        }
      }),
    reset: () =>
      attempt(() => {
        for (at = from; at < to; at++) if (memory.which[at]) begin();
      }),
    step: () =>
      attempt(() => {
        for (at = from; at < to; at++) {
          if (!ended[at]) {
            stepOne();
            continue;
          }
          episodes[at] = (episodes[at] as number) + 1;
          begin();
          reward[at] = 0;
          terminated[at] = 0;
          truncated[at] = 0;
        }
      }),
    dispose: () =>
      attempt(() => {
        doing = "dispose()";
        at = from;
        for (const game of games) {
          game.dispose?.();
          at++;
        }
      }),
  };
}
