/**
 * @file Returns of a rollout: lambda returns, n-step returns and discounted sums. Environments are lanes; the
 * step-major layout is the fast one, because there lanes are neighbours in memory.
 */
import { constant, i32, u8 } from "../../kernel/declare.ts";
import { kernel } from "../../kernel/kernel.ts";
import { needCount, needLength, needShare } from "../checks.ts";
import { type FloatScalar, type Floats, floatType, needArray, output, Variants } from "../inputs.ts";
import {
  checkEnds,
  type Ends,
  type LayoutChoice,
  lastValuesArray,
  needLayout,
  type Rollout,
  shapeOf,
} from "./inputs.ts";

export interface DiscountOptions extends LayoutChoice {
  /** The discount; 0.99 unless given. */
  readonly gamma?: number;
}
export interface LambdaReturnsOptions extends DiscountOptions {
  /** Between one-step (0) and full returns (1); 0.95 unless given. */
  readonly lambda?: number;
}
export interface NStepReturnsOptions extends DiscountOptions {
  /** Rewards that are taken before the value function is asked; fewer at the end of an episode or of the rollout. */
  readonly n: number;
}
type WithOut<A extends Floats> = { readonly out?: A };

const columns = (type: FloatScalar) => ({
  rewards: type.array(),
  values: type.array(),
  terminated: u8.array(),
  truncated: u8.array(),
  finalValues: type.array(),
  lastValues: type.array(),
  returns: type.array(),
  gamma: type,
});

const lambdaLanes = new Variants((type, envMajor, truncating) =>
  kernel(
    { ...columns(type), lambda: type, envMajor: constant(envMajor), truncating: constant(truncating) },
    (args, { parallel }) => {
      const { rewards, values, terminated, truncated, finalValues, lastValues, returns } = args;
      const { gamma, lambda, envMajor, truncating } = args;
      const environments = lastValues.length;
      const steps = (rewards.length / environments) | 0;
      parallel(environments, (e) => {
        let next = lastValues[e]!;
        let after = next;
        for (let k = 0; k < steps; k++) {
          const t = steps - 1 - k;
          const at = envMajor ? e * steps + t : t * environments + e;
          if (truncating) {
            const cut = truncated[at]! > 0;
            const finalValue = finalValues[at]!;
            next = cut ? finalValue : next;
            after = cut ? finalValue : after;
          }
          const tail = gamma * ((1 - lambda) * next + lambda * after);
          after = rewards[at]! + (terminated[at]! > 0 ? 0 : tail);
          returns[at] = after;
          next = values[at]!;
        }
      });
    },
    { name: "lambdaReturns" },
  ),
);

const nStepLanes = new Variants((type, envMajor, truncating) =>
  kernel(
    { ...columns(type), n: i32, envMajor: constant(envMajor), truncating: constant(truncating) },
    (args, { parallel }) => {
      const { rewards, values, terminated, truncated, finalValues, lastValues, returns } = args;
      const { gamma, n, envMajor, truncating } = args;
      const environments = lastValues.length;
      const steps = (rewards.length / environments) | 0;
      parallel(environments, (e) => {
        for (let t = 0; t < steps; t++) {
          const horizon = Math.min(n, steps - t);
          const from = envMajor ? e * steps + t : t * environments + e;
          const stride = envMajor ? 1 : environments;
          let sum = 0;
          // 0 once the episode has ended: what follows then counts for nothing, whatever it is.
          let discount = 1;
          for (let k = 0; k < horizon; k++) {
            const at = from + k * stride;
            sum += discount > 0 ? discount * rewards[at]! : 0;
            discount *= gamma;
            if (truncating) {
              const cut = truncated[at]! > 0 && !(terminated[at]! > 0);
              const finalValue = finalValues[at]!;
              sum += cut && discount > 0 ? discount * finalValue : 0;
              discount = cut ? 0 : discount;
            }
            discount = terminated[at]! > 0 ? 0 : discount;
          }
          const behind = t + horizon < steps ? values[from + horizon * stride]! : lastValues[e]!;
          returns[from] = sum + (discount > 0 ? discount * behind : 0);
        }
      });
    },
    { name: "nStepReturns" },
  ),
);

