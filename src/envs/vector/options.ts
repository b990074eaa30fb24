/**
 * @file What a VecEnv is told when it is made, checked.
 */

import { didYouMean, type OptionNames, strayOption } from "../../platform/suggest.ts";
import type { TargetChoice } from "../../runtime/targets.ts";
import { type Environment, EnvironmentError, MOST_COUNT, needCount, type Params, type ParamsOf } from "../define.ts";
import type { StepArrays } from "./arrays.ts";
import type { Autoreset } from "./kernel.ts";

/** Other values for some of the parameters: one for all environments, or a list with one for each. */
export type ParamsGiven<P extends Params> = { readonly [K in keyof ParamsOf<P>]?: number | ArrayLike<number> };

export interface VecEnvOptions<P extends Params = Params> {
  /** A whole number from 0 on; 0 unless given. */
  readonly seed?: number;
  /** When ended environments start over; "same-step" unless given. */
  readonly autoreset?: Autoreset;
  /** Steps after which an episode is truncated; the environment's own limit unless given, Infinity for none. */
  readonly maxSteps?: number;
  /** Numbers that the environment depends on, instead of its own; a list has one for each environment. */
  readonly params?: ParamsGiven<P>;
  /** The index of the first environment: what makes the numbers of each its own. 0 unless given. */
  readonly firstIndex?: number;
  /** Arrays of n rows, made by `allocate`, in place of the VecEnv's own `out`. They are the caller's to free. */
  readonly out?: Partial<StepArrays>;
  readonly target?: TargetChoice;
  readonly threads?: number;
}

export const VEC_OPTIONS: OptionNames<VecEnvOptions> = {
  seed: true,
  autoreset: true,
  maxSteps: true,
  params: true,
  firstIndex: true,
  out: true,
  target: true,
  threads: true,
};
/** Refuses options that there are not. */
export function checkOptions<T>(id: string, given: object, names: OptionNames<T>): void {
  const stray = strayOption(given, names);
  if (stray) throw new EnvironmentError(`${id}: ${stray}`);
}

const AUTORESETS: { readonly [A in Autoreset]: true } = { "same-step": true, "next-step": true, disabled: true };

export function checkedAutoreset(id: string, given: Autoreset): Autoreset {
  if (Object.hasOwn(AUTORESETS, given)) return given;
  const known = Object.keys(AUTORESETS).join('", "');
  throw new EnvironmentError(`${id}: autoreset must be one of "${known}", it is ${String(given)}`);
}

/** Steps after which episodes end: what is given, or else the environment's own. */
export function checkedLimit(id: string, own: number | undefined, given: number | undefined): number {
  const limit = given ?? own ?? Number.POSITIVE_INFINITY;
  if (limit !== Number.POSITIVE_INFINITY) needCount(`${id}: maxSteps`, limit, 1);
  return Math.min(limit, MOST_COUNT);
}

/** Indices of n environments, from the first on. */
export function checkedFirst(id: string, firstIndex: number, n: number): number {
  return needCount(`${id}: firstIndex`, firstIndex, 0, MOST_COUNT - (n - 1));
}

/** Parameters that are the same for all environments, and lists with one for each. */
export interface CheckedParams {
  readonly constants: Params;
  readonly lists: ReadonlyMap<string, ArrayLike<number>>;
}

export function checkedParams(env: Environment, given: ParamsGiven<Params>, n: number): CheckedParams {
  const constants: { [name: string]: number } = { ...env.params };
  const lists = new Map<string, ArrayLike<number>>();
  const refuse = (why: string): never => {
    throw new EnvironmentError(`${env.id}${why}`);
  };
  for (const [name, value] of Object.entries(given)) {
    const known = Object.keys(env.params);
    if (!known.includes(name))
      refuse(` has no parameter "${name}".${didYouMean(name, known)} There are ${known.join(", ") || "none"}`);
    const isList = typeof value === "object" && value !== null;
    if (isList && value.length !== n)
      refuse(`: the parameter "${name}" has ${value.length} values for ${n} environments`);
    const values: readonly unknown[] = isList ? Array.from(value) : [value];
    const wrong = values.findIndex((x) => typeof x !== "number" || Number.isNaN(x));
    if (wrong >= 0) refuse(`: the parameter "${name}" must be a number, or a list of them; it is ${values[wrong]}`);
    if (isList) lists.set(name, value);
    else constants[name] = value as number;
  }
  return { constants, lists };
}
