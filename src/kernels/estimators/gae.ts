/**
 * @file Generalised advantage estimation (Schulman et al. 2016), for one trajectory and for many.
 *
 * A[t] = delta[t] + gamma lambda A[t + 1] is a chain in which every step waits for the one before. Within a trajectory
 * it is a scan: blocks of eight steps overlap, and only one product and one sum per block remain in the chain. Results
 * differ from the plain loop in the last bits, and are the same on every target and for every number of threads.
 * Several environments are independent chains: as lanes when their elements are neighbours (step-major), one
 * trajectory after the other, or on other threads, otherwise (env-major).
 */
import { SCAN_BLOCK } from "../../ir/types.ts";
import { constant, type Intrinsics, inline, type KernelArray, type ReadonlyList, u8 } from "../../kernel/declare.ts";
import { kernel } from "../../kernel/kernel.ts";
import { needLength, needShare } from "../checks.ts";
import { type FloatScalar, type Floats, floatType, needArray, output, Variants } from "../inputs.ts";
import { checkEnds, type LayoutChoice, needLayout, type Rollout, shapeOf } from "./inputs.ts";

export interface GaeOptions extends LayoutChoice {
  /** The discount; 0.99 unless given. */
  readonly gamma?: number;
  /** Between one-step (0) and full returns (1); 0.95 unless given. */
  readonly lambda?: number;
}
export interface GaeResult<A extends Floats> {
  readonly advantages: A;
  /** Advantages plus values: what a value function is fitted to. */
  readonly returns: A;
}
export type GaeInput<A extends Floats> = Rollout<A> & {
  /** Arrays to write to instead of fresh ones. */
  readonly out?: GaeResult<A>;
};

const columns = (type: FloatScalar) => ({
  rewards: type.array(),
  values: type.array(),
  terminated: u8.array(),
  truncated: u8.array(),
  finalValues: type.array(),
  advantages: type.array(),
  returns: type.array(),
  gamma: type,
  lambda: type,
});

/** What the helper below reads of a kernel's arguments. */
interface StepColumns {
  readonly rewards: ReadonlyList<number>;
  readonly values: ReadonlyList<number>;
  readonly terminated: ReadonlyList<number>;
  readonly truncated: ReadonlyList<number>;
  readonly finalValues: ReadonlyList<number>;
  readonly gamma: number;
  readonly lambda: number;
  readonly truncating: boolean;
}

/** What a step does to the advantage behind it: delta + factor x advantage. */
const difference = inline((columns: StepColumns, t: number, value: number, nextValue: number) => {
  const { rewards, terminated, truncated, finalValues, gamma, lambda, truncating } = columns;
  const going = terminated[t]! === 0;
  let next = nextValue;
  let goesOn = going;
  if (truncating) {
    const whole = truncated[t]! === 0;
    const finalValue = finalValues[t]!;
    next = whole ? next : finalValue;
    goesOn = goesOn && whole;
  }
  return { delta: rewards[t]! - value + (going ? gamma * next : 0), factor: goesOn ? gamma * lambda : 0 };
});

interface ChainColumns extends StepColumns {
  readonly advantages: KernelArray;
  readonly returns: KernelArray;
}
/**
 * One trajectory of `steps` steps, the first of them at `from`. The last step and `few` more before it are taken one by
 * one, so that vectors lie within cache lines where trajectories begin at one.
 */
const chain = inline(
  { difference },
  (
    { difference },
    args: ChainColumns,
    scan: Intrinsics["scan"],
    { from, steps, few, lastValue }: { from: number; steps: number; few: number; lastValue: number },
  ) => {
    const { values, advantages, returns } = args;
    // The last step has no value behind it in the arrays.
    const last = from + steps - 1;
    let advantage = difference(args, last, values[last]!, lastValue).delta;
    const store = (t: number): void => {
      advantages[t] = advantage;
      returns[t] = advantage + values[t]!;
    };
    store(last);
    for (let i = 0; i < few; i++) {
      const t = last - 1 - i;
      const { delta, factor } = difference(args, t, values[t]!, values[t + 1]!);
      advantage = delta + factor * advantage;
      store(t);
    }
    const end = last - few;
    scan(steps - 1 - few, (i) => {
      const t = end - 1 - i;
      const { delta, factor } = difference(args, t, values[t]!, values[t + 1]!);
      advantage = delta + factor * advantage;
      store(t);
    });
  },
);

