/**
 * @file Optimisers: each records one step over a set of parameters, as a single pass over the flat arena.
 *
 * What an optimiser remembers are slots of the parameters, found by its name: programs that update the same
 * parameters go on from each other, and files of parameters contain it. Steps are counted in a slot, too; schedules
 * and bias corrections are computed from it inside the program.
 */
import { ParameterError, type Parameters } from "../nn/parameters.ts";
import { constant } from "../tensor/make.ts";
import { withPlace } from "../tensor/place.ts";
import type { State } from "../tensor/state.ts";
import { type Tensor, where } from "../tensor/tensor.ts";
import { type Clip, type Clipped, clipByNorm } from "./clipping.ts";
import { type Scheduled, scheduledAt } from "./schedules.ts";

export interface OptimizerOptions {
  readonly learningRate: Scheduled;
  /** The length that the gradient is limited to, or how. */
  readonly clip?: number | Clip;
  /** Tells optimisers of the same parameters apart. */
  readonly name?: string;
  /** Whether the step is made at all: one bool, known when the program runs. */
  readonly when?: Tensor;
}
/** What a step can tell. */
export interface OptimizerStep {
  readonly learningRate: Tensor;
  /** The length of the gradient before it was limited; only with `clip`. */
  readonly norm: Tensor | undefined;
}

interface Begun extends OptimizerStep {
  /** Lets a state hold a value from here on, if the step is made. */
  readonly put: (into: State, value: Tensor) => void;
  readonly gradient: Tensor;
  /** The number of this step, from 1 on. */
  readonly step: Tensor;
}

/** Counts the step, limits the gradient, and finds the learning rate. */
function begin(parameters: Parameters, gradient: Tensor, name: string, options: OptimizerOptions): Begun {
  if (`${gradient.shape}` !== `${parameters.size}` || gradient.dtype !== parameters.dtype)
    throw new ParameterError(
      withPlace(
        `${name}: the gradient is ${gradient.dtype} [${gradient.shape.join(", ")}], it must be ${parameters.dtype} ` +
          `[${parameters.size}]: take it from parameters.gradients(loss)`,
      ),
    );
  const { clip } = options;
  const clipped: Clipped | undefined = clip === undefined ? undefined : clipByNorm(gradient, clip);
  const { when } = options;
  const put = (into: State, value: Tensor): void => into.assign(when ? where(when, value, into.value) : value);
  const counter = parameters.slot(`${name}.step`, { dtype: "i32", shape: [] });
  const step = counter.value.add(1);
  put(counter, step);
  return {
    put,
    gradient: clipped?.gradient ?? gradient,
    norm: clipped?.norm,
    step: step.to(parameters.dtype),
    learningRate: scheduledAt(options.learningRate, step.sub(1).to(parameters.dtype)),
  };
}
const told = ({ learningRate, norm }: Begun): OptimizerStep => ({ learningRate, norm });

/** value * rate + next * (1 - rate). */
const averaged = (value: Tensor, rate: number, next: Tensor): Tensor => value.mul(rate).add(next.mul(1 - rate));

export interface SgdOptions extends OptimizerOptions {
  readonly momentum?: number;
  readonly nesterov?: boolean;
  /** Added to the gradient in proportion to the parameters. */
  readonly weightDecay?: number;
}

export function sgd(parameters: Parameters, gradient: Tensor, options: SgdOptions): OptimizerStep {
  const { momentum = 0, nesterov = false, weightDecay = 0, name = "sgd" } = options;
  const begun = begin(parameters, gradient, name, options);
  const { flat } = parameters;
  const g = decayed(begun.gradient, flat, weightDecay);
  let direction = g;
  if (momentum) {
    const velocity = parameters.slot(`${name}.velocity`);
    const next = velocity.value.mul(momentum).add(g);
    begun.put(velocity, next);
    direction = nesterov ? g.add(next.mul(momentum)) : next;
  }
  begun.put(parameters.arena, flat.sub(direction.mul(begun.learningRate)));
  return told(begun);
}
const decayed = (g: Tensor, flat: Tensor, weightDecay: number): Tensor =>
  weightDecay ? g.add(flat.mul(weightDecay)) : g;

