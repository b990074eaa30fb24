/**
 * @file Environments fit on top: pure functions over a state, inlined into one parallel loop over struct-of-arrays
 * state, with auto-reset, random streams per environment and episode, parameters and observation rows.
 */
import { expect, test } from "vitest";
import type { Stmt } from "../../src/ir/nodes.ts";
import { eachStmt } from "../../src/ir/walk.ts";
import {
  bool,
  constant,
  f32,
  i32,
  inline,
  type KernelArray,
  type RandomStream,
  struct,
  u8,
  u32,
} from "../../src/kernel/declare.ts";
import { compile, kernel, run, specOf } from "./support.ts";

interface State {
  x: number;
  xDot: number;
  theta: number;
  thetaDot: number;
  visits: KernelArray;
}
interface Params {
  readonly gravity: number;
  readonly massCart: number;
  readonly massPole: number;
  readonly halfLength: number;
  readonly force: number;
  readonly tau: number;
}

/** As a user writes one. */
const CartPole = {
  params: { gravity: 9.8, massCart: 1, massPole: 0.1, halfLength: 0.5, force: 10, tau: 0.02 },
  state: { x: f32, xDot: f32, theta: f32, thetaDot: f32, visits: u8.array(4) },
  maxSteps: 500,
  reset(s: State, { rng }: { rng: RandomStream }) {
    s.x = rng.uniform(-0.05, 0.05);
    s.xDot = rng.uniform(-0.05, 0.05);
    s.theta = rng.uniform(-0.05, 0.05);
    s.thetaDot = rng.uniform(-0.05, 0.05);
    for (let k = 0; k < s.visits.length; k++) s.visits[k] = 0;
  },
  step(s: State, action: number, { params }: { params: Params }) {
    const force = action === 1 ? params.force : -params.force;
    const [sin, cos] = [Math.sin(s.theta), Math.cos(s.theta)];
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
    s.visits[action & 3] += 1;
    const terminated = Math.abs(s.x) > 2.4 || Math.abs(s.theta) > 0.20943951;
    return { reward: terminated ? 0.5 : 1, terminated };
  },
  observe(s: State, obs: KernelArray) {
    obs[0] = s.x;
    obs[1] = s.xDot;
    obs[2] = s.theta;
    obs[3] = s.thetaDot;
  },
};

const stepAll = kernel(
  {
    state: struct(CartPole.state).array(),
    steps: i32.array(),
    episode: i32.array(),
    actions: i32.array(),
    obs: f32.array(4).array(),
    finalObs: f32.array(4).array(),
    reward: f32.array(),
    terminated: bool.array(),
    truncated: bool.array(),
    seed: u32,
    params: constant(CartPole.params),
    maxSteps: constant(CartPole.maxSteps),
    reset: inline(CartPole.reset),
    step: inline(CartPole.step),
    observe: inline(CartPole.observe),
  },
  (vec, { parallel, rng }) => {
    const { state, steps, episode, params, maxSteps } = vec;
    const base = rng(vec.seed, 0);
    parallel(state.length, (i) => {
      const s = state[i];
      const { reward, terminated } = vec.step(s, vec.actions[i], { params });
      steps[i] += 1;
      const truncated = steps[i] >= maxSteps;
      vec.reward[i] = reward;
      vec.terminated[i] = terminated;
      vec.truncated[i] = truncated;
      vec.observe(s, vec.finalObs[i]);
      if (terminated || truncated) {
        episode[i] += 1;
        steps[i] = 0;
        vec.reset(s, { rng: base.fold(i).fold(episode[i]) });
      }
      vec.observe(s, vec.obs[i]);
    });
  },
);

function arguments_(n: number) {
  const start = Float32Array.from({ length: n }, (_, i) => (i - n / 2) * 0.1);
  return {
    state: {
      x: start.slice(),
      xDot: new Float32Array(n),
      theta: Float32Array.from(start, (v) => v * 0.2),
      thetaDot: new Float32Array(n),
      visits: new Uint8Array(4 * n),
    },
    steps: Int32Array.from({ length: n }, (_, i) => (i === 3 ? 499 : 0)),
    episode: new Int32Array(n),
    actions: Int32Array.from({ length: n }, (_, i) => i % 2),
    obs: new Float32Array(4 * n),
    finalObs: new Float32Array(4 * n),
    reward: new Float32Array(n),
    terminated: new Uint8Array(n),
    truncated: new Uint8Array(n),
    seed: 5,
  };
}

/** The same step in doubles. */
function reference(x: number, theta: number, action: number): readonly [number, number, number, number] {
  const force = action === 1 ? 10 : -10;
  const [sin, cos] = [Math.sin(theta), Math.cos(theta)];
  const temp = force / 1.1;
  const thetaAcc = (9.8 * sin - cos * temp) / (0.5 * (4 / 3 - (0.1 * cos * cos) / 1.1));
  return [x, 0.02 * (temp - (0.05 * thetaAcc * cos) / 1.1), theta, 0.02 * thetaAcc];
}

test("one call steps, resets and observes all environments", () => {
  const { declaration, fn, options } = specOf(stepAll);
  const module = compile(declaration, fn, options);
  const n = 60;
  const [before, args] = [arguments_(n), arguments_(n)];
  expect(run(module, declaration, args)).toBe(0);
  for (let i = 0; i < n; i++) {
    const wanted = reference(before.state.x[i], before.state.theta[i], i % 2);
    for (const [k, w] of wanted.entries()) expect(Math.abs(args.finalObs[4 * i + k] - w)).toBeLessThan(1e-5);
    const ended = Math.abs(wanted[0]) > 2.4 || Math.abs(wanted[2]) > 0.20943951;
    expect(args.terminated[i]).toBe(Number(ended));
    expect(args.truncated[i]).toBe(Number(i === 3));
    expect(args.reward[i]).toBe(ended ? 0.5 : 1);
    const isOver = ended || i === 3;
    expect(args.episode[i]).toBe(Number(isOver));
    expect(args.steps[i]).toBe(isOver ? 0 : 1);
    const visits = [0, 1, 2, 3].map((k) => args.state.visits[k * n + i]);
    expect(visits).toEqual(isOver ? [0, 0, 0, 0] : i % 2 ? [0, 1, 0, 0] : [1, 0, 0, 0]);
    const obs = [...args.obs.subarray(4 * i, 4 * i + 4)];
    if (isOver) expect(obs.every((v) => Math.abs(v) <= 0.05)).toBe(true);
    else expect(obs).toEqual([...args.finalObs.subarray(4 * i, 4 * i + 4)]);
  }
  expect(args.terminated.some((v) => v === 1)).toBe(true);
});

test("the step is one parallel loop without jumps", () => {
  const { declaration, fn, options } = specOf(stepAll);
  const found: Stmt[] = [];
  eachStmt(compile(declaration, fn, options).entry.body, (s) => found.push(s));
  expect(found.filter((s) => s.kind === "for" && s.axis === "parallel")).toHaveLength(1);
  expect(found.filter((s) => s.kind === "exit" || s.kind === "block" || s.kind === "loop")).toHaveLength(0);
  // One branch writes memory, the reset; the choice of force and the two tests for the end are not branches.
  const writes = (body: readonly Stmt[]): boolean => body.some((s) => s.kind === "store");
  expect(found.filter((s) => s.kind === "if" && writes(s.then)).length).toBe(1);
  expect(found.filter((s) => s.kind === "if" && s.else.length > 0)).toEqual([]);
});
