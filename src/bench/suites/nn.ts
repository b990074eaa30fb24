/**
 * @file The suite `nn`: networks that act and steps of training against PyTorch, on one thread; matrix products against
 * the machine's peak; threads; compile times; and a step of regression against other libraries of JavaScript.
 */
import type { TargetName } from "../../targets/target.ts";
import { EXACT, gate } from "../gate.ts";
import { readingOf } from "../peak.ts";
import type { PythonPeers } from "../python.ts";
import { fastestOf, type Recorder, type Samples, type Suite } from "../suite.ts";
import { BenchTargets } from "../targets.ts";
import type { Arm } from "../timing.ts";
import { type NnCase, type NnSide, nnCases } from "./nn-cases.ts";
import { measureBuilding, measureProducts, measureThreads } from "./nn-costs.ts";
import { measureNewerNode } from "./nn-node.ts";
import { expectedNn, startNnPeers, WHOLE_STEP } from "./nn-peers.ts";
import { measureLibraries } from "./nn-script.ts";

const TARGETS: readonly TargetName[] = ["native", "wasm"];

/** What is promised against the fastest way of PyTorch, by workload; wasm is only reported where there is no number. */
const BARS: { readonly [name: string]: { readonly native: number; readonly wasm?: number } } = {
  "PPO step 64": { native: 10, wasm: 4.5 },
  "PPO step 256": { native: 5, wasm: 2.2 },
  "DQN step 64": { native: 10, wasm: 3 },
  "DQN step 256": { native: 5, wasm: 2.5 },
  "critic step 64": { native: 1.8 },
  "critic step 256": { native: 1.4 },
  "act 1": { native: 20, wasm: 10 },
  "q values 1": { native: 20, wasm: 10 },
  "SAC sample 1": { native: 10, wasm: 4 },
  "TD3 act 1": { native: 10, wasm: 4 },
};
/** Larger batches have to be faster, by how much is not said. */
const FASTER = /^(act|q values|SAC sample|TD3 act) (32|256)$/;

/** Weights that the nearest cache does not hold, for one observation: nothing is faster than reading them. */
const READ_ONCE = /^(SAC sample|TD3 act) 1$/;

/** What reads as many numbers as there are parameters, on every target. */
const readings = (sides: readonly NnSide[], targets: readonly TargetName[]) =>
  sides.flatMap(({ parameters }, k) => {
    const target = targets[k] as TargetName;
    const made = readingOf(target, parameters.arena.array.length);
    return made ? [{ ...made, target, framework: `${target}, reading its weights` }] : [];
  });

interface Run {
  readonly recorder: Recorder;
  readonly all: BenchTargets;
  readonly targets: readonly TargetName[];
}

type Values = { readonly [name: string]: ArrayLike<number> };
const copied = (values: Values): Values =>
  Object.fromEntries(Object.entries(values).map(([name, array]) => [name, Float64Array.from(array)]));

/** What was drawn is what the log-probability is of. */
function checkDrawn({ logits, action, logProb }: Values): void {
  if (!logits || !action || !logProb) return;
  const wanted = Array.from(action, (a, row) => {
    const [x, y] = [logits[2 * row] as number, logits[2 * row + 1] as number];
    return (a ? y : x) - Math.log(Math.exp(x) + Math.exp(y));
  });
  gate("log-probabilities of what was drawn", logProb, wanted, { absolute: 1e-5, relative: 1e-5 });
}

/** First runs of our sides: the same bits on all targets. */
function firstOutputs(name: string, sides: readonly NnSide[]): Values {
  const [first, ...others] = sides.map((side) => {
    side.run();
    return copied(side.outputs());
  });
  for (const other of others)
    for (const [key, values] of Object.entries(other)) gate(`${name}, ${key}`, values, first?.[key] ?? [], EXACT);
  checkDrawn(first ?? {});
  return first ?? {};
}

/** Ratios to every way of PyTorch, and bars against the fastest of the usual ones. */
function record({ recorder, all }: Run, { name }: NnCase, samples: Samples): void {
  const ways = [...samples.keys()].filter((framework) => framework.startsWith("torch"));
  const best = fastestOf(
    samples,
    ways.filter((way) => way !== WHOLE_STEP),
  );
  for (const target of TARGETS) {
    for (const way of ways) if (way !== best) recorder.compare(`${name}/${target}`, samples, target, way);
    const ratio = best && recorder.compare(`${name}/${target}`, samples, target, best);
    const limit =
      BARS[name]?.[target as "native" | "wasm"] ?? (FASTER.test(name) && target === "native" ? 1 : undefined);
    if (limit === undefined) continue;
    const what = `${name}, ${target}, against ${best ?? "PyTorch"}`;
    const id = `${target}/${name.replaceAll(" ", "-")}`;
    recorder.bar({ id, what, relation: ">=", limit, unit: "x" }, ratio || undefined, all.reason(target));
  }
}

async function measureCase(run: Run, one: NnCase, sides: readonly NnSide[], peers: PythonPeers): Promise<void> {
  const { recorder, targets } = run;
  const { name, batch } = one;
  let first: Values = {};
  const agree = recorder.passes(name, () => {
    first = firstOutputs(name, sides);
  });
  if (!agree) return;
  const limits = READ_ONCE.test(name) ? readings(sides, targets) : [];
  const arms: Arm[] = [
    ...sides.map((side, k) => ({ framework: targets[k] as string, run: side.run })),
    ...limits,
    ...peers.arms(name, expectedNn(one, first)),
  ];
  const samples = await recorder.workload({ name, category: "nn", params: { batch }, items: batch, arms });
  record(run, one, samples);
  for (const { target, framework, dispose } of limits) {
    recorder.compare(`${name}/${target}`, samples, target, framework);
    dispose();
  }
  for (const { program, parameters } of sides) {
    program.dispose();
    parameters.dispose();
  }
}

async function measureNetworks(run: Run): Promise<void> {
  const made = new Map(nnCases().map((one) => [one, run.targets.map((target) => one.make({ target }))] as const));
  const firsts = new Map([...made].flatMap(([one, [side]]) => (side ? [[one, side] as const] : [])));
  const peers = await startNnPeers(run.recorder, firsts);
  try {
    for (const [one, sides] of made) await measureCase(run, one, sides, peers);
  } finally {
    peers.close();
  }
}

async function runAll(recorder: Recorder): Promise<void> {
  const all = new BenchTargets(recorder, TARGETS);
  const run: Run = { recorder, all, targets: all.present };
  await measureNetworks(run);
  await measureProducts(recorder, all);
  await measureThreads(recorder, all);
  await measureLibraries(recorder, all);
  await measureNewerNode(recorder, all);
  measureBuilding(recorder, all);
}

export const nnSuite: Suite = {
  name: "nn",
  what: "networks and steps of training, against PyTorch and libraries of JavaScript",
  run: runAll,
};
