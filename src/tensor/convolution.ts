/**
 * @file Windows and convolutions over images, [batch, height, width, channels].
 *
 * A convolution is a view, which shows every window as a row, and a matrix product; its gradients are those of the two:
 * a matrix product for the weights, another one for the windows, and a sum of overlapping windows for the image.
 */
import { named, refuse, viewOf } from "./build.ts";
import { describeShape } from "./shape.ts";
import { Tensor } from "./tensor.ts";

export interface ConvolutionOptions {
  /** How far apart windows are, down and across; 1 unless given. */
  readonly stride?: number | readonly [number, number];
  /** Zeros on each side, above and below and to the left and right; or "same": as many as keep the size at stride 1. */
  readonly padding?: number | readonly [number, number] | "same";
}

const pair = (x: number | readonly [number, number]): readonly [number, number] => (typeof x === "number" ? [x, x] : x);

function paddingOf(padding: ConvolutionOptions["padding"], kernel: readonly [number, number]) {
  if (padding !== "same") {
    const sides = pair(padding ?? 0);
    return { before: sides, after: sides };
  }
  const before = kernel.map((size) => Math.floor((size - 1) / 2));
  return { before, after: kernel.map((size, k) => size - 1 - (before[k] as number)) };
}

/** All windows of an image: [batch, rows, columns, window height, window width, channels], a view where nothing is padded. */
export function windows(
  x: Tensor,
  size: readonly [number, number],
  { stride = 1, padding = 0 }: ConvolutionOptions = {},
): Tensor {
  if (x.shape.length !== 4) refuse("windows", `${describeShape(x.shape)} is not [batch, height, width, channels]`);
  const steps = pair(stride);
  const { before, after } = paddingOf(padding, size);
  if (![...steps, ...size].every((n) => Number.isInteger(n) && n >= 1))
    refuse("windows", `size ${describeShape(size)} and stride ${describeShape(steps)} are whole numbers from 1 on`);
  const padded = named("windows", () => x.pad([0, ...before, 0], [0, ...after, 0]));
  const [batch = 0, height = 0, width = 0, channels = 0] = padded.shape;
  const count = [height, width].map((all, k) => Math.floor((all - (size[k] as number)) / (steps[k] as number)) + 1);
  if (count.some((n) => n < 1))
    refuse("windows", `${describeShape(size)} does not fit into ${describeShape(padded.shape)}`);
  const axes = [
    { start: 0, terms: [{ axis: 0, step: 1 }] },
    { start: 0, terms: [1, 3].map((axis, k) => ({ axis, step: k === 0 ? steps[0] : 1 })) },
    { start: 0, terms: [2, 4].map((axis, k) => ({ axis, step: k === 0 ? steps[1] : 1 })) },
    { start: 0, terms: [{ axis: 5, step: 1 }] },
  ];
  return new Tensor(viewOf(padded.node, axes, [batch, ...count, ...size, channels]));
}

/** x [batch, height, width, channels] with weights [height, width, channels, features]. */
export function conv2d(x: Tensor, weights: Tensor, options: ConvolutionOptions = {}): Tensor {
  const [height = 0, width = 0, channels = 0, features = 0] = weights.shape;
  if (x.shape.length !== 4 || weights.shape.length !== 4 || x.shape[3] !== channels)
    refuse(
      "conv2d",
      `shapes ${describeShape(x.shape)} and ${describeShape(weights.shape)} do not fit: ` +
        "[batch, height, width, channels] with [height, width, channels, features]",
    );
  const seen = named("conv2d", () => windows(x, [height, width], options));
  const inner = height * width * channels;
  const rows = seen.shape.slice(0, 3);
  const product = seen.reshape([-1, inner]).matmul(weights.reshape([inner, features]));
  return product.reshape([...rows, features]);
}
