/**
 * @file What an environment is: a record of numbers it depends on, a state, two spaces, and pure functions over them.
 *
 * The functions are read and compiled by the kernel compiler, so they are written in its language (docs/kernels.md).
 * Time limits, episode statistics, auto-reset and seeds belong to `vector/`: a definition knows nothing of them.
 */

import type { TypedArray } from "../ir/arrays.ts";
import type { Fields, Inline, KernelArray, RandomStream, ReadonlyList } from "../kernel/declare.ts";
import { inline, type StateOf } from "../kernel/declare.ts";
import { LockstepError } from "../platform/errors.ts";
import type { Canvas } from "./canvas.ts";
import { type Box, type Discrete, flatSize, type MultiDiscrete } from "./spaces.ts";

/** A definition that cannot be, or a use of an environment that makes no sense; nothing has been changed. */
export class EnvironmentError extends LockstepError {
  override readonly name: string = "EnvironmentError";
}

/** The largest number of environments and of steps, which stands for no limit, and the last index: the largest i32. */
export const MOST_COUNT = 2 ** 31 - 1;

/** Refuses what is not a whole number within limits. */
export function needCount(what: string, value: number, least: number, most: number = Number.MAX_SAFE_INTEGER): number {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
  const range = value > most ? `from ${least} to ${most}` : `from ${least} on`;
  throw new EnvironmentError(`${what} must be a whole number ${range}, it is ${value}`);
}

/** Numbers that an environment depends on, with the values they have unless overridden. */
export interface Params {
  readonly [name: string]: number;
}
export type ParamsOf<P extends Params> = { readonly [K in keyof P]: number };
/** Data that all environments of a kind read, such as images: arrays made by `allocate`, which are used in place. */
export interface Tables {
  readonly [name: string]: TypedArray;
}
export type TablesOf<T extends Tables> = { readonly [K in keyof T]: ReadonlyList<number> };

/** Spaces that compiled environments have: rows of numbers, or one whole number. */
export type ObservationSpace = Box<"f32" | "u8"> | Discrete;
export type ActionSpace = Discrete | MultiDiscrete | Box<"f32">;
/** An action as the functions see it: a number, or a row of them. */
export type ActionOf<A extends ActionSpace> = A extends Discrete ? number : KernelArray;

export interface StepContext<P extends Params, T extends Tables = Tables> {
  readonly params: ParamsOf<P>;
  readonly tables: TablesOf<T>;
  /** Numbers of this environment, episode and step alone. */
  readonly rng: RandomStream;
}
export interface StepResult {
  readonly reward: number;
  readonly terminated: boolean;
}

export interface EnvSpec<
  S extends Fields,
  P extends Params,
  O extends ObservationSpace,
  A extends ActionSpace,
  T extends Tables = Tables,
> {
  readonly id: string;
  readonly params: P;
  readonly tables?: T;
  readonly state: S;
  readonly observation: O;
  readonly action: A;
  /** Steps after which an episode is truncated; without a limit unless given. */
  readonly maxSteps?: number;
  /** What solving means, in words. */
  readonly solved?: string;
  /** Puts a state at the beginning of an episode. It holds what the episode before left. */
  reset(s: StateOf<S>, context: StepContext<P, T>): void;
  /** One step, in place. */
  step(s: StateOf<S>, action: ActionOf<A>, context: StepContext<P, T>): StepResult;
  /** Writes what the agent sees. */
  observe(s: StateOf<S>, obs: KernelArray, context: Omit<StepContext<P, T>, "rng">): void;
  /** Draws a state. */
  draw?(s: StateOf<S>, canvas: Canvas, params: ParamsOf<P>): void;
}

/** A definition as the rest of the system uses it: the functions stand ready to be inlined into kernels. */
export interface Environment<
  S extends Fields = Fields,
  P extends Params = Params,
  O extends ObservationSpace = ObservationSpace,
  A extends ActionSpace = ActionSpace,
