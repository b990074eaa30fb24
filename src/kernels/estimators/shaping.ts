/**
 * @file Potential-based reward shaping (Ng et al. 1999), which leaves the best policy what it was.
 */
import { i32, u8 } from "../../kernel/declare.ts";
import { kernel } from "../../kernel/kernel.ts";
import { needCount, needNumber, needParts, needShare } from "../checks.ts";
import { DataError } from "../errors.ts";
import { BYTES, type Floats, floatType, needArray, needLike, output, type RunChoice, Variants } from "../inputs.ts";

export interface ShapingOptions extends RunChoice {
  /** The discount of the task; 0.99 unless given. */
  readonly gamma?: number;
}
export interface ShapingInput<A extends Floats> {
  readonly rewards: A;
  /** Potentials of the observations before and after each step. */
  readonly potentials: A;
  readonly nextPotentials: A;
  /** Not 0 where the episode ended with this step, for whatever reason: the reward stays as it is. */
  readonly ended: Uint8Array;
  readonly out?: A;
}

const shapeKernel = new Variants((type) =>
  kernel(
    {
      rewards: type.array(),
      potentials: type.array(),
      nextPotentials: type.array(),
      ended: u8.array(),
      out: type.array(),
      gamma: type,
    },
    ({ rewards, potentials, nextPotentials, ended, out, gamma }, { parallel }) => {
      parallel(rewards.length, (i) => {
        const gain = gamma * nextPotentials[i]! - potentials[i]!;
        out[i] = rewards[i]! + (ended[i]! > 0 ? 0 : gain);
      });
    },
    { name: "shapeRewards" },
  ),
);

/** r + gamma phi' - phi, and the plain reward where the episode ended. */
export function shapeRewards<A extends Floats>(input: ShapingInput<A>, options: ShapingOptions = {}): A {
  const who = "shapeRewards";
  const { rewards } = input;
  const { gamma = 0.99 } = options;
  const type = floatType(who, "rewards", rewards);
  const potentials = needLike(who, "potentials", input.potentials, rewards);
  const nextPotentials = needLike(who, "nextPotentials", input.nextPotentials, rewards);
  const ended = needLike(who, "ended", input.ended, BYTES, rewards.length);
  needShare(who, "gamma", gamma);
  const out = output(who, "out", input.out, rewards);
  shapeKernel.runner(options, type)({ rewards, potentials, nextPotentials, ended, out, gamma });
  return out;
}

export interface GoalOptions extends RunChoice {
  /** Numbers per observation. */
  readonly dimension: number;
  /** The first number of an observation that the goal speaks of; 0 unless given. */
  readonly first?: number;
  /** What a unit of distance costs; 1 unless given. */
  readonly scale?: number;
}
export interface GoalInput<A extends Floats> {
  /** Observations, one after the other. */
  readonly observations: A;
  /** Wanted values of the numbers from `first` on. */
  readonly goal: A;
  readonly out?: A;
}

const goalKernel = new Variants((type) =>
  kernel(
    { observations: type.array(), goal: type.array(), out: type.array(), dimension: i32, first: i32, scale: type },
    ({ observations, goal, out, dimension, first, scale }, { parallel }) => {
      parallel(out.length, (i) => {
        let squares = 0;
        for (let k = 0; k < goal.length; k++) {
          const d = observations[i * dimension + first + k]! - goal[k]!;
          squares += d * d;
        }
        out[i] = -scale * Math.sqrt(squares);
      });
    },
    { name: "goalPotentials" },
  ),
);

/** -scale times the distance to a goal: a potential for `shapeRewards`. */
export function goalPotentials<A extends Floats>(input: GoalInput<A>, options: GoalOptions): A {
  const who = "goalPotentials";
  const { observations } = input;
  const { dimension, first = 0, scale = 1 } = options;
  const type = floatType(who, "observations", observations);
  const goal = needArray(who, "goal", input.goal, observations);
  const count = needParts(who, "observations", observations, "dimension", dimension);
  needCount(who, "first", first, 0);
  needNumber(who, "scale", scale, Number.isFinite(scale), "a finite number");
  if (first + goal.length > dimension)
    throw new DataError(`${who}: the goal reaches to number ${first + goal.length} of observations of ${dimension}`);
  const out = output(who, "out", input.out, observations, count);
  goalKernel.runner(options, type)({ observations, goal, out, dimension, first, scale });
  return out;
}
