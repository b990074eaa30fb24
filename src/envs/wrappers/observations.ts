/**
 * @file Wrappers of observations: clipped, flat.
 */
import { constant, type Fields, inline, type KernelArray } from "../../kernel/declare.ts";
import {
  type ActionSpace,
  type Environment,
  EnvironmentError,
  type ObservationSpace,
  observationSize,
  type Params,
} from "../define.ts";
import { type Box, box } from "../spaces.ts";
import { innerOf, needLimits, readOnly, wrappedId } from "./wrap.ts";

type Limit = number | readonly number[];
const mapLimit = (limit: Limit, change: (x: number) => number): Limit =>
  typeof limit === "number" ? change(limit) : limit.map(change);

/** Observed numbers kept between two limits; Gymnasium's TransformObservation with a clip. The space shrinks with it. */
export function clipObservation<S extends Fields, P extends Params, A extends ActionSpace>(
  env: Environment<S, P, Box<"f32">, A>,
  low: number,
  high: number,
): Environment<S, P, Box<"f32">, A> {
  const { observation } = env;
  if (observation.kind !== "box" || observation.dtype !== "f32")
    throw new EnvironmentError(`clipObservation: observations of ${env.id} are not rows of f32 numbers`);
  needLimits("clipObservation", env as unknown as Environment, low, high);
  const observe = inline(
    {
      inner: innerOf(env).observe,
      size: constant(observationSize(observation)),
      low: constant(low),
      high: constant(high),
    },
    ({ inner, size, low, high }, s: object, obs: KernelArray, context: object) => {
      inner(s, obs, context);
      for (let k = 0; k < size; k++) obs[k] = Math.min(Math.max(obs[k]!, Math.fround(low)), Math.fround(high));
    },
  );
  const within = (x: number): number => Math.min(Math.max(x, low), high);
  return readOnly({
    ...env,
    id: wrappedId("clipObservation", env as unknown as Environment, low, high),
    observation: box(observation.shape, {
      low: mapLimit(observation.low, within),
      high: mapLimit(observation.high, within),
    }),
    functions: { ...env.functions, observe },
  });
}

/** The space of flat observations: a row of the same numbers, or 1 at the place of a whole number. */
export type FlatObservation<O extends ObservationSpace> = O extends Box<infer T> ? Box<T> : Box<"f32">;

/** A row in place of an observation of any shape; whole numbers become one-hot. As Gymnasium's FlattenObservation. */
export function flatten<S extends Fields, P extends Params, O extends ObservationSpace, A extends ActionSpace>(
  env: Environment<S, P, O, A>,
): Environment<S, P, FlatObservation<O>, A> {
  const plain = env as unknown as Environment;
  const id = wrappedId("flatten", plain);
  const space: ObservationSpace = plain.observation;
  if (space.kind === "box") {
    const { dtype, low, high } = space;
    const observation = box([observationSize(space)], { dtype, low, high });
    return readOnly({ ...env, id, observation: observation as FlatObservation<O> });
  }
  const observe = inline(
    { inner: innerOf(plain).observe, start: constant(space.start), n: constant(space.n) },
    ({ inner, start, n }, s: object, obs: KernelArray, context: object) => {
      const own = new Int32Array(1);
      inner(s, own as unknown as KernelArray, context);
      for (let k = 0; k < n; k++) obs[k] = k + start === own[0]! ? 1 : 0;
    },
  );
  const observation = box([space.n], { low: 0, high: 1 }) as Box as FlatObservation<O>;
  return readOnly({ ...env, id, observation, functions: { ...env.functions, observe } });
}