> {
  readonly id: string;
  readonly params: P;
  readonly tables: Tables;
  readonly state: S;
  readonly observation: O;
  readonly action: A;
  readonly maxSteps: number | undefined;
  readonly solved: string | undefined;
  readonly functions: EnvFunctions;
  /** A method, so that an environment with parameters of its own is still an `Environment`. */
  draw?(s: never, canvas: Canvas, params: ParamsOf<P>): void;
}
export interface EnvFunctions {
  readonly reset: Inline;
  readonly step: Inline;
  readonly observe: Inline;
}

/** Numbers in a row of observations. */
export const observationSize = (space: ObservationSpace): number => (space.kind === "discrete" ? 1 : flatSize(space));
/** Numbers in an action. */
export function actionSize(space: ActionSpace): number {
  switch (space.kind) {
    case "discrete":
      return 1;
    case "multiDiscrete":
      return space.counts.length;
    case "box":
      return flatSize(space);
    default:
      return space satisfies never;
  }
}

/** Choices of an action, all parts together; none of continuous ones. */
export function choiceCount(space: ActionSpace): number {
  switch (space.kind) {
    case "discrete":
      return space.n;
    case "multiDiscrete":
      return space.counts.reduce((sum, n) => sum + n, 0);
    case "box":
      return 0;
    default:
      return space satisfies never;
  }
}
/** Numbers at the end of an observation that say which choices are allowed. */
export function maskSize(observation: ObservationSpace, action: ActionSpace): number {
  if (action.kind === "box" || !action.masked) return 0;
  const choices = choiceCount(action);
  if (observation.kind === "box" && observation.dtype === "f32" && observationSize(observation) > choices)
    return choices;
  throw new EnvironmentError(
    `masked actions need observations of f32 numbers that end with one for each of the ${choices} choices`,
  );
}

/** Makes records and lists read-only, all the way down; arrays of numbers in the heap stay as they are. */
function frozen<V>(value: V): V {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value) || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) frozen(inner);
  return Object.freeze(value);
}

const OBSERVATION_KINDS: { readonly [K in ObservationSpace["kind"]]: true } = { box: true, discrete: true };
const ACTION_KINDS: { readonly [K in ActionSpace["kind"]]: true } = { box: true, discrete: true, multiDiscrete: true };
/** Types say the same; programs without types, and casts, are told here. */
function checkKind(what: string, space: { readonly kind: string } | undefined, known: object): void {
  if (space && Object.hasOwn(known, space.kind)) return;
  const kinds = Object.keys(known).join(", ");
  throw new EnvironmentError(`${what} of compiled environments are one of ${kinds}, not ${space?.kind ?? space}`);
}

/** Makes an environment of its parts: a definition that nobody can change. */
export function defineEnv<
  const S extends Fields,
  const P extends Params,
  const O extends ObservationSpace,
  const A extends ActionSpace,
  T extends Tables = Record<never, never>,
>(spec: EnvSpec<S, P, O, A, T>): Environment<S, P, O, A> {
  const { id, params, tables = {}, state, observation, action, maxSteps, solved, draw } = spec;
  if (!id) throw new EnvironmentError("an environment needs an id");
  if (maxSteps !== undefined) needCount(`${id}: maxSteps`, maxSteps, 1);
  checkKind(`${id}: observations`, observation, OBSERVATION_KINDS);
  checkKind(`${id}: actions`, action, ACTION_KINDS);
  maskSize(observation, action);
  for (const [name, value] of Object.entries(params))
    if (typeof value !== "number")
      throw new EnvironmentError(`${id}: the parameter "${name}" is ${value}, not a number`);
  const functions = { reset: inline(spec.reset), step: inline(spec.step), observe: inline(spec.observe) };
  const made = { id, params, tables, state, observation, action, maxSteps, solved, functions };
  return frozen(draw === undefined ? made : { ...made, draw: draw as never });
}
