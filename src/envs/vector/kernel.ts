/**
 * @file The kernels that step many environments: one text for every environment and every autoreset mode.
 *
 * All actions are checked before anything is changed. Then the environments of a block step, as lanes of vector code;
 * those whose episodes ended are listed; and only the listed ones keep their last observation and start over, again as
 * lanes, while what they need is still near. Threads share out the blocks.
 *
 * Randomness is a function of (seed, environment, episode, step): each environment has a key, to which the number of
 * the episode is added, and a step's draws stand at the step's number in that key's stream. Keys cost nothing.
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
  struct,
  u8,
  u32,
} from "../../kernel/declare.ts";
import { type Kernel, kernel } from "../../kernel/kernel.ts";
import { actionSize, type Environment, observationSize, type Params } from "../define.ts";
import { actionType, drawing, observationType, tableType, validity } from "./spaces.ts";

/** When an environment whose episode has ended starts the next one; Gymnasium's meaning. */
export type Autoreset = "same-step" | "next-step" | "disabled";

/** Why a step was refused. */
export const REFUSED = { nothing: 0, action: 1, ended: 2 } as const;
/** Where the words of `control` stand: what a call says, and what it is told. Kernels name them by number. */
export const CONTROL = {
  refusedAt: 0,
  refusedWhy: 1,
  /** Rounds to take; and, afterwards, those taken. */
  rounds: 2,
  /** Rows of n results at which the first round is written: observations, last observations, all else. */
  obsRow: 3,
  finalRow: 4,
  row: 5,
  /** n, or 0 to take the same actions in every round. */
  actionStride: 6,
  /** 1 to draw actions first; the number of the first step for that. */
  draw: 7,
  stepNumber: 8,
  /** 1 for a last observation of every environment, whether its episode ended or not. */
  everyFinal: 9,
  words: 10,
} as const;
/** What `which` says of an environment when a reset kernel runs. */
export const WHICH = { none: 0, begin: 1, observe: 2 } as const;

/** Types of the parameters that each environment has its own of: those that count something are whole numbers. */
export const OWN_TYPES = { f32, i32 } as const;
export type OwnTypes = ReadonlyMap<string, keyof typeof OWN_TYPES>;
/** The numbers an environment depends on: constants, and those that each environment has its own of. */
export interface KernelParams {
  readonly constants: Params;
  readonly own: OwnTypes;
}

/** What an environment's functions are told beside their state. */
interface Context {
  readonly params: unknown;
  readonly tables: unknown;
}
/** What the functions of a kernel see; types differ from environment to environment. */
interface View {
  readonly state: readonly unknown[];
  readonly steps: KernelArray;
  readonly episodes: KernelArray;
  readonly key0: KernelArray;
  readonly key1: KernelArray;
  readonly ended: KernelArray<boolean>;
  readonly runningReturn: KernelArray;
  readonly obs: readonly KernelArray[];
  readonly tables: unknown;
  readonly seed0: number;
  readonly seed1: number;
  readonly first: number;
  paramsOf(vec: View, i: number): unknown;
  reset(s: unknown, context: Context & { readonly rng: RandomStream }): void;
  observe(s: unknown, obs: KernelArray, context: Context): void;
}
interface ResetView extends View {
  readonly which: KernelArray;
}
interface StepView extends View {
  readonly actions: KernelArray;
  readonly finalObs: readonly KernelArray[];
  readonly reward: KernelArray;
  readonly terminated: KernelArray<boolean>;
  readonly truncated: KernelArray<boolean>;
  readonly episodeReturn: KernelArray;
  readonly episodeLength: KernelArray;
  readonly list: readonly KernelArray[];
  readonly control: KernelArray;
  readonly limit: number;
  readonly size: number;
  readonly block: number;
  readonly sameStep: boolean;
  readonly nextStep: boolean;
  readonly longRows: boolean;
  valid(action: unknown): boolean;
  draw(actions: KernelArray, at: number, rng: RandomStream): void;
  step(
    s: unknown,
    action: unknown,
    context: Context & { readonly rng: RandomStream },
  ): { readonly reward: number; readonly terminated: boolean };
}

/** The parameters of environment i as a record: written out, since which of them are arrays differs. */
function paramsInline({ constants, own }: KernelParams): Inline {
  const fields = Object.keys(constants).map((name) => {
    const key = JSON.stringify(name);
    return `${key}: ${own.has(name) ? `vec.ownParams[i][${key}]` : `constants[${key}]`}`;
  });
  const text = `return ({ constants }, vec, i) => ({ ${fields.join(", ")} });`;
  return inline({ constants: constant(constants) }, new Function(text)() as () => unknown) as Inline;
}

