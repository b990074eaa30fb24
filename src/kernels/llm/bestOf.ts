/**
 * @file Best-of-n: of n completions per prompt, the one with the highest reward.
 *
 * Plain JavaScript: one comparison per reward is less than what a call into compiled code costs for usual sizes.
 */
import { needLength, needParts } from "../checks.ts";
import { DataError } from "../errors.ts";
import { type Floats, floatType, output } from "../inputs.ts";

export interface BestOfInput<F extends Floats> {
  /** Rewards of all completions, prompt after prompt. */
  readonly rewards: F;
  /** Completions per prompt. */
  readonly n: number;
  readonly out?: { readonly indices?: Int32Array | undefined; readonly rewards?: F | undefined } | undefined;
}

/**
 * Where the best completion of each prompt is among all, and its reward. The first of equal ones wins; a NaN counts as
 * the highest, so that it is seen.
 */
export function bestOfN<F extends Floats>({ rewards, n, out }: BestOfInput<F>): { indices: Int32Array; rewards: F } {
  const who = "bestOfN";
  floatType(who, "rewards", rewards);
  const prompts = needParts(who, "rewards", rewards, "n", n);
  if (out?.indices !== undefined) {
    if (!(out.indices instanceof Int32Array)) throw new DataError(`${who}: "out.indices" must be an Int32Array`);
    needLength(who, "out.indices", out.indices, prompts, "the number of prompts");
  }
  const best = output(who, "out.rewards", out?.rewards, rewards, prompts);
  const indices = out?.indices ?? new Int32Array(prompts);
  for (let p = 0; p < prompts; p++) {
    let index = p * n;
    let most = rewards[index] as number;
    for (let k = index + 1; k < (p + 1) * n && !Number.isNaN(most); k++) {
      const reward = rewards[k] as number;
      if (reward > most || Number.isNaN(reward)) {
        most = reward;
        index = k;
      }
    }
    indices[p] = index;
    best[p] = most;
  }
  return { indices, rewards: best };
}
