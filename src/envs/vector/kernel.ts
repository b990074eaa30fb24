/**
 * @file The kernels that step many environments: one text for every environment and every autoreset mode.
 *
 * All actions are checked before anything is changed. Then each environment steps, ends, resets and observes on its own,
 * as lanes of vector code. Randomness is a function of (seed, environment, episode, step): a key is drawn for each
 * episode, and each step folds its number into it.
 */
import {
  bool,
  constant,
  type Declaration,
  f32,
  type Inline,
  type Intrinsics,
  i32,
  inline,
  type KernelArray,
  type RandomStream,
  type Scalar,
  struct,
  u8,
  u32,
} from "../../kernel/declare.ts";
import { type Kernel, kernel } from "../../kernel/kernel.ts";
import { type ActionSpace, actionSize, type Environment, observationSize, type Params } from "../define.ts";

/** When an environment whose episode has ended starts the next one; Gymnasium's meaning. */
export type Autoreset = "same-step" | "next-step" | "disabled";

/** Why a step was refused: what stands in status[1]. */
export const REFUSED = { nothing: 0, action: 1, ended: 2 } as const;

/** What the functions of a kernel see; types differ from environment to environment. */
interface View {
  readonly state: readonly unknown[];
  readonly steps: KernelArray;
  readonly episodes: KernelArray;
  readonly key0: KernelArray;
  readonly key1: KernelArray;
  readonly ended: KernelArray<boolean>;
  readonly runningReturn: KernelArray;
  readonly episodeReturn: KernelArray;
  readonly episodeLength: KernelArray;
  readonly obs: readonly KernelArray[];
  readonly seed0: number;
  readonly seed1: number;
  readonly first: number;
  readonly params: unknown;
  reset(s: unknown, context: { readonly params: unknown; readonly rng: RandomStream }): void;
  observe(s: unknown, obs: KernelArray, context: { readonly params: unknown }): void;
}
interface StepView extends View {
  readonly actions: readonly unknown[];
  readonly finalObs: readonly KernelArray[];
  readonly reward: KernelArray;
  readonly terminated: KernelArray<boolean>;
  readonly truncated: KernelArray<boolean>;
  readonly status: KernelArray;
  readonly rounds: number;
  readonly limit: number;
  readonly sameStep: boolean;
  readonly nextStep: boolean;
  valid(action: unknown): boolean;
  step(
    s: unknown,
    action: unknown,
    context: { readonly params: unknown; readonly rng: RandomStream },
  ): { readonly reward: number; readonly terminated: boolean };
}

/** Whether an action can be taken: whole numbers in range, and no NaN (environments clip what is too large). */
function validity(space: ActionSpace): Inline {
  switch (space.kind) {
    case "discrete":
      return inline(
        { start: constant(space.start), n: constant(space.n) },
        ({ start, n }, action: number) => action >= start && action < start + n,
      );
    case "multiDiscrete":
      return inline({ counts: constant([...space.counts]) }, ({ counts }, action: KernelArray) => {
        let fine = true;
        for (let k = 0; k < counts.length; k++) fine = fine && action[k]! >= 0 && action[k]! < counts[k]!;
        return fine;
      });
    case "box":
      return inline({ size: constant(actionSize(space)) }, ({ size }, action: KernelArray) => {
        let fine = true;
        for (let k = 0; k < size; k++) fine = fine && !Number.isNaN(action[k]!);
        return fine;
      });
    default:
      return space satisfies never;
  }
}

/** Rows of numbers; a row of one is a number itself where the space says so. */
export const actionType = (space: ActionSpace): Scalar<"f32"> | Scalar<"i32"> => (space.kind === "box" ? f32 : i32);
export function observationType({ observation }: Environment): Scalar<"f32"> | Scalar<"u8"> | Scalar<"i32"> {
  if (observation.kind === "discrete") return i32;
  return observation.dtype === "u8" ? u8 : f32;
}

/** What all kernels of an environment declare. */
function common(env: Environment, params: Params): Declaration {
  return {
    state: struct(env.state).array(),
    steps: i32.array(),
    episodes: i32.array(),
    key0: u32.array(),
    key1: u32.array(),
    ended: bool.array(),
    runningReturn: f32.array(),
    episodeReturn: f32.array(),
    episodeLength: i32.array(),
    obs: observationType(env).array(observationSize(env.observation)).array(),
    seed0: u32,
    seed1: u32,
    first: i32,
    params: constant(params),
    reset: env.functions.reset,
    observe: env.functions.observe,
  };
}

