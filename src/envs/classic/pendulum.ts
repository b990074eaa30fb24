/**
 * @file Pendulum-v1, with Gymnasium's dynamics: the reward is that of the state before the step. It never terminates.
 *
 * gymnax has the same. The angle is kept as it is, many turns included.
 */
import { f32 } from "../../kernel/declare.ts";
import { drawRod } from "../cells.ts";
import { defineEnv } from "../define.ts";
import { box } from "../spaces.ts";

export const Pendulum = defineEnv({
  id: "Pendulum-v1",
  params: { gravity: 10, mass: 1, length: 1, maxSpeed: 8, maxTorque: 2, tau: 0.05 },
  state: { theta: f32, thetaDot: f32 },
  observation: box([3], { low: [-1, -1, -8], high: [1, 1, 8] }),
  action: box([1], { low: -2, high: 2 }),
  maxSteps: 200,
  solved: "a mean return of -150 over 100 episodes",
  reset(s, { rng }) {
    s.theta = rng.uniform(-Math.PI, Math.PI);
    s.thetaDot = rng.uniform(-1, 1);
  },
  step(s, action, { params }) {
    const torque = Math.min(Math.max(action[0]!, -params.maxTorque), params.maxTorque);
    const angle = s.theta - 2 * Math.PI * Math.floor((s.theta + Math.PI) / (2 * Math.PI));
    const cost = angle * angle + 0.1 * s.thetaDot * s.thetaDot + 0.001 * torque * torque;
    const acceleration =
      ((3 * params.gravity) / (2 * params.length)) * Math.sin(s.theta) +
      (3 / (params.mass * params.length * params.length)) * torque;
    const speed = s.thetaDot + acceleration * params.tau;
    s.thetaDot = Math.min(Math.max(speed, -params.maxSpeed), params.maxSpeed);
    s.theta += s.thetaDot * params.tau;
    return { reward: -cost, terminated: false };
  },
  observe(s, obs) {
    obs[0] = Math.cos(s.theta);
    obs[1] = Math.sin(s.theta);
    obs[2] = s.thetaDot;
  },
  draw(s, canvas) {
    canvas.view([-1.2, -1.2], [1.2, 1.2]);
    drawRod(canvas, [0, 0], [Math.sin(s.theta), Math.cos(s.theta)], 0.16, "red");
    canvas.circle([0, 0], 0.08, "ink");
  },
});
