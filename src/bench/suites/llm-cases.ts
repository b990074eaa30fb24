/**
 * @file The workloads of the suite `llm`: group advantages and token KL of several sizes, in both float types.
 *
 * Ours are the public functions, called with the caller's arrays: what is timed is everything from the call to the
 * result. Peers get the same inputs.
 */
import { f32, f64 } from "../../kernel/declare.ts";
import { allocateFrom } from "../../kernel/kernel.ts";
import { groupAdvantages, tokenKl } from "../../kernels/llm/index.ts";
import type { TargetName } from "../../targets/target.ts";
import type { Tolerance } from "../gate.ts";
import type { Params } from "../result.ts";

type FloatArray = Float32Array | Float64Array;
type FloatName = "f32" | "f64";

export interface LlmCase {
  readonly name: string;
  /** Which function of the peers' script is meant. */
  readonly op: "grpo" | "exact" | "k3";
  readonly type: FloatName;
  readonly params: Params;
  readonly items: number;
  readonly arrays: { readonly [name: string]: FloatArray };
  /** The second extent: group size, or tokens per sequence. */
  readonly width: number;
  /** A call on a target, and the array it fills. */
  readonly on: (target: TargetName) => { readonly run: () => unknown; readonly out: FloatArray };
  /** The definition, in doubles. */
  readonly expected: () => Float64Array;
  readonly tolerance: Tolerance;
}

const GROUPS: readonly (readonly [groups: number, size: number])[] = [
  [16, 4],
  [64, 8],
  [256, 16],
  [1024, 32],
];
const SEQUENCES: readonly (readonly [sequences: number, length: number])[] = [
  [1, 128],
  [1, 512],
  [1, 2048],
  [1, 8192],
  [32, 2048],
];
const TYPES: readonly FloatName[] = ["f32", "f64"];

/** Numbers in [0, 1) without a visible pattern. */
const noise = (i: number, seed: number): number => {
  const x = Math.sin(i * 12.9898 + seed) * 43758.5453;
  return x - Math.floor(x);
};

function floats(type: FloatName, length: number, at: (i: number) => number): FloatArray {
  const values = Array.from({ length }, (_, i) => Math.fround(at(i)));
  return type === "f32" ? allocateFrom(f32, values) : allocateFrom(f64, values);
}

const tolerance = (type: FloatName): Tolerance =>
  type === "f32" ? { absolute: 2e-4, relative: 2e-4 } : { absolute: 1e-7, relative: 1e-7 };

/** Centred and divided by the deviation, group by group. */
function plainGroups(rewards: ArrayLike<number>, size: number): Float64Array {
  return Float64Array.from({ length: rewards.length }, (_, i) => {
    const first = i - (i % size);
    const group = Array.from({ length: size }, (__, k) => rewards[first + k] as number);
    const mean = group.reduce((a, b) => a + b, 0) / size;
    const deviation = Math.sqrt(group.reduce((sum, x) => sum + (x - mean) ** 2, 0) / size);
    return ((rewards[i] as number) - mean) / deviation;
  });
}

/** Sums over each sequence: e^p (p - q), or e^r - r - 1 with r = p - q. */
function plainKl(op: "exact" | "k3", p: ArrayLike<number>, q: ArrayLike<number>, length: number): Float64Array {
  const sums = new Float64Array(p.length / length);
  for (let i = 0; i < p.length; i++) {
    const [a, r] = [p[i] as number, (p[i] as number) - (q[i] as number)];
    const s = Math.floor(i / length);
    sums[s] = (sums[s] as number) + (op === "exact" ? Math.exp(a) * r : Math.exp(r) - r - 1);
  }
  return sums;
}

function groupCase(type: FloatName, groups: number, size: number): LlmCase {
  const rewards = floats(type, groups * size, (i) => noise(i, 1));
  return {
    name: `grpo ${groups}x${size} ${type}`,
    op: "grpo",
    type,
    params: { groups, size, type },
    items: groups * size,
    arrays: { rewards },
    width: size,
    on: (target) => {
      const out = floats(type, groups * size, () => 0);
      const input = { rewards, groupSize: size, out: { advantages: out } };
      const options = { target, threads: 1 };
      return { out, run: () => groupAdvantages(input, options) };
    },
    expected: () => plainGroups(rewards, size),
    tolerance: tolerance(type),
  };
}

function klCase(type: FloatName, op: "exact" | "k3", sequences: number, length: number): LlmCase {
  const policy = floats(type, sequences * length, (i) => -4 * noise(i, 2) - 0.05);
  const reference = floats(type, sequences * length, (i) => (policy[i] as number) + 0.6 * (noise(i, 3) - 0.5));
  const shape = sequences === 1 ? `${length}` : `${sequences}x${length}`;
  return {
    name: `kl ${op} ${shape} ${type}`,
    op,
    type,
    params: { sequences, length, type },
    items: sequences * length,
    arrays: { policy, reference },
    width: length,
    on: (target) => {
      const out = floats(type, sequences, () => 0);
      const input = { policy, reference, length, out: { kl: out } };
      // k3 in the direction in which the peers compute it: e^r - r - 1 with r = policy - reference.
      const direction = op === "k3" ? ("reference||policy" as const) : ("policy||reference" as const);
      const options = { estimator: op, direction, target, threads: 1 };
      return { out, run: () => tokenKl(input, options) };
    },
    expected: () => plainKl(op, policy, reference, length),
    tolerance: tolerance(type),
  };
}

export function llmCases(): LlmCase[] {
  const groups = GROUPS.flatMap(([count, size]) => TYPES.map((type) => groupCase(type, count, size)));
  const kls = SEQUENCES.flatMap(([count, length]) =>
    (["exact", "k3"] as const).flatMap((op) => TYPES.map((type) => klCase(type, op, count, length))),
  );
  return [...groups, ...kls];
}