/** What all kernels of an environment declare. */
function common(env: Environment, params: KernelParams): Declaration {
  const own = struct(Object.fromEntries([...params.own].map(([name, type]) => [name, OWN_TYPES[type]]))).array();
  return {
    state: struct(env.state).array(),
    steps: i32.array(),
    episodes: i32.array(),
    key0: u32.array(),
    key1: u32.array(),
    ended: bool.array(),
    runningReturn: f32.array(),
    obs: observationType(env).array(observationSize(env.observation)).array(),
    tables: Object.fromEntries(Object.entries(env.tables).map(([name, table]) => [name, tableType(table).array()])),
    seed0: u32,
    seed1: u32,
    first: i32,
    ...(params.own.size > 0 ? { ownParams: own } : {}),
    paramsOf: paramsInline(params),
    reset: env.functions.reset,
    observe: env.functions.observe,
  };
}

/** Begins an episode, of the number that stands in `episodes`, or only observes: see WHICH. */
export function resetKernel(env: Environment, params: KernelParams): Kernel {
  const declaration = { ...common(env, params), which: u8.array() };
  return kernel(declaration as Declaration, resetBody as never, { name: `reset ${env.id}` });
}

function resetBody(vec: ResetView, { parallel, rng }: Intrinsics): void {
  const { tables } = vec;
  const base = rng(vec.seed0, vec.seed1);
  parallel(vec.steps.length, (i) => {
    const which = vec.which[i]!;
    if (which === 0) return;
    const s = vec.state[i];
    const params = vec.paramsOf(vec, i);
    if (which === 1) {
      const drawn = base.fold(vec.first + i);
      const low = drawn.bits();
      const high = drawn.bits();
      vec.key0[i] = low;
      vec.key1[i] = high;
      vec.reset(s, { params, tables, rng: rng(low + (vec.episodes[i]! >>> 0), high) });
      vec.steps[i] = 0;
      vec.runningReturn[i] = 0;
      vec.ended[i] = false;
    }
    vec.observe(s, vec.obs[i]!, { params, tables });
  });
}

/** Environments that step together: what they need stays in the second cache. A power of two. */
const BLOCK = 1024;
/** How long the list of environments that ended must be: a row for each block. */
export const listLength = (n: number): number => Math.ceil(n / BLOCK) * BLOCK;

/** Numbers in an observation from which on a row is copied as a vector, not as a lane of several. */
const LONG_ROW = 4;

/** Steps every environment some rounds, with a row of actions and of results for each. */
export function stepKernel(env: Environment, params: KernelParams, autoreset: Autoreset): Kernel {
  const size = observationSize(env.observation);
  const actions = actionType(env.action);
  const declaration = {
    ...common(env, params),
    actions: env.action.kind === "discrete" ? actions.array() : actions.array(actionSize(env.action)).array(),
    finalObs: observationType(env).array(size).array(),
    reward: f32.array(),
    terminated: bool.array(),
    truncated: bool.array(),
    episodeReturn: f32.array(),
    episodeLength: i32.array(),
    list: i32.array(BLOCK).array(),
    control: i32.array(CONTROL.words),
    limit: i32,
    size: constant(size),
    block: constant(BLOCK),
    sameStep: constant(autoreset === "same-step"),
    nextStep: constant(autoreset === "next-step"),
    longRows: constant(size >= LONG_ROW),
    valid: validity(env.action),
    draw: drawing(env.action),
    step: env.functions.step,
  };
  return kernel(declaration as Declaration, stepBody as never, { name: `step ${env.id}` });
}

