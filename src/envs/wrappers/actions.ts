/**
 * @file Wrappers of actions: clipped to their limits, repeated by chance, repeated by number.
 */
import {
  type ArrayOf,
  bool,
  constant,
  type Fields,
  f32,
  type Inline,
  i32,
  inline,
  type KernelArray,
  type Scalar,
} from "../../kernel/declare.ts";
import {
  type ActionSpace,
  actionSize,
  type Environment,
  EnvironmentError,
  needCount,
  type ObservationSpace,
  type Params,
} from "../define.ts";
import { type Box, box, limitAt } from "../spaces.ts";
import { addFields, type InnerContext, innerOf, readOnly, wrappedId } from "./wrap.ts";

/**
 * Takes any finite or infinite action and hands on the nearest one within the limits of the space, as Gymnasium's
 * ClipAction does: for environments that use actions as given.
 */
export function clipAction<S extends Fields, P extends Params, O extends ObservationSpace>(
  env: Environment<S, P, O, Box<"f32">>,
): Environment<S, P, O, Box<"f32">> {
  const { action } = env;
  if (action.kind !== "box") throw new EnvironmentError(`clipAction: the actions of ${env.id} are not rows of numbers`);
  const size = actionSize(action);
  const limits = (limit: Box["low"]): number[] => Array.from({ length: size }, (_, k) => limitAt(limit, k));
  const step = inline(
    {
      inner: innerOf(env).step,
      size: constant(size),
      low: constant(limits(action.low)),
      high: constant(limits(action.high)),
    },
    ({ inner, size, low, high }, s: object, given: KernelArray, context: InnerContext) => {
      const clipped = new Float32Array(size);
      for (let k = 0; k < size; k++)
        clipped[k] = Math.min(Math.max(given[k]!, Math.fround(low[k]!)), Math.fround(high[k]!));
      return inner(s, clipped, context);
    },
  );
  return readOnly({
    ...env,
    id: wrappedId("clipAction", env),
    action: box(action.shape),
    functions: { ...env.functions, step },
  });
}

/** The fields that sticky actions keep. */
export interface StickyFields<A extends ActionSpace> {
  readonly stickyBegun: Scalar<"bool">;
  readonly stickyAction: A extends { kind: "discrete" } ? Scalar<"i32"> : ArrayOf<Scalar<"f32"> | Scalar<"i32">>;
  readonly [name: string]: Fields[string];
}
/** Folded into a step's stream for the draw that decides: a number that environments are not likely to fold in. */
const STICKY = 0x571c4;

interface StickyNumber {
  stickyBegun: boolean;
  stickyAction: number;
}
interface StickyRow {
  stickyBegun: boolean;
  readonly stickyAction: KernelArray;
}

/** One text for each form that actions have: numbers, rows of floats, rows of whole numbers. */
function stickyStep(env: Environment, probability: number): Inline {
  const uses = { inner: innerOf(env).step, probability: constant(probability), sticky: constant(STICKY) };
  const rows = { ...uses, size: constant(actionSize(env.action)) };
  switch (env.action.kind) {
    case "discrete":
      return inline(uses, ({ inner, probability, sticky }, s: StickyNumber, given: number, context: InnerContext) => {
        const repeats = context.rng.fold(sticky).bernoulli(probability);
        const action = s.stickyBegun && repeats ? s.stickyAction : given;
        s.stickyAction = action;
        s.stickyBegun = true;
        return inner(s, action, context);
      });
    case "box":
      return inline(
        rows,
        ({ inner, probability, sticky, size }, s: StickyRow, given: KernelArray, context: InnerContext) => {
          const repeats = s.stickyBegun && context.rng.fold(sticky).bernoulli(probability);
          const action = new Float32Array(size);
          for (let k = 0; k < size; k++) {
            action[k] = repeats ? s.stickyAction[k]! : given[k]!;
            s.stickyAction[k] = action[k]!;
          }
          s.stickyBegun = true;
          return inner(s, action, context);
        },
      );
    case "multiDiscrete":
      return inline(
        rows,
        ({ inner, probability, sticky, size }, s: StickyRow, given: KernelArray, context: InnerContext) => {
          const repeats = s.stickyBegun && context.rng.fold(sticky).bernoulli(probability);
          const action = new Int32Array(size);
          for (let k = 0; k < size; k++) {
            action[k] = repeats ? s.stickyAction[k]! : given[k]!;
            s.stickyAction[k] = action[k]!;
          }
          s.stickyBegun = true;
          return inner(s, action, context);
        },
      );
    default:
      return env.action satisfies never;
  }
}

/**
 * With a probability, the action taken in the step before is taken again instead of the one given; never in the first
 * step of an episode. As Gymnasium's StickyAction with repeats of one step.
 *
 * The draw that decides comes from a stream folded off the step's own: the environment's draws stay what they are.
 */
export function stickyActions<S extends Fields, P extends Params, O extends ObservationSpace, A extends ActionSpace>(
  env: Environment<S, P, O, A>,
  probability: number,
): Environment<S & StickyFields<A>, P, O, A> {
  if (!(probability >= 0 && probability < 1))
    throw new EnvironmentError(`stickyActions: the probability must be from 0 to less than 1, it is ${probability}`);
  const plain = env as unknown as Environment;
  const size = actionSize(plain.action);
  const stickyAction = plain.action.kind === "discrete" ? i32 : (plain.action.kind === "box" ? f32 : i32).array(size);
  const state = addFields("stickyActions", plain, { stickyBegun: bool, stickyAction });
  const reset = inline({ inner: innerOf(plain).reset }, ({ inner }, s: StickyNumber, context: InnerContext) => {
    inner(s, context);
    s.stickyBegun = false;
  });
  const functions = { ...env.functions, reset, step: stickyStep(plain, probability) };
  return readOnly({ ...env, id: wrappedId("stickyActions", plain, probability), state: state as never, functions });
}

/**
 * Each action is taken `count` times or until the episode terminates; rewards are added up (in f32), and what is seen is
 * what the last of them shows. Gymnasium has this as the skipping of MaxAndSkipObservation, which differs in showing the
 * maximum of the last two.
 *
 * Time limits count actions given: the environment's own, in steps, is divided by `count` and rounded up. Each repeat
 * draws from a stream of its own, folded off the step's with its number.
 */
export function actionRepeat<S extends Fields, P extends Params, O extends ObservationSpace, A extends ActionSpace>(
  env: Environment<S, P, O, A>,
  count: number,
): Environment<S, P, O, A> {
  needCount("actionRepeat: the number of repeats", count, 1);
  const plain = env as unknown as Environment;
  const step = inline(
    { inner: innerOf(plain).step, count: constant(count) },
    ({ inner, count }, s: object, action: unknown, context: InnerContext) => {
      const { params, tables, rng } = context;
      let total = Math.fround(0);
      let over = false;
      // A loop of the same length for all: environments that are over wait for their neighbours.
      for (let k = 0; k < count; k++) {
        if (!over) {
          const { reward, terminated } = inner(s, action, { params, tables, rng: rng.fold(k) });
          total += Math.fround(reward);
          over = terminated;
        }
      }
      return { reward: total, terminated: over };
    },
  );
  return readOnly({
    ...env,
    id: wrappedId("actionRepeat", plain, count),
    maxSteps: env.maxSteps === undefined ? undefined : Math.ceil(env.maxSteps / count),
    functions: { ...env.functions, step },
  });
}
