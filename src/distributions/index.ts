/**
 * @file Distributions over actions, computed inside programs.
 */
export { Beta, beta, digamma, logGamma } from "./beta.ts";
export {
  Gaussian,
  gaussian,
  type Squashed,
  TanhGaussian,
  type TanhGaussianOptions,
  tanhGaussian,
} from "./continuous.ts";
export {
  Bernoulli,
  bernoulli,
  Categorical,
  type CategoricalOptions,
  categorical,
  MultiDiscrete,
  multiDiscrete,
} from "./discrete.ts";
