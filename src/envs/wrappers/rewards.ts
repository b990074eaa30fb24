/**
 * @file Wrappers of rewards and of time: scaled, clipped, limited. What solving means is not known of changed rewards.
 */
import { constant, type Fields, inline } from "../../kernel/declare.ts";
import {
  type ActionSpace,
  type Environment,
  EnvironmentError,
  needCount,
  type ObservationSpace,
  type Params,
} from "../define.ts";
import { needLimits, readOnly, withReward, wrappedId } from "./wrap.ts";

/** Rewards times a number, in f32; Gymnasium's TransformReward with a product. */
export function rewardScale<S extends Fields, P extends Params, O extends ObservationSpace, A extends ActionSpace>(
  env: Environment<S, P, O, A>,
  factor: number,
): Environment<S, P, O, A> {
  if (!Number.isFinite(factor)) throw new EnvironmentError(`rewardScale: the factor must be finite, it is ${factor}`);
  const plain = env as unknown as Environment;
  const scale = inline({ factor: constant(factor) }, ({ factor }, reward: number) => reward * Math.fround(factor));
  const functions = { ...env.functions, step: withReward(plain, scale) };
  return readOnly({ ...env, id: wrappedId("rewardScale", plain, factor), solved: undefined, functions });
}

/** Rewards kept between two limits, as by Gymnasium's ClipReward. */
export function clipReward<S extends Fields, P extends Params, O extends ObservationSpace, A extends ActionSpace>(
  env: Environment<S, P, O, A>,
  low: number,
  high: number,
): Environment<S, P, O, A> {
  const plain = env as unknown as Environment;
  needLimits("clipReward", plain, low, high);
  const clip = inline({ low: constant(low), high: constant(high) }, ({ low, high }, reward: number) =>
    Math.min(Math.max(reward, Math.fround(low)), Math.fround(high)),
  );
  const functions = { ...env.functions, step: withReward(plain, clip) };
  return readOnly({ ...env, id: wrappedId("clipReward", plain, low, high), solved: undefined, functions });
}

/**
 * Episodes are truncated after so many steps, or never (Infinity). It takes the place of the limit that is there, like
 * `max_episode_steps` of Gymnasium's `make`; under Gymnasium's TimeLimit the shorter of the two would hold.
 */
export function timeLimit<S extends Fields, P extends Params, O extends ObservationSpace, A extends ActionSpace>(
  env: Environment<S, P, O, A>,
  maxSteps: number,
): Environment<S, P, O, A> {
  const id = wrappedId("timeLimit", env as unknown as Environment, maxSteps);
  if (maxSteps === Number.POSITIVE_INFINITY) return readOnly({ ...env, id, maxSteps: undefined });
  return readOnly({ ...env, id, maxSteps: needCount("timeLimit: the number of steps", maxSteps, 1) });
}
