/**
 * @file Signs that a run goes wrong, with plain advice: each is told once. Numbers that are no numbers end the run.
 */
import { LockstepError } from "../platform/errors.ts";
import type { Callback } from "./callbacks.ts";
import type { Metrics } from "./records.ts";

/** An iteration came out with NaN or infinity: there is nothing to go on from but the last checkpoint. */
export class NonFiniteError extends LockstepError {
  override readonly name = "NonFiniteError";
  readonly steps: number;
  readonly iteration: number;
  /** The number that is none: its name among the metrics, or that of a parameter. */
  readonly term: string;
  readonly value: number;

  constructor(at: { readonly steps: number; readonly iteration: number }, term: string, value: number, kept: string) {
    const advice = ADVICE[term] ?? ADVICE.loss;
    super(
      `${term} is ${value} after iteration ${at.iteration} (${at.steps} steps), and so is what was learnt from it. ` +
        `${advice}. ${kept}`,
    );
    this.steps = at.steps;
    this.iteration = at.iteration;
    this.term = term;
    this.value = value;
  }
}

/** What must be finite, causes before what follows from them, and what to do about each. */
const ADVICE: { readonly [term: string]: string } = {
  reward_per_step: "The environment gave such a reward: check what step() returns",
  value_loss: "Values or rewards are too large: turn on normalizeReward, or scale rewards down",
  policy_loss: "The policy moved too far: lower learningRate, or clipRange",
  entropy: "The policy's outputs are no numbers: lower learningRate, or turn on normalizeObs",
  grad_norm: "The gradient is too large: lower learningRate, or scale rewards down",
  loss: "Lower learningRate, and look at the observations and rewards of the environment",
};

/** The first number of an iteration that must be finite and is not. */
export function nonFinite(metrics: Metrics): { readonly term: string; readonly value: number } | undefined {
  for (const term of Object.keys(ADVICE)) {
    const value = metrics[term];
    if (value !== undefined && !Number.isFinite(value)) return { term, value };
  }
  return undefined;
}

export interface DiagnosticsOptions {
  /** What the divergence is held against where the algorithm has no target of its own. */
  readonly targetKl?: number;
}

/** What signs are read from. */
interface Signs {
  readonly metrics: Metrics;
  readonly firstEntropy: number | undefined;
  readonly targetKl: number;
  readonly maxGradNorm: number | undefined;
}
interface Diagnosis {
  /** Whether it is so; false for numbers that are not there. */
  is(signs: Signs): boolean;
  text(signs: Signs): string;
}

const ENTROPY_SHARE = 0.1;
const KL_FACTOR = 10;
const GRADIENT_FACTOR = 100;
const WORST_VARIANCE = -1;
const USUAL_KL = 0.02;

const short = (x: number | undefined): string => String(Number((x ?? Number.NaN).toPrecision(3)));
const of = ({ metrics }: Signs, name: string): number => metrics[name] ?? Number.NaN;

const DIAGNOSES: { readonly [name: string]: Diagnosis } = {
  entropy: {
    // The entropy of continuous actions may be negative from the beginning: then a share of it says nothing.
    is: (signs) => (signs.firstEntropy ?? 0) > 0 && of(signs, "entropy") < ENTROPY_SHARE * (signs.firstEntropy ?? 0),
    text: (signs) =>
      `the entropy fell from ${short(signs.firstEntropy)} to ${short(of(signs, "entropy"))}: the policy hardly tries ` +
      "anything new. If it is not good yet, raise entCoef or lower learningRate",
  },
  kl: {
    is: (signs) => of(signs, "approx_kl") > KL_FACTOR * signs.targetKl,
    text: (signs) =>
      `the policy moved far in one iteration (divergence ${short(of(signs, "approx_kl"))}, wanted about ` +
      `${short(signs.targetKl)}): lower learningRate or nEpochs, or set targetKl`,
  },
  gradient: {
    is: (signs) => of(signs, "grad_norm") > GRADIENT_FACTOR * (signs.maxGradNorm ?? Number.POSITIVE_INFINITY),
    text: (signs) =>
      `the gradient's norm is ${short(of(signs, "grad_norm"))}, clipped to ${short(signs.maxGradNorm)}: rewards may be ` +
      "too large; turn on normalizeReward, or lower learningRate",
  },
  variance: {
    is: (signs) => of(signs, "explained_variance") < WORST_VARIANCE,
    text: (signs) =>
      `values explain the returns worse than a constant would (${short(of(signs, "explained_variance"))}): the critic ` +
      "learns too slowly or rewards are too large; raise vfCoef, or turn on normalizeReward",
  },
};

const numberIn = (config: { readonly [key: string]: unknown }, key: string): number | undefined => {
  const value = config[key];
  return typeof value === "number" ? value : undefined;
};

/** Tells of entropy that collapses, a policy that jumps, gradients that explode and values that explain nothing. */
export function diagnostics({ targetKl = USUAL_KL }: DiagnosticsOptions = {}): Callback {
  const told = new Set<string>();
  let firstEntropy: number | undefined;
  return {
    name: "diagnostics",
    onIteration({ info, record, notice }) {
      const { metrics } = record;
      if (Number.isFinite(metrics.entropy)) firstEntropy ??= metrics.entropy;
      const config = (info.config.hyperparameters ?? {}) as { readonly [key: string]: unknown };
      const signs: Signs = {
        metrics,
        firstEntropy,
        targetKl: numberIn(config, "targetKl") ?? targetKl,
        maxGradNorm: numberIn(config, "maxGradNorm"),
      };
      for (const [name, diagnosis] of Object.entries(DIAGNOSES)) {
        if (told.has(name) || !diagnosis.is(signs)) continue;
        told.add(name);
        notice(`step ${record.steps}: ${diagnosis.text(signs)}`);
      }
    },
    save: () => ({ firstEntropy: firstEntropy ?? null, told: [...told] }),
    load(state) {
      const { firstEntropy: first, told: names } = { firstEntropy: undefined, told: [], ...(state as object | null) };
      if (typeof first === "number") firstEntropy = first;
      if (Array.isArray(names)) for (const name of names) if (typeof name === "string") told.add(name);
    },
  };
}
