/**
 * @file An algorithm's schema and presets for the tests of configurations, and short ways to resolve one.
 */
import * as z from "zod";
import {
  type ConfigFile,
  type ResolveOptions,
  readConfigText,
  resolveConfig,
} from "../../../src/train/config/index.ts";

const scheduled = z.union([
  z.number(),
  z.string().regex(/^lin_/, { error: 'a number, or a text such as "lin_2.5e-4"' }),
]);

export const schema = z.strictObject({
  nEnvs: z.int().positive().default(8),
  nSteps: z.int().positive().default(128),
  nEpochs: z.int().positive().default(4),
  batchSize: z.int().positive().default(256),
  learningRate: scheduled.default(3e-4),
  gamma: z.number().min(0).max(1).default(0.99),
  gaeLambda: z.number().min(0).max(1).default(0.95),
  clipRange: scheduled.default(0.2),
  clipRangeVf: scheduled.nullable().default(null),
  entCoef: z.number().default(0.01),
  vfCoef: z.number().default(0.5),
  maxGradNorm: z.number().positive().default(0.5),
  normalizeAdvantage: z.boolean().default(true),
  netArch: z.array(z.int().positive()).default([64, 64]),
  activation: z.enum(["tanh", "relu"]).default("tanh"),
  logStdInit: z.number().default(0),
  normalizeObs: z.boolean().default(false),
  normalizeReward: z.boolean().default(false),
  adamEps: z.number().positive().default(1e-5),
  replay: z.strictObject({ size: z.int().default(10), prefetch: z.boolean().default(false) }).prefault({}),
});
export const presets = { sb3: { nEnvs: 1, nSteps: 2048, batchSize: 64, nEpochs: 10, entCoef: 0 }, rlox: {} };

type Given = Partial<ResolveOptions<typeof schema>>;

/** Resolves with the schema of the tests and without tuned values, unless given. */
export const resolve = (given: Given = {}) =>
  resolveConfig({ schema, presets, algo: "ppo", env: "CartPole-v1", tuned: false, ...given });

export const yaml = (text: string): ConfigFile => readConfigText(text, "yaml", "test.yml");
/** The hyperparameters of a text. */
export const fromYaml = (text: string, given: Given = {}) => resolve({ ...given, file: yaml(text) }).hyperparameters;

/** What is said when something is refused. */
export function refusal(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  }
  throw new Error("nothing was refused");
}
