/**
 * @file The numbers of a record under flat names, and the tags that TensorBoard and Weights & Biases show them under.
 *
 * Tags follow other libraries, so that curves of both lie in one chart. A name that is not in the table is its own tag.
 */
import type { EvaluationResult, Metrics, RunRecord } from "../records.ts";

function evaluationNumbers({ ci, ...result }: EvaluationResult): Metrics {
  const numbers = { ...result, ci_low: ci[0], ci_high: ci[1] };
  return Object.fromEntries(Object.entries(numbers).map(([name, value]) => [`eval_${name}`, value]));
}

/** Metrics as they are; the numbers of an evaluation with `eval_` before their names. */
export const numbersOf = (record: RunRecord): Metrics =>
  record.kind === "iteration" ? record.metrics : evaluationNumbers(record.evaluation);

/** Whose tags: those of Stable-Baselines3 or those of CleanRL. */
export type TagStyle = "sb3" | "cleanrl";

interface Tag {
  readonly tag: string;
  /** What is logged is the number times this. */
  readonly factor: number;
}
const as = (tag: string, factor = 1): Tag => ({ tag, factor });

/** Where the original has no such number, its prefixes are kept. */
export const TAGS: { readonly [name: string]: { readonly [style in TagStyle]: Tag } } = {
  episode_return: { sb3: as("rollout/ep_rew_mean"), cleanrl: as("charts/episodic_return") },
  episode_return_min: { sb3: as("rollout/ep_rew_min"), cleanrl: as("charts/episodic_return_min") },
  episode_return_max: { sb3: as("rollout/ep_rew_max"), cleanrl: as("charts/episodic_return_max") },
  episode_length: { sb3: as("rollout/ep_len_mean"), cleanrl: as("charts/episodic_length") },
  episodes: { sb3: as("rollout/episodes"), cleanrl: as("charts/episodes") },
  reward_per_step: { sb3: as("rollout/reward_per_step"), cleanrl: as("charts/reward_per_step") },
  steps_per_s: { sb3: as("time/fps"), cleanrl: as("charts/SPS") },
  policy_loss: { sb3: as("train/policy_gradient_loss"), cleanrl: as("losses/policy_loss") },
  value_loss: { sb3: as("train/value_loss"), cleanrl: as("losses/value_loss") },
  // The loss that the first minimises is minus the mean entropy.
  entropy: { sb3: as("train/entropy_loss", -1), cleanrl: as("losses/entropy") },
  approx_kl: { sb3: as("train/approx_kl"), cleanrl: as("losses/approx_kl") },
  clip_fraction: { sb3: as("train/clip_fraction"), cleanrl: as("losses/clipfrac") },
  explained_variance: { sb3: as("train/explained_variance"), cleanrl: as("losses/explained_variance") },
  grad_norm: { sb3: as("train/grad_norm"), cleanrl: as("losses/grad_norm") },
  learning_rate: { sb3: as("train/learning_rate"), cleanrl: as("charts/learning_rate") },
  loss: { sb3: as("train/loss"), cleanrl: as("losses/loss") },
  time_environment: { sb3: as("time/environment"), cleanrl: as("charts/time_environment") },
  time_policy: { sb3: as("time/policy"), cleanrl: as("charts/time_policy") },
  time_gae: { sb3: as("time/gae"), cleanrl: as("charts/time_gae") },
  time_update: { sb3: as("time/update"), cleanrl: as("charts/time_update") },
  time_other: { sb3: as("time/other"), cleanrl: as("charts/time_other") },
  eval_mean: { sb3: as("eval/mean_reward"), cleanrl: as("eval/episodic_return") },
  eval_std: { sb3: as("eval/std_reward"), cleanrl: as("eval/episodic_return_std") },
  eval_min: { sb3: as("eval/min_reward"), cleanrl: as("eval/episodic_return_min") },
  eval_max: { sb3: as("eval/max_reward"), cleanrl: as("eval/episodic_return_max") },
  eval_iqm: { sb3: as("eval/iqm_reward"), cleanrl: as("eval/episodic_return_iqm") },
  eval_ci_low: { sb3: as("eval/iqm_reward_low"), cleanrl: as("eval/episodic_return_iqm_low") },
  eval_ci_high: { sb3: as("eval/iqm_reward_high"), cleanrl: as("eval/episodic_return_iqm_high") },
  eval_mean_length: { sb3: as("eval/mean_ep_length"), cleanrl: as("eval/episodic_length") },
  eval_episodes: { sb3: as("eval/episodes"), cleanrl: as("eval/episodes") },
};

/** Tags and values of a record; a number that is NaN (no episode ended) is left out. */
export function taggedScalars(record: RunRecord, style: TagStyle): [tag: string, value: number][] {
  const scalars: [string, number][] = [];
  for (const [name, value] of Object.entries(numbersOf(record))) {
    if (Number.isNaN(value)) continue;
    const { tag, factor } = (Object.hasOwn(TAGS, name) ? TAGS[name]?.[style] : undefined) ?? as(name);
    scalars.push([tag, value * factor]);
  }
  return scalars;
}
