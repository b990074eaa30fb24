/**
 * @file Proximal policy optimisation (Schulman et al. 2017) for discrete actions: an iteration is one program, one call.
 *
 * Rollout, bootstrap, advantages, permutations, epochs, minibatches, losses, clipping and Adam are recorded once, top to
 * bottom as below, and compiled whole. Episodes that were cut off are bootstrapped from the value of their last
 * observation; those that ended for good from 0.
 */
import { type Categorical, categorical } from "../distributions/index.ts";
import { type Environment, EnvironmentError, observationSize } from "../envs/define.ts";
import { type Mlp, mlp, Parameters } from "../nn/index.ts";
import { adam, linearSchedule } from "../optim/index.ts";
import {
  permutation,
  program,
  randomKey,
  randomState,
  repeat,
  type State,
  state,
  type Tensor,
  type TensorProgram,
  type TensorProgramOptions,
  where,
} from "../tensor/index.ts";
import { ProgramEnvironment } from "./environment.ts";

export interface PpoConfig {
  readonly environments: number;
  /** Steps of each environment in an iteration. */
  readonly steps: number;
  /** Iterations over which the learning rate falls to 0. */
  readonly iterations: number;
  readonly epochs: number;
  readonly minibatches: number;
  readonly hidden: readonly number[];
  readonly learningRate: number;
  readonly gamma: number;
  readonly lambda: number;
  readonly clip: number;
  readonly entropyWeight: number;
  readonly valueWeight: number;
  readonly maxNorm: number;
  readonly seed: number;
}

export const PPO_DEFAULTS: PpoConfig = {
  environments: 8,
  steps: 128,
  iterations: 97,
  epochs: 4,
  minibatches: 4,
  hidden: [64, 64],
  learningRate: 2.5e-4,
  gamma: 0.99,
  lambda: 0.95,
  clip: 0.2,
  entropyWeight: 0.01,
  valueWeight: 0.5,
  maxNorm: 0.5,
  seed: 1,
};

/** Means over all minibatches of an iteration, in the order of the state that sums them up. */
const MEANS = ["policyLoss", "valueLoss", "entropy", "kl", "clipFraction"] as const;
export type PpoMetrics = { readonly [K in (typeof MEANS)[number]]: number } & {
  /** The mean return of the episode that each environment finished last. */
  readonly episodeReturn: number;
};

export class Ppo {
  readonly config: PpoConfig;
  readonly parameters: Parameters;
  readonly world: ProgramEnvironment;
  /** What was done in each step of the last rollout. */
  readonly actions: State;
  readonly #actor: Mlp;
  readonly #critic: Mlp;
  readonly #program: TensorProgram;
  readonly #random: State;
  readonly #logProbs: State;
  /** One row more than steps: the last one is what the rollout goes on from. */
  readonly #values: State;
  readonly #advantages: State;
  readonly #running: State;
  readonly #order: State;
  readonly #sums: State;

  constructor(env: Environment, given: Partial<PpoConfig> = {}, options: TensorProgramOptions = {}) {
    const config = { ...PPO_DEFAULTS, ...given };
    const { environments: n, steps, minibatches, hidden, seed } = config;
    if (env.action.kind !== "discrete")
      throw new EnvironmentError(`${env.id}: its actions are not discrete, which this PPO needs`);
    if ((n * steps) % minibatches !== 0)
      throw new EnvironmentError(`${n} environments times ${steps} steps are not ${minibatches} equal minibatches`);
    this.config = config;
    const inputs = observationSize(env.observation);
    const parameters = new Parameters({ seed });
    this.parameters = parameters;
    this.#actor = mlp({ inputs, hidden, outputs: env.action.n, headGain: 0.01, parameters, name: "actor" });
    this.#critic = mlp({ inputs, hidden, outputs: 1, parameters, name: "critic" });
    this.world = new ProgramEnvironment(env, { n, steps, seed });
    this.#random = randomState(seed);
    this.actions = state("i32", [steps, n]);
    this.#logProbs = state("f32", [steps, n]);
    this.#values = state("f32", [steps + 1, n]);
    this.#advantages = state("f32", [steps, n]);
    this.#running = state("f32", [n]);
    this.#order = state("i32", [minibatches, (n * steps) / minibatches]);
    this.#sums = state("f32", [MEANS.length]);
    this.#program = program("ppo", () => this.#record(), options).load();
    this.world.reset(options);
  }

  /** Runs one iteration. */
  iterate(): PpoMetrics {
    const { means, episodeReturn } = this.#program.run() as { readonly [name: string]: Float32Array };
    const named = MEANS.map((name, k) => [name, means?.[k]]);
    return { ...Object.fromEntries(named), episodeReturn: episodeReturn?.[0] } as PpoMetrics;
  }
  /** How often JavaScript has crossed into compiled code to iterate. */
  get crossings(): number {
    return this.#program.crossings;
  }

