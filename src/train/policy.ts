/**
 * @file A trained policy: observations in, actions out, as a compiled program, with the observation normaliser inside.
 *
 * It shares the parameters of the algorithm that it comes from, or has its own, read from a checkpoint. A program is
 * compiled for each number of observations that is asked for at once.
 */
import type { ActionDistribution, ActorCritic, Spaces } from "../algorithms/actorCritic.ts";
import type { Algorithm } from "../algorithms/algorithm.ts";
import type { ObservationNorm } from "../algorithms/normalise.ts";
import { OnPolicy } from "../algorithms/onPolicy.ts";
import { observationSize } from "../envs/define.ts";
import type { TypedArray } from "../ir/arrays.ts";
import { LockstepError } from "../platform/errors.ts";
import { type OptionNames, strayOption } from "../platform/suggest.ts";
import { input, program, randomKey, randomState, type State, type Tensor } from "../tensor/index.ts";
import type { TensorProgram, TensorProgramOptions } from "../tensor/program.ts";

/** Observations that do not fit a policy, or something that has no policy. */
export class PolicyError extends LockstepError {
  override readonly name = "PolicyError";
}

export interface PolicyOptions extends Pick<TensorProgramOptions, "target" | "threads" | "numerics"> {
  /** What random choices follow from; 0 unless given. */
  readonly seed?: number;
}
export const POLICY_OPTIONS: OptionNames<PolicyOptions> = { target: true, threads: true, numerics: true, seed: true };

export interface ActOptions {
  /** Whether the most likely action is taken, or one is drawn; the most likely one unless given. */
  readonly deterministic?: boolean;
}
/** An action of one environment, or those of several in a row: whole numbers, or for boxes any. */
export type Actions = number | Int32Array | Float32Array;

/** What a policy consists of. */
export interface PolicyParts {
  readonly spaces: Spaces;
  readonly agent: Pick<ActorCritic, "policy" | "toWorld">;
  readonly observationNorm?: ObservationNorm | undefined;
}

/** A policy for a number of observations at once. Arrays stay in place. */
export interface PolicyBatch {
  /** To be filled. */
  readonly obs: TypedArray;
  /** What to do about them; written anew by the next call. */
  act(): TypedArray;
}

type ActionProgram = TensorProgram<{ readonly action: Tensor }>;
/** Programs that are kept at the same time, besides those whose arrays others hold; the oldest one goes. */
const MOST_PROGRAMS = 16;

export class Policy {
  readonly spaces: Spaces;
  readonly #parts: PolicyParts;
  readonly #options: TensorProgramOptions;
  readonly #random: State;
  readonly #programs = new Map<string, ActionProgram>();
  /** Programs whose arrays others hold. */
  readonly #pinned = new Set<ActionProgram>();
  readonly #size: number;

  constructor(parts: PolicyParts, given: PolicyOptions = {}) {
    const stray = strayOption(given, POLICY_OPTIONS);
    if (stray) throw new PolicyError(`${parts.spaces.id}: ${stray}`);
    const { seed = 0, ...options } = given;
    this.spaces = parts.spaces;
    this.#parts = parts;
    this.#options = options;
    this.#random = randomState(seed, { name: "choices" });
    this.#size = observationSize(parts.spaces.observation);
  }

  /**
   * What to do about one observation, or about several in a row. Of one, a discrete action is a number; all else is an
   * array of its own.
   */
  act(obs: ArrayLike<number> | number, options: ActOptions = {}): Actions {
    const given = typeof obs === "number" ? [obs] : obs;
    const count = this.#countOf(given);
    const { action } = this.#programOf(count, options).run({ obs: given });
    if (count === 1 && this.spaces.action.kind === "discrete") return action[0] as number;
    return action.slice() as Int32Array | Float32Array;
  }

  /** The same without copies or checks, for loops. Its program stays until the policy is disposed of. */
  batch(n: number, options: ActOptions = {}): PolicyBatch {
    const found = this.#programOf(n, options);
    this.#pinned.add(found);
    return {
      obs: found.inputs.obs as TypedArray,
      act: () => found.run().action,
    };
  }

  #countOf(obs: ArrayLike<number>): number {
    const { observation, id } = this.spaces;
    const count = obs.length / this.#size;
    if (!Number.isInteger(count) || count < 1) {
      const shape = observation.kind === "box" ? ` [${observation.shape.join(", ")}]` : "";
      throw new PolicyError(
        `${id}: an observation${shape} is ${this.#size} numbers, several in a row a multiple; ${obs.length} were given`,
      );
    }
    for (let k = 0; k < obs.length; k++) {
      const x = obs[k] as number;
      if (Number.isNaN(x) || typeof x !== "number") throw new PolicyError(`${id}: the observation has ${x} at ${k}`);
      if (observation.kind !== "discrete") continue;
      const { n, start } = observation;
      if (!Number.isInteger(x) || x < start || x >= start + n)
        throw new PolicyError(`${id}: the observation is ${x}; it must be one of ${n} whole numbers from ${start} on`);
    }
    return count;
  }

  #programOf(n: number, { deterministic = true }: ActOptions): ActionProgram {
    const key = `${n} ${deterministic}`;
    const found = this.#programs.get(key);
    if (found) return found;
    const made = program(`${this.spaces.id} policy`, () => ({ action: this.#record(n, deterministic) }), this.#options);
    if (this.#programs.size - this.#pinned.size >= MOST_PROGRAMS) this.#dropOldest();
    this.#programs.set(key, made);
    return made;
  }
  #dropOldest(): void {
    const oldest = [...this.#programs].find(([, one]) => !this.#pinned.has(one));
    if (!oldest) return;
    this.#programs.delete(oldest[0]);
    oldest[1].dispose();
  }
  #record(n: number, deterministic: boolean): Tensor {
    const { agent, observationNorm, spaces } = this.#parts;
    const obs = input("obs", spaces.observation.kind === "discrete" ? "i32" : "f32", [n, this.#size]);
    const policy: ActionDistribution = agent.policy(observationNorm?.apply(obs) ?? obs);
    return agent.toWorld(deterministic ? policy.mode() : policy.sample(randomKey(this.#random)));
  }

  /** Random choices follow from this seed from here on. */
  seed(seed: number): void {
    const fresh = randomState(seed);
    this.#random.array.set(fresh.array);
    fresh.dispose();
  }

  /** Gives the memory of the programs back; parameters stay. */
  dispose(): void {
    for (const one of this.#programs.values()) one.dispose();
    this.#programs.clear();
    this.#pinned.clear();
    this.#random.dispose();
  }
}

/** The policy of an algorithm as it is at every moment: its parameters are shared. */
export function policyOf(algorithm: Algorithm, options: PolicyOptions = {}): Policy {
  if (!(algorithm instanceof OnPolicy)) throw new PolicyError(`${algorithm.name} has no policy of its own to act with`);
  const { agent, spaces, rollout } = algorithm;
  return new Policy({ spaces, agent, observationNorm: rollout.observationNorm }, options);
}
