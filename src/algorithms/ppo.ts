/**
 * @file Proximal policy optimisation (Schulman et al. 2017): an iteration is one program, one call.
 *
 * Rollout, bootstrap, advantages, permutations, epochs, minibatches, losses, clipping and Adam are recorded once, top to
 * bottom as below, and compiled whole. Where implementations differ there is a key; presets name their choices.
 */
import * as z from "zod";
import { EnvironmentError } from "../envs/define.ts";
import { type AdamOptions, adam } from "../optim/index.ts";
import { constant, permutation, randomKey, repeat, type State, state, type Tensor } from "../tensor/index.ts";
import { networkKeys } from "./actorCritic.ts";
import type { Told } from "./iteration.ts";
import { OnPolicy, type OnPolicyOptions, type ScheduledNumber, scheduled } from "./onPolicy.ts";
import { normalised, rolloutKeys } from "./rollout.ts";
import type { World } from "./world.ts";

export const ppoKeys = {
  ...rolloutKeys,
  ...networkKeys,
  nEpochs: z.int().positive().max(1000).default(4),
  /** Rows of a minibatch; nEnvs times nSteps must be a multiple. */
  batchSize: z.int().positive().default(256),
  learningRate: scheduled.default("lin_2.5e-4"),
  /** When a falling number falls: from the start of rollouts, from their ends, or with every minibatch. */
  annealing: z.enum(["rollout-start", "rollout-end", "update"]).default("rollout-start"),
  adamEps: z.number().positive().default(1e-5),
  clipRange: scheduled.default(0.2),
  /** How far values may move from those of the rollout; null for any distance. */
  clipRangeVf: scheduled.nullable().default(0.2),
  /** Whether the larger of the clipped and the free value loss counts, or the clipped one alone. */
  valueClipForm: z.enum(["larger", "clipped"]).default("larger"),
  /** A factor on the mean square of value errors, besides vfCoef. */
  valueLossScale: z.number().positive().default(0.5),
  entCoef: z.number().default(0.01),
  vfCoef: z.number().min(0).default(0.5),
  maxGradNorm: z.number().positive().default(0.5),
  gradientClip: z.enum(["torch", "optax"]).default("torch"),
  normalizeAdvantage: z.boolean().default(true),
  /** 1 for the deviation of a sample, 0 for that of a population. */
  advantageDdof: z.union([z.literal(0), z.literal(1)]).default(1),
  /** The updates of an iteration stop when the policy has moved further than this; null for never. */
  targetKl: z.number().positive().nullable().default(null),
  /** Whether each minibatch is looked at (with 1.5 times the limit) or the last one of each epoch. */
  targetKlForm: z.enum(["minibatch", "epoch"]).default("minibatch"),
};
export const ppoSchema = z.strictObject(ppoKeys);
export type PpoConfig = z.output<typeof ppoSchema>;

/** What other implementations do differently, by their names. */
export const ppoPresets = {
  cleanrl: { nEnvs: 4, batchSize: 128, rounding: "down", bootstrap: "never" },
  sb3: {
    nEnvs: 1,
    nSteps: 2048,
    batchSize: 64,
    nEpochs: 10,
    learningRate: 3e-4,
    annealing: "rollout-end",
    clipRangeVf: null,
    valueClipForm: "clipped",
    valueLossScale: 1,
    entCoef: 0,
  },
  rlox: { rounding: "down", bootstrap: "carried" },
  benchback: {
    nEnvs: 32,
    nSteps: 256,
    batchSize: 1024,
    nEpochs: 10,
    annealing: "update",
    gradientClip: "optax",
    advantageDdof: 0,
    bootstrap: "never",
  },
} as const satisfies { readonly [name: string]: Partial<PpoConfig> };