  #policy(obs: Tensor): Categorical {
    return categorical(this.#actor.apply(obs));
  }
  #value(obs: Tensor): Tensor {
    return this.#critic.apply(obs).reshape(obs.shape.slice(0, -1));
  }

  #record() {
    const { epochs, minibatches } = this.config;
    this.#rollout();
    this.#estimate();
    this.#sums.assign(0);
    repeat(epochs, () => {
      const rows = this.config.environments * this.config.steps;
      this.#order.assign(permutation(randomKey(this.#random), rows).reshape(this.#order.shape));
      repeat(minibatches, (k) => this.#update(this.#order.value.gather(k)));
    });
    return {
      means: this.#sums.value.div(epochs * minibatches),
      episodeReturn: this.world.episodeReturn.value.mean(),
    };
  }

  /** Plays; everything that happens is stored in row t. The first observation is the last one of before. */
  #rollout(): void {
    const { steps } = this.config;
    const { obs } = this.world.rollout;
    obs.assignRow(0, obs.value.at(0, steps));
    repeat(steps, (t) => {
      const seen = obs.value.gather(t);
      const policy = this.#policy(seen);
      const action = policy.sample(randomKey(this.#random));
      this.actions.assignRow(t, action);
      this.#logProbs.assignRow(t, policy.logProb(action));
      this.#values.assignRow(t, this.#value(seen));
      this.world.step(action, t);
    });
    this.#values.assignRow(steps, this.#value(obs.value.at(0, steps)));
  }

  /** Advantages, from the last step to the first; nothing that comes after an end counts. */
  #estimate(): void {
    const { steps, gamma, lambda } = this.config;
    const { reward, terminated, truncated, finalObs } = this.world.rollout;
    const finalValues = this.#value(finalObs.value);
    this.#running.assign(0);
    repeat(steps, (k) => {
      const t = k.neg().add(steps - 1);
      const at = (column: State): Tensor => column.value.gather(t);
      const over = at(terminated).or(at(truncated));
      const next = where(at(truncated), finalValues.gather(t), this.#values.value.gather(t.add(1)));
      const delta = at(reward)
        .add(where(at(terminated), 0, next.mul(gamma)))
        .sub(at(this.#values));
      this.#running.assign(delta.add(where(over, 0, this.#running.value.mul(gamma * lambda))));
      this.#advantages.assignRow(t, this.#running.value);
    });
  }

  /** One step of Adam on the chosen rows of the rollout. */
  #update(chosen: Tensor): void {
    const { steps, environments, clip, entropyWeight, valueWeight, learningRate, maxNorm } = this.config;
    const { epochs, minibatches, iterations } = this.config;
    const rowsOf = (column: State): Tensor =>
      column.value
        .slice(0, 0, steps)
        .reshape([steps * environments, ...column.shape.slice(2)])
        .gather(chosen);
    const seen = rowsOf(this.world.rollout.obs);
    const policy = this.#policy(seen);
    const advantage = rowsOf(this.#advantages);
    const difference = policy.logProb(rowsOf(this.actions)).sub(rowsOf(this.#logProbs));
    const ratio = difference.exp();
    const normal = normalised(advantage);
    const policyLoss = ratio
      .mul(normal)
      .minimum(ratio.clamp(1 - clip, 1 + clip).mul(normal))
      .mean()
      .neg();
    const valueLoss = this.#value(seen)
      .sub(advantage.add(rowsOf(this.#values)))
      .square()
      .mean()
      .mul(0.5);
    const entropy = policy.entropy().mean();
    const loss = policyLoss.add(valueLoss.mul(valueWeight)).sub(entropy.mul(entropyWeight));
    const schedule = linearSchedule({ from: learningRate, to: 0, steps: iterations * epochs * minibatches });
    adam(this.parameters, this.parameters.gradients(loss), { learningRate: schedule, epsilon: 1e-5, clip: maxNorm });
    const kl = ratio.sub(1).sub(difference).mean();
    const clipFraction = ratio.sub(1).abs().gt(clip).to("f32").mean();
    for (const [k, mean] of [policyLoss, valueLoss, entropy, kl, clipFraction].entries())
      this.#sums.assignRow(k, this.#sums.value.at(0, k).add(mean));
  }
}

/** To mean 0 and deviation 1, as estimated from a sample. */
function normalised(x: Tensor): Tensor {
  const centred = x.sub(x.mean());
  return centred.div(x.variance(undefined, false, 1).sqrt().add(1e-8));
}
