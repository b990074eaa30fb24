/**
 * @file What a profile of training says: measured numbers in, shares, bottlenecks and recommendations out.
 *
 * Everything here follows from the numbers alone. Recommendations (profileAdvice.ts) come from a table of rules; each
 * names the figure that led to it. Keys are spelled as they stand in files.
 */
import { PHASES, type Phase, type PhaseSeconds } from "../algorithms/iteration.ts";
import { formatShare, formatValue } from "../charts/index.ts";
import type { KernelTime } from "./profileKernels.ts";

/** A run from its first line of code to its end. */
export interface ProfiledRun {
  readonly wall_s: number;
  /** Making and compiling the algorithm. */
  readonly init_s: number;
  /** Iterations. */
  readonly train_s: number;
  /** Records between iterations, and the end. */
  readonly other_s: number;
  readonly steps_per_s: number;
  readonly iteration_ms: number;
  readonly first_iteration_ms: number;
  readonly crossings_per_iteration: number;
}

export interface MicroBenchmark {
  readonly name: string;
  readonly median_us: number;
  readonly p25_us: number;
  readonly p75_us: number;
}

/** What was measured, and on what. */
export interface Measured {
  readonly algo: string;
  readonly env: string;
  readonly target: string;
  /** The target that would be taken when none is asked for. */
  readonly best_target: string;
  readonly threads: number;
  readonly numerics: string;
  readonly seed: number;
  readonly steps: number;
  readonly iterations: number;
  readonly settings: {
    readonly n_envs: number;
    readonly n_steps: number;
    /** Gradient steps of an iteration, and the rows of each. */
    readonly updates: number;
    readonly batch_size: number;
    readonly epochs: number;
    readonly normalised: boolean;
  };
  readonly machine: {
    readonly cpu: string;
    readonly cores: number;
    readonly os: string;
    readonly versions: { readonly [name: string]: string };
  };
  readonly date: string;
  /** An iteration as one program; null where environments are JavaScript objects, which are stepped in between. */
  readonly whole: ProfiledRun | null;
  /** Each phase as a program of its own. */
  readonly split: ProfiledRun;
  readonly phases: PhaseSeconds;
  readonly benchmarks: readonly MicroBenchmark[];
  /** Null where kernels were not timed. */
  readonly kernels: readonly KernelTime[] | null;
}

export interface Layer {
  readonly layer: Phase;
  readonly seconds: number;
  /** Of all layers together, from 0 to 1. */
  readonly share: number;
  /** The share in tenths of a percent; those of all layers are 100 % together. */
  readonly percent: number;
}

/** Parts of a whole in tenths of a percent, rounded so that they are 100 % together: the largest remainders go up. */
export function percentages(values: readonly number[]): number[] {
  const total = values.reduce((sum, value) => sum + value, 0);
  if (!(total > 0)) return values.map(() => 0);
  const exact = values.map((value) => (value / total) * 1000);
  const tenths = exact.map(Math.floor);
  const order = exact.map((_, k) => k).sort((a, b) => remainder(exact[b]) - remainder(exact[a]));
  const missing = 1000 - tenths.reduce((sum, value) => sum + value, 0);
  for (const k of order.slice(0, missing)) tenths[k] = (tenths[k] as number) + 1;
  return tenths.map((value) => value / 10);
}
const remainder = (value = 0): number => value - Math.floor(value);

/** Layers as they are read: from the environment to the update. */
export const LAYER_ORDER: readonly Phase[] = ["environment", "policy", "gae", "update", "other"];
export const LAYER_TITLES: { readonly [P in Phase]: string } = {
  environment: "environment step",
  policy: "policy forward",
  gae: "GAE",
  update: "update",
  other: "other",
};

export function layersOf(phases: PhaseSeconds): Layer[] {
  const total = PHASES.reduce((sum, phase) => sum + phases[phase], 0);
  const percents = percentages(LAYER_ORDER.map((phase) => phases[phase]));
  return LAYER_ORDER.map((layer, k) => ({
    layer,
    seconds: phases[layer],
    share: total > 0 ? phases[layer] / total : 0,
    percent: percents[k] as number,
  }));
}