interface ResetView extends View {
  readonly which: KernelArray<boolean>;
}

/** Begins an episode, of the number that stands in `episodes`, in the environments that `which` names. */
export function resetKernel(env: Environment, params: Params): Kernel {
  const body = (vec: ResetView, { parallel, rng }: Intrinsics): void => {
    const { params } = vec;
    const base = rng(vec.seed0, vec.seed1);
    parallel(vec.steps.length, (i) => {
      if (!vec.which[i]) return;
      const s = vec.state[i];
      const drawn = base.fold(vec.first + i).fold(vec.episodes[i]!);
      const low = drawn.bits();
      const high = drawn.bits();
      vec.key0[i] = low;
      vec.key1[i] = high;
      vec.reset(s, { params, rng: rng(low, high).fold(0) });
      vec.steps[i] = 0;
      vec.runningReturn[i] = 0;
      vec.ended[i] = false;
      vec.observe(s, vec.obs[i]!, { params });
    });
  };
  const declaration = { ...common(env, params), which: bool.array() };
  return kernel(declaration as Declaration, body as never, { name: `reset ${env.id}` });
}

/** Steps every environment `rounds` times, with a row of actions and of results for each. */
export function stepKernel(env: Environment, params: Params, autoreset: Autoreset): Kernel {
  const size = observationSize(env.observation);
  const actions = actionType(env.action);
  const declaration = {
    ...common(env, params),
    actions: env.action.kind === "discrete" ? actions.array() : actions.array(actionSize(env.action)).array(),
    finalObs: observationType(env).array(size).array(),
    reward: f32.array(),
    terminated: bool.array(),
    truncated: bool.array(),
    status: i32.array(2),
    rounds: i32,
    limit: i32,
    sameStep: constant(autoreset === "same-step"),
    nextStep: constant(autoreset === "next-step"),
    valid: validity(env.action),
    step: env.functions.step,
  };
  const body = (vec: StepView, { parallel, rng }: Intrinsics): void => {
    const { params, rounds, status, sameStep, nextStep } = vec;
    const n = vec.steps.length;
    const all = rounds * n;
    let wrong = all;
    parallel(all, (k) => {
      wrong = Math.min(wrong, vec.valid(vec.actions[k]) ? all : k);
    });
    let over = n;
    if (!sameStep && !nextStep)
      parallel(n, (i) => {
        over = Math.min(over, vec.ended[i] ? i : n);
      });
    status[0] = wrong < all ? wrong : over;
    status[1] = wrong < all ? 1 : over < n ? 2 : 0;
    if (wrong < all || over < n) return;
    const base = rng(vec.seed0, vec.seed1);
    for (let round = 0; round < rounds; round++) {
      parallel(n, (i) => {
        const s = vec.state[i];
        const at = round * n + i;
        const begin = (): void => {
          const episode = vec.episodes[i]! + 1;
          vec.episodes[i] = episode;
          const drawn = base.fold(vec.first + i).fold(episode);
          const low = drawn.bits();
          const high = drawn.bits();
          vec.key0[i] = low;
          vec.key1[i] = high;
          vec.reset(s, { params, rng: rng(low, high).fold(0) });
          vec.steps[i] = 0;
          vec.runningReturn[i] = 0;
        };
        if (nextStep && vec.ended[i]) {
          begin();
          vec.ended[i] = false;
          vec.reward[at] = 0;
          vec.terminated[at] = false;
          vec.truncated[at] = false;
        } else {
          const t = vec.steps[i]! + 1;
          const { reward, terminated } = vec.step(s, vec.actions[at], {
            params,
            rng: rng(vec.key0[i]!, vec.key1[i]!).fold(t),
          });
          const truncated = t >= vec.limit;
          const total = vec.runningReturn[i]! + reward;
          vec.reward[at] = reward;
          vec.terminated[at] = terminated;
          vec.truncated[at] = truncated;
          vec.steps[i] = t;
          vec.runningReturn[i] = total;
          if (terminated || truncated) {
            vec.observe(s, vec.finalObs[at]!, { params });
            vec.episodeReturn[i] = total;
            vec.episodeLength[i] = t;
            if (sameStep) begin();
            else vec.ended[i] = true;
          }
        }
        vec.observe(s, vec.obs[at]!, { params });
      });
    }
  };
  return kernel(declaration as Declaration, body as never, { name: `step ${env.id}` });
}
