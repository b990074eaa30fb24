/**
 * @file Normalised observations and rewards of a vector, with the results of Stable-Baselines3's VecNormalize.
 *
 * Statistics are over all environments, so this stands around a vector and not around an environment. Raw values stay
 * reachable (`raw`), and so do raw episode returns. Observations are taken in as they come: with "same-step", those that
 * begin the next episode; final observations are normalised and never taken in.
 */
import { f32 } from "../../kernel/declare.ts";
import { allocate, free } from "../../kernel/kernel.ts";
import type { RunChoice } from "../../kernels/inputs.ts";
import { storedRecord } from "../../kernels/running/checks.ts";
import {
  ObservationNormaliser,
  type ObservationNormaliserState,
  RewardNormaliser,
  type RewardNormaliserState,
} from "../../kernels/running/normalisers.ts";
import type { OptionNames } from "../../platform/suggest.ts";
import { EnvironmentError, observationSize } from "../define.ts";
import { box } from "../spaces.ts";
import type { StepArrays, VectorEnv } from "../vector/face.ts";
import { checkOptions } from "../vector/options.ts";

export interface NormalisedObservations {
  readonly clip?: number;
  readonly epsilon?: number;
}
export interface NormalisedRewards extends NormalisedObservations {
  readonly gamma?: number;
}
export interface NormaliseOptions extends RunChoice {
  /** How observations are normalised, or false: not at all. */
  readonly observation?: false | NormalisedObservations;
  /** How rewards are normalised, or false: not at all. */
  readonly reward?: false | NormalisedRewards;
  /** Statistics of another one (`toJSON`), which say how things are normalised too. */
  readonly state?: unknown;
}
export interface NormalisedState {
  readonly kind: "NormalisedVec";
  readonly observation: ObservationNormaliserState | null;
  readonly reward: RewardNormaliserState | null;
}

const KIND = "NormalisedVec";
const OPTIONS: OptionNames<NormaliseOptions> = {
  observation: true,
  reward: true,
  state: true,
  target: true,
  threads: true,
};
const OF_OBSERVATIONS: OptionNames<NormalisedObservations> = { clip: true, epsilon: true };
const OF_REWARDS: OptionNames<NormalisedRewards> = { ...OF_OBSERVATIONS, gamma: true };
type Normalisers = readonly [ObservationNormaliser | undefined, RewardNormaliser | undefined];

function madeNormalisers(vec: VectorEnv, options: NormaliseOptions, choice: RunChoice): Normalisers {
  const { observation = {}, reward = {} } = options;
  const dimension = observationSize(vec.env.observation);
  return [
    observation === false ? undefined : new ObservationNormaliser({ dimension, ...observation, ...choice }),
    reward === false ? undefined : new RewardNormaliser({ environments: vec.n, ...reward, ...choice }),
  ];
}

/** Running returns belong to the environments they ran in: others begin with none, as in Stable-Baselines3. */
function storedNormalisers(vec: VectorEnv, state: unknown, choice: RunChoice): Normalisers {
  const record = storedRecord(KIND, state);
  const observation =
    record.observation === null ? undefined : ObservationNormaliser.fromJSON(record.observation, choice);
  const dimension = observationSize(vec.env.observation);
  if (observation && observation.moments.dimension !== dimension)
    throw new EnvironmentError(
      `${KIND}: the state is of observations of ${observation.moments.dimension} numbers, those of ${vec.env.id} have ${dimension}`,
    );
  if (record.reward === null) return [observation, undefined];
  const stored = storedRecord("RewardNormaliser", record.reward);
  const fits = Array.isArray(stored.returns) && stored.returns.length === vec.n;
  const returns = fits ? stored.returns : new Array<number>(vec.n).fill(0);
  return [observation, RewardNormaliser.fromJSON({ ...stored, returns }, choice)];
}

export class NormalisedVec<V extends VectorEnv = VectorEnv> implements VectorEnv {
  readonly env: VectorEnv["env"];
  readonly out: StepArrays;
  /** The vector inside. */
  readonly inner: V;
  readonly observation: ObservationNormaliser | undefined;
  readonly reward: RewardNormaliser | undefined;
  readonly #own: Float32Array[] = [];
  /** Raw observations as f32, where they are not; and rows of some environments, before and after. */
  readonly #floats: Float32Array;
  readonly #results: Float32Array;
  readonly #ended: Uint8Array;

  constructor(vec: V, options: NormaliseOptions = {}) {
    checkOptions(KIND, options, OPTIONS);
    const { observation: ofObservation, reward: ofReward, target, threads } = options;
    if (ofObservation) checkOptions(`${KIND}: observation`, ofObservation, OF_OBSERVATIONS);
    if (ofReward) checkOptions(`${KIND}: reward`, ofReward, OF_REWARDS);
    const choice: RunChoice = {
      ...(target === undefined ? {} : { target }),
      ...(threads === undefined ? {} : { threads }),
    };
    const [observation, reward] =
      options.state === undefined
        ? madeNormalisers(vec, options, choice)
        : storedNormalisers(vec, options.state, choice);
    this.observation = observation;
    this.reward = reward;
    this.inner = vec;
    const { obs, finalObs, terminated, truncated } = vec.out;
    const floats = (length: number): Float32Array => {
      const array = allocate(f32, length);
      this.#own.push(array);
      return array;
    };
    this.#floats = floats(obs.length);
    this.#results = floats(obs.length);
    this.#ended = new Uint8Array(vec.n);
    this.out = {
      obs: observation ? floats(obs.length) : obs,
      finalObs: observation ? floats(obs.length) : finalObs,
      reward: reward ? floats(vec.n) : vec.out.reward,
      terminated,
      truncated,
    };
    this.env = observation ? normalisedSpaces(vec, observation.clip) : vec.env;
  }

