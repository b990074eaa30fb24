/**
 * @file The suite `gae`: advantages of one trajectory at five lengths and of batches, on our targets and against
 * rlox, NumPy and TorchRL. Everything is timed from the JavaScript call to the result, on one thread; outputs are the
 * caller's own arrays. Batches name their layout: ours are measured in both, bars are about the step-major one.
 */
import type { TargetName } from "../../targets/target.ts";
import { EXACT, gate, type Tolerance } from "../gate.ts";
import type { BarSpec } from "../result.ts";
import type { Recorder, Samples, Suite } from "../suite.ts";
import { BenchTargets } from "../targets.ts";
import type { Arm } from "../timing.ts";
import { type GaeCase, gaeCases, plainGae, type Side } from "./gae-cases.ts";
import { expectedGae, startGaePeers } from "./gae-peers.ts";

const TARGETS: readonly TargetName[] = ["native", "wasm"];

/** What the suite promises against rlox, by workload. */
const BARS: { readonly [workload: string]: { readonly native: number; readonly wasm: number } } = {
  "gae 2048 f64": { native: 3, wasm: 2 },
  "gae 32768 f64": { native: 3.5, wasm: 2 },
  "gae 256x2048 f32": { native: 4, wasm: 3 },
};
/** The blocked scan and the plain loop round differently. */
const PLAIN: { readonly f64: Tolerance; readonly f32: Tolerance } = {
  f64: { relative: 1e-12, absolute: 1e-12 },
  f32: { relative: 1e-4, absolute: 1e-4 },
};

/** Environments one after the other, whatever the layout. */
function byRow(one: GaeCase, side: Side, values: ArrayLike<number>): ArrayLike<number> {
  if (!side.framework.endsWith("step-major")) return values;
  const { steps, environments } = one;
  return Float64Array.from({ length: one.items }, (_, i) => {
    const [e, t] = [Math.floor(i / steps), i % steps];
    return values[t * environments + e] as number;
  });
}

/** Every side against the plain loop, and our targets against each other bit for bit. */
function checkSides(one: GaeCase, sides: readonly Side[]): void {
  const wanted = plainGae(one);
  const tolerance = PLAIN[one.environments > 0 ? "f32" : "f64"];
  for (const side of sides) {
    side.run();
    for (const name of ["advantages", "returns"] as const)
      gate(`${one.name}, ${side.framework}`, byRow(one, side, side.outputs[name]), wanted[name], tolerance);
  }
  const kind = (side: Side): string => side.framework.replace(/^\w+/, "");
  for (const [k, side] of sides.entries())
    for (const other of sides.slice(k + 1))
      if (kind(side) === kind(other))
        gate(`${side.framework} against ${other.framework}`, side.outputs.advantages, other.outputs.advantages, EXACT);
}

/** Our sides of a workload, on the targets that there are. */
function sidesOf(one: GaeCase, targets: BenchTargets): Side[] {
  return targets
    .sides((target) => {
      const sides = one.on(target);
      for (const side of sides) side.run();
      return sides;
    })
    .flat();
}

/** Ratios to every peer, and bars against rlox. */
function record(recorder: Recorder, one: GaeCase, samples: Samples, targets: BenchTargets): void {
  const { name, environments } = one;
  const rlox = environments > 0 ? "rlox env-major" : "rlox";
  const peers = [...samples.keys()].filter((framework) => !TARGETS.some((target) => framework.startsWith(target)));
  for (const target of TARGETS) {
    const framework = environments > 0 ? `${target} step-major` : target;
    const ratio = recorder.compare(`${name}/${target}`, samples, framework, rlox);
    for (const peer of peers) if (peer !== rlox) recorder.compare(`${name}/${target}`, samples, framework, peer);
    const limit = BARS[name]?.[target as "native" | "wasm"];
    if (limit === undefined) continue;
    const what =
      environments > 0 ? `${name}, ${framework}, against rlox (env-major)` : `${name}, ${target}, against rlox`;
    const spec: BarSpec = { id: `${target}/${name.replaceAll(" ", "-")}`, what, relation: ">=", limit, unit: "x" };
    recorder.bar(spec, ratio, targets.reason(target));
  }
}

async function run(recorder: Recorder): Promise<void> {
  const cases = gaeCases();
  const targets = new BenchTargets(recorder, TARGETS);
  const peers = await startGaePeers(recorder, cases);
  try {
    for (const one of cases) {
      const sides = sidesOf(one, targets);
      const { name, params, items } = one;
      const arms: Arm[] = [
        ...sides.map(({ framework, run: call }) => ({ framework, run: call })),
        ...peers.arms(name, expectedGae(one)),
      ];
      const check = (): void => checkSides(one, sides);
      const samples = await recorder.workload({ name, category: "gae", params, items, arms, gate: check });
      record(recorder, one, samples, targets);
    }
  } finally {
    peers.close();
  }
}

export const gaeSuite: Suite = {
  name: "gae",
  what: "generalised advantage estimation, against rlox, NumPy and TorchRL",
  run,
};
