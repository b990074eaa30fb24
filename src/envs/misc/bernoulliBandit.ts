/**
 * @file BernoulliBandit-misc: two arms, of which one pays with the chance `rewardProbability` and the other with the rest;
 * which is which is drawn for every episode and has to be found out (as in gymnax).
 */
import { f32, i32 } from "../../kernel/declare.ts";
import { drawBar } from "../cells.ts";
import { defineEnv } from "../define.ts";
import { box, discrete } from "../spaces.ts";
import { observeBandit } from "./bandit.ts";

export const BernoulliBandit = defineEnv({
  id: "BernoulliBandit-misc",
  params: {
    rewardProbability: 0.1,
    /** 1: the time in the observation goes from -1 to 1 over `timeScale` steps; 0: it is the number of steps. */
    normalizeTime: 1,
    timeScale: 100,
  },
  state: { rewardProbabilities: f32.array(2), lastAction: i32, lastReward: f32, time: i32 },
  observation: box([4], { low: [0, 0, 0, -1], high: [1, 1, 1, 1] }),
  action: discrete(2),
  maxSteps: 100,
  solved: "a mean return of 88",
  reset(s, { params, rng }) {
    const rare = params.rewardProbability;
    const first = rng.bits() >>> 31 === 1 ? rare : Math.fround(1 - rare);
    s.rewardProbabilities[0] = first;
    s.rewardProbabilities[1] = 1 - first;
    s.lastAction = 0;
    s.lastReward = 0;
    s.time = 0;
  },
  step(s, action, { rng }) {
    const probability = action === 0 ? s.rewardProbabilities[0]! : s.rewardProbabilities[1]!;
    const reward = rng.uniform() < probability ? 1 : 0;
    s.lastAction = action;
    s.lastReward = reward;
    s.time += 1;
    return { reward, terminated: false };
  },
  observe: observeBandit,
  draw(s, canvas) {
    canvas.view([-1, 0], [2, 1.3]);
    for (const arm of [0, 1]) {
      drawBar(canvas, [arm - 0.2, 0], [arm + 0.2, s.rewardProbabilities[arm] as number], "blue");
      if (arm === s.lastAction) canvas.circle([arm, 1.1], 0.08, s.lastReward > 0 ? "green" : "red");
    }
  },
});
