/**
 * @file Episodes played again, states read and set, and parameters that each environment has its own of.
 */
import { describe, expect, test } from "vitest";
import { CartPole } from "../../src/envs/classic/cartPole.ts";
import { Pendulum } from "../../src/envs/classic/pendulum.ts";
import { EnvironmentError } from "../../src/envs/define.ts";
import { Asterix } from "../../src/envs/minatar/asterix.ts";
import { NonStationaryCartPole } from "../../src/envs/misc/index.ts";
import { replayEpisode } from "../../src/envs/vector/replay.ts";
import { VecEnv } from "../../src/envs/vector/vecEnv.ts";
import { targets } from "./fixtures.ts";

describe.each(targets)("%s", (target) => {
  // The one draws when an episode begins, the other in every step; on all targets it is the same kernels.
  test.each(target === "js" ? [CartPole, Asterix] : [CartPole])("any past episode can be played again: $id", (env) => {
    const [n, k, first] = [6, 200, 10];
    const vec = new VecEnv(env, n, { seed: 77, firstIndex: first, maxSteps: 90, target });
    vec.reset();
    const { obs, reward, terminated, truncated, actions } = vec.collect("random", k);
    const size = obs.length / (n * k);
    for (const i of [0, 3, 5]) {
      const ends = Array.from({ length: k }, (_, t) => t).filter((t) => terminated[t * n + i] || truncated[t * n + i]);
      expect(ends.length).toBeGreaterThan(1);
      const [begin, end] = [(ends[0] as number) + 1, ends[1] as number];
      const steps = Array.from({ length: end - begin + 1 }, (_, t) => begin + t);
      const again = replayEpisode(env, {
        seed: 77,
        index: first + i,
        episode: 1,
        maxSteps: 90,
        target,
        // More than the episode takes.
        actions: [...steps.map((t) => actions[t * n + i] as number), 0, 0, 0],
      });
      const rowAt = (t: number): number[] => Array.from(obs.subarray((t * n + i) * size, (t * n + i + 1) * size));
      expect(again.steps).toBe(steps.length);
      expect(again.ended).toBe(true);
      expect(Array.from(again.firstObs)).toEqual(rowAt(begin - 1));
      expect(Array.from(again.reward)).toEqual(steps.map((t) => reward[t * n + i]));
      expect(Array.from(again.obs.subarray(0, (steps.length - 1) * size))).toEqual(steps.slice(0, -1).flatMap(rowAt));
      expect([again.terminated.at(-1), again.truncated.at(-1)]).toEqual([
        terminated[end * n + i],
        truncated[end * n + i],
      ]);
    }
    vec.dispose();
  });

  test("an episode that goes on with a drift can be played again", () => {
    const params = { gravityDrift: 1, gravityDriftSize: 0.05, forceDrift: 3, forceDriftSize: 0.5, forceDriftPeriod: 7 };
    const vec = new VecEnv(NonStationaryCartPole, 1, { seed: 5, params, autoreset: "disabled", target });
    const play = (): number[] => {
      const seen: number[] = [];
      do seen.push(...vec.step([vec.getState(0).steps & 1]).obs);
      while (!vec.getState(0).ended);
      return seen;
    };
    vec.reset();
    play();
    const { globalStep } = vec.getState(0).state;
    vec.reset([1]);
    const seen = play();
    const actions = Array.from({ length: seen.length / 4 }, (_, t) => t & 1);
    const again = { seed: 5, episode: 1, params, target, actions };
    const carried = { globalStep: globalStep as number };
    expect(Array.from(replayEpisode(NonStationaryCartPole, { ...again, carried }).obs)).toEqual(seen);
    expect(Array.from(replayEpisode(NonStationaryCartPole, again).obs)).not.toEqual(seen);
    expect(() => replayEpisode(NonStationaryCartPole, { ...again, carried: { step: 1 } })).toThrow(/no field "step"/);
    vec.dispose();
  });

  test("states that make no sense are refused, and nothing is changed", () => {
    const vec = new VecEnv(CartPole, 2, { target });
    expect(() => vec.getState(0)).toThrow(/call reset\(\) first/);
    vec.reset();
    const before = [0, 1].map((i) => vec.getState(i));
    const { state } = before[0] as (typeof before)[0];
    const wrong: readonly (readonly [() => void, RegExp])[] = [
      [() => vec.setState(2, {}), /no environment 2/],
      [() => vec.setState(0, { state: { x: 1 } }), /lacks the field "xDot"/],
      [() => vec.setState(0, { state: { ...state, y: 1 } }), /has no field "y"/],
      [() => vec.setState(0, { state: { ...state, x: [1] } }), /the field "x" holds f32 values/],
      [() => vec.setState(0, { state, steps: -1 }), /steps must be a whole number/],
      [() => vec.setState(0, { state, episode: 0.5 }), /episode must be a whole number/],
    ];
    for (const [action, why] of wrong) {
      expect(action).toThrow(EnvironmentError);
      expect(action).toThrow(why);
    }
    expect([0, 1].map((i) => vec.getState(i))).toEqual(before);
    vec.setState(0, { state: { ...state, x: 3 } });
    vec.step([0, 0]);
    expect(vec.out.terminated[0]).toBe(1);
    vec.dispose();
  });

  test("environments have parameters of their own, the others stay constants", () => {
    const gravity = [9.8, 3, 9.8, 20];
    const mixed = new VecEnv(Pendulum, 4, { seed: 6, params: { gravity, length: 0.7 }, target });
    mixed.reset();
    const actions = Float32Array.from({ length: 4 * 30 }, (_, j) => Math.sin(j));
    const out = mixed.collect(actions, 30);
    gravity.slice(1, 3).forEach((g, k) => {
      const i = k + 1;
      const alone = new VecEnv(Pendulum, 1, { seed: 6, firstIndex: i, params: { gravity: g, length: 0.7 }, target });
      alone.reset();
      const own = alone.collect(
        actions.filter((_, j) => j % 4 === i),
        30,
      );
      const theirs = Array.from({ length: 30 * 3 }, (_, j) => out.obs[(Math.floor(j / 3) * 4 + i) * 3 + (j % 3)]);
      // Constants are folded in double precision, numbers from arrays are not: a few of the last bits differ.
      const apart = theirs.map((x, j) => Math.abs((x as number) - (own.obs[j] as number)));
      expect(Math.max(...apart)).toBeLessThan(1e-3);
      alone.dispose();
    });
    expect(out.obs[9 * 12]).not.toBe(out.obs[9 * 12 + 3]);
    expect(() => new VecEnv(Pendulum, 3, { params: { gravity } })).toThrow(/4 values for 3 environments/);
    expect(() => new VecEnv(Pendulum, 1, { params: { gravity: [Number.NaN] } })).toThrow(/must be a number/);
    mixed.dispose();
  });
});