export interface AdamOptions extends OptimizerOptions {
  readonly beta1?: number;
  readonly beta2?: number;
  readonly epsilon?: number;
  /** Added to the gradient in proportion to the parameters (`adam`), or taken off the parameters (`adamw`). */
  readonly weightDecay?: number;
}

export function adam(parameters: Parameters, gradient: Tensor, options: AdamOptions): OptimizerStep {
  return adaptive(parameters, gradient, { name: "adam", ...options }, false);
}
/** Adam with weights that decay apart from the gradient. */
export function adamw(parameters: Parameters, gradient: Tensor, options: AdamOptions): OptimizerStep {
  return adaptive(parameters, gradient, { name: "adamw", weightDecay: 0.01, ...options }, true);
}
function adaptive(
  parameters: Parameters,
  gradient: Tensor,
  options: AdamOptions & { readonly name: string },
  decoupled: boolean,
): OptimizerStep {
  const { beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weightDecay = 0, name } = options;
  const begun = begin(parameters, gradient, name, options);
  const { step, learningRate, put } = begun;
  const { flat } = parameters;
  const g = decoupled ? begun.gradient : decayed(begun.gradient, flat, weightDecay);
  const [first, second] = [parameters.slot(`${name}.first`), parameters.slot(`${name}.second`)];
  const m = averaged(first.value, beta1, g);
  const v = averaged(second.value, beta2, g.square());
  // Corrections are single numbers: what is left for each element is one root and one division.
  const rate = learningRate.div(remaining(beta1, step));
  const scale = remaining(beta2, step).rsqrt();
  const kept = decoupled && weightDecay ? flat.mul(learningRate.mul(-weightDecay).add(1)) : flat;
  put(first, m);
  put(second, v);
  put(parameters.arena, kept.sub(m.mul(rate).div(v.sqrt().mul(scale).add(epsilon))));
  return told(begun);
}
/** 1 - beta^step, without cancellation for a beta near 1: its logarithm is taken in double precision. */
function remaining(beta: number, step: Tensor): Tensor {
  return constant(beta, "f64").log().to(step.dtype).mul(step).expm1().neg();
}

export interface RmspropOptions extends OptimizerOptions {
  /** How much of the average of squares stays in each step. */
  readonly decay?: number;
  readonly epsilon?: number;
  /** "outside": g / (sqrt(s) + epsilon); "inside": g / sqrt(s + epsilon). */
  readonly epsilonPlace?: "outside" | "inside";
  /** Where the average of squares starts; it counts only as long as it has not been used. */
  readonly initial?: number;
  readonly momentum?: number;
  /** Whether the square of the average is taken off the average of squares. */
  readonly centered?: boolean;
}

export function rmsprop(parameters: Parameters, gradient: Tensor, options: RmspropOptions): OptimizerStep {
  const { decay = 0.99, epsilon = 1e-8, epsilonPlace = "outside", initial = 0, momentum = 0 } = options;
  const { centered = false, name = "rmsprop" } = options;
  const begun = begin(parameters, gradient, name, options);
  const { gradient: g, learningRate, put } = begun;
  const { flat } = parameters;
  const squares = parameters.slot(`${name}.squares`, { fill: initial });
  const s = averaged(squares.value, decay, g.square());
  put(squares, s);
  let variance = s;
  if (centered) {
    const averages = parameters.slot(`${name}.averages`);
    const average = averaged(averages.value, decay, g);
    put(averages, average);
    variance = s.sub(average.square());
  }
  const size = epsilonPlace === "inside" ? variance.add(epsilon).sqrt() : variance.sqrt().add(epsilon);
  let direction = g.div(size);
  if (momentum) {
    const velocity = parameters.slot(`${name}.velocity`);
    direction = velocity.value.mul(momentum).add(direction);
    put(velocity, direction);
  }
  put(parameters.arena, flat.sub(direction.mul(learningRate)));
  return told(begun);
}
