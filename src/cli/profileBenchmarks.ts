/**
 * @file The micro-benchmarks of a profile: single operations of the data plane, each the library's own function on
 * arrays that stay in place, timed in batches; the median of many samples.
 */
import { type LocalArm, measure, QUICK, type TimingOptions } from "../bench/timing.ts";
import { ReplayBuffer } from "../buffers/index.ts";
import type { Environment } from "../envs/define.ts";
import { sample } from "../envs/spaces.ts";
import { VecEnv } from "../envs/vector/vecEnv.ts";
import { f32, u8 } from "../kernel/declare.ts";
import { allocate } from "../kernel/kernel.ts";
import { gae } from "../kernels/estimators/index.ts";
import { tokenKl } from "../kernels/llm/index.ts";
import { HostStream } from "../random/index.ts";
import { quantile, sortedCopy } from "../stats/index.ts";
import type { TargetName } from "../targets/target.ts";
import type { MicroBenchmark } from "../train/profile.ts";

const ENVIRONMENTS = 64;
const ROLLOUT = { environments: 8, steps: 128 } as const;
const REPLAY = { capacity: 100_000, observation: 4, action: 1, batch: 8, sample: 256 } as const;
const TOKENS = { sequences: 32, length: 2048 } as const;

export interface Where {
  readonly target: TargetName;
  readonly threads: number;
}
interface Benchmark extends LocalArm {
  readonly dispose?: () => void;
}

/** Actions for all environments, drawn once. */
function actionsFor(env: Environment): number[] {
  const stream = new HostStream(1, 0);
  return Array.from({ length: ENVIRONMENTS }, () => sample(env.action, stream)).flatMap((one) =>
    typeof one === "number" ? [one] : Array.from(one),
  );
}

function stepping(env: Environment, where: Where): Benchmark {
  const vector = new VecEnv(env, ENVIRONMENTS, { seed: 1, ...where });
  vector.reset();
  const drawn = actionsFor(env);
  const actions = env.action.kind === "box" ? Float32Array.from(drawn) : Int32Array.from(drawn);
  const framework = `VecEnv.step, ${ENVIRONMENTS} x ${env.id}`;
  return { framework, run: () => vector.step(actions), dispose: () => vector.dispose() };
}

/** Rows of transitions, side by side. */
function transitions(rows: number) {
  const filled = (count: number): Float32Array => Float32Array.from({ length: count }, (_, k) => Math.sin(k));
  return {
    observation: filled(rows * REPLAY.observation),
    action: filled(rows * REPLAY.action),
    reward: filled(rows),
    terminated: new Uint8Array(rows),
    truncated: new Uint8Array(rows),
    nextObservation: filled(rows * REPLAY.observation),
  };
}

function replaying({ target }: Where): Benchmark[] {
  const { capacity, observation, action } = REPLAY;
  const buffer = new ReplayBuffer({ capacity, observation, action, seed: 1, target });
  const [one, several] = [transitions(1), transitions(REPLAY.batch)];
  const single = { ...one, reward: 1, terminated: false, truncated: false };
  // A sample is drawn from a full buffer.
  buffer.pushBatch(transitions(capacity), capacity);
  return [
    { framework: "ReplayBuffer.push, single", run: () => buffer.push(single) },
    { framework: `ReplayBuffer.pushBatch, ${REPLAY.batch} rows`, run: () => buffer.pushBatch(several, REPLAY.batch) },
    { framework: `ReplayBuffer.sample, ${REPLAY.sample} rows`, run: () => buffer.sample(REPLAY.sample) },
  ];
}

function estimating({ target, threads }: Where): Benchmark {
  const { environments, steps } = ROLLOUT;
  const count = environments * steps;
  const column = (size: number): Float32Array => allocate(f32, size);
  const input = {
    rewards: column(count).fill(1),
    values: column(count).fill(0.5),
    terminated: allocate(u8, count),
    lastValues: column(environments),
    out: { advantages: column(count), returns: column(count) },
  };
  const run = () => gae(input, { gamma: 0.99, lambda: 0.95, target, threads });
  return { framework: `gae, ${environments} x ${steps}`, run };
}

function diverging({ target, threads }: Where): Benchmark {
  const { sequences, length } = TOKENS;
  const [policy, reference] = [allocate(f32, sequences * length), allocate(f32, sequences * length)];
  for (let k = 0; k < policy.length; k++) {
    policy[k] = -1 - Math.abs(Math.sin(k));
    reference[k] = -1 - Math.abs(Math.cos(k));
  }
  const out = { kl: allocate(f32, sequences) };
  const run = () => tokenKl({ policy, reference, length, out }, { estimator: "k3", target, threads });
  return { framework: `tokenKl (k3), ${sequences} x ${length}`, run };
}

/** The six operations on a target. */
export async function microBenchmarks(
  env: Environment,
  where: Where,
  timing: TimingOptions = QUICK,
): Promise<MicroBenchmark[]> {
  const arms = [stepping(env, where), ...replaying(where), estimating(where), diverging(where)];
  try {
    const samples = await measure(arms, timing);
    return arms.map(({ framework: name }) => {
      const sorted = sortedCopy(samples.get(name) ?? []);
      const at = (share: number): number => quantile(sorted, share) / 1000;
      return { name, median_us: at(0.5), p25_us: at(0.25), p75_us: at(0.75) };
    });
  } finally {
    for (const { dispose } of arms) dispose?.();
  }
}
