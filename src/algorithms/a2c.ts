/**
 * @file Advantage actor-critic (Mnih et al. 2016, the synchronous form): one step of RMSprop on every short rollout.
 */
import * as z from "zod";
import { type RmspropOptions, rmsprop } from "../optim/index.ts";
import { constant, type Tensor } from "../tensor/index.ts";
import { networkKeys } from "./actorCritic.ts";
import type { Told } from "./iteration.ts";
import { OnPolicy, scheduled } from "./onPolicy.ts";
import { normalised, rolloutKeys } from "./rollout.ts";

export const a2cKeys = {
  ...rolloutKeys,
  ...networkKeys,
  nSteps: z.int().positive().max(1_000_000).default(5),
  gaeLambda: z.number().min(0).max(1).default(1),
  learningRate: scheduled.default(7e-4),
  /** Whether epsilon is added to the root of the average square ("torch") or inside it ("tensorflow"). */
  rmsprop: z.enum(["torch", "tensorflow"]).default("torch"),
  rmspropDecay: z.number().min(0).max(1).default(0.99),
  rmspropEps: z.number().positive().default(1e-5),
  /** A factor on the mean square of value errors, besides vfCoef. */
  valueLossScale: z.number().positive().default(1),
  entCoef: z.number().default(0),
  vfCoef: z.number().min(0).default(0.5),
  maxGradNorm: z.number().positive().default(0.5),
  normalizeAdvantage: z.boolean().default(false),
};
export const a2cSchema = z.strictObject(a2cKeys);
export type A2cConfig = z.output<typeof a2cSchema>;

/** What other implementations do differently, by their names. */
export const a2cPresets = {
  sb3: { nEnvs: 1 },
  rlox: { rounding: "down", valueLossScale: 0.5, entCoef: 0.01, bootstrap: "carried" },
} as const satisfies { readonly [name: string]: Partial<A2cConfig> };

export interface A2cBatch {
  readonly logProb: Tensor;
  readonly entropy: Tensor;
  readonly value: Tensor;
  readonly returns: Tensor;
  readonly advantage: Tensor;
}
export type A2cLossConfig = Pick<A2cConfig, "valueLossScale" | "entCoef" | "vfCoef" | "normalizeAdvantage">;

/** The loss of a rollout and what it consists of, by the names under which they are logged. */
export function a2cLoss({ logProb, entropy: each, value, returns, advantage }: A2cBatch, config: A2cLossConfig) {
  const weight = config.normalizeAdvantage ? normalised(advantage, 1) : advantage;
  const policy_loss = logProb.mul(weight).mean().neg();
  const value_loss = value.sub(returns).square().mean().mul(config.valueLossScale);
  const entropy = each.mean();
  const loss = policy_loss.add(value_loss.mul(config.vfCoef)).sub(entropy.mul(config.entCoef));
  return { loss, policy_loss, value_loss, entropy };
}

/** The forms of RMSprop. */
const FORMS = {
  torch: { epsilonPlace: "outside", initial: 0 },
  tensorflow: { epsilonPlace: "inside", initial: 1 },
} as const;

/** How RMSprop is to be used. */
export function rmspropOptions(config: A2cConfig): Omit<RmspropOptions, "learningRate"> {
  const { rmspropDecay: decay, rmspropEps: epsilon, maxGradNorm: clip } = config;
  return { decay, epsilon, clip, ...FORMS[config.rmsprop] };
}

export class A2c extends OnPolicy<A2cConfig> {
  readonly name = "a2c";

  /** One step of RMSprop on the whole rollout. */
  protected learn(): Told {
    const { rollout, config, parameters } = this;
    const { policy, value } = this.agent.both(rollout.flat(rollout.seen));
    const terms = a2cLoss(
      {
        logProb: policy.logProb(rollout.flat(rollout.actions)),
        entropy: policy.entropy(),
        value,
        returns: rollout.returns,
        advantage: rollout.flat(rollout.advantages),
      },
      config,
    );
    const learningRate = this.scheduledAt(config.learningRate, () => this.done.value.to("f32"));
    const { norm } = rmsprop(parameters, parameters.gradients(terms.loss), {
      learningRate,
      ...rmspropOptions(config),
    });
    return { ...terms, grad_norm: norm as Tensor, learning_rate: constant(0).add(learningRate) };
  }
}
