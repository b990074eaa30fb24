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
import { type LlmCase, llmCases } from "./llm-cases.ts";
import { measureLlmPeers } from "./llm-peers.ts";

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

interface Measured {
  readonly samples: Map<string, Samples>;
  /** Our results, which peers are held against. */
  readonly results: Map<string, ArrayLike<number>>;
  readonly missing: Map<string, string>;
}

function measureOurs(recorder: Recorder, cases: readonly LlmCase[]): Measured {
  const measured: Measured = { samples: new Map(), results: new Map(), missing: new Map() };
  for (const one of cases) {
    const sides: { framework: TargetName; run: () => unknown; out: ArrayLike<number> }[] = [];
    for (const target of TARGETS) {
      if (measured.missing.has(target)) continue;
      const side = one.on(target);
      try {
        side.run();
        sides.push({ framework: target, ...side });
      } catch (error) {
        if (!(error instanceof LockstepError)) throw error;
        measured.missing.set(target, error.message);
      }
    }
    const [first, ...others] = sides;
    if (first === undefined) continue;
    const check = (): void => {
      gate(`${one.name} on ${first.framework}`, first.out, one.expected(), one.tolerance);
      for (const other of others) gate(`${one.name} on ${other.framework}`, first.out, other.out, EXACT);
    };
    const { name, params, items } = one;
    measured.results.set(name, first.out);
    measured.samples.set(name, recorder.workload({ name, category: "llm", params, items, arms: sides, gate: check }));
  }
  for (const [target, reason] of measured.missing) recorder.skip(target, reason);
  return measured;
}

/** The peer with the lowest median, and its samples among ours. */
function fastest(ours: Samples, peers: Samples | undefined): { name: string; samples: Samples } | undefined {
  const samples = new Map([...ours, ...(peers ?? [])]);
  const medians = PEERS.map((name) => ({ name, ns: medianOf(samples, name) ?? Number.POSITIVE_INFINITY }));
  medians.sort((a, b) => a.ns - b.ns);
  const best = medians[0];
  return best === undefined || !Number.isFinite(best.ns) ? undefined : { name: best.name, samples };
}

async function run(recorder: Recorder): Promise<void> {
  const cases = llmCases();
  const { samples, results, missing } = measureOurs(recorder, cases);
  const peers = recorder.options.peers ? await measureLlmPeers(recorder, cases, results) : new Map<string, Samples>();
  for (const { name } of cases) {
    const best = fastest(samples.get(name) ?? new Map(), peers.get(name));
    for (const target of TARGETS) {
      const ratio = best && recorder.compare(`${name}/${target}`, best.samples, target, best.name);
      const limit = BARS[name]?.[target as "native" | "wasm"];
      if (limit === undefined) continue;
      const what = `${name}, ${target}, against the fastest peer${best === undefined ? "" : ` (${best.name})`}`;
      const spec: BarSpec = { id: `${target}/${name.replaceAll(" ", "-")}`, what, relation: ">=", limit, unit: "x" };
      recorder.bar(spec, ratio, missing.get(target) ?? (recorder.options.peers ? undefined : "needs --peers"));
    }
  }
}

export const llmSuite: Suite = {
  name: "llm",
  what: "group advantages and token KL, against rlox, NumPy and PyTorch",
  run,
};
