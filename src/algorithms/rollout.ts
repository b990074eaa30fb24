/**
 * @file Rollouts of on-policy algorithms: what the policy does and sees for some steps, in rows, and the advantages.
 *
 * Each method records its part into the program that is being made; an algorithm puts them together. Episodes that were
 * cut off are bootstrapped from the value of their last observation, those that ended for good from 0; `bootstrap`
 * "never" treats both as ended for good, as some references do.
 */
import * as z from "zod";
import { EnvironmentError, maskSize, observationSize } from "../envs/define.ts";
import { randomKey, repeat, type State, state, type Tensor, where } from "../tensor/index.ts";
import type { ActorCritic, Spaces } from "./actorCritic.ts";
import { EpisodeStatistics } from "./episodes.ts";
import { ObservationNorm, RewardNorm } from "./normalise.ts";
import { lastRow, type World } from "./world.ts";

/** The keys of a configuration that say how rollouts are made. */
export const rolloutKeys = {
  /** Environments side by side. */
  nEnvs: z.int().positive().max(1_000_000).default(8),
  /** Steps of each environment in an iteration. */
  nSteps: z.int().positive().max(1_000_000).default(128),
  /** Whether a run whose steps are no whole number of iterations takes one more ("up") or stays below ("down"). */
  rounding: z.enum(["up", "down"]).default("up"),
  gamma: z.number().min(0).max(1).default(0.99),
  gaeLambda: z.number().min(0).max(1).default(0.95),
  normalizeObs: z.boolean().default(false),
  normalizeReward: z.boolean().default(false),
  /**
   * What an episode that a time limit cut off is worth from there on: the value of its last observation; nothing; or, as
   * in rlox, that value and what the next episode brings, whose advantages run on into this one.
   */
  bootstrap: z.enum(["truncated", "never", "carried"]).default("truncated"),
};
export type RolloutConfig = z.output<z.ZodObject<typeof rolloutKeys>>;

export class Rollout {
  readonly world: World;
  readonly agent: ActorCritic;
  readonly steps: number;
  readonly actions: State;
  readonly logProbs: State;
  /** One row more than steps: the last one is what the rollout goes on from. */
  readonly values: State;
  readonly advantages: State;
  /** Observations and rewards as the networks see them: the world's own ones, or normalised. */
  readonly seen: State;
  readonly rewards: State;
  readonly episodes: EpisodeStatistics;
  /** What a frozen policy needs to see as this one does. */
  readonly observationNorm: ObservationNorm | undefined;
  readonly #config: RolloutConfig;
  readonly #random: State;
  readonly #running: State;
  readonly #finalSeen: State;
  readonly #rewardNorm: RewardNorm | undefined;

  constructor(world: World, agent: ActorCritic, config: RolloutConfig, random: State) {
    const { nSteps: steps, normalizeObs, normalizeReward, gamma } = config;
    const { n, rollout } = world;
    const size = observationSize(world.env.observation);
    if (normalizeObs && world.env.observation.kind === "discrete")
      throw new EnvironmentError(`${world.env.id}: its observations are names, not amounts; leave normalizeObs off`);
    const rows = (name: string, count: number, ...row: number[]): State => state("f32", [count, n, ...row], { name });
    this.world = world;
    this.agent = agent;
    this.steps = steps;
    this.#config = config;
    this.#random = random;
    this.actions = state(agent.actionType, [steps, n, ...agent.actionShape], { name: "actions" });
    this.logProbs = rows("logProbs", steps);
    this.values = rows("values", steps + 1);
    this.advantages = rows("advantages", steps);
    this.#running = state("f32", [n], { name: "running" });
    this.episodes = new EpisodeStatistics(world);
    this.observationNorm = normalizeObs ? observationNormOf(world.env) : undefined;
    this.#rewardNorm = normalizeReward ? new RewardNorm(n, gamma) : undefined;
    this.seen = normalizeObs ? rows("seen", steps + 1, size) : rollout.obs;
    this.#finalSeen = normalizeObs ? rows("finalSeen", steps, size) : rollout.finalObs;
    this.rewards = normalizeReward ? rows("rewards", steps) : rollout.reward;
  }