/** Calls of one iteration by how the work is cut up; a call into compiled code is a crossing. */
export interface CallCounts {
  /** Counted. */
  readonly whole: number | null;
  readonly split: number;
  /** What a design with a call per operation of the rollout and the update needs: S steps of all environments. */
  readonly per_operation: {
    readonly environment_steps: number;
    readonly actions: number;
    /** One more for the value that the rollout goes on from. */
    readonly values: number;
    readonly gae: number;
    readonly updates: number;
    readonly total: number;
  };
  /** With a call per kernel; null where kernels were not looked at. */
  readonly per_kernel: number | null;
}

export function callCounts({ whole, split, settings, kernels }: Measured): CallCounts {
  const { n_steps: steps, updates } = settings;
  return {
    whole: whole?.crossings_per_iteration ?? null,
    split: split.crossings_per_iteration,
    per_operation: {
      environment_steps: steps,
      actions: steps,
      values: steps + 1,
      gae: 1,
      updates,
      total: 3 * steps + 2 + updates,
    },
    per_kernel: kernels?.reduce((sum, { runs }) => sum + runs, 0) ?? null,
  };
}

/** What rules look at. */
export interface Facts {
  readonly measured: Measured;
  readonly share: { readonly [P in Phase]: number };
  readonly calls: CallCounts;
  /** Of the time of all kernels, the part of those that take less than SMALL_KERNEL_US a run; NaN when not known. */
  readonly smallKernels: number;
}

/** Below this a kernel is over before memory and units are busy. */
export const SMALL_KERNEL_US = 2;

export function factsOf(measured: Measured): Facts {
  const share = Object.fromEntries(layersOf(measured.phases).map(({ layer, share }) => [layer, share]));
  const kernels = measured.kernels ?? [];
  const sum = (some: readonly KernelTime[]): number => some.reduce((total, { us }) => total + us, 0);
  const small = kernels.filter(({ us, runs }) => us / runs < SMALL_KERNEL_US);
  return {
    measured,
    share: share as Facts["share"],
    calls: callCounts(measured),
    smallKernels: measured.kernels === null ? Number.NaN : sum(small) / sum(kernels),
  };
}

/** A layer is a bottleneck when it has at least this share. */
const LARGE_LAYER = 0.25;
const LARGE_KERNEL = 0.1;
const LARGE_INIT = 1 / 3;
const LARGE_RATIO = 1.25;

/** What the time goes to, largest first, in words with their figures. */
export function bottlenecksOf({ measured, share, smallKernels }: Facts): string[] {
  const { whole, split, kernels } = measured;
  const run = whole ?? split;
  const layers = layersOf(measured.phases)
    .filter((layer) => layer.share >= LARGE_LAYER)
    .sort((a, b) => b.share - a.share)
    .map(({ layer }) => `${LAYER_TITLES[layer]}: ${formatShare(share[layer])} of the time of iterations`);
  const total = (kernels ?? []).reduce((sum, { us }) => sum + us, 0);
  const [largest] = [...(kernels ?? [])].sort((a, b) => b.us - a.us);
  const found = [...layers];
  if (largest && largest.us >= LARGE_KERNEL * total)
    found.push(`one kernel, ${largest.what}: ${formatShare(largest.us / total)} of the time of all kernels`);
  if (smallKernels >= LARGE_KERNEL)
    found.push(
      `kernels of less than ${SMALL_KERNEL_US} us a run: ${formatShare(smallKernels)} of the time of all kernels`,
    );
  if (run.init_s >= LARGE_INIT * run.wall_s)
    found.push(`making and compiling: ${formatShare(run.init_s / run.wall_s)} of the run from start to end`);
  if (whole && split.iteration_ms >= LARGE_RATIO * whole.iteration_ms) {
    const ratio = formatValue(split.iteration_ms / whole.iteration_ms);
    found.push(`calls in between, when phases are programs of their own: an iteration takes ${ratio} times as long`);
  }
  return found;
}
