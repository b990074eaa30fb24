/**
 * @file Vectors of environments: Gymnasium's three ways of starting over, reproduced from recorded runs; errors that
 * change nothing; numbers that depend on seed, index, episode and actions alone.
 */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { CartPole } from "../../src/envs/classic/cartPole.ts";
import { EnvironmentError } from "../../src/envs/define.ts";
import type { Autoreset } from "../../src/envs/vector/kernel.ts";
import { VecEnv } from "../../src/envs/vector/vecEnv.ts";
import { availability, TARGET_NAMES } from "../../src/runtime/targets.ts";

const targets = TARGET_NAMES.filter((name) => availability(name).target);

interface Run {
  readonly mode: "NextStep" | "SameStep" | "Disabled";
  readonly max_episode_steps: number;
  readonly initial_states: readonly (readonly (readonly number[])[])[];
  readonly obs: readonly (readonly (readonly number[])[])[];
  readonly actions: readonly (readonly number[])[];
  readonly rewards: readonly (readonly number[])[];
  readonly terminations: readonly (readonly boolean[])[];
  readonly truncations: readonly (readonly boolean[])[];
  readonly final_obs: readonly (readonly (readonly number[] | null)[])[];
  readonly manual_resets?: readonly (readonly [number, readonly boolean[], unknown])[];
}
const file = new URL("../fixtures/envs/CartPole-v1-vector.gymnasium.json.gz", import.meta.url);
const { runs }: { runs: readonly Run[] } = JSON.parse(gunzipSync(readFileSync(file)).toString());
const MODES: { readonly [M in Run["mode"]]: Autoreset } = {
  NextStep: "next-step",
  SameStep: "same-step",
  Disabled: "disabled",
};

type CartPoleVec = VecEnv<typeof CartPole>;
/** Puts the recorded beginning of its current episode in place of environment i's own. */
function forceStart(vec: CartPoleVec, run: Run, i: number): void {
  const start = run.initial_states[i]?.[vec.episodes[i] as number] as readonly number[];
  ["x", "xDot", "theta", "thetaDot"].forEach((field, k) => {
    (vec.state[field] as Float32Array)[i] = start[k] as number;
    vec.out.obs[4 * i + k] = start[k] as number;
  });
}
/** Single precision over an episode of some fifty steps, each of which starts from the one before. */
const near = (found: number, wanted: number): boolean =>
  Math.abs(found - wanted) <= 2e-5 * Math.max(1, Math.abs(wanted));
const rowOf = (array: ArrayLike<number>, i: number): number[] => [0, 1, 2, 3].map((k) => array[4 * i + k] as number);

describe.each(targets)("%s", (target) => {
  test.each(runs.map((run) => [`${run.mode}, ${run.max_episode_steps} steps`, run] as const))(
    "starts over as Gymnasium does: %s",
    (_name, run) => {
      const vec = new VecEnv(CartPole, 3, { autoreset: MODES[run.mode], maxSteps: run.max_episode_steps, target });
      vec.reset();
      for (let i = 0; i < 3; i++) forceStart(vec, run, i);
      let ends = 0;
      run.actions.forEach((actions, t) => {
        const before = Array.from(vec.episodes);
        const { obs, reward, terminated, truncated, finalObs } = vec.step(actions);
        for (let i = 0; i < 3; i++) {
          const ended = run.terminations[t]?.[i] || run.truncations[t]?.[i];
          ends += Number(ended);
          if (ended) {
            const last = run.mode === "SameStep" ? run.final_obs[t]?.[i] : run.obs[t + 1]?.[i];
            expect(rowOf(finalObs, i).every((x, k) => near(x, last?.[k] as number))).toBe(true);
          }
          if (vec.episodes[i] !== before[i]) forceStart(vec, run, i);
          expect([reward[i], terminated[i], truncated[i]]).toEqual([
            run.rewards[t]?.[i],
            Number(run.terminations[t]?.[i]),
            Number(run.truncations[t]?.[i]),
          ]);
          const wanted = run.obs[t + 1]?.[i] as readonly number[];
          expect(
            rowOf(obs, i).every((x, k) => near(x, wanted[k] as number)),
            `step ${t + 1}, ${i}`,
          ).toBe(true);
        }
        const manual = run.manual_resets?.find(([step]) => step === t + 1);
        if (manual) {
          vec.reset(manual[1]);
          manual[1].forEach((chosen, i) => void (chosen && forceStart(vec, run, i)));
        }
      });
      expect(ends).toBeGreaterThan(0);
      vec.dispose();
    },
  );

  test("numbers depend on seed, index, episode and actions alone", () => {
    const all = new VecEnv(CartPole, 6, { seed: 9, target });
    const some = new VecEnv(CartPole, 2, { seed: 9, firstIndex: 3, target });
    all.reset();
    some.reset();
    for (let t = 0; t < 60; t++) {
      const actions = Array.from({ length: 6 }, (_, i) => (t * (i + 1)) & 1);
      all.step(actions);
      some.step(actions.slice(3, 5));
      expect(Array.from(some.out.obs)).toEqual(Array.from(all.out.obs.subarray(12, 20)));
    }
    expect(Array.from(some.episodes)).toEqual(Array.from(all.episodes.subarray(3, 5)));
    expect(Math.max(...all.episodes)).toBeGreaterThan(0);
    const other = new VecEnv(CartPole, 6, { seed: 10, target });
    expect(Array.from(other.reset().obs)).not.toEqual(Array.from(all.reset().obs));
  });

  test("refuses what cannot be and changes nothing", () => {
    const vec = new VecEnv(CartPole, 2, { autoreset: "disabled", maxSteps: 2, target });
    expect(() => vec.step([0, 0])).toThrow(/call reset\(\) first/);
    vec.reset();
    const before = Array.from(vec.out.obs);
    expect(() => vec.step([0])).toThrow(EnvironmentError);
    expect(() => vec.step([0, 2])).toThrow(/action 2 of environment 1 is not in Discrete\(2\)/);
    expect(() => vec.step([-1, 0])).toThrow(/action -1 of environment 0/);
    expect(Array.from(vec.out.obs)).toEqual(before);
    vec.step([0, 1]);
    vec.step([0, 1]);
    expect(Array.from(vec.out.truncated)).toEqual([1, 1]);
    const last = Array.from(vec.out.obs);
    expect(() => vec.step([0, 1])).toThrow(/environment 0 has ended/);
    expect(Array.from(vec.out.obs)).toEqual(last);
    vec.reset([true, false]);
    expect(() => vec.step([0, 1])).toThrow(/environment 1 has ended/);
    expect(() => new VecEnv(CartPole, 0)).toThrow(/from 1 on/);
    expect(() => new VecEnv(CartPole, 1, { params: { gravty: 1 } as never })).toThrow(/no parameter "gravty"/);
  });
});
