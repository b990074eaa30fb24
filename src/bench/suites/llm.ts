/**
 * @file The suite `llm`: group advantages and token KL on our targets, and against the fastest of the peers that
 * computes in the same float type. All sides run on one thread. Ours are held against the definition in doubles and
 * against each other bit for bit, peers against ours.
 */
import { LockstepError } from "../../platform/errors.ts";
import type { TargetName } from "../../targets/target.ts";
import { EXACT, gate } from "../gate.ts";
import type { BarSpec } from "../result.ts";
import { medianOf, type Recorder, type Samples, type Suite } from "../suite.ts";
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
function sidesOf(one: LlmCase, missing: Map<string, string>): Side[] {
  return TARGETS.flatMap((target) => {
    try {
      const side = one.on(target);
      side.run();
      return [{ framework: target, ...side }];
    } catch (error) {
      if (!(error instanceof LockstepError)) throw error;
      missing.set(target, error.message);
      return [];
    }
  });
}

/** The peer with the lowest median. */
function fastestPeer(samples: Samples): string | undefined {
  const medians = PEERS.map((name) => ({ name, ns: medianOf(samples, name) ?? Number.POSITIVE_INFINITY }));
  medians.sort((a, b) => a.ns - b.ns);
  const best = medians[0];
  return best === undefined || !Number.isFinite(best.ns) ? undefined : best.name;
}

function record(recorder: Recorder, name: string, samples: Samples, missing: ReadonlyMap<string, string>): void {
  const best = fastestPeer(samples);
  for (const target of TARGETS) {
    const ratio = best && recorder.compare(`${name}/${target}`, samples, target, best);
    const limit = BARS[name]?.[target as "native" | "wasm"];
    if (limit === undefined) continue;
    const what = `${name}, ${target}, against the fastest peer${best === undefined ? "" : ` (${best})`}`;
    const spec: BarSpec = { id: `${target}/${name.replaceAll(" ", "-")}`, what, relation: ">=", limit, unit: "x" };
    const reason = missing.get(target) ?? (recorder.options.peers ? undefined : "needs --peers");
    recorder.bar(spec, ratio || undefined, reason);
  }
}

async function run(recorder: Recorder): Promise<void> {
  const cases = llmCases();
  const missing = new Map<string, string>();
  const peers = await startLlmPeers(recorder, cases);
  try {
    for (const one of cases) {
      const { name, params, items, tolerance } = one;
      const [first, ...others] = sidesOf(one, missing);
      if (first === undefined) continue;
      const check = (): void => {
        gate(`${name} on ${first.framework}`, first.out, one.expected(), tolerance);
        for (const other of others) gate(`${name} on ${other.framework}`, first.out, other.out, EXACT);
      };
      const arms: Arm[] = [first, ...others, ...peers.arms(name, { outputs: { out: first.out }, tolerance })];
      record(
        recorder,
        name,
        await recorder.workload({ name, category: "llm", params, items, arms, gate: check }),
        missing,
      );
    }
  } finally {
    peers.close();
  }
  for (const [target, reason] of missing) recorder.skip(target, reason);
}

export const llmSuite: Suite = {
  name: "llm",
  what: "group advantages and token KL, against rlox, NumPy and PyTorch",
  run,
};
