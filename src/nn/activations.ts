/**
 * @file Functions between layers.
 */
import { knownOf, named } from "../tensor/build.ts";
import { constant } from "../tensor/make.ts";
import { Tensor, where } from "../tensor/tensor.ts";

/** log(erfc(x) / t) + x^2 in 2t - 1 with t = 2 / (2 + x), for x >= 0. */
const ERFC: readonly number[] = [
  -0.6717940840566917, 0.6726432239776601, 0.047343306841771265, -0.046895610231544815, -0.009872689361753905,
  0.008824938567472688, 0.001758933486444591, -0.002345812630273241, -0.0001462462202562111, 0.0006736796543555981,
  -9.373884305653924e-5, -0.00017430620987336299, 7.141657890615802e-5, 3.175222095945869e-5, -3.023238360994968e-5,
  1.3113427019701998e-7, 8.65188300698789e-6, -2.9540263312810594e-6, -1.3968150597065697e-6, 1.2769723980454743e-6,
  -5.055917426943781e-8, -2.8706999728456176e-7, 8.111819624900825e-8, 2.9383227229118368e-8, -1.3411045074462901e-8,
];

/** The error function, to about 1e-14 (f64) or 1e-7 (f32) of 1. */
export const erf = (x: Tensor): Tensor => named("erf", () => errorFunction(x));
function errorFunction(x: Tensor): Tensor {
  const size = x.abs();
  const t = constant(2, x.dtype).div(size.add(2));
  const y = t.mul(2).sub(1);
  const [last = 0, ...others] = [...ERFC].reverse();
  let sum = y.mul(last);
  others.forEach((c, k) => {
    sum = k === others.length - 1 ? sum.add(c) : sum.add(c).mul(y);
  });
  const complement = t.mul(sum.sub(size.square()).exp());
  const value = x.sign().mul(complement.neg().add(1));
  return new Tensor(knownOf("erf", x.node, value.stopGradient().node));
}

/** x times the share of a normal distribution below x. */
export const gelu = (x: Tensor): Tensor => erf(x.mul(Math.SQRT1_2)).add(1).mul(x.mul(0.5));
/** The same by a hyperbolic tangent, which is cheaper and a little different. */
export const geluTanh = (x: Tensor): Tensor =>
  x
    .add(x.square().mul(x).mul(0.044715))
    .mul(Math.sqrt(2 / Math.PI))
    .tanh()
    .add(1)
    .mul(x.mul(0.5));
export const silu = (x: Tensor): Tensor => x.mul(x.sigmoid());
export const elu = (x: Tensor, alpha = 1): Tensor => where(x.gt(0), x, where(x.gt(0), 0, x).expm1().mul(alpha));
export const leakyRelu = (x: Tensor, slope = 0.01): Tensor => where(x.gt(0), x, x.mul(slope));
export const softsign = (x: Tensor): Tensor => x.div(x.abs().add(1));
export const logSigmoid = (x: Tensor): Tensor => x.neg().softplus().neg();

const ACTIVATIONS = {
  none: (x) => x,
  tanh: (x) => x.tanh(),
  relu: (x) => x.relu(),
  sigmoid: (x) => x.sigmoid(),
  softplus: (x) => x.softplus(),
  softsign,
  gelu,
  geluTanh,
  silu,
  elu: (x) => elu(x),
  leakyRelu: (x) => leakyRelu(x),
} as const satisfies { readonly [name: string]: (x: Tensor) => Tensor };

/** A function by its name, or one of your own. */
export type Activation = keyof typeof ACTIVATIONS | ((x: Tensor) => Tensor);

export const activate = (x: Tensor, activation: Activation): Tensor =>
  typeof activation === "function" ? activation(x) : ACTIVATIONS[activation](x);
