/**
 * @file The beta distribution on 0 to 1, and the functions it needs: logarithms of the gamma function and its derivative.
 *
 * Both functions are Stirling's series of an argument that is moved up, minus what moving it takes; so their gradients
 * are those of the series, and come by themselves. Errors are about 1e-14 (f64) or 1e-6 (f32) for arguments above 0.
 */
import { constant } from "../tensor/make.ts";
import { type Key, normal, uniform } from "../tensor/random.ts";
import { type Tensor, where } from "../tensor/tensor.ts";

const HALF_LOG_2PI = 0.9189385332046727;
/** How far arguments are moved up. */
const MOVED = 8;
/** 1/12, -1/360, ...: the series of the logarithm in odd powers of 1/x. */
const SERIES: readonly number[] = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156];
/** 1/12, -1/120, ...: that of the derivative in even ones, from the second on. */
const DERIVED: readonly number[] = [1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12];

const polynomial = (x: Tensor, coefficients: readonly number[]): Tensor =>
  coefficients
    .slice(0, -1)
    .reduceRight((sum, c) => sum.mul(x).add(c), constant(coefficients.at(-1) as number, x.dtype, x.shape));

/** log(gamma(x)) for x > 0. */
export function logGamma(x: Tensor): Tensor {
  const up = x.add(MOVED);
  const inverse = constant(1, x.dtype).div(up);
  const series = inverse.mul(polynomial(inverse.square(), SERIES));
  const stirling = up.sub(0.5).mul(up.log()).sub(up).add(HALF_LOG_2PI).add(series);
  let product = x;
  for (let k = 1; k < MOVED; k++) product = product.mul(x.add(k));
  return stirling.sub(product.log());
}

/** The derivative of `logGamma`. */
export function digamma(x: Tensor): Tensor {
  const up = x.add(MOVED);
  const inverse = constant(1, x.dtype).div(up);
  const square = inverse.square();
  const series = square.mul(polynomial(square, DERIVED));
  let sum = up.log().sub(inverse.mul(0.5)).sub(series);
  for (let k = 0; k < MOVED; k++) sum = sum.sub(constant(1, x.dtype).div(x.add(k)));
  return sum;
}

const logBeta = (a: Tensor, b: Tensor): Tensor =>
  logGamma(a)
    .add(logGamma(b))
    .sub(logGamma(a.add(b)));

/** Proposals for one draw: each is taken with a chance of more than 0.95, so that none is in one of 10^10 draws. */
const PROPOSALS = 8;

/**
 * The logarithm of a draw from the gamma distribution (Marsaglia and Tsang). Parameters below 1 are raised by 1, and
 * the draw is made smaller by a power of a uniform number.
 */
function drawLogGamma(key: Key, parameter: Tensor): Tensor {
  const { dtype, shape } = parameter;
  const isSmall = parameter.lt(1);
  const d = where(isSmall, parameter.add(1), parameter).sub(1 / 3);
  const x = normal(key.fold(0), [PROPOSALS, ...shape]).to(dtype);
  const root = x.mul(d.mul(9).rsqrt()).add(1);
  const logCube = root.maximum(1e-6).log().mul(3);
  const limit = x
    .square()
    .mul(0.5)
    .add(d.mul(logCube.sub(logCube.exp()).add(1)));
  const logUnit = uniform(key.fold(1), [PROPOSALS, ...shape])
    .to(dtype)
    .log();
  const taken = root.gt(0).and(logUnit.lt(limit));
  let chosen = constant(0, dtype, shape);
  for (let k = PROPOSALS - 1; k >= 0; k--) chosen = where(taken.at(0, k), logCube.at(0, k), chosen);
  // Half a step above 0, whose logarithm is not a number to go on with.
  const unit = uniform(key.fold(2), shape)
    .to(dtype)
    .add(2 ** -24);
  const smaller = unit.log().div(parameter);
  return d
    .log()
    .add(chosen)
    .add(where(isSmall, smaller, 0))
    .stopGradient();
}

/** Numbers between 0 and 1, independent along the last axis; both parameters are above 0. */
export class Beta {
  readonly alpha: Tensor;
  readonly beta: Tensor;

  constructor(alpha: Tensor, beta: Tensor) {
    this.alpha = alpha;
    this.beta = beta;
  }
  logProb(x: Tensor): Tensor {
    const { alpha, beta } = this;
    const powers = alpha.sub(1).mul(x.log()).add(beta.sub(1).mul(x.neg().log1p()));
    return powers.sub(logBeta(alpha, beta)).sum(-1);
  }
  entropy(): Tensor {
    const { alpha, beta } = this;
    const own = alpha
      .sub(1)
      .mul(digamma(alpha))
      .add(beta.sub(1).mul(digamma(beta)));
    const both = alpha
      .add(beta)
      .sub(2)
      .mul(digamma(alpha.add(beta)));
    return logBeta(alpha, beta).sub(own).add(both).sum(-1);
  }
  kl(other: Beta): Tensor {
    const { alpha, beta } = this;
    const first = alpha.sub(other.alpha).mul(digamma(alpha));
    const second = beta.sub(other.beta).mul(digamma(beta));
    const both = alpha
      .add(beta)
      .sub(other.alpha)
      .sub(other.beta)
      .mul(digamma(alpha.add(beta)));
    return logBeta(other.alpha, other.beta).sub(logBeta(alpha, beta)).add(first).add(second).sub(both).sum(-1);
  }
  /**
   * Nothing flows through it: use `logProb`. With a second parameter far below 1, much lies closer to 1 than f32 can
   * tell, and comes out as 1.
   */
  sample(key: Key): Tensor {
    return drawLogGamma(key.fold(0), this.alpha)
      .sub(drawLogGamma(key.fold(1), this.beta))
      .sigmoid();
  }
  mean(): Tensor {
    return this.alpha.div(this.alpha.add(this.beta));
  }
  /** Where the density is largest, for parameters above 1. */
  mode(): Tensor {
    return this.alpha.sub(1).div(this.alpha.add(this.beta).sub(2));
  }
}
export const beta = (alpha: Tensor, beta: Tensor): Beta => new Beta(alpha, beta);
