/**
 * @file What wrappers are made of. A wrapper is a function from an environment to an environment: its functions call the
 * wrapped ones, everything is inlined into one kernel, and nothing of the wrapping is left at run time.
 *
 * A wrapper's own fields stand next to those of the environment it wraps, so that the wrapped functions, drawing
 * included, work on the same state.
 */
import { type Fields, type Inline, inline, type KernelArray, type RandomStream } from "../../kernel/declare.ts";
import { type Environment, EnvironmentError, type StepResult } from "../define.ts";

/** What the wrapped functions are handed; passed on as it is. */
export interface InnerContext {
  readonly params: never;
  readonly tables: never;
  readonly rng: RandomStream;
}
/** The functions of a wrapped environment, as wrappers call them. */
export interface InnerFunctions {
  readonly reset: Inline<(s: object, context: InnerContext) => void>;
  readonly step: Inline<(s: object, action: unknown, context: InnerContext) => StepResult>;
  readonly observe: Inline<(s: object, obs: KernelArray, context: object) => void>;
}
export const innerOf = (env: Environment): InnerFunctions => env.functions as unknown as InnerFunctions;

/** Refuses fields that are there already: a wrapper with a state of its own can be applied once. */
export function addFields<S extends Fields, const F extends Fields>(
  wrapper: string,
  env: Environment<S>,
  own: F,
): S & F {
  for (const name of Object.keys(own))
    if (Object.hasOwn(env.state, name))
      throw new EnvironmentError(
        `${wrapper}: ${env.id} has a field "${name}" already; each wrapper that keeps a state can be applied once`,
      );
  return { ...env.state, ...own };
}

/** Refuses limits that are not in order. */
export function needLimits(wrapper: string, env: Environment, low: number, high: number): void {
  if (low <= high) return;
  throw new EnvironmentError(
    `${wrapper}: ${env.id} cannot be kept between ${low} and ${high}; low must not be above high`,
  );
}

/** The id of a wrapped environment is the call that made it. */
export const wrappedId = (wrapper: string, env: Environment, ...given: readonly number[]): string =>
  `${wrapper}(${[env.id, ...given].join(", ")})`;

/** A definition that cannot be changed, like those that `defineEnv` makes. */
export function readOnly<E extends object>(env: E): E {
  for (const part of Object.values(env)) if (typeof part === "object") Object.freeze(part);
  return Object.freeze(env);
}

/** A step that changes nothing but the reward. */
export function withReward(env: Environment, change: Inline<(reward: number) => number>): Inline {
  return inline(
    { inner: innerOf(env).step, change },
    ({ inner, change }, s: object, action: unknown, context: InnerContext) => {
      const { reward, terminated } = inner(s, action, context);
      return { reward: change(Math.fround(reward)), terminated };
    },
  );
}
