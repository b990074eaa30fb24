/**
 * @file Scores on one scale: 0 is what random actions reach on an environment, 1 what a well-tuned agent does.
 *
 * The table holds returns that are in common use for this; it is small on purpose, and other environments are scored
 * by handing over both ends.
 */
import { didYouMean } from "../platform/suggest.ts";
import { StatisticsError } from "./basic.ts";

export interface Baseline {
  /** The mean return of random actions. */
  readonly random: number;
  /** The mean return of a well-tuned agent. */
  readonly expert: number;
}

/** Environment ids with the returns of random actions and of an expert. */
const RETURNS: { readonly [env: string]: readonly [number, number] } = {
  "CartPole-v1": [22, 500],
  "Acrobot-v1": [-500, -72],
  "MountainCar-v0": [-200, -104],
  "Pendulum-v1": [-1600, -150],
  "LunarLander-v3": [-200, 260],
  "HalfCheetah-v4": [-282, 5500],
  "Walker2d-v4": [1.6, 4200],
  "Hopper-v4": [18, 2500],
  "Ant-v4": [-50, 4000],
  "Humanoid-v4": [120, 5500],
  "Swimmer-v4": [0.3, 360],
  "Reacher-v4": [-44, -3.5],
  "InvertedPendulum-v4": [0, 1000],
  "InvertedDoublePendulum-v4": [70, 9300],
};

export const BASELINES: ReadonlyMap<string, Baseline> = new Map(
  Object.entries(RETURNS).map(([env, [random, expert]]) => [env, { random, expert }]),
);

/** A return between both ends of its environment's baseline; outside of 0 to 1 where it lies outside of them. */
export function normaliseScore(
  score: number,
  env: string,
  baseline: Baseline | undefined = BASELINES.get(env),
): number {
  if (baseline === undefined) {
    const known = [...BASELINES.keys()];
    throw new StatisticsError(
      `there is no baseline for "${env}".${didYouMean(env, known)} Give one: { random, expert } returns; ` +
        `known are ${known.join(", ")}`,
    );
  }
  const { random, expert } = baseline;
  if (!(Number.isFinite(random) && Number.isFinite(expert) && random !== expert)) {
    throw new StatisticsError(`the baseline of "${env}" is ${random} to ${expert}; its ends must be two numbers`);
  }
  return (score - random) / (expert - random);
}
