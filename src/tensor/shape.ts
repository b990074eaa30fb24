/**
 * @file Shapes of tensors: sizes of their axes, first to last; elements lie row after row.
 */
import { LockstepError } from "../platform/errors.ts";

export type Shape = readonly number[];

/** Tensors that do not fit an operation or each other; the message names the operation, the shapes and the place. */
export class TensorError extends LockstepError {
  override readonly name: string = "TensorError";
}

export const elementsOf = (shape: Shape): number => shape.reduce((product, size) => product * size, 1);

export const describeShape = (shape: Shape): string => `[${shape.join(", ")}]`;

export const sameShape = (a: Shape, b: Shape): boolean =>
  a.length === b.length && a.every((size, axis) => size === b[axis]);

/** How many elements apart neighbours along each axis lie. */
export function stridesOf(shape: Shape): number[] {
  const strides = new Array<number>(shape.length);
  let stride = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    strides[axis] = stride;
    stride *= shape[axis] as number;
  }
  return strides;
}

/** The shape that both fit when axes of size 1, and missing ones in front, are repeated; undefined when there is none. */
export function broadcastShapes(a: Shape, b: Shape): Shape | undefined {
  const rank = Math.max(a.length, b.length);
  const shape: number[] = [];
  for (let axis = 0; axis < rank; axis++) {
    const x = a[a.length - rank + axis] ?? 1;
    const y = b[b.length - rank + axis] ?? 1;
    if (x !== y && x !== 1 && y !== 1) return undefined;
    shape.push(x === 1 ? y : x);
  }
  return shape;
}

/** An axis counted from the front; -1 is the last. Undefined when there is no such axis. */
export function axisOf(shape: Shape, axis: number): number | undefined {
  const at = axis < 0 ? shape.length + axis : axis;
  return Number.isInteger(axis) && at >= 0 && at < shape.length ? at : undefined;
}
