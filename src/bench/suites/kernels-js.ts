/**
 * @file The suite's kernels as loops that a JavaScript programmer would write: the baseline of the js target.
 *
 * Numbers are doubles between load and store, as plain JavaScript has it; typed arrays round on store.
 */

type F32 = Float32Array;
type U8 = Uint8Array;

export function saxpy(x: F32, y: F32, a: number): void {
  for (let i = 0; i < x.length; i++) y[i] = a * (x[i] as number) + (y[i] as number);
}

export function sum(x: F32, total: F32): void {
  let s = 0;
  for (let i = 0; i < x.length; i++) s += x[i] as number;
  total[0] = s;
}

export function expMap(x: F32, y: F32): void {
  for (let i = 0; i < x.length; i++) y[i] = Math.exp(x[i] as number);
}

export function polynomial(x: F32, y: F32): void {
  for (let i = 0; i < x.length; i++) {
    const v = x[i] as number;
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
  }
}

export function gae(rewards: F32, values: F32, ended: U8, last: F32, out: F32, gamma: number, lambda: number): void {
  const envs = last.length;
  const steps = rewards.length / envs;
  for (let e = 0; e < envs; e++) {
    let next = last[e] as number;
    let chain = 0;
    for (let t = steps - 1; t >= 0; t--) {
      const at = t * envs + e;
      const goesOn = ended[at] ? 0 : 1;
      const value = values[at] as number;
      chain = (rewards[at] as number) + gamma * next * goesOn - value + gamma * lambda * goesOn * chain;
      out[at] = chain;
      next = value;
    }
  }
}

export function cartpole(x: F32, xDot: F32, theta: F32, thetaDot: F32, action: U8, ended: U8, reward: F32): void {
  for (let i = 0; i < x.length; i++) {
    const force = action[i] ? 10 : -10;
    let p = x[i] as number;
    let pd = xDot[i] as number;
    let t = theta[i] as number;
    let td = thetaDot[i] as number;
    const sine = Math.sin(t);
    const cosine = Math.cos(t);
    const temp = (force + 0.05 * td * td * sine) / 1.1;
    const angular = (9.8 * sine - cosine * temp) / (0.5 * (4 / 3 - (0.1 * cosine * cosine) / 1.1));
    const linear = temp - (0.05 * angular * cosine) / 1.1;
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
  }
}
