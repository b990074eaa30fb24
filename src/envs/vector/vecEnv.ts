/**
 * @file VecEnv: many environments of one kind, stepped together by compiled code.
 *
 * State lies in one array per field, results in flat arrays that stay in place and are written anew by every step; the
 * caller may hand over arrays of its own. Results do not depend on how many environments there are, on threads or on
 * the target: they are a function of the seed, the environment's index, the episode and the actions.
 */
import type { TypedArray } from "../../ir/arrays.ts";
import { bool, f32, i32, type Scalar, u8, u32 } from "../../kernel/declare.ts";
import { allocate, free, type RunOptions } from "../../kernel/kernel.ts";
import {
  type ActionSpace,
  actionSize,
  type Environment,
  EnvironmentError,
  MOST_COUNT,
  needCount,
  type ObservationSpace,
} from "../define.ts";
import { type ActionArray, type ActionSource, actionsFrom, copyActions } from "./actions.ts";
import {
  allocateState,
  arraysIn,
  checkGiven,
  checkResult,
  checkState,
  type EnvState,
  RESULTS,
  readState,
  resultArrays,
  resultColumn,
  type StateArrays,
  type StepArrays,
  type StepTarget,
  writeState,
} from "./arrays.ts";
import { type Binding, StepBindings } from "./bindings.ts";
import { KeptArrays } from "./kept.ts";
import { type Autoreset, CONTROL, listLength, OWN_TYPES, REFUSED, WHICH } from "./kernel.ts";
import {
  checkedAutoreset,
  checkedFirst,
  checkedLimit,
  checkedParams,
  checkOptions,
  VEC_OPTIONS,
  type VecEnvOptions,
} from "./options.ts";
import { type CompiledKernels, compiledKernels, ownTypes } from "./programs.ts";
import { hasEnded, wrongAction } from "./refusals.ts";
import { actionType } from "./spaces.ts";

/** What `collect` gives: rows of n results, one for each step. */
export interface Collected extends StepArrays {
  /** The actions that were taken; n of them where they were the same in every step. */
  readonly actions: ActionArray;
  /** Steps taken: k; fewer with autoreset "disabled", where the step in which an episode ends is the last. */
  readonly rounds: number;
}

export class VecEnv<E extends Environment = Environment> {
  readonly env: E;
  readonly n: number;
  readonly autoreset: Autoreset;
  readonly seed: number;
  /** The results of the last step or reset; those of steps that wrote to other arrays stand there alone. */
  readonly out: StepArrays;
  /** Return and length of the episode that each environment finished last. */
  readonly episodeReturn: Float32Array;
  readonly episodeLength: Int32Array;
  /** Episodes that each environment has begun, less one. */
  readonly episodes: Int32Array;
  /** Steps of the current episodes. */
  readonly steps: Int32Array;
  readonly #state: StateArrays;
  readonly #ended: Uint8Array;
  readonly #runningReturn: Float32Array;
  readonly #actions: ActionArray;
  readonly #control: Int32Array;
  readonly #which: Uint8Array;
  readonly #own: TypedArray[];
  readonly #arguments: { readonly [name: string]: unknown };
  readonly #kernels: CompiledKernels;
  readonly #reset: () => void;
  readonly #step: () => void;
  readonly #bindings: StepBindings;
  #kept: KeptArrays | undefined;
  /** Steps since the last reset of all environments. */
  #taken = 0;
  #stage: "new" | "begun" | "disposed" = "new";

