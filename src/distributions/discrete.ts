/**
 * @file Distributions of choices: one of several (masked too), several such choices, and yes or no.
 *
 * Choices are i32, along the last axis of the logits. Everything but `sample`, `mode` and what they are made of can be
 * differentiated.
 */
import { iotaOf, named, refuse } from "../tensor/build.ts";
import { FORBIDDEN, stack } from "../tensor/make.ts";
import { type Key, uniform } from "../tensor/random.ts";
import { Tensor, where } from "../tensor/tensor.ts";

export interface CategoricalOptions {
  /**
   * Of the shape of the logits, bool: what may be chosen. At least one in each row has to be true: of a row without, only
   * `mode` and `sample` mean anything, which is the first choice.
   */
  readonly mask?: Tensor;
}

export class Categorical {
  /** As they were given, with forbidden ones out of reach. */
  readonly logits: Tensor;
  /** Logarithms of the probabilities; of forbidden choices, very large negative numbers. `logProb` tells them exactly. */
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
  /** The same with minus infinity for forbidden choices. */
  get #exactLogProbs(): Tensor {
    return this.#mask ? where(this.#mask, this.logProbs, Number.NEGATIVE_INFINITY) : this.logProbs;
  }
  /** Minus infinity for forbidden choices. */
  logProb(choice: Tensor): Tensor {
    return named("logProb", () => this.#exactLogProbs.pick(choice));
  }
  /** A mean over the choices: those that are never made have no say, whatever the value, nor does their gradient. */
  #meanOf(...values: readonly Tensor[]): Tensor {
    const { probs } = this;
    const [first = probs, ...others] = values.map((x) => where(probs.gt(0), x, 0));
    return probs.mul(others.reduce((difference, x) => difference.sub(x), first)).sum(-1);
  }
  entropy(): Tensor {
    return this.#meanOf(this.logProbs).neg();
  }
  /** How far another distribution over the same choices is from this one: infinitely, if it forbids what this one allows. */
  kl(other: Categorical): Tensor {
    return named("kl", () => this.#meanOf(this.logProbs, other.#exactLogProbs));
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
    const powers = this.logits.sub(this.logits.max(-1, true)).exp();
    // Where nothing at all is allowed, nothing has a weight, and the choice is the first one.
    const weights = this.#mask ? where(this.#mask, powers, 0) : powers;
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
    // One softplus of what speaks against the choice, which holds for certain ones (infinite logits), too.
    return where(choices.to("bool"), logits.neg(), logits).softplus().sum(-1).neg();
  }
  entropy(): Tensor {
    const isCertain = this.logits.abs().eq(Number.POSITIVE_INFINITY);
    const logits = where(isCertain, 0, this.logits);
    return where(isCertain, 0, logits.softplus().sub(logits.mul(logits.sigmoid()))).sum(-1);
  }
  /** Infinite, where the other is certain of what this one is not. */
  kl(other: Bernoulli): Tensor {
    const [own, others] = [this.logits, other.logits];
    // The mean over yes and no of what each costs; what never happens costs nothing.
    const cost = (own: Tensor, others: Tensor): Tensor => {
      const share = own.neg().sigmoid();
      return share.mul(where(share.gt(0), others.softplus().sub(own.softplus()), 0));
    };
    return cost(own, others).add(cost(own.neg(), others.neg())).sum(-1);
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
