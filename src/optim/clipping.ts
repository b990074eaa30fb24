/**
 * @file Limits the length of a gradient: all parameters together, one factor for all.
 */
import { constant } from "../tensor/make.ts";
import { type Tensor, where } from "../tensor/tensor.ts";

/**
 * How a gradient that is too long is made shorter. "torch": by limit / (norm + 1e-6), which never lengthens; "optax":
 * by limit / norm, from the limit on.
 */
export type ClipForm = "torch" | "optax";
export interface Clip {
  readonly norm: number;
  readonly form?: ClipForm;
}

export interface Clipped {
  readonly gradient: Tensor;
  /** The length before. */
  readonly norm: Tensor;
}

export const globalNorm = (gradient: Tensor): Tensor => gradient.square().sum().sqrt();

export function clipByNorm(gradient: Tensor, clip: number | Clip): Clipped {
  const { norm: limit, form = "torch" } = typeof clip === "number" ? { norm: clip } : clip;
  const norm = globalNorm(gradient);
  const one = constant(limit, gradient.dtype);
  const factor = form === "torch" ? one.div(norm.add(1e-6)).minimum(1) : where(norm.lt(limit), 1, one.div(norm));
  return { gradient: gradient.mul(factor), norm };
}