/** What a loss is computed from: one row per step that was taken, as it was then and as the networks see it now. */
export interface PpoBatch {
  readonly logProb: Tensor;
  readonly oldLogProb: Tensor;
  readonly entropy: Tensor;
  readonly value: Tensor;
  readonly oldValue: Tensor;
  readonly returns: Tensor;
  readonly advantage: Tensor;
}
export type PpoLossConfig = Pick<
  PpoConfig,
  "valueClipForm" | "valueLossScale" | "entCoef" | "vfCoef" | "normalizeAdvantage" | "advantageDdof"
>;
export interface PpoClips {
  readonly policy: number | Tensor;
  readonly value: number | Tensor | null;
}

/** The loss of a minibatch and what it consists of, by the names under which they are logged. */
export function ppoLoss(batch: PpoBatch, clips: PpoClips, config: PpoLossConfig) {
  const { logProb, oldLogProb } = batch;
  const advantage = config.normalizeAdvantage ? normalised(batch.advantage, config.advantageDdof) : batch.advantage;
  const difference = logProb.sub(oldLogProb);
  const ratio = difference.exp();
  const policy_loss = ratio
    .mul(advantage)
    .minimum(near(ratio, 1, clips.policy).mul(advantage))
    .mean()
    .neg();
  const value_loss = valueErrors(batch, clips.value, config).mean().mul(config.valueLossScale);
  const entropy = batch.entropy.mean();
  return {
    loss: policy_loss.add(value_loss.mul(config.vfCoef)).sub(entropy.mul(config.entCoef)),
    policy_loss,
    value_loss,
    entropy,
    approx_kl: ratio.sub(1).sub(difference).mean(),
    clip_fraction: ratio.sub(1).abs().gt(clips.policy).to(ratio.dtype).mean(),
  };
}
/** Squares of how far values are off; of values that stay near the old ones, when there is a limit. */
function valueErrors(batch: PpoBatch, limit: number | Tensor | null, { valueClipForm }: PpoLossConfig): Tensor {
  const { value, oldValue, returns } = batch;
  const free = value.sub(returns).square();
  if (limit === null) return free;
  const clipped = oldValue
    .add(near(value.sub(oldValue), 0, limit))
    .sub(returns)
    .square();
  return valueClipForm === "larger" ? free.maximum(clipped) : clipped;
}
/** x, at most `distance` away from the middle. */
function near(x: Tensor, middle: number, distance: number | Tensor): Tensor {
  if (typeof distance === "number") return x.clamp(middle - distance, middle + distance);
  return x.clamp(distance.neg().add(middle), distance.add(middle));
}
/** How Adam is to be used. */
export function adamOptions({ adamEps, maxGradNorm, gradientClip }: PpoConfig): Omit<AdamOptions, "learningRate"> {
  return { epsilon: adamEps, clip: { norm: maxGradNorm, form: gradientClip } };
}

/** What is summed up over the minibatches of an iteration, and told as means. */
const MEANS = ["loss", "policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction", "grad_norm"] as const;

export class Ppo extends OnPolicy<PpoConfig> {
  readonly name = "ppo";
  /** Rows of the rollout in a random order, one row per minibatch. */
  readonly #order: State;
  readonly #sums: State;
  /** How many minibatches this iteration has learned from, and whether it goes on. */
  readonly #updates: State;
  readonly #active: State;
  readonly #lastKl: State;

  constructor(world: World, config: PpoConfig, options: OnPolicyOptions) {
    super(world, config, options);
    const { nEnvs, nSteps, batchSize } = config;
    const rows = nEnvs * nSteps;
    if (rows % batchSize !== 0)
      throw new EnvironmentError(
        `batchSize: ${nEnvs} environments times ${nSteps} steps are ${rows} rows, which ${batchSize} does not divide; ` +
          `take ${divisorsNear(rows, batchSize).join(" or ")}`,
      );
    this.#order = state("i32", [rows / batchSize, batchSize], { name: "order" });
    this.#sums = state("f32", [MEANS.length], { name: "sums" });
    this.#updates = state("f32", [], { name: "updates" });
    this.#active = state("bool", [], { name: "active" });
    this.#lastKl = state("f32", [], { name: "lastKl" });
  }

