/**
 * @file The games that tests of vectors of games play, and what these tests share; vectors are disposed of after each.
 */
import { afterEach } from "vitest";
import { defineEnv } from "../../src/envs/define.ts";
import { box, discrete, multiDiscrete } from "../../src/envs/spaces.ts";
import type { Autoreset, VectorEnv } from "../../src/envs/vector/face.ts";
import { i32 } from "../../src/kernel/declare.ts";

export const MODES: readonly Autoreset[] = ["same-step", "next-step", "disabled"];

/** A race against the clock, without chance: as a compiled environment and as an object. */
export const Race = defineEnv({
  id: "Race",
  params: {},
  state: { place: i32, time: i32 },
  observation: box([2]),
  action: discrete(3),
  maxSteps: 7,
  reset(s) {
    s.place = 0;
    s.time = 0;
  },
  step(s, action) {
    s.place += action;
    s.time += 1;
    return { reward: Math.fround(s.place) * 0.1 - 0.05, terminated: s.place > 8 };
  },
  observe(s, obs) {
    obs[0] = Math.fround(s.place);
    obs[1] = Math.fround(s.time) / 3;
  },
});
export const race = {
  id: "Race",
  observation: box([2]),
  action: discrete(3),
  maxSteps: 7,
  make() {
    let [place, time] = [0, 0];
    const observation = (): number[] => [place, time / 3];
    return {
      reset() {
        [place, time] = [0, 0];
        return observation();
      },
      step(action: number) {
        place += action;
        time += 1;
        const reward = Math.fround(Math.fround(place * Math.fround(0.1)) - Math.fround(0.05));
        return { observation: observation(), reward, terminated: place > 8 };
      },
    };
  },
};

/** Chance from the seed, bytes to see, rows as actions, ends of both kinds. */
export const dice = {
  id: "Dice",
  observation: box([3], { dtype: "u8" }),
  action: multiDiscrete([2, 4]),
  make(index: number) {
    let [state, time] = [0, 0];
    const roll = (): number => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return state >>> 24;
    };
    return {
      reset({ seed, episode }: { seed: number; episode: number }) {
        state = (seed ^ (seed / 2 ** 32)) >>> 0;
        time = 0;
        return [roll(), episode & 255, index];
      },
      step(action: Int32Array) {
        const rolled = roll();
        time += 1;
        return {
          observation: Uint8Array.of(rolled, time, action[0]! * 4 + action[1]!),
          reward: rolled / 7,
          terminated: rolled > 200,
          truncated: rolled % 10 === 0,
        };
      },
    };
  },
};

const made: VectorEnv[] = [];
export const kept = <V extends VectorEnv>(vec: V): V => {
  made.push(vec);
  return vec;
};
afterEach(() => {
  for (const vec of made.splice(0)) vec.dispose();
});

export const copyOf = (vec: VectorEnv): unknown => {
  const { obs, reward, terminated, truncated, finalObs } = vec.out;
  const statistics = [vec.episodeReturn, vec.episodeLength];
  return [obs, reward, terminated, truncated, finalObs, ...statistics].map((array) => Array.from(array));
};
export const messageOf = (run: () => void): string => {
  try {
    run();
    return "";
  } catch (error) {
    return (error as Error).message;
  }
};
