/**
 * @file Convolutions over images [batch, height, width, channels].
 */
import { type ConvolutionOptions, conv2d } from "../tensor/convolution.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { filled, type Initializer, orthogonal } from "./initializers.ts";
import { type LayerOptions, type Network, setFor, within } from "./layers.ts";
import type { Parameters } from "./parameters.ts";

export interface ConvOptions extends LayerOptions, ConvolutionOptions {
  /** Channels of the image, and of the result. */
  readonly inputs: number;
  readonly outputs: number;
  /** The height and width of windows. */
  readonly window: number | readonly [number, number];
  readonly bias?: boolean;
  readonly weights?: Initializer;
  readonly biases?: Initializer;
}

/** Every window times w [height, width, inputs, outputs], and b. */
export class Conv implements Network {
  readonly parameters: Parameters;
  readonly weight: string;
  readonly bias: string | undefined;
  readonly #options: ConvolutionOptions;

  constructor(options: ConvOptions) {
    const { inputs, outputs, window, bias = true, weights = orthogonal(Math.SQRT2), biases = filled(0) } = options;
    const { name, stride = 1, padding = 0 } = options;
    this.parameters = setFor(options);
    this.weight = within(name, "w");
    this.bias = bias ? within(name, "b") : undefined;
    this.#options = { stride, padding };
    const size = typeof window === "number" ? [window, window] : window;
    this.parameters.declare(this.weight, [...size, inputs, outputs], weights);
    if (this.bias) this.parameters.declare(this.bias, [outputs], biases);
  }
  apply(x: Tensor, parameters = this.parameters): Tensor {
    const product = conv2d(x, parameters.value(this.weight), this.#options);
    return this.bias ? product.add(parameters.value(this.bias)) : product;
  }
}
export const conv = (options: ConvOptions): Conv => new Conv(options);
