/**
 * @file Layers: each declares its tensors in a set of parameters, and computes with the values they have at that point.
 *
 * `apply` takes another set of the same tensors where the values of a copy are meant: a target network, say.
 */
import type { Tensor } from "../tensor/tensor.ts";
import { type Activation, activate } from "./activations.ts";
import { filled, gaussianValues, type Initializer, orthogonal } from "./initializers.ts";
import { Parameters, type ParametersOptions } from "./parameters.ts";

/** What every layer and network can be given. */
export interface LayerOptions {
  /** Goes in front of the names of its tensors. */
  readonly name?: string;
  /** The set that its tensors belong to; one of its own unless given. */
  readonly parameters?: Parameters;
  /** Of a set of its own. */
  readonly dtype?: ParametersOptions["dtype"];
  readonly seed?: number;
}
export interface Network {
  readonly parameters: Parameters;
  apply(x: Tensor, parameters?: Parameters): Tensor;
}

/** The set that a layer shall use. */
export function setFor({ parameters, dtype = "f32", seed = 0, name = "parameters" }: LayerOptions): Parameters {
  return parameters ?? new Parameters({ dtype, seed, name });
}
/** The name of a tensor of a layer. */
export const within = (layer: string | undefined, tensor: string): string => (layer ? `${layer}.${tensor}` : tensor);

export interface LinearOptions extends LayerOptions {
  readonly inputs: number;
  readonly outputs: number;
  readonly bias?: boolean;
  readonly weights?: Initializer;
  readonly biases?: Initializer;
  /** What its tensors are called: w and b unless given. */
  readonly suffix?: string;
}

/** x w + b, with w of shape [inputs, outputs]. */
export class Linear implements Network {
  readonly parameters: Parameters;
  readonly weight: string;
  readonly bias: string | undefined;

  constructor(options: LinearOptions) {
    const { inputs, outputs, bias = true, weights = orthogonal(1), biases = filled(0), suffix = "", name } = options;
    this.parameters = setFor(options);
    this.weight = within(name, `w${suffix}`);
    this.bias = bias ? within(name, `b${suffix}`) : undefined;
    this.parameters.declare(this.weight, [inputs, outputs], weights);
    if (this.bias) this.parameters.declare(this.bias, [outputs], biases);
  }
  apply(x: Tensor, parameters = this.parameters): Tensor {
    const product = x.matmul(parameters.value(this.weight));
    return this.bias ? product.add(parameters.value(this.bias)) : product;
  }
}
export const linear = (options: LinearOptions): Linear => new Linear(options);

export interface MlpOptions extends LayerOptions {
  readonly inputs: number;
  readonly hidden: readonly number[];
  readonly outputs: number;
  readonly activation?: Activation;
  /** What becomes of the last layer's result. */
  readonly outputActivation?: Activation;
  /** The gain of the hidden layers' orthogonal weights, and that of the last layer's. */
  readonly gain?: number;
  readonly headGain?: number;
  /** Takes the place of orthogonal weights in the hidden layers, and in the last one. */
  readonly weights?: Initializer;
  readonly headWeights?: Initializer;
  readonly biases?: Initializer;
  /** Whether hidden layers are normalised before their activation. */
  readonly layerNorm?: boolean;
}

/** Linear layers with a function between them; their tensors are w0, b0, w1, ... */
export class Mlp implements Network {
  readonly parameters: Parameters;
  readonly #layers: readonly Linear[];
  readonly #norms: readonly LayerNorm[];
  readonly #activation: Activation;
  readonly #outputActivation: Activation;