  /** What playing on depends on, besides the world and the networks. */
  get states(): readonly State[] {
    const seen = this.observationNorm ? [lastRow(this.seen)] : [];
    return [...seen, ...(this.observationNorm?.states ?? []), ...(this.#rewardNorm?.states ?? [])];
  }

  /** Once, after the world's first reset: its observations are seen. */
  first(): void {
    const { obs } = this.world.rollout;
    if (this.observationNorm) this.#see(this.observationNorm, obs.value.at(0, this.steps), this.steps);
  }
  #see(norm: ObservationNorm, obs: Tensor, row: Tensor | number): void {
    norm.learn(obs);
    this.seen.assignRow(row, norm.apply(obs));
  }

  /** A rollout goes on from where the one before stopped. */
  begin(): void {
    const { obs } = this.world.rollout;
    for (const column of new Set([obs, this.seen])) column.assignRow(0, column.value.at(0, this.steps));
    this.episodes.begin();
  }
  /** Chooses the actions of step t; what the world is to be given. */
  act(t: Tensor): Tensor {
    const { policy, value } = this.agent.both(this.seen.value.gather(t));
    const action = policy.sample(randomKey(this.#random)).stopGradient();
    this.actions.assignRow(t, action);
    this.logProbs.assignRow(t, policy.logProb(action));
    this.values.assignRow(t, value);
    return this.agent.toWorld(action);
  }
  /** Takes in what the world answered in step t. */
  observe(t: Tensor): void {
    const { obs, reward, terminated, truncated, finalObs } = this.world.rollout;
    const over = terminated.value.gather(t).or(truncated.value.gather(t));
    this.episodes.observe(over);
    if (this.#rewardNorm) this.rewards.assignRow(t, this.#rewardNorm.step(reward.value.gather(t), over));
    if (this.observationNorm) {
      this.#see(this.observationNorm, obs.value.gather(t.add(1)), t.add(1));
      this.#finalSeen.assignRow(t, this.observationNorm.apply(finalObs.value.gather(t)));
    }
  }

  /** Values of what comes after the rollout, then advantages, from the last step to the first. */
  estimate(): void {
    const { gamma, gaeLambda, bootstrap } = this.#config;
    const { terminated, truncated } = this.world.rollout;
    const { steps, values } = this;
    values.assignRow(steps, this.agent.value(this.seen.value.at(0, steps)));
    const isCut = bootstrap !== "never" && this.world.truncates;
    const cut = isCut ? this.agent.value(this.#finalSeen.value) : undefined;
    const carries = bootstrap === "carried";
    this.#running.assign(0);
    repeat(steps, (k) => {
      const t = k.neg().add(steps - 1);
      const at = (column: State): Tensor => column.value.gather(t);
      const after = values.value.gather(t.add(1));
      const last = cut?.gather(t);
      const next = last ? where(at(truncated), carries ? last.add(after) : last, after) : after;
      const over = at(terminated).or(at(truncated));
      const delta = at(this.rewards)
        .add(where(last ? at(terminated) : over, 0, next.mul(gamma)))
        .sub(at(values));
      const further = this.#running.value.mul(gamma * gaeLambda);
      this.#running.assign(delta.add(where(carries ? at(terminated) : over, 0, further)));
      this.advantages.assignRow(t, this.#running.value);
    });
  }

  /** A column with all steps and environments in one axis: row t * n + i. */
  flat(column: State): Tensor {
    const { steps, world } = this;
    return column.value.slice(0, 0, steps).reshape([steps * world.n, ...column.shape.slice(2)]);
  }
  get returns(): Tensor {
    return this.flat(this.advantages).add(this.flat(this.values));
  }
  /** How much of the variance of returns the values explain: 1 for all of it, 0 or less for none. */
  explainedVariance(): Tensor {
    return this.flat(this.advantages).variance().div(this.returns.variance()).neg().add(1);
  }
}

/** A normaliser for an environment's observations; masks of actions in them stay as they are. */
export const observationNormOf = ({ observation, action }: Spaces): ObservationNorm =>
  new ObservationNorm(observationSize(observation), maskSize(observation, action));

/** To mean 0 and deviation 1. */
export function normalised(x: Tensor, ddof: 0 | 1): Tensor {
  return x.sub(x.mean()).div(x.variance(undefined, false, ddof).sqrt().add(1e-8));
}
