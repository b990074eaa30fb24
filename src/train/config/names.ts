/**
 * @file The names under which other tools know our keys, and the keys of theirs that have no counterpart here.
 *
 * All names stand in camelCase; snake_case and kebab-case are turned into it before they are looked up, so that n_envs,
 * nEnvs and n-envs are one name. A key that the schema of an algorithm knows is never looked up here.
 */

const upper = (_: string, letter: string): string => letter.toUpperCase();
export const camelCase = (name: string): string => name.replace(/(?<=[A-Za-z0-9])[-_]+([A-Za-z0-9])/g, upper);
export const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Our key, or one of `derived.ts`, with the names that mean the same to rl-zoo, SB3, CleanRL, rlox and benchback. */
export const ALIASES: { readonly [ours: string]: readonly string[] } = {
  algo: ["algorithm"],
  env: ["envId", "envName"],
  steps: ["nTimesteps", "totalTimesteps", "timesteps", "totalSteps"],
  evalEvery: ["evalFreq"],
  evalEpisodes: ["nEvalEpisodes"],
  checkpointEvery: ["checkpointFreq", "saveFreq"],
  out: ["logDir"],
  name: ["expName", "runName"],
  nEnvs: ["numEnvs", "envs"],
  nSteps: ["numSteps"],
  nEpochs: ["updateEpochs", "epochs"],
  batchSize: ["minibatchSize"],
  learningRate: ["lr"],
  gaeLambda: ["lam", "lambda"],
  clipRange: ["clipCoef", "clipEps", "clip"],
  entCoef: ["entropyCoef", "entropyCoeff"],
  vfCoef: ["valueCoef", "criticCoeff"],
  normalizeAdvantage: ["normAdv"],
  normalizeObs: ["normObs"],
  normalizeReward: ["normReward", "normalizeRewards", "normRewards"],
  netArch: ["hiddenSizes", "hidden"],
  activation: ["activationFn"],
  adamEps: ["optimizerEps"],
  rmspropEps: ["rmsPropEps", "optimizerEps"],
  numMinibatches: ["nMinibatches", "nMinibatch", "minibatches"],
  numIterations: ["nIterations", "iterations"],
  normalize: ["normalizeKwargs"],
  bufferSize: ["bufferCapacity"],
  trainFreq: ["trainFrequency"],
  targetUpdateInterval: ["targetNetworkFrequency", "targetUpdate"],
  explorationInitialEps: ["startE"],
  explorationFinalEps: ["endE"],
};

/** Mappings whose members are keys too. With `members`, only these, under these names; otherwise as outside of it. */
export const GROUPS: { readonly [name: string]: { readonly members?: { readonly [name: string]: string } } } = {
  hyperparameters: {},
  policyKwargs: {
    members: {
      netArch: "netArch",
      activationFn: "activation",
      logStdInit: "logStdInit",
      orthoInit: "orthoInit",
      optimizerClass: "optimizerClass",
      optimizerKwargs: "optimizerKwargs",
      shareFeaturesExtractor: "shareFeaturesExtractor",
    },
  },
  optimizerKwargs: { members: { eps: "optimizerEps", betas: "adamBetas" } },
};

export interface Unsupported {
  /** Values that ask for nothing; the first is what to set instead. */
  readonly harmless: readonly unknown[];
  readonly why: string;
}

/** Keys that ask for what is not done here; where the value asks for nothing they are accepted. */
export const UNSUPPORTED: { readonly [name: string]: Unsupported } = {
  policy: {
    harmless: ["MlpPolicy", "ActorCriticPolicy"],
    why: "policies are described by netArch, activation and what else the algorithm knows",
  },
  useSde: { harmless: [false], why: "there is no state-dependent exploration; see logStdInit" },
  orthoInit: { harmless: [true], why: "layers begin with orthogonal weights" },
  useRmsProp: { harmless: [true], why: "the optimiser belongs to the algorithm" },
  adamBetas: { harmless: [[0.9, 0.999]], why: "the betas of Adam are 0.9 and 0.999" },
  frameStack: { harmless: [1, null], why: "wrap the environment with frameStack in a file of your own" },
  envWrapper: { harmless: [null, []], why: "wrap the environment in a file of your own" },
  vecEnvWrapper: { harmless: [null, []], why: "wrap the environment in a file of your own" },
  envKwargs: { harmless: [null, {}], why: "export the environment with other parameters from a file of your own" },
  callback: { harmless: [null, []], why: "callbacks are given to train() in a program" },
  callbacks: { harmless: [null, []], why: "callbacks are given to train() in a program" },
  track: { harmless: [false], why: "Weights & Biases is switched on by WANDB_API_KEY" },
  useWandb: { harmless: [false], why: "Weights & Biases is switched on by WANDB_API_KEY" },
  captureVideo: { harmless: [false], why: '"lockstep enjoy" shows what was learnt' },
};

/** Keys that say nothing about what is computed: accepted whatever they say. */
export const HARMLESS: readonly string[] = [
  "sdeSampleFreq",
  "shareFeaturesExtractor",
  "verbose",
  "device",
  "cuda",
  "torchDeterministic",
  "tensorboardLog",
  "framework",
  "compile",
  "syncForTiming",
  "wandbProject",
  "wandbProjectName",
  "wandbEntity",
  "notesConfig",
  "notesUser",
];

/** Most names mean one key; where there are several it is that which the algorithm has. */
const MEANINGS = new Map<string, readonly string[]>();
for (const [ours, others] of Object.entries(ALIASES))
  for (const other of others) MEANINGS.set(other, [...(MEANINGS.get(other) ?? []), ours]);

/** Our name for a name in camelCase that no schema knows; itself where there is no other. */
export function ownName(name: string, known?: { has(key: string): boolean }): string {
  const meant = MEANINGS.get(name) ?? [];
  return meant.find((key) => known?.has(key)) ?? meant[0] ?? name;
}
