/**
 * @file MountainCarContinuous-v0, with Gymnasium's dynamics. The reward uses the action as given, the car what is left
 * of it within the limits.
 *
 * gymnax stops a car that moves left at or beyond the goal, which then counts as reached, and not one that hits the left
 * wall: `stopAtGoal: 1`.
 */
import { f32 } from "../../kernel/declare.ts";
import { defineEnv } from "../define.ts";
import { box } from "../spaces.ts";
import { drawCar, LIMITS } from "./mountain.ts";

export const MountainCarContinuous = defineEnv({
  id: "MountainCarContinuous-v0",
  params: {
    minPosition: -1.2,
    maxPosition: 0.6,
    maxSpeed: 0.07,
    goalPosition: 0.45,
    goalVelocity: 0,
    power: 0.0015,
    gravity: 0.0025,
    /** 1: cars that move left stop at the goal and not at the left wall, as in gymnax. */
    stopAtGoal: 0,
  },
  state: { position: f32, velocity: f32 },
  observation: box([2], LIMITS),
  action: box([1], { low: -1, high: 1 }),
  maxSteps: 999,
  solved: "a mean return of 90 over 100 episodes",
  reset(s, { rng }) {
    s.position = rng.uniform(-0.6, -0.4);
    s.velocity = 0;
  },
  step(s, action, { params }) {
    const given = action[0]!;
    const force = Math.min(Math.max(given, -1), 1);
    const pushed = s.velocity + force * params.power - Math.cos(3 * s.position) * params.gravity;
    const velocity = Math.min(Math.max(pushed, -params.maxSpeed), params.maxSpeed);
    s.position = Math.min(Math.max(s.position + velocity, params.minPosition), params.maxPosition);
    const stops = params.stopAtGoal > 0 ? s.position >= params.goalPosition : s.position <= params.minPosition;
    s.velocity = stops && velocity < 0 ? 0 : velocity;
    const terminated = s.position >= params.goalPosition && s.velocity >= params.goalVelocity;
    return { reward: (terminated ? 100 : 0) - 0.1 * given * given, terminated };
  },
  observe(s, obs) {
    obs[0] = s.position;
    obs[1] = s.velocity;
  },
  draw(s, canvas, params) {
    drawCar(s.position, canvas, params);
  },
});
