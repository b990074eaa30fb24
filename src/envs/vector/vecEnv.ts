/**
 * @file VecEnv: many environments of one kind, stepped together by compiled code.
 *
 * State lies in one array per field, results in flat arrays that stay in place and are written anew by every step; the
 * caller may hand over arrays of its own. Results do not depend on how many environments there are, on threads or on
 * the target: they are a function of the seed, the environment's index, the episode and the actions.
 */
import type { TypedArray } from "../../ir/arrays.ts";
import { bool, type Fields, f32, i32, type Scalar, u32 } from "../../kernel/declare.ts";
import { allocate, free, type Kernel, type RunOptions } from "../../kernel/kernel.ts";
import type { TargetChoice } from "../../runtime/targets.ts";
import {
  type ActionSpace,
  actionSize,
  type Environment,
  EnvironmentError,
  type ObservationSpace,
  observationSize,
  type Params,
  type ParamsOf,
} from "../define.ts";
import { describeSpace } from "../spaces.ts";
import { type Autoreset, actionType, observationType, REFUSED, resetKernel, stepKernel } from "./kernel.ts";

export interface VecEnvOptions<P extends Params = Params> {
  /** A whole number from 0 on; 0 unless given. */
  readonly seed?: number;
  /** When ended environments start over; "same-step" unless given. */
  readonly autoreset?: Autoreset;
  /** Steps after which an episode is truncated; the environment's own limit unless given, Infinity for none. */
  readonly maxSteps?: number;
  /** Numbers that the environment depends on, instead of its own. */
  readonly params?: Partial<ParamsOf<P>>;
  /** The index of the first environment: what makes the numbers of each its own. 0 unless given. */
  readonly firstIndex?: number;
  readonly target?: TargetChoice;
  readonly threads?: number;
}

/** What a step gives: flat arrays, one row per environment, the same memory every time. */
export interface StepArrays {
  /** What to act on next: after an end, with "same-step", the beginning of the next episode. */
  readonly obs: Float32Array | Uint8Array | Int32Array;
  readonly reward: Float32Array;
  readonly terminated: Uint8Array;
  readonly truncated: Uint8Array;
  /** The last observation of an episode, in the rows where one ended with this step. */
  readonly finalObs: Float32Array | Uint8Array | Int32Array;
}

const NO_LIMIT = 2 ** 31 - 1;

function needCount(what: string, value: number, least: number): number {
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new EnvironmentError(`${what} must be a whole number from ${least} on, it is ${value}`);
}

type StateArrays = { readonly [field: string]: TypedArray | StateArrays };

/** One array per field of a state, for n environments. */
function allocateState(fields: Fields, n: number): StateArrays {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]): [string, TypedArray | StateArrays] => {
      switch (field.kind) {
        case "scalar":
          return [name, allocate(field as Scalar, n)];
        case "array":
          return [name, allocate(field.element as Scalar, n * ((field.length as number) ?? 1))];
        case "struct":
          return [name, allocateState(field.fields as Fields, n)];
        default:
          return [name, allocateState(field as Fields, n)];
      }
    }),
  );
}
function* arraysIn(state: StateArrays): Generator<TypedArray> {
  for (const value of Object.values(state)) {
    if (ArrayBuffer.isView(value)) yield value as TypedArray;
    else yield* arraysIn(value as StateArrays);
  }
}

export class VecEnv<E extends Environment = Environment> {
  readonly env: E;
  readonly n: number;
  readonly autoreset: Autoreset;
  readonly seed: number;
  /** The arrays of the last step or reset. */
  readonly out: StepArrays;
  /** Return and length of the episode that each environment finished last. */
  readonly episodeReturn: Float32Array;
  readonly episodeLength: Int32Array;
  /** Episodes that each environment has begun, less one. */
  readonly episodes: Int32Array;
  /** Steps of the current episodes. */
  readonly steps: Int32Array;
  readonly #state: StateArrays;
  readonly #actions: Float32Array | Int32Array;
  readonly #status: Int32Array;
  readonly #which: Uint8Array;
  readonly #own: readonly TypedArray[];
  readonly #arguments: { readonly [name: string]: unknown };
  readonly #kernels: { readonly reset: Kernel; readonly step: Kernel };
  readonly #run: { readonly target: TargetChoice; readonly options: RunOptions };
  readonly #reset: () => void;
  readonly #step: () => void;
  #begun = false;

