/**
 * @file The workloads of the suite `gae`: trajectories in f64, and batches in f32 in both layouts. Seed 42, 5 % of
 * steps end an episode, gamma 0.99, lambda 0.95.
 */
import { f32, f64, u8 } from "../../kernel/declare.ts";
import { allocate } from "../../kernel/kernel.ts";
import { gae } from "../../kernels/estimators/gae.ts";
import type { Layout } from "../../kernels/estimators/inputs.ts";
import { HostStream } from "../../random/host.ts";
import type { TargetName } from "../../targets/target.ts";
import type { Params } from "../result.ts";

export const GAMMA = 0.99;
export const LAMBDA = 0.95;
const SEED = 42;
const END_RATE = 0.05;

/** One form of the call: what it runs and the arrays it writes. */
export interface Side {
  readonly framework: string;
  readonly run: () => unknown;
  readonly outputs: { readonly advantages: ArrayLike<number>; readonly returns: ArrayLike<number> };
}
export interface GaeCase {
  readonly name: string;
  readonly params: Params;
  readonly items: number;
  readonly steps: number;
  /** 0 for one trajectory. */
  readonly environments: number;
  /** Handed to peers: rewards, values, dones and last values, one environment after the other. */
  readonly arrays: { readonly [name: string]: Float32Array | Float64Array | Uint8Array };
  /** Our forms on a target, on one thread; the first is the one that bars are about. */
  readonly on: (target: TargetName) => readonly Side[];
}

const LENGTHS = [128, 512, 2048, 8192, 32768];
const BATCHES: readonly (readonly [environments: number, steps: number])[] = [
  [8, 128],
  [64, 128],
  [256, 2048],
];

function trajectory(steps: number): GaeCase {
  const stream = new HostStream(SEED, steps);
  const [rewards, values, dones] = [allocate(f64, steps), allocate(f64, steps), allocate(u8, steps)];
  for (let t = 0; t < steps; t++) {
    rewards[t] = stream.normal();
    values[t] = stream.normal();
    dones[t] = stream.bernoulli(END_RATE) ? 1 : 0;
  }
  const lastValues = stream.normal();
  const truncated = allocate(u8, steps);
  const finalValues = allocate(f64, steps);
  const on = (target: TargetName): Side[] => {
    const options = { target, threads: 1, gamma: GAMMA, lambda: LAMBDA };
    const outputs = () => ({ advantages: allocate(f64, steps), returns: allocate(f64, steps) });
    const [out, both] = [outputs(), outputs()];
    return [
      { framework: target, run: () => gae({ rewards, values, dones, lastValues, out }, options), outputs: out },
      {
        framework: `${target}, two columns of ends`,
        run: () => gae({ rewards, values, terminated: dones, truncated, finalValues, lastValues, out: both }, options),
        outputs: both,
      },
    ];
  };
  return {
    name: `gae ${steps} f64`,
    params: { steps, dtype: "f64" },
    items: steps,
    steps,
    environments: 0,
    arrays: { rewards, values, dones, last: Float64Array.of(lastValues) },
    on,
  };
}

function batch(environments: number, steps: number): GaeCase {
  const stream = new HostStream(SEED, environments);
  const n = environments * steps;
  const columns = () => ({ rewards: allocate(f32, n), values: allocate(f32, n), dones: allocate(u8, n) });
  const forms = { "env-major": columns(), "step-major": columns() };
  const lastValues = allocate(f32, environments);
  for (let e = 0; e < environments; e++) {
    lastValues[e] = stream.normal();
    for (let t = 0; t < steps; t++) {
      const [row, column] = [e * steps + t, t * environments + e];
      const [byRow, byColumn] = [forms["env-major"], forms["step-major"]];
      byRow.rewards[row] = byColumn.rewards[column] = stream.normal();
      byRow.values[row] = byColumn.values[column] = stream.normal();
      byRow.dones[row] = byColumn.dones[column] = stream.bernoulli(END_RATE) ? 1 : 0;
    }
  }
  const on = (target: TargetName): Side[] =>
    (["step-major", "env-major"] as const satisfies Layout[]).map((layout) => {
      const out = { advantages: allocate(f32, n), returns: allocate(f32, n) };
      const options = { target, threads: 1, gamma: GAMMA, lambda: LAMBDA, layout };
      const run = (): unknown => gae({ ...forms[layout], lastValues, out }, options);
      return { framework: `${target} ${layout}`, run, outputs: out };
    });
  return {
    name: `gae ${environments}x${steps} f32`,
    params: { environments, steps, dtype: "f32" },
    items: n,
    steps,
    environments,
    arrays: { ...forms["env-major"], last: lastValues },
    on,
  };
}

export const gaeCases = (): GaeCase[] => [...LENGTHS.map(trajectory), ...BATCHES.map((one) => batch(...one))];

/** The definition, one step after the other in doubles, environments one after the other. */
export function plainGae(one: GaeCase): { advantages: Float64Array; returns: Float64Array } {
  const { rewards, values, dones, last } = one.arrays as { [name: string]: ArrayLike<number> };
  const { steps, items } = one;
  const [advantages, returns] = [new Float64Array(items), new Float64Array(items)];
  for (let e = 0; e * steps < items; e++) {
    let advantage = 0;
    let next = last?.[e] as number;
    for (let t = steps - 1; t >= 0; t--) {
      const i = e * steps + t;
      const live = dones?.[i] ? 0 : 1;
      const value = values?.[i] as number;
      advantage = (rewards?.[i] as number) + GAMMA * next * live - value + GAMMA * LAMBDA * live * advantage;
      advantages[i] = advantage;
      returns[i] = advantage + value;
      next = value;
    }
  }
  return { advantages, returns };
}
