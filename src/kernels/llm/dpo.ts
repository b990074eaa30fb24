/**
 * @file Direct preference optimisation: the loss of pairs of completions, its gradient and the usual metrics, in one
 * pass; and a container for the pairs.
 *
 * The gradient is that of the mean loss with respect to the policy's sequence log-probabilities, which is where a
 * model's backward pass begins.
 */
import { kernel } from "../../kernel/kernel.ts";
import { needAmount, needShare } from "../checks.ts";
import { type Floats, floatType, needLike, output, type RunChoice, Scratch, Variants } from "../inputs.ts";

const lossKernel = new Variants((type) =>
  kernel(
    {
      policyChosen: type.array(),
      policyRejected: type.array(),
      referenceChosen: type.array(),
      referenceRejected: type.array(),
      losses: type.array(),
      chosenRewards: type.array(),
      rejectedRewards: type.array(),
      gradChosen: type.array(),
      gradRejected: type.array(),
      totals: type.array(4),
      beta: type,
      smoothing: type,
      share: type,
      one: type,
    },
    (a, { parallel, sigmoid }) => {
      let loss = 0;
      let chosenTotal = 0;
      let rejectedTotal = 0;
      let right = 0;
      parallel(a.losses.length, (i) => {
        const chosen = a.beta * (a.policyChosen[i]! - a.referenceChosen[i]!);
        const rejected = a.beta * (a.policyRejected[i]! - a.referenceRejected[i]!);
        const margin = chosen - rejected;
        // -log sigmoid(x) = log(1 + e^-|x|) + max(-x, 0), and the same of -x: they share the first term.
        const bend = Math.log1p(Math.exp(-Math.abs(margin)));
        const value =
          (a.one - a.smoothing) * (bend + Math.max(-margin, 0)) + a.smoothing * (bend + Math.max(margin, 0));
        const slope = (a.smoothing * sigmoid(margin) - (a.one - a.smoothing) * sigmoid(-margin)) * a.beta * a.share;
        a.losses[i] = value;
        a.chosenRewards[i] = chosen;
        a.rejectedRewards[i] = rejected;
        a.gradChosen[i] = slope;
        a.gradRejected[i] = -slope;
        loss += value;
        chosenTotal += chosen;
        rejectedTotal += rejected;
        right += margin > 0 ? a.one : 0;
      });
      a.totals[0] = loss * a.share;
      a.totals[1] = chosenTotal * a.share;
      a.totals[2] = rejectedTotal * a.share;
      a.totals[3] = right * a.share;
    },
    { name: "dpoLoss" },
  ),
);

export interface DpoArrays<F extends Floats> {
  /** Loss of each pair. */
  readonly losses: F;
  /** beta (policy - reference) of the chosen and of the rejected completions. */
  readonly chosenRewards: F;
  readonly rejectedRewards: F;
  /** Gradient of the mean loss with respect to `policyChosen` and `policyRejected`. */
  readonly gradChosen: F;
  readonly gradRejected: F;
}

export interface DpoInput<F extends Floats> {
  /** Log-probabilities of whole sequences under the policy and under the reference model, one per pair. */
  readonly policyChosen: F;
  readonly policyRejected: F;
  readonly referenceChosen: F;
  readonly referenceRejected: F;
  readonly out?: Partial<DpoArrays<F>> | undefined;
}

export interface DpoOptions extends RunChoice {
  /** How strongly the policy is held to the reference; 0.1 unless given. */
  readonly beta?: number | undefined;
  /** The share of pairs that are labelled the wrong way round; 0 unless given. */
  readonly labelSmoothing?: number | undefined;
}

export interface DpoResult<F extends Floats> extends DpoArrays<F> {
  /** Mean over the pairs, as are the other numbers; 0 without pairs. */
  readonly loss: number;
  readonly chosenReward: number;
  readonly rejectedReward: number;
  /** The share of pairs whose chosen completion has the higher reward. */
  readonly accuracy: number;
}

const ARRAYS = ["losses", "chosenRewards", "rejectedRewards", "gradChosen", "gradRejected"] as const;
const room = new Scratch();

/** -log sigmoid of the margin between the rewards of chosen and rejected, smoothed if asked for. */
export function dpoLoss<F extends Floats>(input: DpoInput<F>, options: DpoOptions = {}): DpoResult<F> {
  const { policyChosen, policyRejected, referenceChosen, referenceRejected, out = {} } = input;
  const { beta = 0.1, labelSmoothing = 0 } = options;
  const who = "dpoLoss";
  const type = floatType(who, "policyChosen", policyChosen);
  const pairs = policyChosen.length;
  needLike(who, "policyRejected", policyRejected, policyChosen);
  needLike(who, "referenceChosen", referenceChosen, policyChosen);
  needLike(who, "referenceRejected", referenceRejected, policyChosen);
  needAmount(who, "beta", beta);
  needShare(who, "labelSmoothing", labelSmoothing);
  // All that are given are checked before one that is not is made.
  for (const name of ARRAYS) if (out[name] !== undefined) needLike(who, `out.${name}`, out[name], policyChosen);
  const array = (name: (typeof ARRAYS)[number]): F => output(who, `out.${name}`, out[name], policyChosen);
  const arrays: DpoArrays<F> = {
    losses: array("losses"),
    chosenRewards: array("chosenRewards"),
    rejectedRewards: array("rejectedRewards"),
    gradChosen: array("gradChosen"),
    gradRejected: array("gradRejected"),
  };
  const totals = room.get(type, 4);
  const inputs = { policyChosen, policyRejected, referenceChosen, referenceRejected };
  const share = 1 / Math.max(pairs, 1);
  const scalars = { beta, smoothing: labelSmoothing, share, one: 1 };
  lossKernel.runner(options, type)({ ...inputs, ...arrays, totals, ...scalars });
  const [loss = 0, chosenReward = 0, rejectedReward = 0, accuracy = 0] = totals;
  return { ...arrays, loss, chosenReward, rejectedReward, accuracy };
}
