/**
 * @file Generalised advantage estimation (Schulman et al. 2016), for one trajectory and for many.
 *
 * A[t] = delta[t] + gamma lambda A[t + 1] is a chain in which every step waits for the one before. One trajectory is
 * cut into groups of four steps: what a group does to the advantage behind it (a sum and a factor) does not depend on
 * that advantage, so groups overlap and only one product and one sum per group remain in the chain. Results differ
 * from the plain loop in the last bits, and are the same on every target and for every number of threads. Several
 * environments are independent chains, which run side by side and hide each other's waiting: as lanes when their
 * elements are neighbours (step-major), four rows at a time otherwise (env-major).
 */
import { constant, inline, type ReadonlyList, type Scalar, u8 } from "../../kernel/declare.ts";
import { allocate, kernel } from "../../kernel/kernel.ts";
import {
  checkEnds,
  type FloatScalar,
  type Floats,
  floatType,
  type LayoutChoice,
  needArray,
  needLayout,
  needLength,
  needShare,
  output,
  type Rollout,
  shapeOf,
  Variants,
} from "./inputs.ts";

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

/** Steps whose differences are held at a time: small enough for the nearest cache. */
const CHUNK = 512;

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
const difference = inline((columns: StepColumns, t: number, nextValue: number) => {
  const { rewards, values, terminated, truncated, finalValues, gamma, lambda, truncating } = columns;
  const over = terminated[t]! > 0;
  let next = nextValue;
  let ended = over;
  if (truncating) {
    const cut = truncated[t]! > 0;
    const finalValue = finalValues[t]!;
    next = cut ? finalValue : next;
    ended = ended || cut;
  }
  return { delta: rewards[t]! - values[t]! + (over ? 0 : gamma * next), factor: ended ? 0 : gamma * lambda };
});

/** One trajectory. */
const trajectory = new Variants(
  (type, truncating) =>
    kernel(
      {
        ...columns(type),
        lastValue: type,
        deltas: type.array(CHUNK),
        factors: type.array(CHUNK),
        chunk: constant(CHUNK),
        truncating: constant(truncating),
        difference,
      },
      (args, { parallel }) => {
        const { rewards, values, advantages, returns, lastValue, deltas, factors, chunk, difference } = args;
        const steps = rewards.length;
        // The last steps one by one: whole groups of four are left, and each of their steps has one behind it.
        const whole = (steps - 1) & -4;
        let advantage = 0;
        let nextValue = lastValue;
        for (let k = 0; k < steps - whole; k++) {
          const t = steps - 1 - k;
          const { delta, factor } = difference(args, t, nextValue);
          advantage = delta + factor * advantage;
          nextValue = values[t]!;
          advantages[t] = advantage;
          returns[t] = advantage + nextValue;
        }
        const chunks = ((whole + chunk - 1) / chunk) | 0;
        for (let c = 0; c < chunks; c++) {
          const end = whole - c * chunk;
          const begin = Math.max(0, end - chunk);
          const count = end - begin;
          parallel(count, (i) => {
            const { delta, factor } = difference(args, begin + i, values[begin + i + 1]!);
            deltas[i] = delta;
            factors[i] = factor;
          });
          const groups = (count / 4) | 0;
          for (let k = 0; k < groups; k++) {
            const i = count - 4 - 4 * k;
            const at = begin + i;
            const d1 = deltas[i + 1]!;
            const d3 = deltas[i + 3]!;
            const f0 = factors[i]!;
            const f1 = factors[i + 1]!;
            const f2 = factors[i + 2]!;
            const f3 = factors[i + 3]!;
            const sum01 = deltas[i]! + f0 * d1;
            const factor01 = f0 * f1;
            const sum23 = deltas[i + 2]! + f2 * d3;
            const factor23 = f2 * f3;
            const a3 = d3 + f3 * advantage;
            const a2 = sum23 + factor23 * advantage;
            const a1 = d1 + f1 * a2;
            advantage = sum01 + factor01 * sum23 + factor01 * factor23 * advantage;
            advantages[at + 3] = a3;
            advantages[at + 2] = a2;
            advantages[at + 1] = a1;
            advantages[at] = advantage;
          }
          parallel(count, (i) => {
            returns[begin + i] = advantages[begin + i]! + values[begin + i]!;
          });
        }
      },
      { name: "gae" },
    ),
  // All lengths are checked before the call, and tests in the chain would double its time.
  { unchecked: true },
);

/** Environments as neighbours: each is a lane with its own chain. */
const lanes = new Variants((type, truncating) =>
  kernel(
    { ...columns(type), lastValues: type.array(), truncating: constant(truncating), difference },
    (args, { parallel }) => {
      const { rewards, values, advantages, returns, lastValues, difference } = args;
      const environments = lastValues.length;
      const steps = (rewards.length / environments) | 0;
      parallel(environments, (e) => {
        let nextValue = lastValues[e]!;
        let advantage = 0;
        for (let k = 0; k < steps; k++) {
          const at = (steps - 1 - k) * environments + e;
          const { delta, factor } = difference(args, at, nextValue);
          advantage = delta + factor * advantage;
          nextValue = values[at]!;
          advantages[at] = advantage;
          returns[at] = advantage + nextValue;
        }
      });
    },
    { name: "gaeLanes" },
  ),
);

