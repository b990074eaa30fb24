/**
 * @file What a VecEnv is told when it is made, checked.
 */

import type { TargetChoice } from "../../runtime/targets.ts";
import { type Environment, EnvironmentError, type Params, type ParamsOf } from "../define.ts";
import type { StepArrays } from "./arrays.ts";
import type { Autoreset, KernelParams } from "./kernel.ts";

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
  /** Arrays, made by `allocate`, that steps write to instead of the VecEnv's own. They are the caller's to free. */
  readonly out?: Partial<StepArrays>;
  readonly target?: TargetChoice;
  readonly threads?: number;
}

const NO_LIMIT = 2 ** 31 - 1;
const AUTORESETS: { readonly [A in Autoreset]: true } = { "same-step": true, "next-step": true, disabled: true };

export function needCount(what: string, value: number, least: number): number {
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new EnvironmentError(`${what} must be a whole number from ${least} on, it is ${value}`);
}

export function checkedAutoreset(env: Environment, given: Autoreset): Autoreset {
  if (given in AUTORESETS) return given;
  const known = Object.keys(AUTORESETS).join('", "');
  throw new EnvironmentError(`${env.id}: autoreset must be one of "${known}", it is ${String(given)}`);
}

export function checkedLimit(env: Environment, given: number | undefined): number {
  if (given === Number.POSITIVE_INFINITY) return NO_LIMIT;
  if (given !== undefined) return needCount(`${env.id}: maxSteps`, given, 1);
  return env.maxSteps ?? NO_LIMIT;
}

/** Parameters as kernels take them, and the lists among them. */
export interface CheckedParams extends KernelParams {
  readonly lists: ReadonlyMap<string, ArrayLike<number>>;
}

export function checkedParams(env: Environment, given: ParamsGiven<Params>, n: number): CheckedParams {
  const constants: { [name: string]: number } = { ...env.params };
  const lists = new Map<string, ArrayLike<number>>();
  const refuse = (why: string): never => {
    throw new EnvironmentError(`${env.id}${why}`);
  };
  for (const [name, value] of Object.entries(given)) {
    if (!(name in env.params))
      refuse(` has no parameter "${name}"; there are ${Object.keys(env.params).join(", ") || "none"}`);
    const isList = typeof value === "object" && value !== null;
    if (isList && value.length !== n)
      refuse(`: the parameter "${name}" has ${value.length} values for ${n} environments`);
    const wrong = (isList ? Array.from(value) : [value]).find((x) => typeof x !== "number" || Number.isNaN(x));
    if (wrong !== undefined || value === undefined)
      refuse(`: the parameter "${name}" must be a number, or a list of them; it is ${wrong}`);
    if (isList) lists.set(name, value);
    else constants[name] = value as number;
  }
  return { constants, own: [...lists.keys()].sort(), lists };
}
