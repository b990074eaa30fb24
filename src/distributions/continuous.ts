/**
 * @file Distributions of real numbers, independent along the last axis: Gaussian, and Gaussian squashed by tanh.
 *
 * Samples depend differentiably on the parameters; take `stopGradient()` of them where that is not meant.
 */
import { constant } from "../tensor/make.ts";
import { type Key, normal } from "../tensor/random.ts";
import type { Operand, Tensor } from "../tensor/tensor.ts";

const HALF_LOG_2PI = 0.9189385332046727;

export class Gaussian {
  readonly mean: Tensor;
  /** Logarithms of the deviations, of the shape of the mean. */
  readonly logStd: Tensor;

  constructor(mean: Tensor, logStd: Tensor) {
    this.mean = mean;
    this.logStd = logStd.expand(mean.shape);
  }
  logProb(x: Tensor): Tensor {
    return this.#logDensity(x).sum(-1);
  }
  #logDensity(x: Tensor): Tensor {
    const deviations = x.sub(this.mean).mul(this.logStd.neg().exp());
    return deviations.square().mul(-0.5).sub(this.logStd).sub(HALF_LOG_2PI);
  }
  entropy(): Tensor {
    return this.logStd.add(0.5 + HALF_LOG_2PI).sum(-1);
  }
  kl(other: Gaussian): Tensor {
    const scale = other.logStd.neg().exp();
    const spread = this.logStd.sub(other.logStd);
    const apart = this.mean.sub(other.mean).mul(scale).square();
    return spread.mul(2).exp().add(apart).sub(1).mul(0.5).sub(spread).sum(-1);
  }
  mode(): Tensor {
    return this.mean;
  }
  sample(key: Key): Tensor {
    return this.at(normal(key, this.mean.shape));
  }
  /** The value for given standard normal numbers. */
  at(noise: Tensor): Tensor {
    return this.mean.add(this.logStd.exp().mul(noise.to(this.mean.dtype)));
  }
}
export const gaussian = (mean: Tensor, logStd: Tensor): Gaussian => new Gaussian(mean, logStd);

export interface TanhGaussianOptions {
  /** The bounds of values: -1 and 1 unless given. */
  readonly low?: Operand;
  readonly high?: Operand;
  /**
   * How log(1 - tanh(u)^2) is computed: "stable" is exact for all u; a number is added inside the logarithm, as many
   * implementations do (1e-6).
   */
  readonly correction?: "stable" | number;
}
/** A value, the normal number that it was before tanh, and its log-density. */
export interface Squashed {
  readonly value: Tensor;
  readonly latent: Tensor;
  readonly logProb: Tensor;
}

/** tanh of a Gaussian, stretched to bounds. */
export class TanhGaussian {
  /** What is squashed. */
  readonly base: Gaussian;
  readonly #low: Operand;
  readonly #high: Operand;
  readonly #bounded: boolean;
  readonly #correction: "stable" | number;

  constructor(mean: Tensor, logStd: Tensor, options: TanhGaussianOptions = {}) {
    const { low = -1, high = 1, correction = "stable" } = options;
    this.base = new Gaussian(mean, logStd);
    this.#low = low;
    this.#high = high;
    this.#bounded = low !== -1 || high !== 1;
    this.#correction = correction;
  }

  /** The value that a number before tanh becomes. */
  squash(latent: Tensor): Tensor {
    const value = latent.tanh();
    if (!this.#bounded) return value;
    return value.add(1).mul(this.#halfWidth(value)).add(this.#low);
  }
  #halfWidth(like: Tensor): Tensor {
    return constant(0, like.dtype).add(this.#high).sub(this.#low).mul(0.5).expand(like.shape);
  }

  /** The log-density of the value that a number before tanh becomes: to be preferred to that of the value. */
  logProbOfLatent(latent: Tensor): Tensor {
    const own = this.base.logProb(latent);
    const squeezed = this.#logSlope(latent).sum(-1);
    const inner = own.sub(squeezed);
    return this.#bounded ? inner.sub(this.#halfWidth(latent).log().sum(-1)) : inner;
  }
  /** log(1 - tanh(u)^2). */
  #logSlope(latent: Tensor): Tensor {
    if (this.#correction !== "stable")
      return latent
        .tanh()
        .square()
        .neg()
        .add(1 + this.#correction)
        .log();
    return latent.add(latent.mul(-2).softplus()).neg().add(Math.LN2).mul(2);
  }
  /** Of values between the bounds; those at a bound, or nearly, count as the next ones inside. */
  logProb(value: Tensor): Tensor {
    const unit = this.#bounded ? value.sub(this.#low).div(this.#halfWidth(value)).sub(1) : value;
    const edge = value.dtype === "f64" ? 1 - 2 ** -50 : 1 - 2 ** -22;
    const inside = unit.clamp(-edge, edge);
    return this.logProbOfLatent(inside.log1p().sub(inside.neg().log1p()).mul(0.5));
  }

  /** A value, with its log-density computed from what it was before tanh. */
  draw(key: Key): Squashed {
    return this.at(normal(key, this.base.mean.shape));
  }
  at(noise: Tensor): Squashed {
    const latent = this.base.at(noise);
    return { latent, value: this.squash(latent), logProb: this.logProbOfLatent(latent) };
  }
  sample(key: Key): Tensor {
    return this.squash(this.base.sample(key));
  }
  /** Minus the log-density of one sample: there is no formula, and the mean of this is the entropy. */
  entropy(key: Key): Tensor {
    return this.draw(key).logProb.neg();
  }
  /** That of what is squashed: squashing both in the same way changes nothing. */
  kl(other: TanhGaussian): Tensor {
    return this.base.kl(other.base);
  }
  /** The squashed mean: the middle value, which is what policies act by; the density may be larger near a bound. */
  mode(): Tensor {
    return this.squash(this.base.mean);
  }
}
export const tanhGaussian = (mean: Tensor, logStd: Tensor, options?: TanhGaussianOptions): TanhGaussian =>
  new TanhGaussian(mean, logStd, options);
