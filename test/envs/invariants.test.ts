/**
 * @file What holds of every environment, whatever is done in it: observations are in their space, episodes end within
 * their limit, flags and statistics fit together, in every autoreset mode and with actions of every kind; and what is drawn of it.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as bsuite from "../../src/envs/bsuite/index.ts";
import * as classic from "../../src/envs/classic/index.ts";
import { type ActionSpace, actionSize, type Environment, observationSize } from "../../src/envs/define.ts";
import * as minatar from "../../src/envs/minatar/index.ts";
import * as misc from "../../src/envs/misc/index.ts";
import { contains, limitAt } from "../../src/envs/spaces.ts";
import type { Autoreset } from "../../src/envs/vector/face.ts";
import { VecEnv } from "../../src/envs/vector/vecEnv.ts";
import type { TypedArray } from "../../src/ir/arrays.ts";
import { HostStream } from "../../src/random/index.ts";

const isEnvironment = (value: unknown): value is Environment =>
  typeof value === "object" && value !== null && "functions" in value && "observation" in value;
const all = [classic, bsuite, misc, minatar].flatMap((family) => Object.values<unknown>(family).filter(isEnvironment));
const MODES: readonly Autoreset[] = ["same-step", "next-step", "disabled"];
const [N, STEPS] = [9, 120] as const;

/** How each environment acts: at random, always the same, or from one extreme to the other. */
function actionOf(space: ActionSpace, i: number, k: number, t: number, stream: HostStream): number {
  const habit = i % 3;
  const pick = (n: number): number =>
    habit === 0 ? stream.below(n) : habit === 1 ? (i + k) % n : ((t + k) % 2) * (n - 1);
  if (space.kind === "discrete") return space.start + pick(space.n);
  if (space.kind === "multiDiscrete") return pick(space.counts[k] as number);
  const [low, high] = [limitAt(space.low, k), limitAt(space.high, k)];
  const shares = [stream.uniform(), 1, (t + k) % 2];
  // A little beyond the limits: environments clip.
  return low + (high - low) * (1.4 * (shares[habit] as number) - 0.2);
}

/** Steps a vector and looks at everything; what does not hold, in words. */
function problemsOf(vec: VecEnv, limit: number, seed: number): string[] {
  const { env, n, out } = vec;
  const [each, columns] = [actionSize(env.action), observationSize(env.observation)];
  const stream = new HostStream(seed, 9);
  const found: string[] = [];
  const returns = new Float32Array(n);
  const lengths = new Int32Array(n);
  const over = new Uint8Array(n);
  const note = (i: number, t: number, what: string): void => void found.push(`step ${t}, environment ${i}: ${what}`);
  const see = (rows: typeof out.obs, i: number, t: number, what: string): void => {
    const row = rows.subarray(i * columns, (i + 1) * columns);
    if (!contains(env.observation, env.observation.kind === "discrete" ? row[0] : row)) note(i, t, `${what} ${row}`);
  };
  for (let t = 0; t < STEPS && found.length === 0; t++) {
    for (let k = 0; k < n * each; k++) vec.actions[k] = actionOf(env.action, Math.floor(k / each), k % each, t, stream);
    vec.step(vec.actions);
    for (let i = 0; i < n; i++) {
      const [terminated, truncated] = [out.terminated[i] === 1, out.truncated[i] === 1];
      const reward = out.reward[i] as number;
      const began = vec.autoreset === "next-step" && over[i] === 1;
      see(out.obs, i, t, "obs");
      if (!Number.isFinite(reward)) note(i, t, `the reward is ${reward}`);
      if (began && (reward !== 0 || terminated || truncated)) note(i, t, "a beginning has a reward or an end");
      lengths[i] = began ? 0 : (lengths[i] as number) + 1;
      returns[i] = began ? 0 : (returns[i] as number) + reward;
      if (truncated !== (lengths[i] === limit)) note(i, t, `truncated after ${lengths[i]} of ${limit} steps`);
      over[i] = terminated || truncated ? 1 : 0;
      if (!over[i]) continue;
      see(out.finalObs, i, t, "finalObs");
      if (vec.episodeLength[i] !== lengths[i]) note(i, t, `a length of ${vec.episodeLength[i]}, not ${lengths[i]}`);
      if (vec.episodeReturn[i] !== returns[i]) note(i, t, `a return of ${vec.episodeReturn[i]}, not ${returns[i]}`);
      if (vec.autoreset === "next-step") continue;
      [lengths[i], returns[i]] = [0, 0];
    }
    if (vec.autoreset === "disabled" && over.includes(1)) vec.reset(over);
  }
  return found;
}

/** The state of one environment as its drawing function sees it. */
function stateOf(vec: VecEnv, i: number): { readonly [field: string]: number | TypedArray } {
  return Object.fromEntries(
    Object.entries(vec.state).map(([field, given]) => {
      const array = given as TypedArray;
      const length = array.length / vec.n;
      if (vec.env.state[field]?.kind !== "array") return [field, array[i] as number];
      return [field, Float64Array.from({ length }, (_, k) => array[k * vec.n + i] as number)];
    }),
  );
}

/** Every number that an environment draws with, and the names of what it calls. */
function drawing(vec: VecEnv, i: number): { readonly calls: readonly string[]; readonly numbers: readonly number[] } {
  const calls: string[] = [];
  const all: number[] = [];
  const note =
    (name: string) =>
    (...values: readonly unknown[]): void => {
      calls.push(name);
      all.push(...([values].flat(4).filter((x) => typeof x === "number") as number[]));
    };
  const canvas = {
    view: note("view"),
    line: note("line"),
    polygon: note("polygon"),
    circle: note("circle"),
    text: note("text"),
  };
  vec.env.draw?.(stateOf(vec, i) as never, canvas, vec.env.params);
  return { calls, numbers: all };
}

/** The first call sets the view, and all numbers are finite. */
function expectDrawing(vec: VecEnv, i: number): void {
  const { calls, numbers } = drawing(vec, i);
  expect(calls[0], `${vec.env.id} sets the view first`).toBe("view");
  expect(calls.length).toBeGreaterThan(1);
  expect(numbers.every(Number.isFinite), `${vec.env.id} draws with finite numbers`).toBe(true);
}

test("there are 26 environments and more", () => {
  expect(all.length).toBeGreaterThanOrEqual(26);
  expect(new Set(all.map((env) => env.id)).size).toBe(all.length);
});

describe("invariants", () => {
  test.each(all.map((env, k) => [env.id, env, MODES[k % 3] as Autoreset] as const))("%s", (_, env, autoreset) => {
    // Short limits are met by all; a prime one lets ends of both kinds fall together.
    const limits = [Math.min(37, env.maxSteps ?? Infinity), env.maxSteps ?? Infinity];
    const vecs = limits.map((maxSteps) => new VecEnv(env, N, { seed: 31, autoreset, maxSteps, target: "js" }));
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 31 }), fc.constantFrom(0, 1), (seed, k) => {
        const vec = vecs[k] as VecEnv;
        // Episodes after the first ones differ from run to run only by the actions.
        const { obs } = vec.reset();
        expect(obs.length).toBe(N * observationSize(env.observation));
        expect(problemsOf(vec, limits[k] as number, seed)).toEqual([]);
      }),
      { numRuns: 4, seed: 3 },
    );
    for (const vec of vecs) {
      for (let i = 0; i < 4; i++) expectDrawing(vec, i);
      vec.dispose();
    }
  });
});