  get n(): number {
    return this.inner.n;
  }
  get autoreset(): VectorEnv["autoreset"] {
    return this.inner.autoreset;
  }
  /** What the vector inside gave: the same arrays without normalisation. */
  get raw(): StepArrays {
    return this.inner.out;
  }
  /** Raw returns: sums of the rewards as they were. */
  get episodeReturn(): Float32Array {
    return this.inner.episodeReturn;
  }
  get episodeLength(): Int32Array {
    return this.inner.episodeLength;
  }

  /** Whether statistics are used only, as for evaluation. */
  get frozen(): boolean {
    return (this.observation ?? this.reward)?.frozen ?? false;
  }
  set frozen(frozen: boolean) {
    if (this.observation) this.observation.frozen = frozen;
    if (this.reward) this.reward.frozen = frozen;
  }

  reset(which?: ArrayLike<number | boolean>): StepArrays {
    const { obs } = this.inner.reset(which);
    if (which === undefined) {
      this.reward?.returns.fill(0);
      this.observation?.process(this.#asFloats(obs), this.out.obs as Float32Array);
      return this.out;
    }
    this.#resetSome(obs, which);
    return this.out;
  }

  /** Takes in and writes the rows that begin anew; the others stay what they were. */
  #resetSome(obs: StepArrays["obs"], which: ArrayLike<number | boolean>): void {
    const size = obs.length / this.n;
    const chosen: number[] = [];
    for (let i = 0; i < this.n; i++) if (which[i]) chosen.push(i);
    for (const i of chosen) if (this.reward) this.reward.returns[i] = 0;
    if (!this.observation || chosen.length === 0) return;
    const rows = new Float32Array(chosen.length * size);
    chosen.forEach((i, k) => {
      rows.set(obs.subarray(i * size, (i + 1) * size), k * size);
    });
    const normalised = this.observation.process(rows);
    chosen.forEach((i, k) => {
      this.out.obs.set(normalised.subarray(k * size, (k + 1) * size), i * size);
    });
  }

  step(actions: ArrayLike<number>): StepArrays {
    const { obs, reward, terminated, truncated, finalObs } = this.inner.step(actions);
    const ended = this.#ended;
    let ends = 0;
    for (let i = 0; i < ended.length; i++) {
      ended[i] = (terminated[i] as number) | (truncated[i] as number);
      ends += ended[i] as number;
    }
    this.observation?.process(this.#asFloats(obs), this.out.obs as Float32Array);
    if (ends > 0 && this.observation) this.#normaliseFinal(this.observation, finalObs, ends);
    this.reward?.process(reward, ended, this.out.reward);
    return this.out;
  }

  /** Only rows that ended are meant: a few, which are worked on side by side. */
  #normaliseFinal(normaliser: ObservationNormaliser, raw: StepArrays["obs"], ends: number): void {
    const size = raw.length / this.n;
    const [rows, results] = [this.#floats.subarray(0, ends * size), this.#results.subarray(0, ends * size)];
    const moved = (each: (i: number, at: number) => void): void => {
      for (let i = 0, at = 0; i < this.n; i++)
        if (this.#ended[i]) {
          each(i * size, at);
          at += size;
        }
    };
    moved((row, at) => {
      for (let k = 0; k < size; k++) rows[at + k] = raw[row + k] as number;
    });
    normaliser.normalise(rows, results);
    moved((row, at) => {
      for (let k = 0; k < size; k++) this.out.finalObs[row + k] = results[at + k] as number;
    });
  }

  #asFloats(values: StepArrays["obs"]): Float32Array {
    if (values instanceof Float32Array) return values;
    this.#floats.set(values);
    return this.#floats;
  }

  /** The statistics; for `normalise(vec, { state })`. */
  toJSON(): NormalisedState {
    return { kind: KIND, observation: this.observation?.toJSON() ?? null, reward: this.reward?.toJSON() ?? null };
  }

  /** Ends the vector inside too. */
  dispose(): void {
    for (const array of this.#own.splice(0)) free(array);
    this.inner.dispose();
  }
}

function normalisedSpaces({ env, n, out }: VectorEnv, clip: number): VectorEnv["env"] {
  const shape = env.observation.kind === "box" ? env.observation.shape : [out.obs.length / n];
  const { id, action, maxSteps } = env;
  return { id: `normalise(${id})`, observation: box(shape, { low: -clip, high: clip }), action, maxSteps };
}

/** Observations and rewards with mean and deviation as far as seen: a vector around a vector. */
export const normalise = <V extends VectorEnv>(vec: V, options: NormaliseOptions = {}): NormalisedVec<V> =>
  new NormalisedVec(vec, options);