const discountedLanes = new Variants((type, envMajor, truncating) =>
  kernel(
    { ...columns(type), envMajor: constant(envMajor), truncating: constant(truncating) },
    (args, { parallel }) => {
      const { rewards, terminated, truncated, finalValues, lastValues, returns, gamma, envMajor, truncating } = args;
      const environments = lastValues.length;
      const steps = (rewards.length / environments) | 0;
      parallel(environments, (e) => {
        let sum = lastValues[e]!;
        for (let k = 0; k < steps; k++) {
          const t = steps - 1 - k;
          const at = envMajor ? e * steps + t : t * environments + e;
          if (truncating) {
            const finalValue = finalValues[at]!;
            sum = truncated[at]! > 0 ? finalValue : sum;
          }
          sum = rewards[at]! + (terminated[at]! > 0 ? 0 : gamma * sum);
          returns[at] = sum;
        }
      });
    },
    { name: "discountedSums" },
  ),
);

interface Checked<A extends Floats> {
  readonly type: FloatScalar;
  readonly empty: boolean;
  readonly envMajor: boolean;
  readonly truncating: boolean;
  readonly args: { readonly [name: string]: Floats | Uint8Array | number };
  readonly returns: A;
}

function check<A extends Floats>(who: string, input: Rollout<A> & WithOut<A>, options: DiscountOptions): Checked<A> {
  const { rewards } = input;
  const { gamma = 0.99, layout = "step-major" } = options;
  const type = floatType(who, "rewards", rewards);
  const values = needArray(who, "values", input.values, rewards);
  needLength(who, "values", values, rewards.length, "the rollout");
  const { steps } = shapeOf(who, rewards.length, input.lastValues, rewards);
  const { terminated, truncated, finalValues, truncating } = checkEnds(who, input, type, rewards);
  needShare(who, "gamma", gamma);
  needLayout(who, layout);
  const returns = output(who, "out", input.out, rewards);
  const lastValues = lastValuesArray(type, input.lastValues);
  const args = { rewards, values, terminated, truncated, finalValues, lastValues, returns, gamma };
  return { type, empty: steps === 0, envMajor: layout === "env-major", truncating, args, returns };
}

/** G[t] = r + gamma ((1 - lambda) V' + lambda G[t + 1]): equal to advantage plus value of `gae`, without the two. */
export function lambdaReturns<A extends Floats>(input: Rollout<A> & WithOut<A>, options: LambdaReturnsOptions = {}): A {
  const { lambda = 0.95 } = options;
  needShare("lambdaReturns", "lambda", lambda);
  const { type, empty, envMajor, truncating, args, returns } = check<A>("lambdaReturns", input, options);
  if (!empty) lambdaLanes.runner(options, type, envMajor, truncating)({ ...args, lambda });
  return returns;
}

/** The next n rewards, discounted, and the value behind them. */
export function nStepReturns<A extends Floats>(input: Rollout<A> & WithOut<A>, options: NStepReturnsOptions): A {
  needCount("nStepReturns", "n", options.n, 1);
  const { type, empty, envMajor, truncating, args, returns } = check<A>("nStepReturns", input, options);
  // More than there are steps is as many as there are.
  const n = Math.min(options.n, Math.max(1, input.rewards.length));
  if (!empty) nStepLanes.runner(options, type, envMajor, truncating)({ ...args, n });
  return returns;
}

export type DiscountedInput<A extends Floats> = Ends<A> &
  WithOut<A> & {
    readonly rewards: A;
    /** What follows the last step: a number for one trajectory (0 unless given), one per environment for several. */
    readonly lastValues?: number | A;
  };

/** x[t] + gamma x[t + 1] + ... to the end of the episode. */
export function discountedSums<A extends Floats>(input: DiscountedInput<A>, options: DiscountOptions = {}): A {
  const { rewards } = input;
  const rollout = { ...input, values: rewards, lastValues: input.lastValues ?? 0 } as Rollout<A> & WithOut<A>;
  const { type, empty, envMajor, truncating, args, returns } = check<A>("discountedSums", rollout, options);
  if (!empty) discountedLanes.runner(options, type, envMajor, truncating)(args);
  return returns;
}
