/**
 * @file Values that are known to serve an algorithm on an environment, with the steps that they take.
 *
 * The starting points are published ones: the hyperparameter files of rl-zoo3 (without state-dependent exploration, which
 * is not supported), the convergence presets of rlox, and the PPO baselines of gymnax for MinAtar. A row names the preset
 * whose conventions its numbers were found with.
 */

/** By algorithm and environment; keys of the run and of the algorithm's schema. */
export type TunedTable = {
  readonly [algo: string]: { readonly [env: string]: { readonly [key: string]: unknown } };
};

const NORMALISED = { normalizeObs: true, normalizeReward: true };

/** 64 environments times 128 steps in 8 minibatches; images are flattened. */
const MINATAR_PPO = {
  preset: "cleanrl",
  steps: 10_000_000,
  nEnvs: 64,
  nSteps: 128,
  batchSize: 1024,
  learningRate: "lin_1e-3",
  activation: "relu",
};

export const TUNED: TunedTable = {
  ppo: {
    "CartPole-v1": {
      preset: "sb3",
      steps: 100_000,
      nEnvs: 8,
      nSteps: 32,
      batchSize: 256,
      nEpochs: 20,
      learningRate: "lin_0.001",
      clipRange: "lin_0.2",
      gamma: 0.98,
      gaeLambda: 0.8,
      entCoef: 0,
    },
    "Acrobot-v1": { preset: "rlox", steps: 500_000, nSteps: 256 },
    "MountainCar-v0": {
      ...NORMALISED,
      preset: "sb3",
      steps: 1_000_000,
      nEnvs: 16,
      nSteps: 16,
      batchSize: 64,
      nEpochs: 4,
      gamma: 0.99,
      gaeLambda: 0.98,
      entCoef: 0,
    },
    // Its published values lean on state-dependent exploration; more environments and longer rollouts stand in for it.
    "MountainCarContinuous-v0": {
      ...NORMALISED,
      preset: "sb3",
      steps: 300_000,
      nEnvs: 16,
      nSteps: 256,
      batchSize: 256,
      nEpochs: 10,
      learningRate: 3e-4,
      clipRange: 0.1,
      gamma: 0.9999,
      gaeLambda: 0.9,
      entCoef: 0.00429,
      vfCoef: 0.19,
      maxGradNorm: 5,
    },
    "Pendulum-v1": {
      preset: "sb3",
      steps: 200_000,
      nEnvs: 16,
      nSteps: 256,
      batchSize: 128,
      learningRate: "lin_1e-3",
      gamma: 0.9,
    },
    "Asterix-MinAtar": MINATAR_PPO,
    "Breakout-MinAtar": { ...MINATAR_PPO, netArch: [256, 256], learningRate: 5e-4, gamma: 0.999 },
    "Freeway-MinAtar": MINATAR_PPO,
    "Seaquest-MinAtar": MINATAR_PPO,
    "SpaceInvaders-MinAtar": MINATAR_PPO,
  },
  a2c: {
    "CartPole-v1": { preset: "sb3", steps: 500_000, nEnvs: 8, entCoef: 0 },
    "Acrobot-v1": { ...NORMALISED, preset: "sb3", steps: 500_000, nEnvs: 16, entCoef: 0 },
    "MountainCar-v0": { ...NORMALISED, preset: "sb3", steps: 1_000_000, nEnvs: 16, entCoef: 0 },
    "MountainCarContinuous-v0": { ...NORMALISED, preset: "sb3", steps: 300_000, nEnvs: 4, nSteps: 100, entCoef: 0 },
    "Pendulum-v1": {
      ...NORMALISED,
      preset: "sb3",
      steps: 1_000_000,
      nEnvs: 8,
      nSteps: 8,
      learningRate: "lin_7e-4",
      gaeLambda: 0.9,
      vfCoef: 0.4,
      entCoef: 0,
    },
  },
  dqn: {
    "CartPole-v1": {
      steps: 50_000,
      learningRate: 2.3e-3,
      batchSize: 64,
      bufferSize: 100_000,
      learningStarts: 1000,
      targetUpdateInterval: 10,
      trainFreq: 256,
      gradientSteps: 128,
      explorationFraction: 0.16,
      explorationFinalEps: 0.04,
      netArch: [256, 256],
    },
    "MountainCar-v0": {
      steps: 120_000,
      learningRate: 4e-3,
      batchSize: 128,
      bufferSize: 10_000,
      learningStarts: 1000,
      gamma: 0.98,
      targetUpdateInterval: 600,
      trainFreq: 16,
      gradientSteps: 8,
      explorationFraction: 0.2,
      explorationFinalEps: 0.07,
      netArch: [256, 256],
    },
  },
  sac: { "Pendulum-v1": { steps: 50_000, learningRate: 3e-4 } },
  td3: { "Pendulum-v1": { steps: 50_000, learningRate: 1e-3 } },
};
