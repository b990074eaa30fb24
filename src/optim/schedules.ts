/**
 * @file Schedules: numbers that follow from the count of steps taken, computed inside the program.
 *
 * A schedule takes the number of the step, counted from 0, as a float tensor, and gives a tensor of the same type.
 */
import { constant } from "../tensor/make.ts";
import { Tensor, where } from "../tensor/tensor.ts";

export type Schedule = (step: Tensor) => Tensor;
/** A fixed number, a tensor (an input of the program, say), or a schedule. */
export type Scheduled = number | Tensor | Schedule;

/** What a scheduled number is at a step. */
export function scheduledAt(value: Scheduled, step: Tensor): Tensor {
  if (value instanceof Tensor) return value.to(step.dtype);
  return typeof value === "number" ? constant(value, step.dtype) : value(step);
}

const share = (step: Tensor, steps: number): Tensor => step.minimum(steps).maximum(0).div(steps);

/** From one number to another in equal parts, then that one. */
export function linearSchedule({ from, to, steps }: { from: number; to: number; steps: number }): Schedule {
  return (step) =>
    share(step, steps)
      .mul(to - from)
      .add(from);
}

/** From one number down to another along half a period of the cosine. */
export function cosineSchedule({ from, to = 0, steps }: { from: number; to?: number; steps: number }): Schedule {
  return (step) =>
    share(step, steps)
      .mul(Math.PI)
      .cos()
      .add(1)
      .mul(0.5 * (from - to))
      .add(to);
}

/** Multiplied by `rate` in every `steps` steps, a little at each of them. */
export function exponentialSchedule({ from, rate, steps }: { from: number; rate: number; steps: number }): Schedule {
  return (step) => constant(rate, step.dtype).pow(step.div(steps)).mul(from);
}

/** One value or schedule after the other; each holds from its step on, and counts from there. */
export function piecewiseSchedule(pieces: readonly { readonly since: number; readonly value: Scheduled }[]): Schedule {
  return (step) => {
    let result: Tensor | undefined;
    for (const { since, value } of [...pieces].sort((a, b) => a.since - b.since)) {
      const piece = scheduledAt(value, step.sub(since).maximum(0));
      result = result ? where(step.lt(since), result, piece) : piece;
    }
    return result ?? constant(0, step.dtype);
  };
}

/** Up from `from` to `peak`, then down to `to` along a cosine; `steps` counts both. */
export function warmupCosineSchedule(options: {
  readonly from?: number;
  readonly peak: number;
  readonly to?: number;
  readonly warmup: number;
  readonly steps: number;
}): Schedule {
  const { from = 0, peak, to = 0, warmup, steps } = options;
  return piecewiseSchedule([
    { since: 0, value: linearSchedule({ from, to: peak, steps: warmup }) },
    { since: warmup, value: cosineSchedule({ from: peak, to, steps: steps - warmup }) },
  ]);
}
