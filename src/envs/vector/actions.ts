/**
 * @file Actions on their way into compiled code: copied to lockstep's memory, unless they are there already, and checked
 * as far as numbers in JavaScript can be what kernels cannot see.
 */
import { heap } from "../../runtime/heap.ts";
import { actionSize, type Environment, EnvironmentError } from "../define.ts";
import { wrongAction, wrongCount } from "./refusals.ts";

export type ActionArray = Float32Array | Int32Array;
/**
 * Where `collect` takes actions from: k * n rows, or n that are taken again in every step; "zero" (the first action, or
 * zeroes); or "random", drawn inside of compiled code as a function of seed, index and step number.
 */
export type ActionSource = ArrayLike<number> | "zero" | "random";

/** Copies actions; whole numbers must be whole. Lists are short as a rule, and `set` is slow for those. */
export function copyActions(env: Environment, n: number, actions: ArrayLike<number>, to: ActionArray): void {
  const { length } = to;
  if (actions?.length !== length)
    throw wrongCount(env, n, actions?.length, Math.floor(length / (n * actionSize(env.action))));
  if (actions instanceof Int32Array || (actions instanceof Float32Array && to instanceof Float32Array)) {
    to.set(actions);
    return;
  }
  if (to instanceof Int32Array)
    for (let k = 0; k < length; k++) {
      const x = actions[k] as number;
      if ((x | 0) !== x) throw wrongAction(env, n, Math.floor(k / actionSize(env.action)), actions);
    }
  for (let k = 0; k < length; k++) to[k] = actions[k] as number;
}

/** The actions of k steps in lockstep's memory: those given where they are there already; else in one of two places. */
export function actionsFrom(
  env: Environment,
  n: number,
  source: ActionSource,
  k: number,
  row: ActionArray,
  rows: { readonly actions: ActionArray },
): ActionArray {
  if (source === "random") return rows.actions;
  if (source === "zero") return row.fill(env.action.kind === "discrete" ? env.action.start : 0);
  if (typeof source !== "object" || source === null)
    throw new EnvironmentError(`${env.id}: actions are rows of numbers, "zero" or "random", not ${String(source)}`);
  const { length } = row;
  if (source.length !== length && source.length !== k * length) throw wrongCount(env, n, source.length, k);
  const isOurs = source.constructor === row.constructor && heap().owns((source as ActionArray).buffer);
  if (isOurs) return source as ActionArray;
  const own = source.length === length ? row : rows.actions;
  copyActions(env, n, source, own);
  return own;
}
