/**
 * @file The suite's kernels as loops written by hand in JavaScript: the baseline of the js target.
 *
 * Written in f32 arithmetic, `fround` after every operation, so that they compute the numbers that kernels compute.
 * `asDoubles` makes the looser form of the same loop, which rounds only when it stores.
 */

type F32 = Float32Array;
type U8 = Uint8Array;
const { fround } = Math;

export function saxpy(x: F32, y: F32, a: number): void {
  for (let i = 0; i < x.length; i++) y[i] = fround(a * x[i]!) + y[i]!;
}

export function sum(x: F32, total: F32): void {
  let s = 0;
  for (let i = 0; i < x.length; i++) s = fround(s + x[i]!);
  total[0] = s;
}

export function expMap(x: F32, y: F32): void {
  for (let i = 0; i < x.length; i++) y[i] = Math.exp(x[i]!);
}

export function polynomial(x: F32, y: F32): void {
  for (let i = 0; i < x.length; i++) {
    const v = x[i]!;
    let p = 0.125;
    p = fround(fround(p * v) - 0.25);
    p = fround(fround(p * v) + 0.375);
    p = fround(fround(p * v) - 0.5);
    p = fround(fround(p * v) + 0.625);
    p = fround(fround(p * v) - 0.75);
    p = fround(fround(p * v) + 0.875);
    p = fround(fround(p * v) - 1);
    p = fround(fround(p * v) + 1.125);
    y[i] = p;
  }
}

export function gae(rewards: F32, values: F32, ended: U8, last: F32, out: F32, gamma: number, lambda: number): void {
  const envs = last.length;
  const steps = rewards.length / envs;
  const both = fround(gamma * lambda);
  for (let e = 0; e < envs; e++) {
    let next = last[e]!;
    let chain = 0;
    for (let t = steps - 1; t >= 0; t--) {
      const at = t * envs + e;
      const value = values[at]!;
      const tail = fround(fround(gamma * next) + fround(both * chain));
      chain = fround(fround(rewards[at]! - value) + (ended[at] ? 0 : tail));
      out[at] = chain;
      next = value;
    }
  }
}

const STEP = fround(0.02);
const HALF_MASS = fround(0.05);
const POLE = fround(0.1);
const PER_MASS = fround(1 / 1.1);
const GRAVITY = fround(9.8);
const THIRDS = fround(4 / 3);

export function cartpole(x: F32, xDot: F32, theta: F32, thetaDot: F32, action: U8, ended: U8, reward: F32): void {
  for (let i = 0; i < x.length; i++) {
    const force = action[i] ? 10 : -10;
    let p = x[i]!;
    let pd = xDot[i]!;
    let t = theta[i]!;
    let td = thetaDot[i]!;
    const sine = fround(Math.sin(t));
    const cosine = fround(Math.cos(t));
    const temp = fround(fround(force + fround(fround(fround(HALF_MASS * td) * td) * sine)) * PER_MASS);
    const lever = fround(fround(fround(POLE * cosine) * cosine) * PER_MASS);
    const angular = fround(
      fround(fround(GRAVITY * sine) - fround(cosine * temp)) / fround(0.5 * fround(THIRDS - lever)),
    );
    const linear = fround(temp - fround(fround(fround(HALF_MASS * angular) * cosine) * PER_MASS));
    p = fround(p + fround(STEP * pd));
    pd = fround(pd + fround(STEP * linear));
    t = fround(t + fround(STEP * td));
    td = fround(td + fround(STEP * angular));
    const done = p < -2.4 || p > 2.4 || t < -0.20943951 || t > 0.20943951;
    x[i] = done ? 0.01 : p;
    xDot[i] = done ? -0.02 : pd;
    theta[i] = done ? 0.03 : t;
    thetaDot[i] = done ? -0.04 : td;
    ended[i] = done ? 1 : 0;
    reward[i] = 1;
  }
}

const CONSTANTS = { STEP, HALF_MASS, POLE, PER_MASS, GRAVITY, THIRDS };

/** The same loop without rounding in between: its text, compiled anew with a `fround` that does nothing. */
export function asDoubles<F extends (...args: never[]) => void>(loop: F): F {
  const text = `const fround = (x) => x; return ${loop.toString()}`;
  return new Function(...Object.keys(CONSTANTS), text)(...Object.values(CONSTANTS)) as F;
}

export const IN_F32 = { saxpy, sum, expMap, polynomial, gae, cartpole };
/** One set of loops; all have the same parameters. */
export type Loops = typeof IN_F32;

export function loopsInDoubles(): Loops {
  return {
    saxpy: asDoubles(saxpy),
    sum: asDoubles(sum),
    expMap: asDoubles(expMap),
    polynomial: asDoubles(polynomial),
    gae: asDoubles(gae),
    cartpole: asDoubles(cartpole),
  };
}