  constructor(options: MlpOptions) {
    const { inputs, hidden, outputs, activation = "tanh", outputActivation = "none", name } = options;
    const { gain = Math.SQRT2, headGain = 1, layerNorm: normalised = false, biases = filled(0) } = options;
    const { weights = orthogonal(gain), headWeights = options.weights ?? orthogonal(headGain) } = options;
    const parameters = setFor(options);
    this.parameters = parameters;
    this.#activation = activation;
    this.#outputActivation = outputActivation;
    const shared = { parameters, biases, ...(name === undefined ? {} : { name }) };
    const sizes = [inputs, ...hidden, outputs];
    const norms: LayerNorm[] = [];
    this.#layers = hidden.concat(outputs).map((size, k) => {
      const isHead = k === hidden.length;
      const layer = { ...shared, inputs: sizes[k] as number, outputs: size, suffix: `${k}` };
      const made = new Linear({ ...layer, weights: isHead ? headWeights : weights });
      if (normalised && !isHead) norms.push(new LayerNorm({ parameters, size, name: within(name, `norm${k}`) }));
      return made;
    });
    this.#norms = norms;
  }
  apply(x: Tensor, parameters = this.parameters): Tensor {
    let values = x;
    this.#layers.forEach((layer, k) => {
      const next = layer.apply(values, parameters);
      const isHead = k === this.#layers.length - 1;
      const normalised = this.#norms[k]?.apply(next, parameters) ?? next;
      values = activate(normalised, isHead ? this.#outputActivation : this.#activation);
    });
    return values;
  }
}
export const mlp = (options: MlpOptions): Mlp => new Mlp(options);

export interface NormOptions extends LayerOptions {
  /** Of the last axis, which is normalised. */
  readonly size: number;
  readonly epsilon?: number;
}

/** The last axis to mean 0 and variance 1, then scaled and shifted. */
export class LayerNorm implements Network {
  readonly parameters: Parameters;
  readonly #scale: string;
  readonly #shift: string;
  readonly #epsilon: number;

  constructor(options: NormOptions) {
    this.parameters = setFor(options);
    this.#scale = within(options.name, "scale");
    this.#shift = within(options.name, "shift");
    this.#epsilon = options.epsilon ?? 1e-5;
    this.parameters.declare(this.#scale, [options.size], filled(1));
    this.parameters.declare(this.#shift, [options.size], filled(0));
  }
  apply(x: Tensor, parameters = this.parameters): Tensor {
    const centred = x.sub(x.mean(-1, true));
    const scaled = centred.mul(centred.square().mean(-1, true).add(this.#epsilon).rsqrt());
    return scaled.mul(parameters.value(this.#scale)).add(parameters.value(this.#shift));
  }
}
export const layerNorm = (options: NormOptions): LayerNorm => new LayerNorm(options);

/** The last axis to a mean square of 1, then scaled. */
export class RmsNorm implements Network {
  readonly parameters: Parameters;
  readonly #scale: string;
  readonly #epsilon: number;

  constructor(options: NormOptions) {
    this.parameters = setFor(options);
    this.#scale = within(options.name, "scale");
    this.#epsilon = options.epsilon ?? 1e-6;
    this.parameters.declare(this.#scale, [options.size], filled(1));
  }
  apply(x: Tensor, parameters = this.parameters): Tensor {
    const scaled = x.mul(x.square().mean(-1, true).add(this.#epsilon).rsqrt());
    return scaled.mul(parameters.value(this.#scale));
  }
}
export const rmsNorm = (options: NormOptions): RmsNorm => new RmsNorm(options);

export interface EmbeddingOptions extends LayerOptions {
  /** How many things there are, and how many numbers stand for each. */
  readonly count: number;
  readonly features: number;
  readonly weights?: Initializer;
}

/** A row of numbers for each i32 index. */
export class Embedding implements Network {
  readonly parameters: Parameters;
  readonly #rows: string;

  constructor(options: EmbeddingOptions) {
    this.parameters = setFor(options);
    this.#rows = within(options.name, "rows");
    this.parameters.declare(this.#rows, [options.count, options.features], options.weights ?? gaussianValues(1));
  }
  apply(index: Tensor, parameters = this.parameters): Tensor {
    return parameters.value(this.#rows).gather(index);
  }
}
export const embedding = (options: EmbeddingOptions): Embedding => new Embedding(options);
