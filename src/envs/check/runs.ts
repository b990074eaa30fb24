/**
 * @file Runs of an environment that checks compare: actions are a function of environment, episode and step, so that runs
 * which differ in mode, target or number of environments meet the same situations.
 */
import type { TypedArray } from "../../ir/arrays.ts";
import { HostStream } from "../../random/index.ts";
import type { TargetName } from "../../targets/target.ts";
import { actionSize, type Environment, observationSize } from "../define.ts";
import { sample } from "../spaces.ts";
import type { Autoreset } from "../vector/kernel.ts";
import { type StepArrays, VecEnv } from "../vector/vecEnv.ts";

export interface RunOptions {
  readonly seed: number;
  readonly target: TargetName;
  readonly envs: number;
  readonly steps: number;
  readonly autoreset?: Autoreset;
  readonly firstIndex?: number;
}

/** One step of one environment, as an agent meets it. */
export interface Moment {
  readonly index: number;
  readonly episode: number;
  readonly step: number;
  readonly action: readonly number[];
  /** What the step led to: of an ended episode its last observation. */
  readonly obs: readonly number[];
  readonly reward: number;
  readonly terminated: boolean;
  readonly truncated: boolean;
}

/** An action for a situation; the same in every run. */
export function actionFor(env: Environment, index: number, episode: number, step: number): readonly number[] {
  const stream = new HostStream(Math.imul(index + 1, 0x9e3779b1) ^ episode, step);
  const value = sample(env.action, stream);
  return typeof value === "number" ? [value] : Array.from(value);
}

const rowOf = (array: StepArrays["obs"], i: number, size: number): number[] =>
  Array.from(array.subarray(i * size, (i + 1) * size));

/** A run in progress: fills actions, steps, and says what each environment met. */
export class Run {
  readonly vec: VecEnv;
  readonly #options: RunOptions;
  readonly #over: Uint8Array;

  constructor(env: Environment, options: RunOptions) {
    const { seed, target, envs, autoreset = "same-step", firstIndex = 0 } = options;
    this.vec = new VecEnv(env, envs, { seed, target, autoreset, firstIndex });
    this.#options = options;
    this.#over = new Uint8Array(envs);
  }

  reset(): StepArrays {
    return this.vec.reset();
  }

  /** Steps all environments; without autoreset, ended ones begin their next episode first. */
  step(): Moment[] {
    const { vec } = this;
    const { env, n, autoreset } = vec;
    const first = this.#options.firstIndex ?? 0;
    if (autoreset === "disabled" && this.#over.some(Boolean)) vec.reset(this.#over);
    const skipped = autoreset === "next-step" ? this.#over.slice() : new Uint8Array(n);
    const size = actionSize(env.action);
    const [episodes, steps] = [vec.episodes.slice(), vec.steps.slice()];
    const actions = Array.from({ length: n }, (_, i) =>
      actionFor(env, first + i, episodes[i] as number, steps[i] as number),
    );
    for (let i = 0; i < n; i++) for (let k = 0; k < size; k++) vec.actions[i * size + k] = actions[i]?.[k] as number;
    const out = vec.step(vec.actions);
    const columns = observationSize(env.observation);
    const moments: Moment[] = [];
    for (let i = 0; i < n; i++) {
      const [terminated, truncated] = [out.terminated[i] === 1, out.truncated[i] === 1];
      this.#over[i] = terminated || truncated ? 1 : 0;
      if (skipped[i]) continue;
      moments.push({
        index: first + i,
        episode: episodes[i] as number,
        step: (steps[i] as number) + 1,
        action: actions[i] as readonly number[],
        obs: rowOf(terminated || truncated ? out.finalObs : out.obs, i, columns),
        reward: out.reward[i] as number,
        terminated,
        truncated,
      });
    }
    return moments;
  }

  dispose(): void {
    this.vec.dispose();
  }
}

/** All moments of a run, by environment, episode and step. */
export function moments(env: Environment, options: RunOptions): Map<string, Moment> {
  const run = new Run(env, options);
  try {
    run.reset();
    const all = new Map<string, Moment>();
    for (let t = 0; t < options.steps; t++)
      for (const moment of run.step()) all.set(`${moment.index}/${moment.episode}/${moment.step}`, moment);
    return all;
  } finally {
    run.dispose();
  }
}

const sameNumber = (a: number, b: number): boolean => Object.is(a, b) || a === b;
export function sameMoment(a: Moment, b: Moment): boolean {
  return (
    sameNumber(a.reward, b.reward) &&
    a.terminated === b.terminated &&
    a.truncated === b.truncated &&
    a.obs.every((x, k) => sameNumber(x, b.obs[k] as number))
  );
}

/** The first moment that both runs have and that differs; runs of other modes reach different numbers of steps. */
export function firstDifference(
  a: ReadonlyMap<string, Moment>,
  b: ReadonlyMap<string, Moment>,
): readonly [Moment, Moment] | undefined {
  for (const [key, one] of a) {
    const other = b.get(key);
    if (other && !sameMoment(one, other)) return [one, other];
  }
  return undefined;
}

/** The bits of everything that a run leaves: state arrays and results. */
export function bitsOf(vec: VecEnv): string {
  let [first, second] = [0x811c9dc5, 0x01234567];
  const mix = (array: TypedArray): void => {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    for (const byte of bytes) {
      first = Math.imul(first ^ byte, 0x01000193);
      second = Math.imul(second ^ byte, 0x85ebca6b) ^ (second >>> 13);
    }
  };
  const visit = (value: unknown): void => {
    if (ArrayBuffer.isView(value)) mix(value as TypedArray);
    else for (const inner of Object.values(value as object)) visit(inner);
  };
  visit(vec.state);
  const { obs, reward, terminated, truncated } = vec.out;
  visit([obs, reward, terminated, truncated, vec.episodeReturn, vec.episodeLength]);
  return `${first >>> 0}/${second >>> 0}`;
}
