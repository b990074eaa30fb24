/**
 * @file Running normalisation inside of programs: observations to mean 0 and deviation 1, rewards by the deviation of
 * discounted returns, as far as seen. The formulas, and so the numbers, are those of Stable-Baselines3's VecNormalize.
 *
 * Statistics are kept in double precision and updated before they are used; what was learned travels with the states.
 */
import { iota, type State, state, type Tensor, where } from "../tensor/index.ts";

/** The weight of the starting mean 0 and variance 1. */
const INITIAL_COUNT = 1e-4;
const CLIP = 10;
const EPSILON = 1e-8;

/** Mean, variance and count of everything seen, for each of some columns. */
class Moments {
  readonly mean: State;
  readonly variance: State;
  readonly count: State;

  constructor(name: string, size: number) {
    this.mean = state("f64", [size], { name: `${name}.mean` });
    this.variance = state("f64", [size], { name: `${name}.variance`, from: new Array<number>(size).fill(1) });
    this.count = state("f64", [], { name: `${name}.count`, from: [INITIAL_COUNT] });
  }
  get states(): readonly State[] {
    return [this.mean, this.variance, this.count];
  }

  /** Takes rows [rows, size] in. */
  learn(rows: Tensor): void {
    const batch = rows.shape[0] as number;
    const mean = rows.mean(0);
    const known = this.count.value;
    const total = known.add(batch);
    const apart = mean.sub(this.mean.value);
    const squares = rows.sub(mean).square().sum(0);
    const between = apart.square().mul(known.mul(batch).div(total));
    const variance = this.variance.value.mul(known).add(squares).add(between).div(total);
    const moved = this.mean.value.add(apart.mul(batch).div(total));
    this.variance.assign(variance);
    this.mean.assign(moved);
    this.count.assign(total);
  }
}

export class ObservationNorm {
  readonly #moments: Moments;
  readonly #size: number;
  readonly #plain: number;

  /** The last numbers of an observation may be left as they are: masks of actions. */
  constructor(size: number, plain = 0) {
    this.#moments = new Moments("observations", size);
    this.#size = size;
    this.#plain = plain;
  }
  get states(): readonly State[] {
    return this.#moments.states;
  }
  /** Learns from rows [n, size]. */
  learn(obs: Tensor): void {
    this.#moments.learn(obs.to("f64"));
  }
  apply(obs: Tensor): Tensor {
    const { mean, variance } = this.#moments;
    const deviation = variance.value.add(EPSILON).sqrt();
    const normal = obs.to("f64").sub(mean.value).div(deviation).clamp(-CLIP, CLIP).to("f32");
    return this.#plain === 0 ? normal : where(iota(this.#size).lt(this.#size - this.#plain), normal, obs);
  }
}

export class RewardNorm {
  readonly #moments = new Moments("returns", 1);
  /** The discounted return of each environment so far; 0 after an end. */
  readonly #returns: State;
  readonly #gamma: number;

  constructor(n: number, gamma: number) {
    this.#returns = state("f64", [n], { name: "returns.running" });
    this.#gamma = gamma;
  }
  get states(): readonly State[] {
    return [...this.#moments.states, this.#returns];
  }
  /** Learns from the rewards of one step, and normalises them. */
  step(reward: Tensor, over: Tensor): Tensor {
    const returns = this.#returns.value.mul(this.#gamma).add(reward.to("f64"));
    this.#moments.learn(returns.unsqueeze(1));
    const deviation = this.#moments.variance.value.add(EPSILON).sqrt();
    this.#returns.assign(where(over, 0, returns));
    return reward.to("f64").div(deviation).clamp(-CLIP, CLIP).to("f32");
  }
}
