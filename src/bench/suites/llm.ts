/**
 * @file The suite `llm`: group advantages and token KL on our targets, and against the fastest of the peers that
 * computes in the same float type. All sides run on one thread. Ours are held against the definition in doubles and
 * against each other bit for bit, peers against ours.
 */
import type { TargetName } from "../../targets/target.ts";
import { EXACT, gate } from "../gate.ts";
import type { BarSpec } from "../result.ts";
import { fastestOf, type Recorder, type Samples, type Suite } from "../suite.ts";
import { BenchTargets } from "../targets.ts";
import type { Arm } from "../timing.ts";
import { type LlmCase, llmCases } from "./llm-cases.ts";
import { startLlmPeers } from "./llm-peers.ts";

const TARGETS: readonly TargetName[] = ["native", "wasm"];
const PEERS = ["rlox", "numpy", "torch"] as const;

/** What the suite promises against the fastest peer, by workload. */
const BARS: { readonly [workload: string]: { readonly [T in "native" | "wasm"]: number } } = {
  "grpo 256x16 f64": { native: 3, wasm: 1.5 },
  "grpo 1024x32 f64": { native: 3, wasm: 1.5 },
  "kl exact 8192 f32": { native: 3, wasm: 1.4 },
  "kl k3 8192 f32": { native: 3, wasm: 1.4 },
  "kl exact 32x2048 f32": { native: 3, wasm: 1 },
  "kl k3 32x2048 f32": { native: 3, wasm: 1 },
};

interface Side {
  readonly framework: TargetName;
  readonly run: () => unknown;
  readonly out: ArrayLike<number>;
}

/** Our sides of a workload, on the targets that there are; each has run once. */
function sidesOf(one: LlmCase, targets: BenchTargets): Side[] {
  return targets.sides((target) => {
    const side = one.on(target);
    side.run();
    return { framework: target, ...side };
  });
}

function record(recorder: Recorder, name: string, samples: Samples, targets: BenchTargets): void {
  const best = fastestOf(samples, PEERS);
  for (const target of TARGETS) {
    const ratio = best && recorder.compare(`${name}/${target}`, samples, target, best);
    const limit = BARS[name]?.[target as "native" | "wasm"];
    if (limit === undefined) continue;
    const what = `${name}, ${target}, against the fastest peer${best === undefined ? "" : ` (${best})`}`;
    const spec: BarSpec = { id: `${target}/${name.replaceAll(" ", "-")}`, what, relation: ">=", limit, unit: "x" };
    recorder.bar(spec, ratio || undefined, targets.reason(target));
  }
}

async function run(recorder: Recorder): Promise<void> {
  const cases = llmCases();
  const targets = new BenchTargets(recorder, TARGETS);
  const peers = await startLlmPeers(recorder, cases);
  try {
    for (const one of cases) {
      const { name, params, items, tolerance } = one;
      const [first, ...others] = sidesOf(one, targets);
      if (first === undefined) continue;
      const check = (): void => {
        gate(`${name} on ${first.framework}`, first.out, one.expected(), tolerance);
        for (const other of others) gate(`${name} on ${other.framework}`, first.out, other.out, EXACT);
      };
      const arms: Arm[] = [first, ...others, ...peers.arms(name, { outputs: { out: first.out }, tolerance })];
      const samples = await recorder.workload({ name, category: "llm", params, items, arms, gate: check });
      record(recorder, name, samples, targets);
    }
  } finally {
    peers.close();
  }
}

export const llmSuite: Suite = {
  name: "llm",
  what: "group advantages and token KL, against rlox, NumPy and PyTorch",
  run,
};
