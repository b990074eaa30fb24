/**
 * @file MountainCar-v0 (Moore 1990), with Gymnasium's dynamics; gymnax has the same.
 */
import { f32 } from "../../kernel/declare.ts";
import { defineEnv } from "../define.ts";
import { box, discrete } from "../spaces.ts";
import { drawCar, LIMITS } from "./mountain.ts";

export const MountainCar = defineEnv({
  id: "MountainCar-v0",
  params: {
    minPosition: -1.2,
    maxPosition: 0.6,
    maxSpeed: 0.07,
    goalPosition: 0.5,
    goalVelocity: 0,
    force: 0.001,
    gravity: 0.0025,
  },
  state: { position: f32, velocity: f32 },
  observation: box([2], LIMITS),
  action: discrete(3),
  maxSteps: 200,
  solved: "a mean return of -110 over 100 episodes",
  reset(s, { rng }) {
    s.position = rng.uniform(-0.6, -0.4);
    s.velocity = 0;
  },
  step(s, action, { params }) {
    const pushed = s.velocity + Math.fround(action - 1) * params.force - Math.cos(3 * s.position) * params.gravity;
    const velocity = Math.min(Math.max(pushed, -params.maxSpeed), params.maxSpeed);
    s.position = Math.min(Math.max(s.position + velocity, params.minPosition), params.maxPosition);
    s.velocity = s.position <= params.minPosition && velocity < 0 ? 0 : velocity;
    return { reward: -1, terminated: s.position >= params.goalPosition && s.velocity >= params.goalVelocity };
  },
  observe(s, obs) {
    obs[0] = s.position;
    obs[1] = s.velocity;
  },
  draw(s, canvas, params) {
    drawCar(s.position, canvas, params);
  },
});
