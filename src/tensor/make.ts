/**
 * @file Tensors that begin a program: inputs, constants, tables and counts; and tensors that are put together of others.
 */
import {
  checkCount,
  checkShape,
  checkType,
  concatOf,
  constantOf,
  inputOf,
  iotaOf,
  named,
  refuse,
  tableOf,
} from "./build.ts";
import type { TensorType } from "./nodes.ts";
import { describeShape, elementsOf, type Shape } from "./shape.ts";
import { Tensor, tensorOf } from "./tensor.ts";

/** Stands for minus infinity in what a softmax is taken of: its power is 0, and products with it stay numbers. */
export const FORBIDDEN = -1e30;

/** An array that the caller hands over with every run. */
export function input(name: string, dtype: TensorType, shape: Shape): Tensor {
  return new Tensor(inputOf(name, dtype, shape));
}
/** The same number everywhere. */
export function constant(value: number, dtype: TensorType = "f32", shape: Shape = []): Tensor {
  checkType("constant", dtype);
  checkShape("constant", shape);
  return new Tensor(constantOf(value, dtype, shape));
}
/** Numbers that are part of the program. */
export function table(data: readonly number[], dtype: TensorType = "f32", shape: Shape = [data.length]): Tensor {
  checkType("table", dtype);
  checkShape("table", shape);
  if (elementsOf(shape) !== data.length)
    refuse("table", `${data.length} numbers are not the elements of ${describeShape(shape)}`);
  return new Tensor(tableOf(data, dtype, shape));
}
/** 0, 1, 2, ... as i32. */
export function iota(count: number): Tensor {
  checkCount("iota", count, 0);
  return new Tensor(iotaOf([count], 0));
}
export function concat(tensors: readonly Tensor[], axis = 0): Tensor {
  const nodes = tensors.map((t) => tensorOf("concat", t));
  return new Tensor(concatOf(nodes, axis));
}
/** Tensors of one shape along a new axis. */
export function stack(tensors: readonly Tensor[], axis = 0): Tensor {
  return named("stack", () => {
    const rows = tensors.map((t) => new Tensor(tensorOf("stack", t)).unsqueeze(axis));
    return concat(rows, axis);
  });
}
/** A tensor so many times along each of its axes. */
export function tile(x: Tensor, repeats: readonly number[]): Tensor {
  const { shape } = tensorOf("tile", x);
  if (repeats.length !== shape.length)
    refuse("tile", `[${repeats.join(", ")}] is not a number of repeats for each axis of ${describeShape(shape)}`);
  for (const count of repeats) checkCount("tile", count, 1);
  const times = (axis: number): number => repeats[axis] as number;
  return named("tile", () =>
    x
      .reshape(shape.flatMap((size) => [1, size]))
      .expand(shape.flatMap((size, axis) => [times(axis), size]))
      .reshape(shape.map((size, axis) => times(axis) * size)),
  );
}