/** One trajectory. */
const trajectory = new Variants((type, truncating) =>
  kernel(
    { ...columns(type), lastValue: type, truncating: constant(truncating), chain, trip: constant(SCAN_BLOCK) },
    (args, { scan }) => {
      const steps = args.rewards.length;
      args.chain(args, scan, { from: 0, steps, few: (steps - 1) & (args.trip - 1), lastValue: args.lastValue });
    },
    { name: "gae" },
  ),
);

/** One environment after the other. */
const rows = new Variants((type, truncating) =>
  kernel(
    { ...columns(type), lastValues: type.array(), truncating: constant(truncating), chain, trip: constant(SCAN_BLOCK) },
    (args, { parallel, scan }) => {
      const environments = args.lastValues.length;
      const steps = (args.rewards.length / environments) | 0;
      const few = (steps - 1) & (args.trip - 1);
      parallel(environments, (e) => {
        args.chain(args, scan, { from: e * steps, steps, few, lastValue: args.lastValues[e]! });
      });
    },
    { name: "gaeRows" },
  ),
);

/** Steps that all environments take before the next ones: rows that lie far apart are met while they are near. */
const TILE = 4;

/** Environments as neighbours: each is a lane with its own chain. */
const lanes = new Variants((type, truncating) =>
  kernel(
    { ...columns(type), lastValues: type.array(), truncating: constant(truncating), difference, tile: constant(TILE) },
    (args, { parallel }) => {
      const { rewards, values, advantages, returns, lastValues, difference, tile } = args;
      const environments = lastValues.length;
      const last = ((rewards.length / environments) | 0) - 1;
      parallel(environments, (e) => {
        const at = last * environments + e;
        const { delta } = difference(args, at, values[at]!, lastValues[e]!);
        advantages[at] = delta;
        returns[at] = delta + values[at]!;
      });
      const sweep = (end: number, count: number) => {
        parallel(environments, (e) => {
          let advantage = advantages[end * environments + e]!;
          let nextValue = values[end * environments + e]!;
          for (let k = 0; k < count; k++) {
            const at = (end - 1 - k) * environments + e;
            const value = values[at]!;
            const { delta, factor } = difference(args, at, value, nextValue);
            advantage = delta + factor * advantage;
            advantages[at] = advantage;
            returns[at] = advantage + value;
            nextValue = value;
          }
        });
      };
      const tiles = (last / tile) | 0;
      for (let c = 0; c < tiles; c++) sweep(last - c * tile, tile);
      sweep(last - tiles * tile, last - tiles * tile);
    },
    { name: "gaeLanes" },
  ),
);

/**
 * Advantages and returns of a rollout. At the end of an episode the recursion is cut; the value behind a terminated
 * step is 0, that behind a truncated one its final value. A single column `dones` counts every end as termination.
 * Numbers that are not finite spread to earlier steps, past ends too: an end multiplies what lies behind it by 0.
 */
export function gae<A extends Floats>(input: GaeInput<A>, options: GaeOptions = {}): GaeResult<A> {
  const who = "gae";
  const { rewards, lastValues, out } = input;
  const { gamma = 0.99, lambda = 0.95, layout = "step-major" } = options;
  const type = floatType(who, "rewards", rewards);
  const values = needArray(who, "values", input.values, rewards);
  needLength(who, "values", values, rewards.length, "the rollout");
  const { environments, steps } = shapeOf(who, rewards.length, lastValues, rewards);
  const ends = checkEnds(who, input, type, rewards);
  needShare(who, "gamma", gamma);
  needShare(who, "lambda", lambda);
  needLayout(who, layout);
  const advantages = output(who, "out.advantages", out?.advantages, rewards);
  const returns = output(who, "out.returns", out?.returns, rewards);
  const result = { advantages, returns };
  if (steps === 0) return result;
  const { terminated, truncated, finalValues, truncating } = ends;
  const kernels = environments === 1 ? trajectory : layout === "step-major" ? lanes : rows;
  const lastValue = typeof lastValues === "number" ? lastValues : (lastValues[0] as number);
  // A whole literal, not a spread of parts: the call costs about as much as a short trajectory. Each kernel takes its own.
  kernels.runner(
    options,
    type,
    truncating,
  )({
    rewards,
    values,
    terminated,
    truncated,
    finalValues,
    advantages,
    returns,
    gamma,
    lambda,
    lastValue,
    lastValues,
  });
  return result;
}
