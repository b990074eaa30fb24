/**
 * @file The step kernel of a VecEnv bound to arrays of results and actions: of the caller's arrays, those used last stay
 * bound, so that steps into them cost little more than steps into the VecEnv's own.
 */
import type { TypedArray } from "../../ir/arrays.ts";
import type { KernelOn } from "../../kernel/kernel.ts";
import type { Environment } from "../define.ts";
import type { ActionArray } from "./actions.ts";
import { RESULTS, type ResultName, resultColumn, type StepArrays, type StepTarget } from "./arrays.ts";

/** A function bound to arrays of results and actions, which have room for so many rows of n. */
export interface Binding {
  readonly results: StepArrays;
  readonly actions: ActionArray;
  readonly rooms: { readonly obs: number; readonly finalObs: number; readonly others: number };
  readonly run: () => void;
}
/** Bindings that are kept. */
const MOST = 4;

const isRow = (at: number, room: number): boolean => (at | 0) === at && at >= 0 && at < room;

export class StepBindings {
  readonly #env: Environment;
  readonly #n: number;
  readonly #kernel: KernelOn<never>;
  readonly #arguments: object;
  readonly #bindings: Binding[] = [];

  constructor(env: Environment, n: number, kernel: KernelOn<never>, args: object) {
    this.#env = env;
    this.#n = n;
    this.#kernel = kernel;
    this.#arguments = args;
  }

  /** The binding of arrays that were checked before, if the rows to be written are in them; `out` for those not given. */
  known(into: StepTarget, out: StepArrays, actions: ActionArray): Binding | undefined {
    const { row = 0, obsRow = row, finalRow = row, obs = out.obs, finalObs = out.finalObs, reward = out.reward } = into;
    const { terminated = out.terminated, truncated = out.truncated } = into;
    for (const binding of this.#bindings) {
      const { results: a, rooms } = binding;
      if (a.obs !== obs || a.finalObs !== finalObs || a.reward !== reward || binding.actions !== actions) continue;
      if (a.terminated !== terminated || a.truncated !== truncated) continue;
      const fits = isRow(obsRow, rooms.obs) && isRow(finalRow, rooms.finalObs) && isRow(row, rooms.others);
      return fits ? binding : undefined;
    }
    return undefined;
  }

  /** The binding of these arrays, which must have been checked: made when they are first seen. */
  of(results: StepArrays, actions: ActionArray): Binding {
    const found = this.#bindings.find(
      (b) => b.actions === actions && RESULTS.every((name) => b.results[name] === results[name]),
    );
    if (found) return found;
    const run = this.#kernel.bind({ ...this.#arguments, ...results, actions } as never);
    const made = { results, actions, rooms: this.#rooms(results), run };
    this.#bindings.push(made);
    if (this.#bindings.length > MOST) this.#unbind(0);
    return made;
  }

  #rooms(results: StepArrays): Binding["rooms"] {
    const rows = (name: ResultName): number =>
      Math.floor(results[name].length / (this.#n * resultColumn(this.#env, name).size));
    const others = Math.min(rows("reward"), rows("terminated"), rows("truncated"));
    return { obs: rows("obs"), finalObs: rows("finalObs"), others };
  }

  /** Forgets the bindings to certain arrays. */
  drop(isGone: (array: TypedArray) => boolean): void {
    for (let at = this.#bindings.length - 1; at >= 0; at--) {
      const { results, actions } = this.#bindings[at] as Binding;
      if (isGone(actions) || RESULTS.some((name) => isGone(results[name]))) this.#unbind(at);
    }
  }
  #unbind(at: number): void {
    const [gone] = this.#bindings.splice(at, 1);
    if (gone) this.#kernel.program.unbind(gone.run);
  }
}
