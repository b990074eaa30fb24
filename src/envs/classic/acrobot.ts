/**
 * @file Acrobot-v1: two links, of which only the joint between them is driven (Sutton 1996; dynamics of Sutton and
 * Barto's book, as in Gymnasium): one Runge-Kutta step of the equations of motion per step.
 *
 * gymnax has the same dynamics. Angles are wrapped to [-pi, pi) with a floor instead of Gymnasium's loop.
 */
import { f32 } from "../../kernel/declare.ts";
import { drawRod } from "../cells.ts";
import { defineEnv } from "../define.ts";
import { box, discrete } from "../spaces.ts";

/** Limits of the speeds, as f32 like the speeds themselves. */
const [FASTEST1, FASTEST2] = [Math.fround(4 * Math.PI), Math.fround(9 * Math.PI)];

export const Acrobot = defineEnv({
  id: "Acrobot-v1",
  params: {
    gravity: 9.8,
    length1: 1,
    mass1: 1,
    mass2: 1,
    centre1: 0.5,
    centre2: 0.5,
    inertia: 1,
    torque: 1,
    /** The torque is off by up to this much, at random. */
    torqueNoise: 0,
    maxSpeed1: FASTEST1,
    maxSpeed2: FASTEST2,
    tau: 0.2,
    /** 1: the equations of the first paper, which lack one term, as Gymnasium's `book_or_nips = "nips"`. */
    nips: 0,
  },
  state: { theta1: f32, theta2: f32, thetaDot1: f32, thetaDot2: f32 },
  observation: box([6], { low: [-1, -1, -1, -1, -FASTEST1, -FASTEST2], high: [1, 1, 1, 1, FASTEST1, FASTEST2] }),
  action: discrete(3),
  maxSteps: 500,
  solved: "a mean return of -100 over 100 episodes",
  reset(s, { rng }) {
    s.theta1 = rng.uniform(-0.1, 0.1);
    s.theta2 = rng.uniform(-0.1, 0.1);
    s.thetaDot1 = rng.uniform(-0.1, 0.1);
    s.thetaDot2 = rng.uniform(-0.1, 0.1);
  },
  step(s, action, { params, rng }) {
    let torque = Math.fround(action - 1) * params.torque;
    if (params.torqueNoise > 0) torque += rng.uniform(-params.torqueNoise, params.torqueNoise);
    const accelerations = (theta1: number, theta2: number, speed1: number, speed2: number) => {
      const sin2 = Math.sin(theta2);
      const cos2 = Math.cos(theta2);
      const arm = params.mass2 * params.length1 * params.centre2;
      const own2 = params.mass2 * params.centre2 * params.centre2;
      const d1 =
        params.mass1 * params.centre1 * params.centre1 +
        params.mass2 * params.length1 * params.length1 +
        own2 +
        2 * arm * cos2 +
        2 * params.inertia;
      const d2 = own2 + arm * cos2 + params.inertia;
      const phi2 = params.mass2 * params.centre2 * params.gravity * Math.sin(theta1 + theta2);
      const phi1 =
        -arm * speed2 * speed2 * sin2 -
        2 * arm * speed2 * speed1 * sin2 +
        (params.mass1 * params.centre1 + params.mass2 * params.length1) * params.gravity * Math.sin(theta1) +
        phi2;
      const turning = params.nips > 0 ? 0 : arm * speed1 * speed1 * sin2;
      const second = (torque + (d2 / d1) * phi1 - turning - phi2) / (own2 + params.inertia - (d2 * d2) / d1);
      return { first: -(d2 * second + phi1) / d1, second };
    };
    const half = params.tau / 2;
    const [theta1, theta2, speed1, speed2] = [s.theta1, s.theta2, s.thetaDot1, s.thetaDot2];
    const k1 = accelerations(theta1, theta2, speed1, speed2);
    const speed12 = speed1 + half * k1.first;
    const speed22 = speed2 + half * k1.second;
    const k2 = accelerations(theta1 + half * speed1, theta2 + half * speed2, speed12, speed22);
    const speed13 = speed1 + half * k2.first;
    const speed23 = speed2 + half * k2.second;
    const k3 = accelerations(theta1 + half * speed12, theta2 + half * speed22, speed13, speed23);
    const speed14 = speed1 + params.tau * k3.first;
    const speed24 = speed2 + params.tau * k3.second;
    const k4 = accelerations(theta1 + params.tau * speed13, theta2 + params.tau * speed23, speed14, speed24);
    const sixth = params.tau / 6;
    const wrapped = (x: number): number => x - 2 * Math.PI * Math.floor((x + Math.PI) / (2 * Math.PI));
    const limited = (x: number, most: number): number => Math.min(Math.max(x, -most), most);
    s.theta1 = wrapped(theta1 + sixth * (speed1 + 2 * speed12 + 2 * speed13 + speed14));
    s.theta2 = wrapped(theta2 + sixth * (speed2 + 2 * speed22 + 2 * speed23 + speed24));
    s.thetaDot1 = limited(speed1 + sixth * (k1.first + 2 * k2.first + 2 * k3.first + k4.first), params.maxSpeed1);
    s.thetaDot2 = limited(speed2 + sixth * (k1.second + 2 * k2.second + 2 * k3.second + k4.second), params.maxSpeed2);
    const terminated = -Math.cos(s.theta1) - Math.cos(s.theta1 + s.theta2) > 1;
    return { reward: terminated ? 0 : -1, terminated };
  },
  observe(s, obs) {
    obs[0] = Math.cos(s.theta1);
    obs[1] = Math.sin(s.theta1);
    obs[2] = Math.cos(s.theta2);
    obs[3] = Math.sin(s.theta2);
    obs[4] = s.thetaDot1;
    obs[5] = s.thetaDot2;
  },
  draw(s, canvas) {
    canvas.view([-2.2, -2.2], [2.2, 2.2]);
    canvas.line([-2.2, 1], [2.2, 1], "grey");
    const [x, y] = [Math.sin(s.theta1), -Math.cos(s.theta1)];
    const both = s.theta1 + s.theta2;
    drawRod(canvas, [0, 0], [x, y], 0.14, "blue");
    drawRod(canvas, [x, y], [x + Math.sin(both), y - Math.cos(both)], 0.14, "orange");
    canvas.circle([0, 0], 0.08, "ink");
    canvas.circle([x, y], 0.08, "ink");
  },
});