  constructor(env: E, n: number, options: VecEnvOptions<E["params"]> = {}) {
    const { seed = 0, autoreset = "same-step", firstIndex = 0 } = options;
    this.env = env;
    this.n = needCount(`${env.id}: the number of environments`, n, 1);
    this.seed = needCount(`${env.id}: the seed`, seed, 0);
    needCount(`${env.id}: firstIndex`, firstIndex, 0);
    this.autoreset = autoreset;
    const params = checkedParams(env, options.params ?? {});
    const limit = checkedLimit(env, options.maxSteps);
    this.#kernels = { reset: resetKernel(env, params), step: stepKernel(env, params, autoreset) };
    this.#run = {
      target: options.target ?? "auto",
      options: options.threads === undefined ? {} : { threads: options.threads },
    };
    const observation = (): StepArrays["obs"] =>
      allocate(observationType(env) as Scalar<"f32">, n * observationSize(env.observation));
    this.out = {
      obs: observation(),
      reward: allocate(f32, n),
      terminated: allocate(bool, n),
      truncated: allocate(bool, n),
      finalObs: observation(),
    };
    this.#actions = allocate(actionType(env.action) as Scalar<"i32">, n * actionSize(env.action));
    this.#state = allocateState(env.state, n);
    this.#status = allocate(i32, 2);
    this.#which = allocate(bool, n);
    this.episodeReturn = allocate(f32, n);
    this.episodeLength = allocate(i32, n);
    this.episodes = allocate(i32, n);
    this.steps = allocate(i32, n);
    const kept = {
      key0: allocate(u32, n),
      key1: allocate(u32, n),
      ended: allocate(bool, n),
      runningReturn: allocate(f32, n),
    };
    const { episodeReturn, episodeLength, episodes, steps } = this;
    this.#arguments = {
      state: this.#state,
      ...kept,
      steps,
      episodes,
      episodeReturn,
      episodeLength,
      ...this.out,
      actions: this.#actions,
      status: this.#status,
      which: this.#which,
      rounds: 1,
      limit,
      seed0: seed >>> 0,
      seed1: Math.floor(seed / 2 ** 32) >>> 0,
      first: firstIndex,
    };
    const own = [...Object.values(this.#arguments), ...arraysIn(this.#state)];
    this.#own = own.filter((value): value is TypedArray => ArrayBuffer.isView(value));
    this.#reset = this.#bind(this.#kernels.reset);
    this.#step = this.#bind(this.#kernels.step);
  }

  #bind(kernel: Kernel): () => void {
    return kernel.on(this.#run.target, this.#run.options).bind(this.#arguments as never);
  }

  /** The arrays of the state, one per field; array fields have element k of environment i at k * n + i. */
  get state(): StateArrays {
    return this.#state;
  }

  /** Begins episode 0 of every environment; or, with a mask, the next episode of those where it is not 0. */
  reset(which?: ArrayLike<number | boolean>): StepArrays {
    if (which !== undefined && which.length !== this.n)
      throw new EnvironmentError(`${this.env.id}: a mask of ${which.length} does not fit ${this.n} environments`);
    if (which !== undefined && !this.#begun) throw this.#notBegun();
    for (let i = 0; i < this.n; i++) {
      const chosen = which === undefined || Boolean(which[i]);
      this.#which[i] = chosen ? 1 : 0;
      if (chosen) this.episodes[i] = which === undefined ? 0 : (this.episodes[i] as number) + 1;
    }
    this.#reset();
    this.#begun = true;
    return this.out;
  }
  #notBegun(): EnvironmentError {
    return new EnvironmentError(`${this.env.id}: call reset() first`);
  }

  /** Steps every environment once. */
  step(actions: ArrayLike<number>): StepArrays {
    const own = this.#actions;
    if (actions !== own) {
      if (actions.length !== own.length) throw this.#wrongCount(actions.length);
      own.set(actions);
    }
    if (!this.#begun) throw this.#notBegun();
    this.#step();
    if (this.#status[1] !== REFUSED.nothing) throw this.#refusal();
    return this.out;
  }

  /** The array that steps read actions from: filling it and handing it over saves a copy. */
  get actions(): Float32Array | Int32Array {
    return this.#actions;
  }

  #wrongCount(count: number): EnvironmentError {
    const each = actionSize(this.env.action);
    const wanted = each === 1 ? `${this.n} actions` : `${this.n} actions of ${each} numbers`;
    return new EnvironmentError(`${this.env.id}: ${count} numbers are not ${wanted}; nothing was changed`);
  }

  #refusal(): EnvironmentError {
    const [at = 0, why] = this.#status;
    const { id, action } = this.env;
    if (why === REFUSED.ended)
      return new EnvironmentError(
        `${id}: environment ${at} has ended; call reset(), or use autoreset "same-step" or "next-step". Nothing was changed`,
      );
    const each = actionSize(action);
    const given = Array.from(this.#actions.subarray(at * each, (at + 1) * each)).join(", ");
    return new EnvironmentError(
      `${id}: action ${given} of environment ${at} is not in ${describeSpace(action)}; nothing was changed`,
    );
  }

  /** Gives the memory back; the arrays must not be used any more. */
  dispose(): void {
    for (const array of this.#own) free(array);
    for (const kernel of Object.values(this.#kernels)) kernel.on(this.#run.target, this.#run.options).program.dispose();
  }
}

function checkedParams(env: Environment, given: Partial<Params>): Params {
  for (const [name, value] of Object.entries(given)) {
    if (!(name in env.params)) {
      const known = Object.keys(env.params).join(", ");
      throw new EnvironmentError(`${env.id} has no parameter "${name}"; there are ${known}`);
    }
    if (typeof value !== "number" || Number.isNaN(value))
      throw new EnvironmentError(`${env.id}: the parameter "${name}" must be a number, it is ${value}`);
  }
  return { ...env.params, ...given } as Params;
}

function checkedLimit(env: Environment, given: number | undefined): number {
  if (given === Number.POSITIVE_INFINITY) return NO_LIMIT;
  if (given !== undefined) return needCount(`${env.id}: maxSteps`, given, 1);
  return env.maxSteps ?? NO_LIMIT;
}

export type { ActionSpace, ObservationSpace };
