/**
 * @file An episode again: any that was ever played is a function of the seed, the environment's index, the episode's
 * number and the actions; and of what its state carried over from the episodes before, where there is such a thing.
 */
import { type Environment, needCount } from "../define.ts";
import { MOST_EPISODES, type StateValues, type StepArrays } from "./arrays.ts";
import type { VecEnvOptions } from "./options.ts";
import { VecEnv } from "./vecEnv.ts";

export interface EpisodeOptions<E extends Environment>
  extends Pick<VecEnvOptions<E["params"]>, "seed" | "params" | "maxSteps" | "target"> {
  /** The environment's index among all: `firstIndex` of its VecEnv, plus its place in it. 0 unless given. */
  readonly index?: number;
  /** Which of its episodes; 0 unless given. */
  readonly episode?: number;
  /** Fields of the state that episodes hand on to each other, as they were when this one began. */
  readonly carried?: StateValues;
  /** One after the other; those behind the end of the episode are not taken. */
  readonly actions: ArrayLike<number>;
}

/** An episode, step by step; plain arrays, which are the caller's. */
export interface Episode extends Omit<StepArrays, "finalObs"> {
  /** What the episode began with. */
  readonly firstObs: StepArrays["obs"];
  readonly steps: number;
  readonly return: number;
  /** Whether it came to its end with these actions. */
  readonly ended: boolean;
}

/** Plays one episode with given actions: the one that a VecEnv with the same seed, parameters and limit played. */
export function replayEpisode<E extends Environment>(env: E, options: EpisodeOptions<E>): Episode {
  const { index = 0, episode = 0, carried = {}, actions, ...rest } = options;
  needCount(`${env.id}: the episode`, episode, 0, MOST_EPISODES);
  const vec = new VecEnv(env, 1, { ...rest, firstIndex: index, autoreset: "disabled", threads: 1 });
  try {
    vec.reset();
    vec.setState(0, { state: { ...vec.getState(0).state, ...carried } });
    if (episode > 0) {
      vec.episodes[0] = episode - 1;
      vec.reset([1]);
    }
    const firstObs = vec.out.obs.slice();
    const each = vec.actions.length;
    if (actions.length === 0 || actions.length % each !== 0) vec.step(actions);
    const { obs, reward, terminated, truncated, rounds } = vec.collect(actions, actions.length / each);
    const { steps, ended, return: total } = vec.getState(0);
    return {
      firstObs,
      obs: obs.slice(0, rounds * firstObs.length),
      reward: reward.slice(0, rounds),
      terminated: terminated.slice(0, rounds),
      truncated: truncated.slice(0, rounds),
      steps,
      ended,
      return: total,
    };
  } finally {
    vec.dispose();
  }
}
