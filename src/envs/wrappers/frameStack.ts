/**
 * @file Stacked observations. What is kept of earlier frames is whichever takes less room: the observations, or the states
 * they were made of, which are then observed again. Pictures are large and the states behind them small: reading back
 * hundreds of numbers for each of many environments costs far more than drawing them anew.
 */
import {
  type ArrayOf,
  constant,
  type Fields,
  f32,
  type Inline,
  inline,
  type KernelArray,
  u8,
} from "../../kernel/declare.ts";
import {
  type ActionSpace,
  type EnvFunctions,
  type Environment,
  EnvironmentError,
  needCount,
  observationSize,
  type Params,
} from "../define.ts";
import { type Box, box } from "../spaces.ts";
import { addFields, type InnerContext, innerOf, readOnly, wrappedId } from "./wrap.ts";

/** What is kept of earlier frames: names that begin with "stacked". */
export interface StackFields {
  readonly [name: string]: Fields[string];
}
interface Stacking {
  readonly fields: Fields;
  readonly functions: EnvFunctions;
}

interface Kept {
  readonly stackedFrames: KernelArray;
}
/** Keeps the last observations, the oldest first. */
function keepObservations(env: Environment, count: number): Stacking {
  const size = observationSize(env.observation);
  const type = env.observation.kind === "box" && env.observation.dtype === "u8" ? u8 : f32;
  const uses = { size: constant(size), all: constant(count * size), observe: innerOf(env).observe };
  const reset = inline(
    { inner: innerOf(env).reset, ...uses },
    ({ inner, size, all, observe }, s: Kept, context: InnerContext) => {
      inner(s, context);
      observe(s, s.stackedFrames.subarray(all - size, all), context);
      for (let k = 0; k < all - size; k++) s.stackedFrames[k] = s.stackedFrames[all - size + (k % size)]!;
    },
  );
  const step = inline(
    { inner: innerOf(env).step, ...uses },
    ({ inner, size, all, observe }, s: Kept, action: unknown, context: InnerContext) => {
      const result = inner(s, action, context);
      for (let k = 0; k < all - size; k++) s.stackedFrames[k] = s.stackedFrames[k + size]!;
      observe(s, s.stackedFrames.subarray(all - size, all), context);
      return result;
    },
  );
  const observe = inline({ all: uses.all }, ({ all }, s: Kept, obs: KernelArray) => {
    for (let k = 0; k < all; k++) obs[k] = s.stackedFrames[k]!;
  });
  return { fields: { stackedFrames: type.array(count * size) }, functions: { reset, step, observe } };
}

/** The fields of a state and how many numbers each has; undefined where there are records among them. */
function lengthsOf(state: Fields): Map<string, number> | undefined {
  const lengths = new Map<string, number>();
  for (const [name, field] of Object.entries(state)) {
    if (field.kind !== "scalar" && field.kind !== "array") return undefined;
    lengths.set(name, field.kind === "scalar" ? 0 : ((field as ArrayOf).length ?? 0));
  }
  return lengths;
}

/** A helper whose text is made here: how many frames and fields there are differs, and kernels have no lists of these. */
const written = (uses: Parameters<typeof inline>[0], text: string): Inline =>
  inline(uses as never, new Function(`return ${text};`)() as () => unknown) as Inline;

/** Keeps the states that the earlier frames showed, in fields next to those of the state itself. */
function keepStates(env: Environment, count: number, lengths: ReadonlyMap<string, number>): Stacking {
  const { reset, step, observe } = innerOf(env);
  const size = observationSize(env.observation);
  const last = count - 1;
  /** The name of a field of frame j; the last frame is the state itself. */
  const nameOf = (j: number, field: string): string => (j === last ? field : `stacked${j}_${field}`);
  const fields = [...lengths].flatMap(([name]) =>
    Array.from({ length: last }, (_, j): [string, Fields[string]] => [
      nameOf(j, name),
      env.state[name] as Fields[string],
    ]),
  );
  const copy = (to: number, from: number): string =>
    [...lengths]
      .map(([name, length]) => [nameOf(to, name), nameOf(from, name), length] as const)
      .map(([a, b, length]) =>
        length > 0 ? `for (let k = 0; k < ${length}; k++) s.${a}[k] = s.${b}[k];` : `s.${a} = s.${b};`,
      )
      .join(" ");
  const each = (text: (j: number) => string): string => Array.from({ length: last }, (_, j) => text(j)).join(" ");
  const stateOf = (j: number): string =>
    `{ ${[...lengths.keys()].map((name) => `${name}: s.${nameOf(j, name)}`).join(", ")} }`;
  const rowOf = (j: number): string => `obs.subarray(${j * size}, ${(j + 1) * size})`;
  return {
    fields: Object.fromEntries(fields),
    functions: {
      reset: written({ reset }, `({ reset }, s, context) => { reset(s, context); ${each((j) => copy(j, last))} }`),
      step: written(
        { step },
        `({ step }, s, action, context) => { ${each((j) => copy(j, j + 1))} return step(s, action, context); }`,
      ),
      observe: written(
        { observe },
        `({ observe }, s, obs, context) => {
          ${each((j) => `observe(${stateOf(j)}, ${rowOf(j)}, context);`)}
          observe(s, ${rowOf(last)}, context);
        }`,
      ),
    },
  };
}

/**
 * The last `count` observations in one, the oldest first, in a new leading dimension; an episode begins with its first
 * observation in all places. As Gymnasium's FrameStackObservation with its padding "reset".
 */
export function frameStack<S extends Fields, P extends Params, T extends "f32" | "u8", A extends ActionSpace>(
  env: Environment<S, P, Box<T>, A>,
  count: number,
): Environment<S & StackFields, P, Box<T>, A> {
  const plain = env as unknown as Environment;
  const space = plain.observation;
  if (space.kind === "discrete")
    throw new EnvironmentError(`frameStack: observations of ${env.id} are whole numbers; flatten() makes rows of them`);
  needCount("frameStack: the number of frames", count, 1);
  const size = observationSize(space);
  const lengths = lengthsOf(plain.state);
  const numbers = [...(lengths?.values() ?? [])].reduce((sum, length) => sum + Math.max(length, 1), 0);
  const small = lengths !== undefined && numbers * (count - 1) < size * count;
  const { fields, functions } = small ? keepStates(plain, count, lengths) : keepObservations(plain, count);
  const repeated = (limit: Box["low"]): Box["low"] =>
    typeof limit === "number" ? limit : Array.from({ length: count }, () => limit).flat();
  return readOnly({
    ...env,
    id: wrappedId("frameStack", plain, count),
    state: addFields("frameStack", plain, fields) as never,
    observation: box([count, ...space.shape], {
      dtype: space.dtype as T,
      low: repeated(space.low),
      high: repeated(space.high),
    }),
    functions,
  });
}