/** Rows of the env-major form that are worked on at a time, and steps of each. */
const ROWS = 4;
const ROW_CHUNK = 256;

/** One environment after the other: the chains of four rows at a time. */
const rows = new Variants(
  (type, truncating) =>
    kernel(
      {
        ...columns(type),
        lastValues: type.array(),
        deltas: type.array(ROWS * ROW_CHUNK),
        factors: type.array(ROWS * ROW_CHUNK),
        chunk: constant(ROW_CHUNK),
        truncating: constant(truncating),
        difference,
      },
      (args, { parallel }) => {
        const { rewards, values, advantages, returns, lastValues, deltas, factors, chunk, difference } = args;
        const environments = lastValues.length;
        const steps = (rewards.length / environments) | 0;
        // The last step of a row, which has no value behind it in the arrays.
        const start = (row: number) => {
          const t = row * steps + steps - 1;
          const { delta } = difference(args, t, lastValues[row]!);
          advantages[t] = delta;
          returns[t] = delta + values[t]!;
          return delta;
        };
        const fill = (from: number, to: number, count: number) => {
          parallel(count, (i) => {
            const { delta, factor } = difference(args, from + i, values[from + i + 1]!);
            deltas[to + i] = delta;
            factors[to + i] = factor;
          });
        };
        const give = (from: number, to: number, count: number) => {
          parallel(count, (i) => {
            const advantage = deltas[from + i]!;
            advantages[to + i] = advantage;
            returns[to + i] = advantage + values[to + i]!;
          });
        };
        const groups = ((environments + 3) / 4) | 0;
        const chunks = ((steps - 1 + chunk - 1) / chunk) | 0;
        for (let g = 0; g < groups; g++) {
          // The last group takes its last row several times where there are fewer than four.
          const row0 = 4 * g;
          const row1 = Math.min(row0 + 1, environments - 1);
          const row2 = Math.min(row0 + 2, environments - 1);
          const row3 = Math.min(row0 + 3, environments - 1);
          let a0 = start(row0);
          let a1 = start(row1);
          let a2 = start(row2);
          let a3 = start(row3);
          for (let c = 0; c < chunks; c++) {
            const end = steps - 1 - c * chunk;
            const begin = Math.max(0, end - chunk);
            const count = end - begin;
            fill(row0 * steps + begin, 0, count);
            fill(row1 * steps + begin, chunk, count);
            fill(row2 * steps + begin, 2 * chunk, count);
            fill(row3 * steps + begin, 3 * chunk, count);
            for (let k = 0; k < count; k++) {
              const i = count - 1 - k;
              a0 = deltas[i]! + factors[i]! * a0;
              a1 = deltas[i + chunk]! + factors[i + chunk]! * a1;
              a2 = deltas[i + 2 * chunk]! + factors[i + 2 * chunk]! * a2;
              a3 = deltas[i + 3 * chunk]! + factors[i + 3 * chunk]! * a3;
              deltas[i] = a0;
              deltas[i + chunk] = a1;
              deltas[i + 2 * chunk] = a2;
              deltas[i + 3 * chunk] = a3;
            }
            give(0, row0 * steps + begin, count);
            give(chunk, row1 * steps + begin, count);
            give(2 * chunk, row2 * steps + begin, count);
            give(3 * chunk, row3 * steps + begin, count);
          }
        }
      },
      { name: "gaeRows" },
    ),
  { unchecked: true },
);

/** Memory for differences and factors, kept between calls. */
interface Scratch {
  readonly deltas: Floats;
  readonly factors: Floats;
}
function scratchOf(length: number): (type: FloatScalar) => Scratch {
  const kept = new Map<FloatScalar, Scratch>();
  return (type) => {
    let found = kept.get(type);
    if (!found) {
      const array = (): Floats => allocate(type as Scalar<"f32">, length);
      found = { deltas: array(), factors: array() };
      kept.set(type, found);
    }
    return found;
  };
}
const trajectoryScratch = scratchOf(CHUNK);
const rowScratch = scratchOf(ROWS * ROW_CHUNK);

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
  // Whole literals, not spreads of parts: the call costs about as much as a short trajectory.
  if (environments === 1) {
    const lastValue = typeof lastValues === "number" ? lastValues : (lastValues[0] as number);
    const { deltas, factors } = trajectoryScratch(type);
    trajectory.runner(
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
      deltas,
      factors,
    });
  } else {
    const { deltas, factors } = rowScratch(type);
    const run = (layout === "step-major" ? lanes : rows).runner(options, type, truncating);
    run({
      rewards,
      values,
      terminated,
      truncated,
      finalValues,
      advantages,
      returns,
      gamma,
      lambda,
      lastValues,
      deltas,
      factors,
    });
  }
  return result;
}
