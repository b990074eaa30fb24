/**
 * @file Distributions of choices: one of several (masked too), several such choices, and yes or no.
 *
 * Choices are i32, along the last axis of the logits. Everything but `sample`, `mode` and what they are made of can be
 * differentiated.
 */
import { iotaOf, refuse } from "../tensor/build.ts";
import { type Key, uniform } from "../tensor/random.ts";
import { stack, Tensor, where } from "../tensor/tensor.ts";

/** Stands for minus infinity in logits: its power is 0, and products with it stay numbers. */
const FORBIDDEN = -1e30;

export interface CategoricalOptions {
  /** Of the shape of the logits, bool: what may be chosen. At least one in each row has to be true. */
  readonly mask?: Tensor;
}

export class Categorical {
  /** As they were given, with forbidden ones out of reach. */
  readonly logits: Tensor;
  /** Logarithms of the probabilities; of forbidden choices, very large negative numbers. */
  readonly logProbs: Tensor;
  readonly #mask: Tensor | undefined;

  constructor(logits: Tensor, { mask }: CategoricalOptions = {}) {
    this.logits = mask ? where(mask, logits, FORBIDDEN) : logits;
    this.logProbs = this.logits.logSoftmax();
    this.#mask = mask;
  }
  get probs(): Tensor {
    return this.logProbs.exp();
  }
  /** Minus infinity for forbidden choices. */
  logProb(choice: Tensor): Tensor {
    const all = this.#mask ? where(this.#mask, this.logProbs, Number.NEGATIVE_INFINITY) : this.logProbs;
    return all.pick(choice);
  }
  entropy(): Tensor {
    return this.probs.mul(this.logProbs).sum(-1).neg();
  }
  /** How far another distribution over the same choices is from this one. */
  kl(other: Categorical): Tensor {
    return this.probs.mul(this.logProbs.sub(other.logProbs)).sum(-1);
  }
  /** The most likely choice; the first of equal ones. */
  mode(): Tensor {
    return this.logits.argmax();
  }
  sample(key: Key): Tensor {
    return this.choose(uniform(key, this.logits.shape.slice(0, -1)));
  }
  /** The choice in whose share of 0 to 1 a number lies; one number for each row. */
  choose(number: Tensor): Tensor {
    const { shape, dtype } = this.logits;
    const weights = this.logits.sub(this.logits.max(-1, true)).exp();
    const sums = weights.cumsum();
    const last = shape.length - 1;
    const count = shape[last] as number;
    // The last one whose share is not empty and begins at or before the number: rounding cannot leave it without one.
    const begins = sums.slice(-1, 0, count - 1).pad(last === 0 ? [1] : [...zeros(last), 1], zeros(last + 1));
    const target = number
      .to(dtype)
      .unsqueeze(-1)
      .mul(sums.slice(-1, count - 1, count));
    const possible = weights.gt(0).and(begins.le(target));
    return where(possible, new Tensor(iotaOf(shape, last)), 0).max(-1);
  }
  /** The choice with the largest logit after noise from uniform numbers, one for each logit. */
  chooseByNoise(numbers: Tensor): Tensor {
    return this.logits.sub(numbers.to(this.logits.dtype).log().neg().log()).argmax();
  }
}
const zeros = (count: number): number[] => new Array<number>(count).fill(0);
export const categorical = (logits: Tensor, options?: CategoricalOptions): Categorical =>
  new Categorical(logits, options);

/** Several choices at once, each with its own logits; the logits lie one after the other. */
export class MultiDiscrete {
  readonly parts: readonly Categorical[];

  constructor(logits: Tensor, counts: readonly number[], { mask }: CategoricalOptions = {}) {
    const total = counts.reduce((sum, n) => sum + n, 0);
    if (logits.size(-1) !== total)
      refuse("multiDiscrete", `${logits.size(-1)} logits are not those of [${counts.join(", ")}] choices`);
    let at = 0;
    this.parts = counts.map((count) => {
      at += count;
      const own = (x: Tensor): Tensor => x.slice(-1, at - count, at);
      return new Categorical(own(logits), mask ? { mask: own(mask) } : {});
    });
  }
  /** Of choices [..., number of parts]. */
  logProb(choices: Tensor): Tensor {
    return this.#sum((part, k) => part.logProb(choices.at(-1, k)));
  }
  entropy(): Tensor {
    return this.#sum((part) => part.entropy());
  }
  kl(other: MultiDiscrete): Tensor {
    return this.#sum((part, k) => part.kl(other.parts[k] as Categorical));
  }
  mode(): Tensor {
    return this.#choices((part) => part.mode());
  }
  sample(key: Key): Tensor {
    return this.#choices((part, k) => part.sample(key.fold(k)));
  }
  #sum(of: (part: Categorical, k: number) => Tensor): Tensor {
    return this.parts.map(of).reduce((sum, x) => sum.add(x));
  }
  #choices(of: (part: Categorical, k: number) => Tensor): Tensor {
    const all = this.parts.map(of);
    return stack(all, (all[0] as Tensor).shape.length);
  }
}
export const multiDiscrete = (logits: Tensor, counts: readonly number[], options?: CategoricalOptions): MultiDiscrete =>
  new MultiDiscrete(logits, counts, options);

/** Yes or no for each logit; those along the last axis belong together. */
export class Bernoulli {
  readonly logits: Tensor;

  constructor(logits: Tensor) {
    this.logits = logits;
  }
  get probs(): Tensor {
    return this.logits.sigmoid();
  }
  /** Of 0 and 1, of any type. */
  logProb(choices: Tensor): Tensor {
    const { logits } = this;
    return choices.to(logits.dtype).mul(logits).sub(logits.softplus()).sum(-1);
  }
  entropy(): Tensor {
    const { logits } = this;
    return logits.softplus().sub(logits.mul(logits.sigmoid())).sum(-1);
  }
  kl(other: Bernoulli): Tensor {
    const difference = this.logits.sub(other.logits);
    return this.probs.mul(difference).add(other.logits.softplus()).sub(this.logits.softplus()).sum(-1);
  }
  mode(): Tensor {
    return this.logits.gt(0).to("i32");
  }
  sample(key: Key): Tensor {
    const { shape, dtype } = this.logits;
    return uniform(key, shape).to(dtype).lt(this.probs).to("i32");
  }
}
export const bernoulli = (logits: Tensor): Bernoulli => new Bernoulli(logits);
