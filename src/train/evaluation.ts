/**
 * @file Evaluation: whole episodes of a policy, side by side, one environment for each.
 *
 * Every environment counts its first episode alone: who waits for a number of episodes to end sees too many short ones.
 * Seeds lie apart from those of training, and are the same in every evaluation, so that results can be compared.
 */
import { needCount } from "../envs/define.ts";
import type { VectorEnv } from "../envs/vector/face.ts";
import { LockstepError } from "../platform/errors.ts";
import { summarise } from "../stats/returns.ts";
import {
  type ResolvedEnvironment,
  resolveEnvironment,
  type TrainingEnvironment,
  type VectorOptions,
} from "./environments.ts";
import type { Policy, PolicyBatch } from "./policy.ts";
import type { EvaluationResult } from "./records.ts";

/** An evaluation that cannot be made, or comes to no end. */
export class EvaluationError extends LockstepError {
  override readonly name = "EvaluationError";
}

export interface EvaluateOptions extends Partial<Pick<VectorOptions, "target" | "threads">> {
  /** 10 unless given. */
  readonly episodes?: number;
  /** The run's seed; evaluation uses seeds that are SEED_DISTANCE away from it. */
  readonly seed?: number;
  /** Whether the most likely actions are taken; they are unless given. */
  readonly deterministic?: boolean;
}

/** How far the seeds of evaluation are from that of training. */
export const SEED_DISTANCE = 1000;
/** Environments side by side; more episodes are played in several rounds, each with the next seed. */
const MOST_ABREAST = 1024;
/** An episode that is longer never ends, as far as anyone would wait. */
const MOST_STEPS = 1_000_000;

/** Plays the same episodes again each time. */
export class Evaluator {
  readonly #policy: Policy;
  readonly #batch: PolicyBatch;
  readonly #episodes: number;
  readonly #seed: number;
  readonly #deterministic: boolean;
  readonly #make: (round: number) => VectorEnv;
  /** The environments of the first round, which most often is the only one. */
  readonly #first: VectorEnv;

  constructor(policy: Policy, environment: TrainingEnvironment | ResolvedEnvironment, options: EvaluateOptions = {}) {
    const { episodes = 10, seed = 0, deterministic = true, ...vectorOptions } = options;
    const resolved = isResolved(environment) ? environment : resolveEnvironment(environment);
    this.#episodes = needCount("the number of episodes", episodes, 1, 1_000_000);
    this.#seed = needCount("the seed of an evaluation", seed, 0) + SEED_DISTANCE;
    this.#deterministic = deterministic;
    this.#policy = policy;
    const abreast = Math.min(episodes, MOST_ABREAST);
    this.#batch = policy.batch(abreast, { deterministic });
    this.#make = (round) =>
      resolved.vector(abreast, { seed: this.#seed + round, mostSteps: MOST_STEPS, ...vectorOptions });
    this.#first = this.#make(0);
    this.#checkFits(this.#first);
  }

  /** A policy acts in environments with its own spaces. */
  #checkFits({ env }: VectorEnv): void {
    const spaces = this.#policy.spaces;
    for (const space of ["observation", "action"] as const)
      if (outline(env[space]) !== outline(spaces[space]))
        throw new EvaluationError(
          `a policy for ${spaces.id} cannot act in ${env.id}: its ${space} space is ${outline(spaces[space])}, ` +
            `that of the environment ${outline(env[space])}`,
        );
  }

  run(): EvaluationResult {
    if (!this.#deterministic) this.#policy.seed(this.#seed);
    const returns: number[] = [];
    const lengths: number[] = [];
    for (let round = 0; returns.length < this.#episodes; round++) {
      const vector = round === 0 ? this.#first : this.#make(round);
      try {
        this.#play(vector, returns, lengths);
      } finally {
        if (vector !== this.#first) vector.dispose();
      }
    }
    return summarise(returns.slice(0, this.#episodes), lengths.slice(0, this.#episodes));
  }

  /** The first episode of every environment of a vector. */
  #play(vector: VectorEnv, returns: number[], lengths: number[]): void {
    const { n } = vector;
    const first = returns.length;
    const isOver = new Uint8Array(n);
    let left = n;
    let { obs } = vector.reset();
    for (let step = 0; left > 0; step++) {
      if (step === MOST_STEPS)
        throw new EvaluationError(
          `${vector.env.id}: ${left} of ${n} episodes have not ended after ${MOST_STEPS} steps; give it maxSteps`,
        );
      this.#batch.obs.set(obs);
      const result = vector.step(this.#batch.act());
      obs = result.obs;
      for (let i = 0; i < n; i++) {
        if (isOver[i] || !(result.terminated[i] || result.truncated[i])) continue;
        isOver[i] = 1;
        left--;
        returns[first + i] = vector.episodeReturn[i] as number;
        lengths[first + i] = vector.episodeLength[i] as number;
      }
    }
  }

  dispose(): void {
    this.#first.dispose();
  }
}

const isResolved = (given: TrainingEnvironment | ResolvedEnvironment): given is ResolvedEnvironment =>
  typeof given === "object" && "playground" in given;

/** A space without its limits. */
function outline(space: VectorEnv["env"]["observation" | "action"]): string {
  switch (space.kind) {
    case "box":
      return `box [${space.shape.join(", ")}]`;
    case "discrete":
      return `discrete ${space.n}${space.start ? ` from ${space.start}` : ""}`;
    case "multiDiscrete":
      return `multiDiscrete [${space.counts.join(", ")}]`;
    default:
      return space satisfies never;
  }
}

/** Plays episodes of a policy and sums them up. Where actions are drawn, the policy draws from this seed on. */
export function evaluate(
  policy: Policy,
  environment: TrainingEnvironment,
  options: EvaluateOptions = {},
): EvaluationResult {
  const evaluator = new Evaluator(policy, environment, options);
  try {
    return evaluator.run();
  } finally {
    evaluator.dispose();
  }
}
