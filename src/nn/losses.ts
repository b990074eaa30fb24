/**
 * @file Losses, each for every element or row; take the mean or the sum of what they give.
 */
import { named } from "../tensor/build.ts";
import { type Operand, type Tensor, where } from "../tensor/tensor.ts";

export const squaredError = (prediction: Tensor, target: Operand): Tensor => prediction.sub(target).square();
export const absoluteError = (prediction: Tensor, target: Operand): Tensor => prediction.sub(target).abs();

/** Half the square up to `delta`, a straight line from there on. */
export function huber(prediction: Tensor, target: Operand, delta = 1): Tensor {
  const difference = prediction.sub(target);
  const size = difference.abs();
  return where(size.le(delta), difference.square().mul(0.5), size.sub(0.5 * delta).mul(delta));
}

/** What labels (i32) cost under logits along the last axis. */
export const crossEntropy = (logits: Tensor, labels: Tensor): Tensor =>
  named("crossEntropy", () => logits.logSoftmax().pick(labels).neg());

/** The same for yes and no: targets between 0 and 1. */
export const binaryCrossEntropy = (logits: Tensor, target: Tensor): Tensor => logits.softplus().sub(logits.mul(target));
