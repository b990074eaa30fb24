/**
 * @file Algorithms: their configurations, what they consist of, and how they are made.
 */
export { A2c, type A2cConfig, a2cLoss, a2cPresets, a2cSchema } from "./a2c.ts";
export { type ActionDistribution, ActorCritic, type NetworkConfig, type Spaces } from "./actorCritic.ts";
export type { Algorithm } from "./algorithm.ts";
export { CompiledWorld, type CompiledWorldOptions } from "./compiledWorld.ts";
export { Iteration, type IterationOptions, PHASES, type Phase, type PhaseSeconds } from "./iteration.ts";
export { ObservationNorm, RewardNorm } from "./normalise.ts";
export { OnPolicy, type OnPolicyOptions, type ScheduledNumber } from "./onPolicy.ts";
export { Ppo, type PpoBatch, type PpoConfig, ppoLoss, ppoPresets, ppoSchema } from "./ppo.ts";
export { ALGORITHMS, type AlgorithmKind, type AlgorithmName, algorithmKind, type Playground } from "./registry.ts";
export { Rollout, type RolloutConfig } from "./rollout.ts";
export { HostWorld, type RolloutStates, type World } from "./world.ts";
