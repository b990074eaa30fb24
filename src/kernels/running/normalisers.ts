/**
 * @file Running normalisation of observations and rewards, with the results of Stable-Baselines3's VecNormalize.
 *
 * Statistics are kept in double precision and updated before they are used; a frozen normaliser uses them only.
 */
import { bool, f64, u8 } from "../../kernel/declare.ts";
import { allocate, kernel } from "../../kernel/kernel.ts";
import { needAmount, needCount, needLength, needNumber, needShare } from "../checks.ts";
import { DataError } from "../errors.ts";
import {
  BYTES,
  type Floats,
  floatType,
  needLike,
  output,
  type RunChoice,
  rounding,
  sharesMemory,
  Variants,
} from "../inputs.ts";
import { storedFlag, storedNumber, storedNumbers, storedRecord } from "./checks.ts";
import { RunningVectorMoments, type VectorMomentsState } from "./moments.ts";

/** The weight of the starting mean 0 and variance 1. */
const INITIAL_COUNT = 1e-4;

export interface ObservationNormaliserOptions extends RunChoice {
  /** Numbers per observation. */
  readonly dimension: number;
  /** Results are kept between -clip and clip; 10 unless given. */
  readonly clip?: number;
  /** Added to the variance; 1e-8 unless given. */
  readonly epsilon?: number;
}
export interface ObservationNormaliserState {
  readonly kind: "ObservationNormaliser";
  /** Null without clipping: infinity is no number of JSON. */
  readonly clip: number | null;
  readonly epsilon: number;
  readonly frozen: boolean;
  readonly moments: VectorMomentsState;
}

function needScale(who: string, clip: number, epsilon: number): void {
  needNumber(who, "clip", clip, clip > 0, "a number above 0");
  needAmount(who, "epsilon", epsilon);
}

const clipToJson = (clip: number): number | null => (clip === Number.POSITIVE_INFINITY ? null : clip);
const clipFromJson = (kind: string, clip: unknown): number =>
  clip === null ? Number.POSITIVE_INFINITY : storedNumber(kind, "clip", clip);

/** Observations with mean 0 and variance 1, as far as seen. */
export class ObservationNormaliser {
  readonly clip: number;
  readonly epsilon: number;
  frozen = false;
  readonly #choice: RunChoice;
  #moments: RunningVectorMoments;

  constructor(options: ObservationNormaliserOptions) {
    const { dimension, clip = 10, epsilon = 1e-8, ...choice } = options;
    needScale("ObservationNormaliser", clip, epsilon);
    this.clip = clip;
    this.epsilon = epsilon;
    this.#choice = choice;
    this.#moments = new RunningVectorMoments(dimension, { initialCount: INITIAL_COUNT });
  }

  get moments(): RunningVectorMoments {
    return this.#moments;
  }

  /** Takes new observations in, unless frozen, and normalises them. */
  process<A extends Floats>(observations: A, out?: A): A {
    const who = "ObservationNormaliser";
    if (out !== undefined) {
      needLike(who, "out", out, observations);
      if (sharesMemory(out, observations))
        throw new DataError(`${who}: "out" shares memory with the observations; hand over a separate array`);
    }
    if (!this.frozen) this.#moments.update(observations, this.#choice);
    return this.normalise(observations, out);
  }

  /** Normalises with what is known and learns nothing: for the final observations of episodes, and for evaluation. */
  normalise<A extends Floats>(observations: A, out?: A): A {
    const { clip, epsilon } = this;
    return this.#moments.normalise(observations, out, { ...this.#choice, clip, epsilon, least: 0 });
  }

