/**
 * @file CartPole-v1 (Barto, Sutton and Anderson 1983), with Gymnasium's dynamics: explicit Euler on old velocities.
 *
 * gymnax has the same dynamics and pays nothing for a step from a state that is already over: `rewardWhenOver: 0`.
 */
import { f32 } from "../../kernel/declare.ts";
import { defineEnv } from "../define.ts";
import { box, discrete } from "../spaces.ts";
import { drawCart } from "./cart.ts";

export const CartPole = defineEnv({
  id: "CartPole-v1",
  params: {
    gravity: 9.8,
    massCart: 1,
    massPole: 0.1,
    halfLength: 0.5,
    force: 10,
    tau: 0.02,
    limitX: 2.4,
    limitTheta: (12 * 2 * Math.PI) / 360,
    /** The reward of a step from a state that is over; gymnax: 0. */
    rewardWhenOver: 1,
  },
  state: { x: f32, xDot: f32, theta: f32, thetaDot: f32 },
  observation: box([4], { low: [-4.8, -Infinity, -0.418879, -Infinity], high: [4.8, Infinity, 0.418879, Infinity] }),
  action: discrete(2),
  maxSteps: 500,
  solved: "a mean return of 475 over 100 episodes",
  reset(s, { rng }) {
    s.x = rng.uniform(-0.05, 0.05);
    s.xDot = rng.uniform(-0.05, 0.05);
    s.theta = rng.uniform(-0.05, 0.05);
    s.thetaDot = rng.uniform(-0.05, 0.05);
  },
  step(s, action, { params }) {
    const over = Math.abs(s.x) > params.limitX || Math.abs(s.theta) > params.limitTheta;
    const force = action === 1 ? params.force : -params.force;
    const sin = Math.sin(s.theta);
    const cos = Math.cos(s.theta);
    const mass = params.massCart + params.massPole;
    const moment = params.massPole * params.halfLength;
    const temp = (force + moment * s.thetaDot * s.thetaDot * sin) / mass;
    const thetaAcc =
      (params.gravity * sin - cos * temp) / (params.halfLength * (4 / 3 - (params.massPole * cos * cos) / mass));
    const xAcc = temp - (moment * thetaAcc * cos) / mass;
    s.x += params.tau * s.xDot;
    s.xDot += params.tau * xAcc;
    s.theta += params.tau * s.thetaDot;
    s.thetaDot += params.tau * thetaAcc;
    return {
      reward: over ? params.rewardWhenOver : 1,
      terminated: Math.abs(s.x) > params.limitX || Math.abs(s.theta) > params.limitTheta,
    };
  },
  observe(s, obs) {
    obs[0] = s.x;
    obs[1] = s.xDot;
    obs[2] = s.theta;
    obs[3] = s.thetaDot;
  },
  draw(s, canvas) {
    drawCart(s, canvas);
  },
});
