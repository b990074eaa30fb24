/**
 * @file Workloads of the suite `nn`: networks that act, and steps of training, each made anew for every target.
 *
 * Parameters come from a fixed seed, so that all sides and all peers start from the same numbers. A step's outputs are
 * its loss and all parameters after it; what draws random numbers gives what it drew from, too.
 */

import { tanhGaussian } from "../../distributions/continuous.ts";
import { categorical } from "../../distributions/discrete.ts";
import type { TypedArray } from "../../ir/arrays.ts";
import { linear, mlp } from "../../nn/layers.ts";
import { squaredError } from "../../nn/losses.ts";
import { Parameters } from "../../nn/parameters.ts";
import { adam } from "../../optim/optimizers.ts";
import type { TargetName } from "../../targets/target.ts";
import { concat, input } from "../../tensor/make.ts";
import { type Outputs, program, type TensorProgram } from "../../tensor/program.ts";
import { randomKey, randomState } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { Tolerance } from "../gate.ts";

/** One side of a workload, ready to run. */
export interface NnSide {
  readonly program: TensorProgram;
  readonly parameters: Parameters;
  readonly run: () => unknown;
  /** What the gate compares; to be read after the first run. */
  outputs(): { readonly [name: string]: ArrayLike<number> };
}
export interface SideOptions {
  readonly target: TargetName;
  readonly threads?: number;
  /** Tells programs apart that are compiled to see how long that takes. */
  readonly salt?: number;
  /** Called when the parameters have their values, before anything is recorded. */
  readonly onReady?: () => void;
}
export interface NnCase {
  readonly name: string;
  /** The workload without its batch: what Python knows it by. */
  readonly bench: string;
  readonly batch: number;
  readonly inputs: { readonly [name: string]: TypedArray };
  readonly tolerance: Tolerance;
  make(options: SideOptions): NnSide;
}

interface Bench {
  readonly inputs: (batch: number) => { readonly [name: string]: TypedArray };
  readonly declare: (parameters: Parameters) => (batch: number, salt: number) => Outputs;
  readonly isStep?: boolean;
  readonly tolerance?: Tolerance;
}

const CLOSE: Tolerance = { relative: 1e-4, absolute: 2e-5 };

const waves = (count: number, by: number): Float32Array =>
  Float32Array.from({ length: count }, (_, i) => Math.sin(by * i));
const filled = (count: number, value: number): Float32Array => new Float32Array(count).fill(value);
const choices = (count: number): Int32Array => Int32Array.from({ length: count }, (_, i) => i & 1);
const observations =
  (size: number) =>
  (batch: number): { obs: Float32Array } => ({ obs: waves(batch * size, 0.01) });
const numbers = (name: string, ...shape: number[]): Tensor => input(name, "f32", shape);

function actorCritic(
  parameters: Parameters,
  hidden: readonly number[],
): (obs: Tensor) => { logits: Tensor; value: Tensor } {
  const shared = { inputs: 4, hidden, parameters };
  const actor = mlp({ ...shared, outputs: 2, name: "actor" });
  const critic = mlp({ ...shared, outputs: 1, name: "critic" });
  return (obs) => ({ logits: actor.apply(obs), value: critic.apply(obs).at(-1, 0) });
}

const act: Bench = {
  inputs: observations(4),
  declare: (parameters) => {
    const nets = actorCritic(parameters, [64, 64]);
    const random = randomState(7);
    return (batch) => {
      const { logits, value } = nets(numbers("obs", batch, 4));
      const policy = categorical(logits);
      const action = policy.sample(randomKey(random));
      return { logits, value, action, logProb: policy.logProb(action) };
    };
  },
};

const ppoInputs = (batch: number) => ({
  obs: waves(batch * 4, 0.01),
  actions: choices(batch),
  old: filled(batch, -0.7),
  advantages: filled(batch, 1),
  returns: filled(batch, 1),
});
const ppo = (hidden: readonly number[]): Bench => ({
  isStep: true,
  inputs: ppoInputs,
  declare: (parameters) => {
    const nets = actorCritic(parameters, hidden);
    return (batch, salt) => {
      const { logits, value } = nets(numbers("obs", batch, 4));
      const policy = categorical(logits);
      const advantages = numbers("advantages", batch);
      const ratio = policy
        .logProb(input("actions", "i32", [batch]))
        .sub(numbers("old", batch))
        .exp();
      const gain = ratio.mul(advantages).minimum(ratio.clamp(0.8, 1.2).mul(advantages)).mean();
      const error = squaredError(value, numbers("returns", batch)).mean();
      const loss = error.mul(0.5).sub(gain).sub(policy.entropy().mean().mul(0.01));
      adam(parameters, parameters.gradients(loss), { learningRate: 3e-4 + salt * 1e-9, epsilon: 1e-5, clip: 0.5 });
      return { loss };
    };
  },
});

const qNet = (parameters: Parameters) =>
  mlp({ inputs: 4, hidden: [64, 64], outputs: 2, activation: "relu", parameters });
const qValues: Bench = {
  inputs: observations(4),
  declare: (parameters) => {
    const net = qNet(parameters);
    return (batch) => ({ q: net.apply(numbers("obs", batch, 4)) });
  },
};
const dqn: Bench = {
  isStep: true,
  inputs: (batch) => ({ obs: waves(batch * 4, 0.01), actions: new Int32Array(batch), targets: filled(batch, 1) }),
  declare: (parameters) => {
    const net = qNet(parameters);
    return (batch) => {
      const q = net.apply(numbers("obs", batch, 4)).pick(input("actions", "i32", [batch]));
      const loss = squaredError(q, numbers("targets", batch)).mean();
      adam(parameters, parameters.gradients(loss), { learningRate: 1e-4 });
      return { loss };
    };
  },
};

