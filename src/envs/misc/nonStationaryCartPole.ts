/**
 * @file NonStationaryCartPole: CartPole-v1 whose gravity, pole, cart and force drift over time, each in a way of its own.
 * The drift goes on from episode to episode: `globalStep` counts all steps of an environment and is never set back.
 *
 * A drift is one of 0 (none), 1 (linear: size per step), 2 (sinusoidal: size is the amplitude), 3 (step: size every period
 * steps). Periods are whole numbers of steps. Nothing keeps a drift from making a mass or a length negative.
 */
import { f32, i32 } from "../../kernel/declare.ts";
import { drawCart, observeCart } from "../classic/cart.ts";
import { defineEnv } from "../define.ts";
import { box, discrete } from "../spaces.ts";

export const NonStationaryCartPole = defineEnv({
  id: "NonStationaryCartPole",
  params: {
    gravity: 9.8,
    gravityDrift: 0,
    gravityDriftSize: 0,
    gravityDriftPeriod: 1000,
    massCart: 1,
    massCartDrift: 0,
    massCartDriftSize: 0,
    massCartDriftPeriod: 1000,
    halfLength: 0.5,
    halfLengthDrift: 0,
    halfLengthDriftSize: 0,
    halfLengthDriftPeriod: 1000,
    force: 10,
    forceDrift: 0,
    forceDriftSize: 0,
    forceDriftPeriod: 1000,
    massPole: 0.1,
    tau: 0.02,
    limitX: 2.4,
    limitTheta: (12 * 2 * Math.PI) / 360,
  },
  state: { x: f32, xDot: f32, theta: f32, thetaDot: f32, globalStep: i32 },
  observation: box([4], { low: [-4.8, -Infinity, -0.418879, -Infinity], high: [4.8, Infinity, 0.418879, Infinity] }),
  action: discrete(2),
  maxSteps: 500,
  solved: "a mean return of 475 over 100 episodes, whatever the drift",
  reset(s, { rng }) {
    s.x = rng.uniform(-0.05, 0.05);
    s.xDot = rng.uniform(-0.05, 0.05);
    s.theta = rng.uniform(-0.05, 0.05);
    s.thetaDot = rng.uniform(-0.05, 0.05);
  },
  step(s, action, { params }) {
    const now = s.globalStep;
    const drifted = (base: number, kind: number, size: number, period: number): number => {
      if (kind === 1) return base + size * Math.fround(now);
      const whole = Math.max(period | 0, 1);
      // The rest of the division first: the phase stays exact however long the environment has run.
      if (kind === 2) return base + size * Math.sin((2 * Math.PI * Math.fround(now % whole)) / Math.fround(whole));
      if (kind === 3) return base + size * Math.fround(Math.trunc(now / whole));
      return base;
    };
    const gravity = drifted(params.gravity, params.gravityDrift, params.gravityDriftSize, params.gravityDriftPeriod);
    const length = drifted(
      params.halfLength,
      params.halfLengthDrift,
      params.halfLengthDriftSize,
      params.halfLengthDriftPeriod,
    );
    const massCart = drifted(
      params.massCart,
      params.massCartDrift,
      params.massCartDriftSize,
      params.massCartDriftPeriod,
    );
    const strength = drifted(params.force, params.forceDrift, params.forceDriftSize, params.forceDriftPeriod);
    const force = action === 1 ? strength : -strength;
    const sin = Math.sin(s.theta);
    const cos = Math.cos(s.theta);
    const mass = massCart + params.massPole;
    const moment = params.massPole * length;
    const temp = (force + moment * s.thetaDot * s.thetaDot * sin) / mass;
    const thetaAcc = (gravity * sin - cos * temp) / (length * (4 / 3 - (params.massPole * cos * cos) / mass));
    const xAcc = temp - (moment * thetaAcc * cos) / mass;
    s.x += params.tau * s.xDot;
    s.xDot += params.tau * xAcc;
    s.theta += params.tau * s.thetaDot;
    s.thetaDot += params.tau * thetaAcc;
    s.globalStep = now + 1;
    return { reward: 1, terminated: Math.abs(s.x) > params.limitX || Math.abs(s.theta) > params.limitTheta };
  },
  observe: observeCart,
  draw(s, canvas) {
    drawCart(s, canvas);
  },
});
