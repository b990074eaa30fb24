/**
 * @file CartPole-v1 (Barto, Sutton and Anderson 1983), with Gymnasium's dynamics: explicit Euler on old velocities.
 *
 * gymnax has the same dynamics and pays nothing for a step from a state that is already over: `rewardWhenOver: 0`.
 */
import { f32 } from "../../kernel/declare.ts";
import { defineEnv } from "../define.ts";
import { box, discrete } from "../spaces.ts";
import { drawCart, observeCart } from "./cart.ts";

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
    const cart = rng.pair(-0.05, 0.05);
    const pole = rng.pair(-0.05, 0.05);
    s.x = cart.first;
    s.xDot = cart.second;
    s.theta = pole.first;
    s.thetaDot = pole.second;
  },
  step(s, action, { params }) {
    const { x, xDot, theta, thetaDot } = s;
    const over = Math.abs(x) > params.limitX || Math.abs(theta) > params.limitTheta;
    // Forces and moments are taken per unit of mass: constants, so that only one division is left.
    const perMass = 1 / (params.massCart + params.massPole);
    const moment = params.massPole * params.halfLength * perMass;
    const push = params.force * perMass;
    const sin = Math.sin(theta);
    const cos = Math.cos(theta);
    const temp = (action === 1 ? push : -push) + moment * (thetaDot * thetaDot) * sin;
    const thetaAcc = (params.gravity * sin - cos * temp) / ((4 / 3) * params.halfLength - moment * (cos * cos));
    const xAcc = temp - moment * (thetaAcc * cos);
    const nextX = x + params.tau * xDot;
    const nextTheta = theta + params.tau * thetaDot;
    s.x = nextX;
    s.xDot = xDot + params.tau * xAcc;
    s.theta = nextTheta;
    s.thetaDot = thetaDot + params.tau * thetaAcc;
    return {
      reward: over ? params.rewardWhenOver : 1,
      terminated: Math.abs(nextX) > params.limitX || Math.abs(nextTheta) > params.limitTheta,
    };
  },
  observe: observeCart,
  draw(s, canvas) {
    drawCart(s, canvas);
  },
});