test("parameters of their own give the same bits on every target", () => {
  const runs = targets.map((target) => {
    const masses = Float32Array.from({ length: 21 }, (_, i) => 0.05 + i / 40);
    const vec = new VecEnv(CartPole, 21, { params: { massPole: masses }, target });
    vec.reset();
    const { obs } = vec.collect("random", 50);
    const found = Array.from(obs);
    vec.dispose();
    return found;
  });
  for (const other of runs.slice(1)) expect(other).toEqual(runs[0]);
});

test("a state that was read can be set, in another vector, too, and goes on the same", () => {
  const options = { seed: 4, maxSteps: 500, target: "js" } as const;
  const [a, b] = [new VecEnv(Asterix, 5, options), new VecEnv(Asterix, 2, { ...options, firstIndex: 3 })];
  a.reset();
  b.reset();
  a.collect("random", 37);
  const saved = a.getState(4);
  expect(saved.steps).toBeGreaterThan(0);
  b.setState(1, JSON.parse(JSON.stringify(saved)));
  expect(b.getState(1)).toEqual(saved);
  const size = a.out.obs.length / 5;
  const rowOf = (vec: VecEnv, i: number): number[] => Array.from(vec.out.obs.subarray(i * size, (i + 1) * size));
  expect(rowOf(b, 1)).toEqual(rowOf(a, 4));
  for (let t = 0; t < 60; t++) {
    a.step([0, 0, 0, 0, t % 5]);
    b.step([0, t % 5]);
    expect(rowOf(b, 1)).toEqual(rowOf(a, 4));
    expect(b.out.reward[1]).toBe(a.out.reward[4]);
  }
  a.dispose();
  b.dispose();
});