function stepBody(vec: StepView, { parallel, blocks, rng, own }: Intrinsics): void {
  const { tables, control, size, block, sameStep, nextStep } = vec;
  const n = vec.steps.length;
  const rounds = control[2]!;
  const firstObs = control[3]!;
  const firstFinal = control[4]!;
  const first = control[5]!;
  const actionStride = control[6]!;
  const everyFinal = control[9]!;
  const given = actionStride > 0 ? rounds * n : n;

  if (control[7]! > 0) {
    // Actions have a key of their own; the number of the step and the index of the environment say which ones.
    const source = rng(vec.seed0 ^ 0x2545f491, vec.seed1);
    const stepNumber = control[8]!;
    for (let round = 0; round < rounds; round++) {
      const ofStep = source.fold(stepNumber + round);
      const row = round * n;
      parallel(n, (i) => {
        vec.draw(vec.actions, row + i, ofStep.at(vec.first + i));
      });
    }
  }

  // Everything is checked before anything is changed.
  let wrong = given;
  parallel(given, (k) => {
    wrong = Math.min(wrong, vec.valid(vec.actions[k]) ? given : k);
  });
  /** The first environment whose episode has ended, or n. */
  const firstEnded = (): number => {
    let found = n;
    parallel(n, (i) => {
      found = Math.min(found, vec.ended[i] ? i : n);
    });
    return found;
  };
  let over = n;
  if (!sameStep && !nextStep) over = firstEnded();
  control[0] = wrong < given ? wrong : over;
  control[1] = wrong < given ? 1 : over < n ? 2 : 0;
  if (wrong < given || over < n) return;

  /** Puts the environments of a block that have ended on its list, and says how many there are. */
  const listEnded = (at: number, from: number, inBlock: number): number => {
    let count = 0;
    for (let k = 0; k < inBlock; k++) {
      vec.list[at]![count & (block - 1)] = from + k;
      count += vec.ended[from + k] ? 1 : 0;
    }
    return count;
  };
  const listed = (at: number, j: number): number => own(Math.min(Math.max(vec.list[at]![j]!, 0), n - 1));
  const begin = (i: number, obsAt: number): void => {
    const params = vec.paramsOf(vec, i);
    const episode = vec.episodes[i]! + 1;
    vec.episodes[i] = episode;
    vec.reset(vec.state[i], { params, tables, rng: rng(vec.key0[i]! + (episode >>> 0), vec.key1[i]!) });
    // The step that ended an episode has done this already where the next one begins at once.
    if (nextStep) {
      vec.steps[i] = 0;
      vec.runningReturn[i] = 0;
    }
    vec.observe(vec.state[i], vec.obs[obsAt]!, { params, tables });
  };
  /** Keeps the last observation of an episode: a row of less numbers than a vector has, written out. */
  const keepFinal = (to: number, from: number): void => {
    if (size > 0) vec.finalObs[to]![0] = vec.obs[from]![0]!;
    if (size > 1) vec.finalObs[to]![1] = vec.obs[from]![1]!;
    if (size > 2) vec.finalObs[to]![2] = vec.obs[from]![2]!;
  };

  const blockCount = ((n + block - 1) / block) | 0;
  let stopped = false;
  for (let round = 0; round < rounds; round++) {
    if (stopped) break;
    const obsRow = (firstObs + round) * n;
    const finalRow = (firstFinal + round) * n;
    const row = (first + round) * n;
    const actionRow = round * actionStride;
    blocks(blockCount, (here) => {
      const from = here * block;
      const inBlock = Math.min(n - from, block);
      const waiting = nextStep ? listEnded(here, from, inBlock) : 0;
      parallel(inBlock, (k) => {
        const i = from + k;
        const at = row + i;
        if (nextStep && vec.ended[i]) {
          vec.ended[i] = false;
          vec.reward[at] = 0;
          vec.terminated[at] = false;
          vec.truncated[at] = false;
        } else {
          const s = vec.state[i];
          const params = vec.paramsOf(vec, i);
          const t = vec.steps[i]! + 1;
          const stream = rng(vec.key0[i]! + (vec.episodes[i]! >>> 0), vec.key1[i]!).at(t);
          const { reward, terminated } = vec.step(s, vec.actions[actionRow + i], { params, tables, rng: stream });
          const truncated = t >= vec.limit;
          const ends = terminated || truncated;
          const total = vec.runningReturn[i]! + reward;
          if (ends) {
            vec.episodeReturn[i] = total;
            vec.episodeLength[i] = t;
          }
          vec.steps[i] = sameStep && ends ? 0 : t;
          vec.runningReturn[i] = sameStep && ends ? 0 : total;
          vec.reward[at] = reward;
          vec.terminated[at] = terminated;
          vec.truncated[at] = truncated;
          vec.ended[i] = ends;
          vec.observe(s, vec.obs[obsRow + i]!, { params, tables });
        }
      });
      if (nextStep)
        parallel(waiting, (j) => {
          const i = listed(here, j);
          begin(i, obsRow + i);
        });
      if (everyFinal > 0)
        for (let k = 0; k < inBlock; k++)
          parallel(size, (c) => {
            vec.finalObs[finalRow + from + k]![c] = vec.obs[obsRow + from + k]![c]!;
          });
      const finished = listEnded(here, from, inBlock);
      if (vec.longRows)
        for (let j = 0; j < finished; j++) {
          const i = listed(here, j);
          parallel(size, (k) => {
            vec.finalObs[finalRow + i]![k] = vec.obs[obsRow + i]![k]!;
          });
        }
      parallel(finished, (j) => {
        const i = listed(here, j);
        if (!vec.longRows) keepFinal(finalRow + i, obsRow + i);
        if (sameStep) begin(i, obsRow + i);
      });
    });
    control[2] = round + 1;
    if (!sameStep && !nextStep) stopped = firstEnded() < n;
  }
}
