/**
 * @file V-trace (Espeholt et al. 2018): value targets and advantages for actions that an older policy chose.
 *
 * The ratio of probabilities is taken once per step and clipped twice, for the size of a correction (rho) and for how
 * far it reaches back (c). What a target adds to its value obeys the same kind of recursion as an advantage.
 */
import { constant, u8 } from "../../kernel/declare.ts";
import { kernel } from "../../kernel/kernel.ts";
import { needLength, needNumber, needShare } from "../checks.ts";
import { type Floats, floatType, needArray, output, Variants } from "../inputs.ts";
import { checkEnds, type LayoutChoice, lastValuesArray, needLayout, type Rollout, shapeOf } from "./inputs.ts";

export interface VtraceOptions extends LayoutChoice {
  /** The discount; 0.99 unless given. */
  readonly gamma?: number;
  /** The upper limit of the ratio in corrections; 1 unless given. */
  readonly rhoBar?: number;
  /** The upper limit of the ratio in how far corrections reach back; 1 unless given. */
  readonly cBar?: number;
}
export interface VtraceResult<A extends Floats> {
  /** What the value function is fitted to. */
  readonly targets: A;
  /** What the policy gradient is weighted with; the clipped ratio is in it already. */
  readonly advantages: A;
}
export type VtraceInput<A extends Floats> = Rollout<A> & {
  /** log pi(a) - log mu(a): the policy being trained against the one that acted. */
  readonly logRatios: A;
  readonly out?: VtraceResult<A>;
};

const lanes = new Variants((type, envMajor, truncating) =>
  kernel(
    {
      logRatios: type.array(),
      rewards: type.array(),
      values: type.array(),
      terminated: u8.array(),
      truncated: u8.array(),
      finalValues: type.array(),
      lastValues: type.array(),
      targets: type.array(),
      advantages: type.array(),
      gamma: type,
      rhoBar: type,
      cBar: type,
      envMajor: constant(envMajor),
      truncating: constant(truncating),
    },
    (args, { parallel }) => {
      const { logRatios, rewards, values, terminated, truncated, finalValues, lastValues } = args;
      const { targets, advantages, gamma, rhoBar, cBar, envMajor, truncating } = args;
      const environments = lastValues.length;
      const steps = (rewards.length / environments) | 0;
      parallel(environments, (e) => {
        let nextValue = lastValues[e]!;
        let correction = 0;
        for (let k = 0; k < steps; k++) {
          const t = steps - 1 - k;
          const at = envMajor ? e * steps + t : t * environments + e;
          const value = values[at]!;
          const reward = rewards[at]!;
          const over = terminated[at]! > 0;
          let ended = over;
          let next = nextValue;
          if (truncating) {
            const cut = truncated[at]! > 0;
            const finalValue = finalValues[at]!;
            next = cut ? finalValue : next;
            ended = ended || cut;
          }
          next = over ? 0 : next;
          correction = ended ? 0 : correction;
          const ratio = Math.exp(logRatios[at]!);
          const rho = Math.min(rhoBar, ratio);
          const c = Math.min(cBar, ratio);
          advantages[at] = rho * (reward + gamma * (next + correction) - value);
          correction = rho * (reward + gamma * next - value) + gamma * c * correction;
          targets[at] = value + correction;
          nextValue = value;
        }
      });
    },
    { name: "vtrace" },
  ),
);

/** Value targets and advantages of a rollout; ends of episodes as in `gae`. */
export function vtrace<A extends Floats>(input: VtraceInput<A>, options: VtraceOptions = {}): VtraceResult<A> {
  const who = "vtrace";
  const { rewards, out } = input;
  const { gamma = 0.99, rhoBar = 1, cBar = 1, layout = "step-major" } = options;
  const type = floatType(who, "rewards", rewards);
  const logRatios = needArray(who, "logRatios", input.logRatios, rewards);
  needLength(who, "logRatios", logRatios, rewards.length, "the rollout");
  const values = needArray(who, "values", input.values, rewards);
  needLength(who, "values", values, rewards.length, "the rollout");
  const { steps } = shapeOf(who, rewards.length, input.lastValues, rewards);
  const { terminated, truncated, finalValues, truncating } = checkEnds(who, input, type, rewards);
  needShare(who, "gamma", gamma);
  needNumber(who, "rhoBar", rhoBar, rhoBar > 0, "a number above 0");
  needNumber(who, "cBar", cBar, cBar > 0, "a number above 0");
  needLayout(who, layout);
  const targets = output(who, "out.targets", out?.targets, rewards);
  const advantages = output(who, "out.advantages", out?.advantages, rewards);
  if (steps === 0) return { targets, advantages };
  const lastValues = lastValuesArray(type, input.lastValues);
  lanes.runner(
    options,
    type,
    layout === "env-major",
    truncating,
  )({
    logRatios,
    rewards,
    values,
    terminated,
    truncated,
    finalValues,
    lastValues,
    targets,
    advantages,
    gamma,
    rhoBar,
    cBar,
  });
  return { targets, advantages };
}
