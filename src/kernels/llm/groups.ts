/**
 * @file Group advantages (GRPO): rewards of completions to one prompt, centred and scaled by the group's own spread.
 *
 * Two passes per group, in eight running sums that vectors hold side by side; the divisions and roots of all groups are
 * done together in between, because waiting for one group's would leave the machine idle. Rewards are taken relative to
 * the first of their group, so that the rounding of a mean never shows as spread: equal rewards give zeros. Groups are
 * small: the loop over them is faster on one thread than a hand-over to another.
 */
import { i32 } from "../../kernel/declare.ts";
import { free, kernel } from "../../kernel/kernel.ts";
import { DataError } from "../errors.ts";
import {
  checkAmount,
  checkFloats,
  countParts,
  type FloatArray,
  type FloatType,
  floatsLike,
  outputLike,
  perFloat,
  type RunChoice,
} from "./arguments.ts";

/** Running sums per group; also the length of the scratch they go through. */
const LANES = 8;

const kernelFor = perFloat((type: FloatType) =>
  kernel(
    {
      rewards: type.array(),
      advantages: type.array(),
      means: type.array(),
      scales: type.array(),
      lanes: type.array(8),
      groups: i32,
      size: i32,
      count: type,
      freedom: type,
      epsilon: type,
      zeroBelow: type,
    },
    ({ rewards, advantages, means, scales, lanes, groups, size, count, freedom, epsilon, zeroBelow }, { parallel }) => {
      const rows = size >> 3;
      const folded = (): number =>
        lanes[0]! + lanes[4]! + (lanes[2]! + lanes[6]!) + (lanes[1]! + lanes[5]! + (lanes[3]! + lanes[7]!));
      for (let g = 0; g < groups; g++) {
        const at = g * size;
        const origin = rewards[at]!;
        parallel(8, (lane) => {
          let sum = 0;
          for (let row = 0; row < rows; row++) sum += rewards[at + row * 8 + lane]! - origin;
          lanes[lane] = sum;
        });
        let sum = folded();
        for (let k = at + rows * 8; k < at + size; k++) sum += rewards[k]! - origin;
        means[g] = sum;
      }
      parallel(groups, (g) => {
        means[g] = means[g]! / count;
      });
      for (let g = 0; g < groups; g++) {
        const at = g * size;
        const origin = rewards[at]!;
        const mean = means[g]!;
        parallel(8, (lane) => {
          let sum = 0;
          for (let row = 0; row < rows; row++) {
            const off = rewards[at + row * 8 + lane]! - origin - mean;
            sum += off * off;
          }
          lanes[lane] = sum;
        });
        let sum = folded();
        for (let k = at + rows * 8; k < at + size; k++) {
          const off = rewards[k]! - origin - mean;
          sum += off * off;
        }
        scales[g] = sum;
      }
      parallel(groups, (g) => {
        const deviation = Math.sqrt(scales[g]! / freedom);
        scales[g] = deviation < zeroBelow ? 0 : 1 / (deviation + epsilon);
      });
      for (let g = 0; g < groups; g++) {
        const at = g * size;
        const origin = rewards[at]!;
        const mean = means[g]!;
        const scale = scales[g]!;
        parallel(size, (k) => {
          advantages[at + k] = (rewards[at + k]! - origin - mean) * scale;
        });
      }
    },
    { name: "groupAdvantages" },
  ),
);

interface Scratch<F extends FloatArray> {
  readonly means: F;
  readonly scales: F;
  readonly lanes: F;
}
const scratches = new Map<FloatType["dtype"], Scratch<FloatArray>>();

/** Room for one number per group at least, kept between calls. */
function scratchFor<F extends FloatArray>(like: F, groups: number): Scratch<F> {
  const type = like instanceof Float32Array ? "f32" : "f64";
  const found = scratches.get(type);
  if (found !== undefined && found.means.length >= groups) return found as Scratch<F>;
  if (found) for (const array of [found.means, found.scales, found.lanes]) free(array);
  const made: Scratch<F> = {
    means: floatsLike(like, groups),
    scales: floatsLike(like, groups),
    lanes: floatsLike(like, LANES),
  };
  scratches.set(type, made);
  return made;
}

export interface GroupInput<F extends FloatArray> {
  /** Rewards, one group after the other. */
  readonly rewards: F;
  /** Completions per prompt; all rewards are one group unless given. */
  readonly groupSize?: number | undefined;
  readonly out?: { readonly advantages?: F | undefined } | undefined;
}

export interface GroupOptions extends RunChoice {
  /** 0: the spread of the group itself (the default); 1: the estimate of the spread it was drawn from. */
  readonly ddof?: 0 | 1 | undefined;
  /** Added to the standard deviation before dividing by it; 0 unless given. */
  readonly epsilon?: number | undefined;
  /** Groups with a smaller deviation get zeros; 1e-8 without an epsilon, otherwise 0. */
  readonly zeroBelow?: number | undefined;
}

/**
 * (reward - mean) / (deviation + epsilon) within each group. A group that holds a NaN becomes NaN throughout, the
 * others are not touched by it.
 */
export function groupAdvantages<F extends FloatArray>(
  { rewards, groupSize, out }: GroupInput<F>,
  options: GroupOptions = {},
): { advantages: F } {
  const { ddof = 0, epsilon = 0, zeroBelow = epsilon > 0 ? 0 : 1e-8 } = options;
  checkFloats("groupAdvantages: rewards", rewards);
  const size = groupSize ?? Math.max(rewards.length, 1);
  const groups = countParts("groupAdvantages: rewards", rewards, "groupSize", size);
  if (ddof !== 0 && ddof !== 1) throw new DataError(`groupAdvantages: ddof is ${ddof}: it must be 0 or 1`);
  if (size <= ddof && groups > 0)
    throw new DataError(`groupAdvantages: a group of ${size} has no deviation with ddof ${ddof}: use ddof 0`);
  checkAmount("groupAdvantages: epsilon", epsilon);
  checkAmount("groupAdvantages: zeroBelow", zeroBelow);
  const advantages = outputLike("groupAdvantages: out.advantages", out?.advantages, rewards, rewards.length);
  if (groups === 0) return { advantages };
  const { means, scales, lanes } = scratchFor(rewards, groups);
  const freedom = size - ddof;
  kernelFor(
    rewards,
    options,
  )({
    rewards,
    advantages,
    means,
    scales,
    lanes,
    groups,
    size,
    count: size,
    freedom,
    epsilon,
    zeroBelow,
  });
  return { advantages };
}
