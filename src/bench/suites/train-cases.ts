/**
 * @file What the suite `train` trains: the settings, our side of them, and how many operations their updates are.
 *
 * This file is loaded by processes whose start is timed: it imports what training needs, and nothing of the harness.
 */
import type { Algorithm } from "../../algorithms/algorithm.ts";
import type { IterationOptions } from "../../algorithms/iteration.ts";
import { type PpoConfig, ppoPresets, ppoSchema } from "../../algorithms/ppo.ts";
import { ALGORITHMS } from "../../algorithms/registry.ts";
import { environment } from "../../envs/index.ts";

const ENVIRONMENT = "CartPole-v1";
const OBSERVATION = 4;
const ACTIONS = 2;
const SEED = 1;

export interface TrainCase {
  readonly name: string;
  readonly config: PpoConfig;
  readonly totalSteps: number;
}

/**
 * A whole training: 8 environments, 128 steps, 4 epochs, minibatches of 256, with rlox's conventions. 50,000 steps as
 * whole iterations, which every side then takes, however it rounds.
 */
export const TRAINING: TrainCase = {
  name: "training 50000",
  config: ppoSchema.parse(ppoPresets.rlox),
  totalSteps: 49 * 1024,
};

const BENCHBACK_ITERATIONS = 100;
/** One of a hundred iterations: 32 environments, 256 steps, 10 epochs of 8 minibatches. */
function benchback(name: string, netArch: readonly number[]): TrainCase {
  const config = ppoSchema.parse({ ...ppoPresets.benchback, netArch });
  return { name, config, totalSteps: BENCHBACK_ITERATIONS * config.nEnvs * config.nSteps };
}
export const SMALL = benchback("iteration 64-64", [64, 64]);
export const MEDIUM = benchback("iteration 256-256-256", [256, 256, 256]);

/** The settings as peers read them, with the rate that falls to 0. */
export function settingsOf({ config }: TrainCase): { readonly [name: string]: unknown } {
  const rate = Number(String(config.learningRate).replace("lin_", ""));
  return { ...config, rate, environment: ENVIRONMENT, seed: SEED };
}

/** How much work has been done: both sides of a comparison must have done the same. */
export interface Counts {
  readonly parameters: number;
  readonly steps: number;
  /** Steps of the optimiser. */
  readonly updates: number;
}

const rowsOf = ({ nEnvs, nSteps }: PpoConfig): number => nEnvs * nSteps;
export const iterationsOf = ({ config, totalSteps }: TrainCase): number => totalSteps / rowsOf(config);

/** What so many iterations amount to. */
export function expectedCounts({ config }: TrainCase, iterations: number): Counts {
  const layers = (outputs: number): number =>
    pairs([OBSERVATION, ...config.netArch, outputs]).reduce((sum, [from, to]) => sum + (from + 1) * to, 0);
  const rows = rowsOf(config);
  return {
    parameters: layers(ACTIONS) + layers(1),
    steps: iterations * rows,
    updates: (iterations * config.nEpochs * rows) / config.batchSize,
  };
}
const pairs = (widths: readonly number[]): [number, number][] =>
  widths.slice(1).map((to, k) => [widths[k] as number, to]);

/**
 * Multiplications and additions of the matrix products of an iteration's updates: forward, gradients of weights, and
 * gradients of inputs, which the first layer does not need.
 */
export function updateOperations({ config }: TrainCase): number {
  const products = (outputs: number): number =>
    pairs([OBSERVATION, ...config.netArch, outputs]).reduce(
      (sum, [from, to], layer) => sum + from * to * (layer === 0 ? 2 : 3),
      0,
    );
  return 2 * rowsOf(config) * config.nEpochs * (products(ACTIONS) + products(1));
}

/** Our side, compiled; a new one begins anew. */
export function makeTraining({ config, totalSteps }: TrainCase, options: IterationOptions): Algorithm {
  const kind = ALGORITHMS.ppo;
  return kind.make(environment(ENVIRONMENT), config, { ...options, totalSteps, seed: SEED }).load();
}
export function countsOf(algorithm: Algorithm, iterations: number): Counts {
  const { parameters, stepsPerIteration } = algorithm;
  const updates = parameters.slots.get("adam.step")?.array[0] ?? 0;
  return { parameters: parameters.size, steps: iterations * stepsPerIteration, updates };
}
export function disposeTraining(algorithm: Algorithm): void {
  algorithm.dispose();
  algorithm.parameters.dispose();
}
