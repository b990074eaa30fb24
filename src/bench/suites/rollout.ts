/**
 * @file The suite `rollout`: whole rollouts of CartPole with action 0 and values 0: steps, every result stored, and
 * advantages; ours in two calls, against rlox in the form of its own benchmark and in the fastest that it offers.
 */
import { CartPole } from "../../envs/classic/index.ts";
import { VecEnv } from "../../envs/vector/vecEnv.ts";
import { f32 } from "../../kernel/declare.ts";
import { allocate, free } from "../../kernel/kernel.ts";
import { gae } from "../../kernels/estimators/index.ts";
import type { TargetName } from "../../targets/target.ts";
import { EXACT, gate } from "../gate.ts";
import type { BarSpec } from "../result.ts";
import type { Recorder, Suite } from "../suite.ts";
import { BenchTargets } from "../targets.ts";
import { endsAs, startRolloutPeers } from "./rollout-peers.ts";

const TARGETS: readonly TargetName[] = ["native", "wasm"];
const SIZES = [
  [16, 128],
  [64, 512],
  [256, 2048],
] as const;
const LARGEST = "rollout 256x2048";
/** What the largest one promises against each form. */
const BARS: { readonly [form: string]: { readonly native: number; readonly wasm: number } } = {
  "rlox as benched": { native: 100, wasm: 40 },
  "rlox batched": { native: 15, wasm: 6 },
};

interface Side {
  readonly framework: TargetName;
  readonly run: () => unknown;
  readonly advantages: Float32Array;
  /** The share of steps that ended an episode in the last run. */
  readonly ends: () => number;
  readonly dispose: () => void;
}

function side(target: TargetName, n: number, steps: number): Side {
  const vec = new VecEnv(CartPole, n, { seed: 42, target, threads: 1 });
  vec.reset();
  const array = (length: number): Float32Array => allocate(f32, length);
  const [values, finalValues, lastValues] = [array(n * steps), array(n * steps), array(n)];
  const out = { advantages: array(n * steps), returns: array(n * steps) };
  let ended: Uint8Array = new Uint8Array(0);
  const run = (): void => {
    const { reward, terminated, truncated } = vec.collect("zero", steps);
    gae({ rewards: reward, values, terminated, truncated, finalValues, lastValues, out }, { target, threads: 1 });
    ended = terminated;
  };
  const dispose = (): void => {
    vec.dispose();
    for (const x of [values, finalValues, lastValues, out.advantages, out.returns]) free(x);
  };
  const ends = (): number => ended.reduce((sum, x) => sum + x, 0) / ended.length;
  return { framework: target, run, advantages: out.advantages, ends, dispose };
}

async function runAll(recorder: Recorder): Promise<void> {
  const targets = new BenchTargets(recorder, TARGETS);
  const peers = await startRolloutPeers(recorder, SIZES);
  try {
    for (const [n, steps] of SIZES) {
      const name = `rollout ${n}x${steps}`;
      const sides = targets.sides((target) => {
        const made = side(target, n, steps);
        made.run();
        return made;
      });
      const check = (): void => {
        for (const { framework, advantages } of sides.slice(1))
          gate(`advantages, ${framework}`, advantages, sides[0]?.advantages ?? [], EXACT);
      };
      const samples = await recorder.workload({
        name,
        category: "rollout",
        params: { environments: n, steps },
        items: n * steps,
        arms: [...sides, ...peers.arms(name, endsAs(sides[0]?.ends() ?? 0))],
        gate: check,
      });
      for (const target of TARGETS) {
        for (const [form, limits] of Object.entries(BARS)) {
          const ratio = recorder.compare(`${name}/${target}`, samples, target, form);
          if (name !== LARGEST) continue;
          const spec: BarSpec = {
            id: `${target}/${form.replaceAll(" ", "-")}`,
            what: `${name}, ${target}, against ${form}`,
            relation: ">=",
            limit: limits[target as "native" | "wasm"],
            unit: "x",
          };
          recorder.bar(spec, ratio, targets.reason(target));
        }
      }
      for (const one of sides) one.dispose();
    }
  } finally {
    peers.close();
  }
}

export const rolloutSuite: Suite = {
  name: "rollout",
  what: "steps, storing and advantages of whole rollouts, against rlox",
  run: runAll,
};
