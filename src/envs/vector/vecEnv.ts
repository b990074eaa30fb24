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
import { heap } from "../../runtime/heap.ts";
import { type ActionSpace, actionSize, type Environment, EnvironmentError, type ObservationSpace } from "../define.ts";
import {
  allocateState,
  arraysIn,
  checkResult,
  checkState,
  RESULTS,
  readState,
  resultArrays,
  resultColumn,
  type StateArrays,
  type StateValues,
  type StepArrays,
  type StepTarget,
  writeState,
} from "./arrays.ts";
import { type Autoreset, CONTROL, REFUSED, WHICH } from "./kernel.ts";
import { checkedAutoreset, checkedLimit, checkedParams, needCount, type VecEnvOptions } from "./options.ts";
import { type CompiledKernels, compiledKernels } from "./programs.ts";
import { hasEnded, wrongAction, wrongCount } from "./refusals.ts";
import { actionType } from "./spaces.ts";

export type ActionArray = Float32Array | Int32Array;
/**
 * Where `collect` takes actions from: k * n rows, or n that are taken again in every step; "zero" (the first action, or
 * zeroes); or "random", drawn inside of compiled code as a function of seed, index and step number.
 */
export type ActionSource = ArrayLike<number> | "zero" | "random";

/** What `collect` gives: rows of n results, one for each step. */
export interface Collected extends StepArrays {
  /** The actions that were taken; n of them where they were the same in every step. */
  readonly actions: ActionArray;
  /** Steps taken: k; fewer with autoreset "disabled", where the step in which an episode ends is the last. */
  readonly rounds: number;
}

/** Everything about one environment: what `setState` takes. */
export interface EnvState {
  readonly state: StateValues;
  readonly steps: number;
  readonly episode: number;
  /** The sum of rewards of this episode so far. */
  readonly return: number;
  readonly ended: boolean;
}