const sac: Bench = {
  inputs: observations(17),
  declare: (parameters) => {
    const shared = { activation: "relu", outputActivation: "relu", parameters } as const;
    const trunk = mlp({ ...shared, inputs: 17, hidden: [256], outputs: 256, name: "trunk" });
    const [means, logStds] = ["mean", "logStd"].map((name) => linear({ inputs: 256, outputs: 6, name, parameters }));
    const random = randomState(7);
    return (batch) => {
      const features = trunk.apply(numbers("obs", batch, 17));
      const mean = (means as NonNullable<typeof means>).apply(features);
      const logStd = (logStds as NonNullable<typeof logStds>).apply(features).clamp(-20, 2);
      const { value, logProb } = tanhGaussian(mean, logStd, { correction: 1e-6 }).draw(randomKey(random));
      return { mean, logStd, action: value, logProb };
    };
  },
};

const td3: Bench = {
  inputs: observations(17),
  declare: (parameters) => {
    const shared = { activation: "relu", outputActivation: "tanh", parameters } as const;
    const net = mlp({ ...shared, inputs: 17, hidden: [256, 256], outputs: 6 });
    return (batch) => ({ action: net.apply(numbers("obs", batch, 17)) });
  },
};

const twinInputs = (batch: number) => ({ ...observations(17)(batch), actions: waves(batch * 6, 0.1) });
function twin(parameters: Parameters): (batch: number) => readonly Tensor[] {
  const shared = { inputs: 23, hidden: [256, 256], outputs: 1, activation: "relu", parameters } as const;
  const nets = ["q1", "q2"].map((name) => mlp({ ...shared, name }));
  return (batch) => {
    const both = concat([numbers("obs", batch, 17), numbers("actions", batch, 6)], 1);
    return nets.map((net) => net.apply(both).at(-1, 0));
  };
}
const twinQ: Bench = {
  inputs: twinInputs,
  declare: (parameters) => {
    const nets = twin(parameters);
    return (batch) => {
      const [q1, q2] = nets(batch) as [Tensor, Tensor];
      return { q1, q2 };
    };
  },
};
const critics: Bench = {
  isStep: true,
  inputs: twinInputs,
  declare: (parameters) => {
    const nets = twin(parameters);
    return (batch) => {
      const [a, b] = nets(batch).map((q) => squaredError(q, 1).mean()) as [Tensor, Tensor];
      const loss = a.add(b);
      adam(parameters, parameters.gradients(loss), { learningRate: 3e-4 });
      return { loss };
    };
  },
};

/** A regression: what other libraries of this language are held against. */
const regression = (hidden: readonly number[]): Bench => ({
  isStep: true,
  inputs: (batch) => ({ obs: waves(batch * 4, 0.01), targets: waves(batch * 2, 0.03) }),
  declare: (parameters) => {
    const net = mlp({ inputs: 4, hidden, outputs: 2, parameters });
    return (batch) => {
      const loss = squaredError(net.apply(numbers("obs", batch, 4)), numbers("targets", batch, 2)).mean();
      adam(parameters, parameters.gradients(loss), { learningRate: 1e-3 });
      return { loss };
    };
  },
});

const BENCHES = {
  act,
  "PPO step": ppo([64, 64]),
  "PPO step 256x3": ppo([256, 256, 256]),
  "q values": qValues,
  "DQN step": dqn,
  "SAC sample": sac,
  "TD3 act": td3,
  "twin Q": twinQ,
  "critic step": critics,
  "MLP step 64x2": regression([64, 64]),
  "MLP step 256x3": regression([256, 256, 256]),
} as const satisfies { readonly [name: string]: Bench };
export type BenchName = keyof typeof BENCHES;

export function nnCase(bench: BenchName, batch: number): NnCase {
  const { inputs, declare, isStep = false, tolerance = CLOSE }: Bench = BENCHES[bench];
  const values = inputs(batch);
  const make = ({ target, threads = 1, salt = 0, onReady }: SideOptions): NnSide => {
    const parameters = new Parameters({ seed: 42 });
    const build = declare(parameters);
    parameters.initialize(parameters.seed);
    onReady?.();
    const made = program(bench.replaceAll(/\W/g, "_"), () => build(batch, salt), { target, threads });
    for (const [name, array] of Object.entries(values)) made.inputs[name]?.set(array);
    const { outputs } = made;
    return {
      program: made,
      parameters,
      run: () => made.run(),
      outputs: () => (isStep ? { ...outputs, parameters: parameters.arena.array } : outputs),
    };
  };
  return { name: `${bench} ${batch}`, bench, batch, inputs: values, tolerance, make };
}

const FORWARD = ["act", "q values", "SAC sample", "TD3 act", "twin Q"] as const satisfies readonly BenchName[];
const STEPS = ["PPO step", "DQN step", "critic step"] as const satisfies readonly BenchName[];

/** The workloads that PyTorch does, too. */
export const nnCases = (): NnCase[] => [
  ...FORWARD.flatMap((bench) => [1, 32, 256].map((batch) => nnCase(bench, batch))),
  ...STEPS.flatMap((bench) => [64, 256].map((batch) => nnCase(bench, batch))),
];
