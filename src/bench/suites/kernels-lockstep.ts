/**
 * @file The suite's kernels in lockstep: one source for every target.
 */
import { f32, u8 } from "../../kernel/declare.ts";
import { kernel } from "../../kernel/kernel.ts";

export const saxpy = kernel(
  { x: f32.array(), y: f32.array(), a: f32 },
  ({ x, y, a }, { parallel }) => {
    parallel(x.length, (i) => {
      y[i] = a * x[i]! + y[i]!;
    });
  },
  { name: "saxpy" },
);

export const sum = kernel(
  { x: f32.array(), total: f32.array() },
  ({ x, total }, { parallel }) => {
    let s = 0;
    parallel(x.length, (i) => {
      s += x[i]!;
    });
    total[0] = s;
  },
  { name: "sum" },
);

export const exp = kernel(
  { x: f32.array(), y: f32.array() },
  ({ x, y }, { parallel }) => {
    parallel(x.length, (i) => {
      y[i] = Math.exp(x[i]!);
    });
  },
  { name: "exp" },
);

export const polynomial = kernel(
  { x: f32.array(), y: f32.array() },
  ({ x, y }, { parallel }) => {
    parallel(x.length, (i) => {
      const v = x[i]!;
      let p = 0.125;
      p = p * v - 0.25;
      p = p * v + 0.375;
      p = p * v - 0.5;
      p = p * v + 0.625;
      p = p * v - 0.75;
      p = p * v + 0.875;
      p = p * v - 1;
      p = p * v + 1.125;
      y[i] = p;
    });
  },
  { name: "polynomial" },
);

export const gae = kernel(
  {
    rewards: f32.array(),
    values: f32.array(),
    ended: u8.array(),
    last: f32.array(),
    out: f32.array(),
    gamma: f32,
    lambda: f32,
  },
  ({ rewards, values, ended, last, out, gamma, lambda }, { parallel }) => {
    const envs = last.length;
    const steps = (rewards.length / envs) | 0;
    parallel(envs, (e) => {
      let next = last[e]!;
      let chain = 0;
      for (let t = steps - 1; t >= 0; t--) {
        const at = t * envs + e;
        const value = values[at]!;
        const tail = gamma * next + gamma * lambda * chain;
        chain = rewards[at]! - value + (ended[at] ? 0 : tail);
        out[at] = chain;
        next = value;
      }
    });
  },
  { name: "gae" },
);

export const cartpole = kernel(
  {
    x: f32.array(),
    xDot: f32.array(),
    theta: f32.array(),
    thetaDot: f32.array(),
    action: u8.array(),
    ended: u8.array(),
    reward: f32.array(),
  },
  ({ x, xDot, theta, thetaDot, action, ended, reward }, { parallel }) => {
    parallel(x.length, (i) => {
      const force = action[i] ? 10 : -10;
      let p = x[i]!;
      let pd = xDot[i]!;
      let t = theta[i]!;
      let td = thetaDot[i]!;
      const sine = Math.sin(t);
      const cosine = Math.cos(t);
      const temp = (force + 0.05 * td * td * sine) * (1 / 1.1);
      const angular = (9.8 * sine - cosine * temp) / (0.5 * (4 / 3 - 0.1 * cosine * cosine * (1 / 1.1)));
      const linear = temp - 0.05 * angular * cosine * (1 / 1.1);
      p += 0.02 * pd;
      pd += 0.02 * linear;
      t += 0.02 * td;
      td += 0.02 * angular;
      const done = p < -2.4 || p > 2.4 || t < -0.20943951 || t > 0.20943951;
      x[i] = done ? 0.01 : p;
      xDot[i] = done ? -0.02 : pd;
      theta[i] = done ? 0.03 : t;
      thetaDot[i] = done ? -0.04 : td;
      ended[i] = done ? 1 : 0;
      reward[i] = 1;
    });
  },
  { name: "cartpole" },
);
