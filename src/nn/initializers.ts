/**
 * @file Initial values of parameters, drawn on the host from the counter-based generator.
 *
 * An initializer fills one tensor from a stream of its own, so its values follow from the seed and the tensor's name
 * alone. Draws are f32 and everything else is + - * / and roots in double precision: the same numbers on every engine.
 */
import type { HostStream } from "../random/host.ts";
import { elementsOf, type Shape } from "../tensor/shape.ts";

/** Fills `values`, the elements of a tensor of the given shape; weights have their outputs along the last axis. */
export type Initializer = (values: Float64Array, shape: Shape, stream: HostStream) => void;

/** How many numbers go into one output of a weight, and, for convolutions, how many outputs each input has. */
export function fansOf(shape: Shape): { readonly fanIn: number; readonly fanOut: number } {
  const outputs = shape.at(-1) ?? 1;
  const fanIn = elementsOf(shape.slice(0, -1));
  const window = elementsOf(shape.slice(0, -2));
  return { fanIn, fanOut: outputs * window };
}

const drawn =
  (draw: (stream: HostStream, shape: Shape) => () => number): Initializer =>
  (values, shape, stream) => {
    const next = draw(stream, shape);
    for (let k = 0; k < values.length; k++) values[k] = next();
  };
const within = (stream: HostStream, bound: number) => () => (2 * stream.uniform() - 1) * bound;
const spread = (stream: HostStream, deviation: number) => () => stream.normal() * deviation;

export const filled = (value: number): Initializer => drawn(() => () => value);
export const uniformBetween = (low: number, high: number): Initializer =>
  drawn((stream) => () => low + stream.uniform() * (high - low));
export const gaussianValues = (deviation: number): Initializer => drawn((stream) => spread(stream, deviation));

/** Variance gain^2 * 2 / (inputs + outputs): keeps the size of values and of gradients about the same. */
export const xavierUniform = (gain = 1): Initializer =>
  drawn((stream, shape) => within(stream, gain * Math.sqrt(6 / sumOfFans(shape))));
export const xavierNormal = (gain = 1): Initializer =>
  drawn((stream, shape) => spread(stream, gain * Math.sqrt(2 / sumOfFans(shape))));
const sumOfFans = (shape: Shape): number => fansOf(shape).fanIn + fansOf(shape).fanOut;

/** Variance gain^2 / inputs; the gain for relu is the root of 2. */
export const kaimingUniform = (gain = Math.SQRT2): Initializer =>
  drawn((stream, shape) => within(stream, gain * Math.sqrt(3 / fansOf(shape).fanIn)));
export const kaimingNormal = (gain = Math.SQRT2): Initializer =>
  drawn((stream, shape) => spread(stream, gain * Math.sqrt(1 / fansOf(shape).fanIn)));

/** Rows (or, where there are fewer, columns) of length `gain` at right angles, every direction equally likely. */
export function orthogonal(gain = 1): Initializer {
  return (values, shape, stream) => {
    const columns = shape.at(-1) ?? 1;
    const rows = values.length / columns;
    const [count, length] = rows <= columns ? [rows, columns] : [columns, rows];
    const basis = Array.from({ length: count }, () => Float64Array.from({ length }, () => stream.normal()));
    for (const [k, vector] of basis.entries()) makeOrthonormal(vector, basis.slice(0, k));
    basis.forEach((vector, k) => {
      const [start, step] = rows <= columns ? [k * columns, 1] : [k, columns];
      for (let i = 0; i < length; i++) values[start + i * step] = (vector[i] as number) * gain;
    });
  };
}
/** Gram and Schmidt, twice over: once leaves errors where a vector is nearly in the span of the others. */
function makeOrthonormal(vector: Float64Array, others: readonly Float64Array[]): void {
  for (let pass = 0; pass < 2; pass++) {
    for (const other of others) {
      const along = dot(vector, other);
      for (let i = 0; i < vector.length; i++) vector[i] = (vector[i] as number) - along * (other[i] as number);
    }
    const length = Math.sqrt(dot(vector, vector));
    for (let i = 0; i < vector.length; i++) vector[i] = (vector[i] as number) / length;
  }
}
function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] as number) * (b[i] as number);
  return sum;
}