  toJSON(): ObservationNormaliserState {
    const { epsilon, frozen } = this;
    const clip = clipToJson(this.clip);
    return { kind: "ObservationNormaliser", clip, epsilon, frozen, moments: this.#moments.toJSON() };
  }

  static fromJSON(state: unknown, choice: RunChoice = {}): ObservationNormaliser {
    const kind = "ObservationNormaliser";
    const record = storedRecord(kind, state);
    const moments = RunningVectorMoments.fromJSON(record.moments);
    const made = new ObservationNormaliser({
      dimension: moments.dimension,
      clip: clipFromJson(kind, record.clip),
      epsilon: storedNumber(kind, "epsilon", record.epsilon),
      ...choice,
    });
    made.frozen = storedFlag(kind, "frozen", record.frozen);
    made.#moments = moments;
    return made;
  }
}

export interface RewardNormaliserOptions extends RunChoice {
  /** Environments whose rewards come side by side. */
  readonly environments: number;
  /** The discount of the running returns; 0.99 unless given. */
  readonly gamma?: number;
  /** Results are kept between -clip and clip; 10 unless given. */
  readonly clip?: number;
  /** Added to the variance; 1e-8 unless given. */
  readonly epsilon?: number;
}
export interface RewardNormaliserState {
  readonly kind: "RewardNormaliser";
  readonly gamma: number;
  /** Null without clipping. */
  readonly clip: number | null;
  readonly epsilon: number;
  readonly frozen: boolean;
  readonly returns: readonly number[];
  readonly mean: number;
  readonly variance: number;
  readonly count: number;
}

/** moments: mean, variance and count of the running returns. */
const rewardKernel = new Variants((type) =>
  kernel(
    {
      rewards: type.array(),
      ended: u8.array(),
      out: type.array(),
      returns: f64.array(),
      moments: f64.array(3),
      learning: bool,
      gamma: f64,
      clip: f64,
      epsilon: f64,
      round: rounding(type),
    },
    ({ rewards, ended, out, returns, moments, learning, gamma, clip, epsilon, round }, { parallel }) => {
      const n = rewards.length;
      if (learning) {
        let sum = 0;
        parallel(n, (e) => {
          const value = returns[e]! * gamma + Number(rewards[e]!);
          returns[e] = value;
          sum += value;
        });
        const mean = sum / n;
        let squares = 0;
        parallel(n, (e) => {
          const d = returns[e]! - mean;
          squares += d * d;
        });
        const known = moments[2]!;
        const total = known + n;
        const apart = mean - moments[0]!;
        moments[1] = (moments[1]! * known + squares + (apart * apart * known * n) / total) / total;
        moments[0] = moments[0]! + (apart * n) / total;
        moments[2] = total;
      }
      const deviation = Math.sqrt(moments[1]! + epsilon);
      parallel(n, (e) => {
        out[e] = round(Math.min(Math.max(Number(rewards[e]!) / deviation, -clip), clip));
        returns[e] = ended[e]! > 0 ? 0 : returns[e]!;
      });
    },
    { name: "normaliseRewards" },
  ),
);

/** Rewards divided by the deviation of discounted returns, as far as seen. Their mean is left alone. */
export class RewardNormaliser {
  readonly gamma: number;
  readonly clip: number;
  readonly epsilon: number;
  frozen = false;
  /** The running discounted return of each environment; 0 after an end. */
  readonly returns: Float64Array;
  readonly #moments: Float64Array;
  readonly #choice: RunChoice;

  constructor(options: RewardNormaliserOptions) {
    const who = "RewardNormaliser";
    const { environments, gamma = 0.99, clip = 10, epsilon = 1e-8, ...choice } = options;
    needCount(who, "environments", environments, 1);
    needShare(who, "gamma", gamma);
    needScale(who, clip, epsilon);
    this.gamma = gamma;
    this.clip = clip;
    this.epsilon = epsilon;
    this.returns = allocate(f64, environments);
    this.#moments = allocate(f64, 3);
    this.#moments.set([0, 1, INITIAL_COUNT]);
    this.#choice = choice;
  }

  /** Mean, variance and count of the running returns. */
  get mean(): number {
    return this.#moments[0] as number;
  }
  get variance(): number {
    return this.#moments[1] as number;
  }
  get count(): number {
    return this.#moments[2] as number;
  }

  /** One step of all environments: learns, unless frozen, normalises, and starts ended environments' returns anew. */
  process<A extends Floats>(rewards: A, ended: Uint8Array, out?: A): A {
    const who = "RewardNormaliser";
    const type = floatType(who, "rewards", rewards);
    const { returns, gamma, clip, epsilon } = this;
    needLength(who, "rewards", rewards, returns.length, "the number of environments");
    needLike(who, "ended", ended, BYTES, returns.length);
    const result = output(who, "out", out, rewards);
    rewardKernel.runner(
      this.#choice,
      type,
    )({
      rewards,
      ended,
      out: result,
      returns,
      moments: this.#moments,
      learning: !this.frozen,
      gamma,
      clip,
      epsilon,
    });
    return result;
  }

  toJSON(): RewardNormaliserState {
    const { gamma, epsilon, frozen, mean, variance, count } = this;
    const clip = clipToJson(this.clip);
    const returns = [...this.returns];
    return { kind: "RewardNormaliser", gamma, clip, epsilon, frozen, returns, mean, variance, count };
  }

  static fromJSON(state: unknown, choice: RunChoice = {}): RewardNormaliser {
    const kind = "RewardNormaliser";
    const record = storedRecord(kind, state);
    const number = (name: string, from?: number): number =>
      storedNumber(kind, name, record[name], from === undefined ? {} : { from });
    const environments = Math.max(1, Array.isArray(record.returns) ? record.returns.length : 0);
    const returns = storedNumbers(kind, "returns", record.returns, environments);
    const moments = [number("mean"), number("variance", 0), number("count", 0)];
    const made = new RewardNormaliser({
      environments,
      gamma: number("gamma"),
      clip: clipFromJson(kind, record.clip),
      epsilon: number("epsilon"),
      ...choice,
    });
    made.frozen = storedFlag(kind, "frozen", record.frozen);
    made.returns.set(returns);
    made.#moments.set(moments);
    return made;
  }
}
