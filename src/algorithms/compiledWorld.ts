/**
 * @file Environments inside of tensor programs: the kernels of a vector of environments, on states that programs share.
 *
 * A step is a call of the same kernel that `VecEnv` runs, so episodes are the same ones for the same seed and actions.
 * It writes straight into the rows of a rollout: observation t + 1, and row t of rewards, ends and last observations.
 */
import { actionSize, type Environment, MOST_COUNT, observationSize, type Params } from "../envs/define.ts";
import { allocateState, type StateArrays } from "../envs/vector/arrays.ts";
import { CONTROL, type KernelParams, listLength, resetKernel, stepKernel, WHICH } from "../envs/vector/kernel.ts";
import { checkedLimit } from "../envs/vector/options.ts";
import { storageIn, type TypedArray } from "../ir/arrays.ts";
import { call } from "../tensor/call.ts";
import { concat, constant } from "../tensor/make.ts";
import { State, StateScope, state } from "../tensor/state.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type CompiledWorldParts, lastRow, type RolloutStates, rolloutStates } from "./world.ts";

export interface CompiledWorldOptions {
  readonly n: number;
  readonly steps: number;
  readonly seed: number;
  readonly maxSteps?: number;
  readonly params?: Partial<Params>;
}

type StateTree = { readonly [name: string]: State | StateTree };
const TYPES = { f32: "f32", f64: "f64", i32: "i32", u32: "u32", u8: "bool" } as const;

/** The same arrays as states of programs. */
function statesOver(arrays: StateArrays, prefix: string): StateTree {
  return Object.fromEntries(
    Object.entries(arrays).map(([name, value]) => {
      const full = `${prefix}.${name}`;
      if (!ArrayBuffer.isView(value)) return [name, statesOver(value as StateArrays, full)];
      const array = value as TypedArray;
      return [name, new State(full, TYPES[storageIn(array) ?? "f32"], [array.length], array)];
    }),
  );
}

/** All states of a tree by their own names. */
const flat = (tree: StateTree): { readonly [name: string]: State } =>
  Object.assign({}, ...Object.values(tree).map((x) => (x instanceof State ? { [x.name]: x } : flat(x))));

export class CompiledWorld implements CompiledWorldParts {
  readonly kind = "compiled";
  readonly env: Environment;
  readonly n: number;
  readonly rollout: RolloutStates;
  readonly truncates: boolean;
  readonly episodeReturn: State;
  readonly episodeLength: State;
  readonly #params: KernelParams;
  readonly #state: StateTree;
  readonly #arrays: StateArrays;
  readonly #own: { readonly [name: string]: State };
  /** A state, so that programs for other seeds are the same programs. */
  readonly #seed: State;
  readonly #limit: number;
  readonly #actions: State;
  readonly #control: State;

  constructor(env: Environment, options: CompiledWorldOptions) {
    const { n, steps, seed, maxSteps, params = {} } = options;
    this.env = env;
    this.n = n;
    this.#params = { constants: { ...env.params, ...params } as Params, own: new Map() };
    this.rollout = rolloutStates(steps, n, env.observation);
    this.#arrays = allocateState(env.state, n);
    this.#state = statesOver(this.#arrays, "state");
    for (const one of Object.values(flat(this.#state))) StateScope.take(one);
    const whole = (dtype: "f32" | "i32" | "u32" | "bool"): State => state(dtype, [n]);
    this.#own = {
      steps: whole("i32"),
      episodes: whole("i32"),
      key0: whole("u32"),
      key1: whole("u32"),
      ended: whole("bool"),
      runningReturn: whole("f32"),
      list: state("i32", [listLength(n)]),
    };
    this.episodeReturn = whole("f32");
    this.episodeLength = whole("i32");
    this.#actions = state(env.action.kind === "box" ? "f32" : "i32", [n * actionSize(env.action)]);
    this.#control = state("i32", [CONTROL.words]);
    const limit = checkedLimit(env.id, env.maxSteps, maxSteps);
    this.truncates = limit !== MOST_COUNT;
    this.#seed = state("u32", [2], { name: "seed", from: [seed >>> 0, Math.floor(seed / 2 ** 32) >>> 0] });
    this.#limit = limit;
    this.#reset();
  }

  get states(): ReadonlyMap<string, State> {
    const { list: _, ...own } = this.#own;
    const { episodeReturn, episodeLength } = this;
    return new Map(
      Object.entries({ obs: lastRow(this.rollout.obs), episodeReturn, episodeLength, ...own, ...flat(this.#state) }),
    );
  }

  /** Begins episode 0 of every environment; its observations are the last row of the rollout, from which it goes on. */
  #reset(): void {
    const arrays = Object.fromEntries(Object.entries(this.#own).map(([name, s]) => [name, s.array]));
    const { list: _, ...own } = arrays;
    const [seed0, seed1] = this.#seed.array;
    const size = observationSize(this.env.observation);
    const which = state("bool", [this.n]);
    which.array.fill(WHICH.begin);
    (this.#own.episodes as State).array.fill(0);
    const obs = this.rollout.obs.array.subarray(-this.n * size);
    const args = {
      ...own,
      seed0,
      seed1,
      first: 0,
      state: this.#arrays,
      tables: this.env.tables,
      obs,
      which: which.array,
    };
    // Once only: JavaScript, which has the same bits, is there at once.
    const reset = resetKernel(this.env, this.#params).on("js");
    reset(args as never);
    reset.program.dispose();
    which.dispose();
  }

  /** Inside a program: one step of all environments, into row t of the rollout. */
  step(actions: Tensor, t: Tensor): void {
    this.#actions.assign(actions.reshape([-1]));
    const word = (value: Tensor | number): Tensor =>
      (typeof value === "number" ? constant(value, "i32") : value).reshape([1]);
    const words: (Tensor | number)[] = new Array<number>(CONTROL.words).fill(0);
    words[CONTROL.rounds] = 1;
    words[CONTROL.obsRow] = t.add(1);
    words[CONTROL.finalRow] = t;
    words[CONTROL.row] = t;
    words[CONTROL.actionStride] = this.n;
    this.#control.assign(concat(words.map(word)));
    const kernel = stepKernel(this.env, this.#params, "same-step");
    call(kernel, {
      ...this.#own,
      seed0: this.#seed.value.at(0, 0),
      seed1: this.#seed.value.at(0, 1),
      first: 0,
      limit: this.#limit,
      ...this.rollout,
      state: this.#state,
      tables: statesOver(this.env.tables, "tables"),
      episodeReturn: this.episodeReturn,
      episodeLength: this.episodeLength,
      actions: this.#actions,
      control: this.#control,
    } as never);
  }
}
