/**
 * @file Tags: the names that other libraries use, one per number.
 */
import { expect, test } from "vitest";
import { TAGS, taggedScalars } from "../../../src/train/loggers/scalars.ts";
import { evaluationRecord, iterationRecord } from "./samples.ts";

const METRICS = {
  policy_loss: 1,
  value_loss: 2,
  entropy: 3,
  approx_kl: 4,
  clip_fraction: 5,
  explained_variance: 6,
  loss: 7,
  learning_rate: 8,
  episode_return: 9,
  episode_length: 10,
  steps_per_s: 11,
};

test("Stable-Baselines3: the entropy loss is minus the entropy", () => {
  expect(Object.fromEntries(taggedScalars({ ...iterationRecord(1), metrics: METRICS }, "sb3"))).toEqual({
    "train/policy_gradient_loss": 1,
    "train/value_loss": 2,
    "train/entropy_loss": -3,
    "train/approx_kl": 4,
    "train/clip_fraction": 5,
    "train/explained_variance": 6,
    "train/loss": 7,
    "train/learning_rate": 8,
    "rollout/ep_rew_mean": 9,
    "rollout/ep_len_mean": 10,
    "time/fps": 11,
  });
  expect(Object.fromEntries(taggedScalars(evaluationRecord(1), "sb3"))).toMatchObject({
    "eval/mean_reward": 187.5,
    "eval/mean_ep_length": 188,
  });
});

test("CleanRL: the entropy as it is", () => {
  expect(Object.fromEntries(taggedScalars({ ...iterationRecord(1), metrics: METRICS }, "cleanrl"))).toEqual({
    "losses/policy_loss": 1,
    "losses/value_loss": 2,
    "losses/entropy": 3,
    "losses/approx_kl": 4,
    "losses/clipfrac": 5,
    "losses/explained_variance": 6,
    "losses/loss": 7,
    "charts/learning_rate": 8,
    "charts/episodic_return": 9,
    "charts/episodic_length": 10,
    "charts/SPS": 11,
  });
});

test("other names are carried through as they are, NaN is left out", () => {
  const metrics = { success_rate: 0.5, constructor: 1, value_loss: Number.NaN, loss: Number.POSITIVE_INFINITY };
  expect(taggedScalars({ ...iterationRecord(1), metrics }, "sb3")).toEqual([
    ["success_rate", 0.5],
    ["constructor", 1],
    ["train/loss", Number.POSITIVE_INFINITY],
  ]);
});

test("no two numbers share a tag", () => {
  for (const style of ["sb3", "cleanrl"] as const) {
    const tags = Object.values(TAGS).map((styles) => styles[style].tag);
    expect(new Set(tags).size).toBe(tags.length);
  }
});
