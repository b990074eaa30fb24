/**
 * @file GaussianBandit-misc: one arm pays nothing, the other a noisy amount whose mean is drawn for every episode (as in
 * gymnax).
 */
import { f32, i32 } from "../../kernel/declare.ts";
import { drawBar } from "../cells.ts";
import { defineEnv } from "../define.ts";
import { box, discrete } from "../spaces.ts";
import { observeBandit } from "./bandit.ts";

export const GaussianBandit = defineEnv({
  id: "GaussianBandit-misc",
  params: {
    /** The mean of the second arm's mean, and the standard deviation of that. */
    mean: -1,
    spread: 1,
    /** The standard deviation of a reward. */
    noise: 0.1,
    /** 1: the time in the observation goes from -1 to 1 over `timeScale` steps; 0: it is the number of steps. */
    normalizeTime: 1,
    timeScale: 100,
  },
  state: { mu: f32, lastAction: i32, lastReward: f32, time: i32 },
  observation: box([4]),
  action: discrete(2),
  maxSteps: 100,
  solved: "a mean return of 5, of the 8.3 that could be had on average",
  reset(s, { params, rng }) {
    s.mu = params.mean + params.spread * rng.normal();
    s.lastAction = 0;
    s.lastReward = 0;
    s.time = 0;
  },
  step(s, action, { params, rng }) {
    const reward = action === 1 ? s.mu + params.noise * rng.normal() : 0;
    s.lastAction = action;
    s.lastReward = reward;
    s.time += 1;
    return { reward, terminated: false };
  },
  observe: observeBandit,
  draw(s, canvas) {
    canvas.view([-3, -4], [6, 3]);
    canvas.line([-3, 0], [6, 0], "grey");
    drawBar(canvas, [2.5, Math.min(s.mu, 0)], [3.5, Math.max(s.mu, 0)], "blue");
    canvas.circle([3 * s.lastAction, s.lastReward], 0.25, s.lastReward < 0 ? "red" : "green");
  },
});
