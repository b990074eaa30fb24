/**
 * @file What the tests of environments share: single steps from a given state, and the comparison of all targets.
 */
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type ActionSpace, actionSize, type Environment, type Params } from "../../src/envs/define.ts";
import { VecEnv } from "../../src/envs/vector/vecEnv.ts";
import type { TypedArray } from "../../src/ir/arrays.ts";
import type { TargetChoice } from "../../src/runtime/targets.ts";
import { targets } from "./fixtures.ts";

export interface StepOutcome {
  readonly obs: readonly number[];
  readonly state: readonly number[];
  readonly reward: number;
  readonly terminated: boolean;
}
const flatState = (vec: VecEnv): number[] => Object.values(vec.state).flatMap((a) => [...(a as TypedArray)]);

/** One step of one environment from a state, which names scalars and lists. */
export function stepOnce(
  env: Environment,
  state: { readonly [field: string]: number | readonly number[] },
  action: readonly number[],
  params: Params = {},
): StepOutcome {
  const vec = new VecEnv(env, 1, { autoreset: "disabled", target: "js", params });
  vec.reset();
  for (const [field, value] of Object.entries(state)) (vec.state[field] as TypedArray).set([value].flat());
  const { obs, reward, terminated } = vec.step(action);
  const outcome = {
    obs: [...obs],
    state: flatState(vec),
    reward: reward[0] as number,
    terminated: terminated[0] === 1,
  };
  vec.dispose();
  return outcome;
}

/** Actions of every environment of a step, without a generator that could fail with what is tested. */
function someAction(space: ActionSpace, k: number, random: () => number): number {
  switch (space.kind) {
    case "discrete":
      return space.start + Math.floor(random() * space.n);
    case "multiDiscrete":
      return Math.floor(random() * (space.counts[k % space.counts.length] as number));
    case "box": {
      // A little beyond the limits: environments clip.
      const high = typeof space.high === "number" ? space.high : (space.high[k % space.high.length] as number);
      return (2 * random() - 1) * 1.2 * high;
    }
    default:
      return space satisfies never;
  }
}
function numbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** No multiple of any vector's width; and the last steps are taken in one call. */
const [ENVIRONMENTS, STEPS, COLLECTED] = [67, 150, 10] as const;
const bytesOf = (a: TypedArray): string =>
  createHash("sha1")
    .update(new Uint8Array(a.buffer, a.byteOffset, a.byteLength))
    .digest("base64");

/** Everything that random steps write, as one text per step. */
function trace(env: Environment, target: TargetChoice, threads: number): string[] {
  const vec = new VecEnv(env, ENVIRONMENTS, { seed: 11, target, ...(target === "js" ? {} : { threads }) });
  const size = actionSize(env.action);
  const random = numbers(5);
  const texts = [bytesOf(vec.reset().obs)];
  for (let t = 0; t < STEPS; t++) {
    for (let k = 0; k < vec.actions.length; k++) vec.actions[k] = someAction(env.action, k % size, random);
    const out = vec.step(vec.actions);
    const parts = [out.obs, out.reward, out.terminated, out.truncated, out.finalObs, vec.episodeReturn];
    texts.push([...parts, ...(Object.values(vec.state) as TypedArray[])].map(bytesOf).join());
  }
  const { obs, reward, terminated, truncated, actions } = vec.collect("random", COLLECTED);
  texts.push([obs, reward, terminated, truncated, actions].map(bytesOf).join());
  vec.dispose();
  return texts;
}

/** Random steps of every environment of a family, with the same bits on every target and number of threads. */
export function describeEveryTarget(family: string, envs: readonly Environment[]): void {
  describe(`${family}: ${ENVIRONMENTS * (STEPS + COLLECTED)} random steps`, () => {
    test.each(envs.map((env) => [env.id, env] as const))("%s has the same bits everywhere", (_, env) => {
      const [first = "js", ...others] = targets;
      const wanted = trace(env, first, 1);
      const runs = others.flatMap(
        (target) =>
          (target === "js"
            ? [[target, 1]]
            : [
                [target, 1],
                [target, 2],
              ]) as [TargetChoice, number][],
      );
      if (first !== "js") runs.push([first, 2]);
      for (const [target, threads] of runs) {
        const got = trace(env, target, threads);
        expect(
          got.findIndex((text, t) => text !== wanted[t]),
          `${target}, ${threads} threads: first differing step`,
        ).toBe(-1);
      }
    });
  });
}