  constructor(env: E, n: number, options: VecEnvOptions<E["params"]> = {}) {
    const { seed = 0, firstIndex = 0 } = options;
    if (typeof env !== "object") throw new EnvironmentError(`not an environment: ${env}; environment(id) finds one`);
    checkOptions(env.id, options, VEC_OPTIONS);
    this.env = env;
    this.n = needCount(`${env.id}: the number of environments`, n, 1, MOST_COUNT);
    this.seed = needCount(`${env.id}: the seed`, seed, 0);
    checkedFirst(env.id, firstIndex, n);
    this.autoreset = checkedAutoreset(env.id, options.autoreset ?? "same-step");
    const { constants, lists } = checkedParams(env, options.params ?? {}, n);
    const own = ownTypes(env, { constants, lists }, this.autoreset);
    const limit = checkedLimit(env.id, env.maxSteps, options.maxSteps);
    const given = options.out ?? {};
    for (const name of RESULTS) if (given[name]) checkResult(env, name, given[name], n, true);
    this.out = resultArrays(env, n, given);
    this.#actions = allocate(actionType(env.action) as Scalar<"i32">, n * actionSize(env.action));
    this.#control = allocate(i32, CONTROL.words);
    this.#control[CONTROL.rounds] = 1;
    this.#control[CONTROL.actionStride] = n;
    this.#state = allocateState(env.state, n);
    this.episodeReturn = allocate(f32, n);
    this.episodeLength = allocate(i32, n);
    this.episodes = allocate(i32, n);
    this.steps = allocate(i32, n);
    this.#ended = allocate(bool, n);
    this.#runningReturn = allocate(f32, n);
    this.#which = allocate(u8, n);
    const ownParams = Object.fromEntries(
      [...own].map(([name, type]) => [name, allocate(OWN_TYPES[type] as Scalar, n)]),
    );
    for (const [name, list] of lists) ownParams[name]?.set(list);
    this.#arguments = {
      state: this.#state,
      tables: env.tables,
      ownParams,
      ended: this.#ended,
      runningReturn: this.#runningReturn,
      key0: allocate(u32, n),
      key1: allocate(u32, n),
      list: allocate(i32, listLength(n)),
      episodes: this.episodes,
      steps: this.steps,
      episodeReturn: this.episodeReturn,
      episodeLength: this.episodeLength,
      control: this.#control,
      which: this.#which,
      limit,
      seed0: seed >>> 0,
      seed1: Math.floor(seed / 2 ** 32) >>> 0,
      first: firstIndex,
    };
    const arrays = [...Object.values(this.#arguments), ...arraysIn(this.#state), ...Object.values(ownParams)];
    arrays.push(this.#actions, ...RESULTS.filter((name) => !given[name]).map((name) => this.out[name]));
    this.#own = arrays.filter((value): value is TypedArray => ArrayBuffer.isView(value));
    const run: RunOptions = options.threads === undefined ? {} : { threads: options.threads };
    try {
      this.#kernels = compiledKernels(env, { constants, own }, this.autoreset, options.target ?? "auto", run);
      this.#reset = this.#kernels.reset.bind({ ...this.#arguments, obs: this.out.obs } as never);
      this.#bindings = new StepBindings(env, n, this.#kernels.step, this.#arguments);
      this.#step = this.#kernels.step.bind({ ...this.#arguments, ...this.out, actions: this.#actions } as never);
    } catch (error) {
      this.dispose();
      throw error;
    }
  }

  /** The arrays of the state, one per field; array fields have element k of environment i at k * n + i. */
  get state(): StateArrays {
    return this.#state;
  }
  /** The array that steps read actions from: filling it and handing it over saves a copy. */
  get actions(): ActionArray {
    return this.#actions;
  }
  /** How often JavaScript has crossed into the compiled code of steps, of all VecEnvs that share it. */
  get crossings(): number {
    return this.#kernels.step.program.crossings;
  }

  /** Begins episode 0 of every environment; or, with a mask, the next episode of those where it is not 0. */
  reset(which?: ArrayLike<number | boolean>): StepArrays {
    if (which !== undefined && which.length !== this.n)
      throw this.#error(`a mask of ${which.length} does not fit ${this.n} environments`);
    if (this.#stage === "disposed" || (which !== undefined && this.#stage === "new")) throw this.#notBegun();
    for (let i = 0; i < this.n; i++) {
      const chosen = which === undefined || Boolean(which[i]);
      this.#which[i] = chosen ? WHICH.begin : WHICH.none;
      if (chosen) this.episodes[i] = which === undefined ? 0 : (this.episodes[i] as number) + 1;
    }
    if (which === undefined) this.#taken = 0;
    this.#reset();
    this.#stage = "begun";
    return this.out;
  }

  /** Steps every environment once; results go to `out`, or to the arrays and rows of `into`. */
  step(actions: ArrayLike<number>, into?: StepTarget): StepArrays {
    if (this.#stage !== "begun") throw this.#notBegun();
    if (actions !== this.#actions) copyActions(this.env, this.n, actions, this.#actions);
    if (into) return this.#stepInto(into);
    this.#step();
    if (this.#control[CONTROL.refusedWhy] !== REFUSED.nothing) throw this.#refusal(this.#actions);
    this.#taken++;
    return this.out;
  }

  #stepInto(into: StepTarget): StepArrays {
    const known = this.#bindings.known(into, this.out, this.#actions);
    const binding = known ?? this.#bindings.of(this.#target(into, 1), this.#actions);
    this.#run(binding, into);
    return binding.results;
  }

  /**
   * Steps every environment k times in one call into compiled code: results as of k calls of `step`, row after row.
   * Without `into` they go to arrays that the next such call writes anew, or gives back when its k is another.
   */
  collect(source: ActionSource, k: number, into: StepTarget = {}): Collected {
    needCount(`${this.env.id}: the number of steps`, k, 1);
    if (this.#stage !== "begun") throw this.#notBegun();
    const row = this.#actions.length;
    // What lies in arrays that are given back now has to be copied first.
    const taken = this.#kept?.k !== k && this.#kept?.holds(source) ? Array.from(source as ArrayLike<number>) : source;
    const kept = this.#keptFor(k);
    const actions = actionsFrom(this.env, this.n, taken, k, this.#actions, kept);
    const whole = RESULTS.every((name) => into[name] === undefined);
    // Last observations are of use to few: without an array for them they go where the next call writes them anew.
    const places = into.finalObs || whole ? into : { ...into, finalRow: 0 };
    const arrays = this.#target(
      whole ? { ...into, ...kept.results() } : { ...places, finalObs: into.finalObs ?? kept.result("finalObs") },
      k,
    );
    const control = this.#control;
    control[CONTROL.rounds] = k;
    control[CONTROL.actionStride] = actions.length === row ? 0 : this.n;
    control[CONTROL.draw] = source === "random" ? 1 : 0;
    control[CONTROL.stepNumber] = this.#taken | 0;
    const rounds = this.#run(this.#bindings.of(arrays, actions), places);
    this.#copyLast(arrays, places, rounds);
    return { ...arrays, actions, rounds };
  }

  /** Runs a step kernel, and sets what it was told back to a single step in the VecEnv's own arrays. */
  #run({ run, actions }: Binding, into: StepTarget): number {
    const { row = 0, obsRow = row, finalRow = row, everyFinal = false } = into;
    const control = this.#control;
    control[CONTROL.everyFinal] = everyFinal ? 1 : 0;
    control[CONTROL.row] = row;
    control[CONTROL.obsRow] = obsRow;
    control[CONTROL.finalRow] = finalRow;
    try {
      run();
      if (control[CONTROL.refusedWhy] !== REFUSED.nothing) throw this.#refusal(actions);
      this.#taken += control[CONTROL.rounds] as number;
      return control[CONTROL.rounds] as number;
    } finally {
      control[CONTROL.row] = 0;
      control[CONTROL.obsRow] = 0;
      control[CONTROL.finalRow] = 0;
      control[CONTROL.everyFinal] = 0;
      control[CONTROL.draw] = 0;
      control[CONTROL.rounds] = 1;
      control[CONTROL.actionStride] = this.n;
    }
  }

  /** The caller's arrays, checked, and for a single step the VecEnv's own where one is not given. */
  #target(into: StepTarget, k: number): StepArrays {
    const { row = 0, obsRow = row, finalRow = row } = into;
    for (const [name, value] of Object.entries({ row, obsRow, finalRow }))
      needCount(`${this.env.id}: ${name}`, value, 0);
    const first = { obs: obsRow, finalObs: finalRow, reward: row, terminated: row, truncated: row };
    const arrays = RESULTS.map((name) => {
      const given = into[name] ?? (k === 1 && first[name] === 0 ? this.out[name] : undefined);
      if (!given) throw this.#error(`an array for ${name} is needed, too; nothing was changed`);
      checkResult(this.env, name, given, (first[name] + k) * this.n);
      return [name, given] as const;
    });
    return Object.fromEntries(arrays) as unknown as StepArrays;
  }

  /** The VecEnv's own arrays for k steps; those for another number of steps are given back. */
  #keptFor(k: number): KeptArrays {
    if (this.#kept?.k !== k) this.#dropKept();
    this.#kept ??= new KeptArrays(this.env, this.n, k);
    return this.#kept;
  }
  #dropKept(): void {
    const kept = this.#kept;
    if (!kept) return;
    this.#bindings.drop((array) => kept.has(array));
    kept.free();
    this.#kept = undefined;
  }

  /** Leaves `out` as k single steps would. */
  #copyLast(from: StepArrays, { row = 0, obsRow = row, finalRow = row }: StepTarget, rounds: number): void {
    const first = { obs: obsRow, finalObs: finalRow, reward: row, terminated: row, truncated: row };
    for (const name of RESULTS) {
      const size = this.n * resultColumn(this.env, name).size;
      const at = (first[name] + rounds - 1) * size;
      if (from[name] !== this.out[name]) this.out[name].set(from[name].subarray(at, at + size));
    }
  }

  /** Everything about environment i, as plain values: for tests, for planning, to go on from later. */
  getState(i: number): EnvState {
    this.#needIndex(i);
    return {
      state: readState(this.env.state, this.#state, this.n, i),
      steps: this.steps[i] as number,
      episode: (this.episodes[i] as number) >>> 0,
      return: this.#runningReturn[i] as number,
      ended: this.autoreset !== "same-step" && this.#ended[i] !== 0,
    };
  }

  /** Puts environment i in a state that `getState` gave; what is not given stays. Its row of `out.obs` follows. */
  setState(i: number, given: Partial<EnvState>): void {
    this.#needIndex(i);
    checkGiven(this.env.id, given);
    const { state, steps, episode, ended } = given;
    const { id, state: fields } = this.env;
    if (state !== undefined) {
      checkState(id, fields, this.#state, this.n, state);
      writeState(fields, this.#state, this.n, i, state);
    }
    if (steps !== undefined) this.steps[i] = steps;
    if (episode !== undefined) this.episodes[i] = episode;
    if (given.return !== undefined) this.#runningReturn[i] = given.return;
    if (ended !== undefined) this.#ended[i] = ended ? 1 : 0;
    this.#which.fill(WHICH.none);
    this.#which[i] = WHICH.observe;
    this.#reset();
  }
  #needIndex(i: number): void {
    if (this.#stage !== "begun") throw this.#notBegun();
    if (!(Number.isInteger(i) && i >= 0 && i < this.n))
      throw this.#error(`there is no environment ${i}; there are 0 to ${this.n - 1}`);
  }

  #error(message: string): EnvironmentError {
    return new EnvironmentError(`${this.env.id}: ${message}`);
  }
  #notBegun(): EnvironmentError {
    return this.#error(this.#stage === "disposed" ? "this VecEnv has been disposed of" : "call reset() first");
  }
  #refusal(actions: ActionArray): EnvironmentError {
    const at = this.#control[CONTROL.refusedAt] as number;
    const isEnded = this.#control[CONTROL.refusedWhy] === REFUSED.ended;
    return isEnded ? hasEnded(this.env, at) : wrongAction(this.env, this.n, at, actions);
  }

  /** Gives the memory back, but for arrays of the caller; the others must not be used any more. */
  dispose(): void {
    if (this.#stage === "disposed") return;
    this.#stage = "disposed";
    this.#dropKept();
    // There are none where compiling them has failed.
    const kernels: CompiledKernels | undefined = this.#kernels;
    kernels?.reset.program.unbind(this.#reset);
    kernels?.step.program.unbind(this.#step);
    this.#bindings?.drop(() => true);
    kernels?.release();
    for (const array of this.#own.splice(0)) free(array);
  }
}

export type {
  ActionArray,
  ActionSource,
  ActionSpace,
  EnvState,
  ObservationSpace,
  StepArrays,
  StepTarget,
  VecEnvOptions,
};