  /** After the rollout: epochs of minibatches in random order, and what the iteration tells. */
  protected learn(): Told {
    const { nEpochs, batchSize, targetKlForm, learningRate } = this.config;
    const minibatches = this.#order.shape[0] as number;
    this.#sums.assign(0);
    this.#updates.assign(0);
    this.#active.assign(1);
    const learning_rate = constant(0).add(this.#now(learningRate));
    repeat(nEpochs, () => {
      this.#order.assign(permutation(randomKey(this.random), batchSize * minibatches).reshape(this.#order.shape));
      repeat(minibatches, (k) => this.#update(this.#order.value.gather(k)));
      if (targetKlForm === "epoch") this.#lookAt(this.#lastKl.value, 1);
    });
    const means = this.#sums.value.div(this.#updates.value.maximum(1));
    return { ...Object.fromEntries(MEANS.map((name, k) => [name, means.at(0, k)])), learning_rate };
  }

  /** One step of Adam on the chosen rows of the rollout. */
  #update(chosen: Tensor): void {
    const { rollout, config } = this;
    const { clipRange, clipRangeVf, learningRate, targetKl } = config;
    const rows = (column: State): Tensor => rollout.flat(column).gather(chosen);
    const { policy, value } = this.agent.both(rows(rollout.seen));
    const [advantage, oldValue] = [rows(rollout.advantages), rows(rollout.values)];
    const batch = {
      logProb: policy.logProb(rows(rollout.actions)),
      oldLogProb: rows(rollout.logProbs),
      entropy: policy.entropy(),
      value,
      oldValue,
      returns: advantage.add(oldValue),
      advantage,
    };
    const clips = { policy: this.#now(clipRange), value: clipRangeVf === null ? null : this.#now(clipRangeVf) };
    const terms = ppoLoss(batch, clips, config);
    if (config.targetKlForm === "minibatch") this.#lookAt(terms.approx_kl, 1.5);
    const step = adam(this.parameters, this.parameters.gradients(terms.loss), {
      learningRate: this.#now(learningRate),
      ...adamOptions(config),
      ...(targetKl === null ? {} : { when: this.#active.value }),
    });
    this.#sumUp({ ...terms, grad_norm: step.norm as Tensor });
  }
  #sumUp(terms: { readonly [M in (typeof MEANS)[number]]: Tensor }): void {
    const counted = this.#active.value.to("f32");
    this.#updates.assign(this.#updates.value.add(counted));
    MEANS.forEach((name, k) => {
      this.#sums.assignRow(k, this.#sums.value.at(0, k).add(terms[name].mul(counted)));
    });
    this.#lastKl.assign(terms.approx_kl);
  }
  /** Stops the updates of this iteration when the policy has moved further than the target, times a factor. */
  #lookAt(kl: Tensor, factor: number): void {
    const { targetKl } = this.config;
    if (targetKl !== null) this.#active.assign(this.#active.value.and(kl.le(targetKl * factor)));
  }

  /** What a number is at this point of the run. */
  #now(value: ScheduledNumber): number | Tensor {
    const done = this.done.value.to("f32");
    const perIteration = this.config.nEpochs * (this.#order.shape[0] as number);
    const counts: { readonly [A in PpoConfig["annealing"]]: () => Tensor } = {
      "rollout-start": () => done,
      "rollout-end": () => done.add(1),
      update: () => done.add(this.#updates.value.div(perIteration)),
    };
    return this.scheduledAt(value, counts[this.config.annealing]);
  }
}

/** Divisors of a number of rows: the nearest below and above a batch size that does not divide it. */
function divisorsNear(rows: number, wanted: number): readonly number[] {
  const divides = (size: number): boolean => rows % size === 0;
  const sizes = Array.from({ length: rows }, (_, k) => k + 1).filter(divides);
  return [...sizes.filter((size) => size < wanted).slice(-1), ...sizes.filter((size) => size > wanted).slice(0, 1)];
}
