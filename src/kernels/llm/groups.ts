/**
 * @file Group advantages (GRPO): rewards of completions to one prompt, centred and scaled by the group's own spread.
 *
 * Two passes per group, in eight running sums that vectors hold side by side; the divisions and roots of all groups are
 * done together in between, because waiting for one group's would leave the machine idle. Rewards are taken relative to
 * the first of their group, so that the rounding of a mean never shows as spread: equal rewards give zeros. Groups are
 * small: the loop over them is faster on one thread than a hand-over to another.
 */
import { i32 } from "../../kernel/declare.ts";
import { kernel } from "../../kernel/kernel.ts";
import { needAmount, needParts } from "../checks.ts";
import { DataError } from "../errors.ts";
import { type Floats, floatType, output, type RunChoice, Scratch, Variants } from "../inputs.ts";

/** Running sums per group; also the length of the scratch they go through. */
const LANES = 8;

const groupKernel = new Variants((type) =>
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

/** One number per group at least, kept between calls; and the running sums. */
const means = new Scratch();
const scales = new Scratch();
const lanes = new Scratch();

export interface GroupInput<F extends Floats> {
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
export function groupAdvantages<F extends Floats>(
  { rewards, groupSize, out }: GroupInput<F>,
  options: GroupOptions = {},
): { advantages: F } {
  const { ddof = 0, epsilon = 0, zeroBelow = epsilon > 0 ? 0 : 1e-8 } = options;
  const who = "groupAdvantages";
  const type = floatType(who, "rewards", rewards);
  const size = groupSize ?? Math.max(rewards.length, 1);
  const groups = needParts(who, "rewards", rewards, "groupSize", size);
  if (ddof !== 0 && ddof !== 1) throw new DataError(`groupAdvantages: ddof is ${ddof}: it must be 0 or 1`);
  if (size <= ddof && groups > 0)
    throw new DataError(`groupAdvantages: a group of ${size} has no deviation with ddof ${ddof}: use ddof 0`);
  needAmount(who, "epsilon", epsilon);
  needAmount(who, "zeroBelow", zeroBelow);
  const advantages = output(who, "out.advantages", out?.advantages, rewards);
  if (groups === 0) return { advantages };
  const freedom = size - ddof;
  groupKernel.runner(
    options,
    type,
  )({
    rewards,
    advantages,
    means: means.get(type, groups),
    scales: scales.get(type, groups),
    lanes: lanes.get(type, LANES),
    groups,
    size,
    count: size,
    freedom,
    epsilon,
    zeroBelow,
  });
  return { advantages };
}