/** A function bound to arrays of results and actions. */
interface Binding {
  readonly arrays: readonly TypedArray[];
  readonly run: () => void;
}
/** Bindings that are kept: of the arrays used last. */
const MOST_BINDINGS = 4;

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
  readonly #bindings: Binding[] = [];
  #collected: { readonly k: number; readonly arrays: StepArrays; readonly actions: ActionArray } | undefined;
  /** Steps since the last reset of all environments. */
  #taken = 0;
  #stage: "new" | "begun" | "disposed" = "new";

  constructor(env: E, n: number, options: VecEnvOptions<E["params"]> = {}) {
    const { seed = 0, firstIndex = 0 } = options;
    this.env = env;
    this.n = needCount(`${env.id}: the number of environments`, n, 1);
    this.seed = needCount(`${env.id}: the seed`, seed, 0);
    needCount(`${env.id}: firstIndex`, firstIndex, 0);
    this.autoreset = checkedAutoreset(env, options.autoreset ?? "same-step");
    const params = checkedParams(env, options.params ?? {}, n);
    const limit = checkedLimit(env, options.maxSteps);
    const given = options.out ?? {};
    for (const name of RESULTS) if (given[name]) checkResult(env, name, given[name], n);
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
    const ownParams = Object.fromEntries(params.own.map((name) => [name, allocate(f32, n)]));
    for (const [name, list] of params.lists) ownParams[name]?.set(list);
    this.#arguments = {
      state: this.#state,
      tables: env.tables,
      ownParams,
      ended: this.#ended,
      runningReturn: this.#runningReturn,
      key0: allocate(u32, n),
      key1: allocate(u32, n),
      // A power of two, so that a mask keeps subscripts inside.
      list: allocate(i32, 2 ** Math.ceil(Math.log2(n))),
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
    const own = [...Object.values(this.#arguments), ...arraysIn(this.#state), ...Object.values(ownParams)];
    own.push(this.#actions, ...RESULTS.filter((name) => !given[name]).map((name) => this.out[name]));
    this.#own = own.filter((value): value is TypedArray => ArrayBuffer.isView(value));
    const run: RunOptions = options.threads === undefined ? {} : { threads: options.threads };
    this.#kernels = compiledKernels(env, params, this.autoreset, options.target ?? "auto", run);
    this.#reset = this.#kernels.reset.bind({ ...this.#arguments, obs: this.out.obs } as never);
    this.#step = this.#kernels.step.bind({ ...this.#arguments, ...this.out, actions: this.#actions } as never);
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
    if (actions !== this.#actions) this.#take(actions, this.#actions);
    if (this.#stage !== "begun") throw this.#notBegun();
    if (into) return this.#stepInto(into);
    this.#step();
    if (this.#control[CONTROL.refusedWhy] !== REFUSED.nothing) throw this.#refusal(this.#actions);
    this.#taken++;
    return this.out;
  }

  #stepInto(into: StepTarget): StepArrays {
    const arrays = this.#target(into, 1);
    this.#run(arrays, this.#actions, into);
    return arrays;
  }

  /**
   * Steps every environment k times in one call into compiled code: results as of k calls of `step`, row after row.
   * Without `into` they go to arrays that the next call with the same k writes anew.
   */
  collect(source: ActionSource, k: number, into: StepTarget = {}): Collected {
    needCount(`${this.env.id}: the number of steps`, k, 1);
    if (this.#stage !== "begun") throw this.#notBegun();
    const row = this.n * actionSize(this.env.action);
    const kept = this.#arraysFor(k);
    const actions = this.#actionsFrom(source, k, row, kept.actions);
    const whole = RESULTS.every((name) => into[name] === undefined);
    const arrays = this.#target(whole ? { ...into, ...kept.arrays } : { finalObs: kept.arrays.finalObs, ...into }, k);
    const places = into.finalObs || whole ? into : { ...into, finalRow: 0 };
    const control = this.#control;
    control[CONTROL.rounds] = k;
    control[CONTROL.actionStride] = actions.length === row ? 0 : this.n;
    control[CONTROL.draw] = source === "random" ? 1 : 0;
    control[CONTROL.stepNumber] = this.#taken | 0;
    const rounds = this.#run(arrays, actions, places);
    this.#copyLast(arrays, places, rounds);
    return { ...arrays, actions, rounds };
  }

  /** Runs a step kernel, and sets what it was told back to a single step in the VecEnv's own arrays. */
  #run(arrays: StepArrays, actions: ActionArray, { row = 0, obsRow = row, finalRow = row }: StepTarget): number {
    const control = this.#control;
    control[CONTROL.row] = row;
    control[CONTROL.obsRow] = obsRow;
    control[CONTROL.finalRow] = finalRow;
    try {
      this.#bound(arrays, actions).run();
      if (control[CONTROL.refusedWhy] !== REFUSED.nothing) throw this.#refusal(actions);
      this.#taken += control[CONTROL.rounds] as number;
      return control[CONTROL.rounds] as number;
    } finally {
      for (const at of [CONTROL.row, CONTROL.obsRow, CONTROL.finalRow, CONTROL.draw]) control[at] = 0;
      control[CONTROL.rounds] = 1;
      control[CONTROL.actionStride] = this.n;
    }
  }

  /** The step kernel on these arrays: bound when they are first seen. */
  #bound(results: StepArrays, actions: ActionArray): Binding {
    const arrays = [...RESULTS.map((name) => results[name]), actions];
    const found = this.#bindings.find((b) => b.arrays.every((a, k) => a === arrays[k]));
    if (found) return found;
    const run = this.#kernels.step.bind({ ...this.#arguments, ...results, actions } as never);
    const made = { arrays, run };
    this.#bindings.push(made);
    const oldest = this.#bindings.length > MOST_BINDINGS ? this.#bindings.shift() : undefined;
    if (oldest) this.#kernels.step.program.unbind(oldest.run);
    return made;
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

  /** The VecEnv's own arrays for k steps. */
  #arraysFor(k: number): { readonly arrays: StepArrays; readonly actions: ActionArray } {
    if (this.#collected?.k === k) return this.#collected;
    this.#dropCollected();
    const actions = allocate(actionType(this.env.action) as Scalar<"i32">, k * this.#actions.length);
    this.#collected = { k, arrays: resultArrays(this.env, k * this.n), actions };
    return this.#collected;
  }
  #dropCollected(): void {
    if (!this.#collected) return;
    const gone = new Set<TypedArray>([
      ...RESULTS.map((name) => this.#collected?.arrays[name]),
      this.#collected.actions,
    ] as TypedArray[]);
    for (let at = this.#bindings.length - 1; at >= 0; at--) {
      const binding = this.#bindings[at] as Binding;
      if (!binding.arrays.some((a) => gone.has(a))) continue;
      this.#kernels.step.program.unbind(binding.run);
      this.#bindings.splice(at, 1);
    }
    for (const array of gone) free(array);
    this.#collected = undefined;
  }

  /** Actions in lockstep's memory: those given where they are there already. */
  #actionsFrom(source: ActionSource, k: number, row: number, room: ActionArray): ActionArray {
    if (source === "random") return room;
    if (source === "zero") {
      const { action } = this.env;
      return this.#actions.fill(action.kind === "discrete" ? action.start : 0);
    }
    if (source.length !== row && source.length !== k * row) throw wrongCount(this.env, this.n, source.length, k);
    const own = source.length === row ? this.#actions : room;
    const isOurs = source.constructor === own.constructor && heap().owns((source as ActionArray).buffer);
    if (isOurs) return source as ActionArray;
    this.#take(source, own);
    return own;
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

  /** Copies actions; whole numbers must be whole. Lists are short as a rule, and `set` is slow for those. */
  #take(actions: ArrayLike<number>, to: ActionArray): void {
    const { length } = to;
    if (actions.length !== length) throw wrongCount(this.env, this.n, actions.length, length / this.#actions.length);
    if (actions instanceof Int32Array || (actions instanceof Float32Array && to instanceof Float32Array)) {
      to.set(actions);
      return;
    }
    if (to instanceof Int32Array)
      for (let k = 0; k < length; k++) {
        const x = actions[k] as number;
        if ((x | 0) !== x) throw wrongAction(this.env, this.n, Math.floor(k / actionSize(this.env.action)), actions);
      }
    for (let k = 0; k < length; k++) to[k] = actions[k] as number;
  }

  /** Everything about environment i, as plain values: for tests, for planning, to go on from later. */
  getState(i: number): EnvState {
    this.#needIndex(i);
    return {
      state: readState(this.env.state, this.#state, this.n, i),
      steps: this.steps[i] as number,
      episode: this.episodes[i] as number,
      return: this.#runningReturn[i] as number,
      ended: this.autoreset !== "same-step" && this.#ended[i] !== 0,
    };
  }

  /** Puts environment i in a state that `getState` gave; what is not given stays. Its row of `out.obs` follows. */
  setState(i: number, given: Partial<EnvState>): void {
    this.#needIndex(i);
    const { state, steps, episode, ended } = given;
    const { id, state: fields } = this.env;
    if (steps !== undefined) needCount(`${id}: steps`, steps, 0);
    if (episode !== undefined) needCount(`${id}: episode`, episode, 0);
    if (given.return !== undefined && typeof given.return !== "number") throw this.#error("return must be a number");
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
    this.#dropCollected();
    const { reset, step } = this.#kernels;
    reset.program.unbind(this.#reset);
    for (const run of [this.#step, ...this.#bindings.map((b) => b.run)]) step.program.unbind(run);
    for (const array of this.#own.splice(0)) free(array);
  }
}

export type { ActionSpace, ObservationSpace, StepArrays, StepTarget, VecEnvOptions };
