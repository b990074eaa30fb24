/**
 * @file The suite `buffers`: pushing, sampling and prioritised sampling, from the JavaScript call to the result, against
 * rlox and Stable-Baselines3. What each side gives is said in buffers-cases.ts.
 *
 * All arms are interleaved. A hundred thousand transitions each do not fit together into the caches of one core, so
 * each arm's first calls of a sample meet cold rows: ours and the peers' alike.
 */

import { quantile } from "../../stats/index.ts";
import type { TargetName } from "../../targets/target.ts";
import { EXACT, gate } from "../gate.ts";
import type { PythonPeers } from "../python.ts";
import type { BarSpec } from "../result.ts";
import { fastestOf, type Recorder, type Samples, type Suite, type Workload } from "../suite.ts";
import { BenchTargets } from "../targets.ts";
import type { Arm } from "../timing.ts";
import {
  BATCHES,
  checkBatch,
  filledPrioritized,
  filledReplay,
  IMAGE,
  IMAGE_CAPACITY,
  IMAGE_PUSHES,
  imagePusher,
  OBSERVATION,
  PRIORITIZED_BATCH,
  PUSHES,
  pushers,
  STORED,
} from "./buffers-cases.ts";
import { ALL_RIGHT, startBufferPeers } from "./buffers-peers.ts";

const TARGETS: readonly TargetName[] = ["native", "wasm", "js"];
const LATENCY_CALLS = 2000;
const RLOX = "rlox";
const SB3 = "stable-baselines3";
const OURS = "lockstep";
const OBJECTS = "lockstep, objects";
const ONCE = "lockstep, f32 stored once";
const SEPARATE = "lockstep, f32";
const BYTES = "lockstep, u8 stored once";

type Found = Map<string, Samples>;

/** What is measured, and with whom. */
interface Run {
  readonly recorder: Recorder;
  readonly peers: PythonPeers;
  readonly found: Found;
  /** Targets that there are. */
  readonly targets: readonly TargetName[];
}

/** Our arms and the peers' in turns; the samples are kept under the workload's name. */
async function measureArms(
  run: Run,
  workload: Pick<Workload, "name" | "params" | "items"> & { readonly gate: () => void },
  ours: readonly Arm[],
): Promise<void> {
  const arms = [...ours, ...run.peers.arms(workload.name, ALL_RIGHT)];
  run.found.set(workload.name, await run.recorder.workload({ ...workload, category: "buffers", arms }));
}

async function measurePushes(run: Run): Promise<void> {
  const { slices, records, check } = pushers();
  const runOnce = (): void => {
    slices();
    check();
    records();
    check();
  };
  const params = { observation: OBSERVATION, pushes: PUSHES };
  await measureArms(run, { name: "push", params, items: PUSHES, gate: runOnce }, [
    { framework: OURS, run: slices },
    { framework: OBJECTS, run: records },
  ]);
}

/** How many times the bytes of u8 an f32 buffer takes: for observations, and with all other columns. */
interface Memory {
  readonly observations: number;
  readonly all: number;
}

/** Pushes of images. */
async function measureImages(run: Run): Promise<Memory> {
  const made = {
    [ONCE]: imagePusher("f32", "once"),
    [SEPARATE]: imagePusher("f32", "separate"),
    [BYTES]: imagePusher("u8", "once"),
  };
  const check = (): void => {
    for (const one of Object.values(made)) {
      // Twice: the second round writes to memory that the first has touched.
      one.run();
      one.run();
      one.check();
    }
  };
  const params = { observation: IMAGE, capacity: IMAGE_CAPACITY, pushes: IMAGE_PUSHES };
  const arms = Object.entries(made).map(([framework, { run: push }]): Arm => ({ framework, run: push }));
  await measureArms(run, { name: "images", params, items: IMAGE_PUSHES, gate: check }, arms);
  const [floats, bytes] = [made[ONCE].bytes, made[BYTES].bytes];
  for (const one of Object.values(made)) one.dispose();
  return { observations: floats.observations / bytes.observations, all: floats.all / bytes.all };
}

/** Medians over batches of calls, then every call by itself. */
async function measureSamples(run: Run): Promise<void> {
  const buffers = run.targets.map((target) => ({ target, buffer: filledReplay(target) }));
  for (const size of BATCHES) {
    const check = (): void => {
      let drawn: Int32Array | undefined;
      for (const { target, buffer } of buffers) {
        buffer.calls = 0;
        const batch = buffer.sample(size);
        checkBatch(target, batch);
        drawn ??= Int32Array.from(batch.index);
        gate(`index, ${target}`, batch.index, drawn, EXACT);
      }
    };
    const name = `sample/${size}`;
    const params = { stored: STORED, observation: OBSERVATION, batch: size };
    const arms = buffers.map(({ target, buffer }): Arm => ({ framework: target, run: () => buffer.sample(size) }));
    await measureArms(run, { name, params, items: 1, gate: check }, arms);
    const all = [...arms, ...run.peers.arms(name, ALL_RIGHT)];
    const latency = { name: `latency/${size}`, category: "buffers", params, items: 1, arms: all };
    run.found.set(latency.name, await run.recorder.latencies(latency, LATENCY_CALLS));
  }
  for (const { buffer } of buffers) buffer.dispose();
}

async function measurePrioritized(run: Run): Promise<void> {
  const priorities = Float64Array.from({ length: PRIORITIZED_BATCH }, (_, k) => 0.1 + ((k * 37) % 101) / 101);
  const sides = run.targets.map((target) => {
    const buffer = filledPrioritized(target);
    const once = (): void => buffer.updatePriorities(buffer.sample(PRIORITIZED_BATCH).index, priorities);
    return { target, buffer, once };
  });
  const check = (): void => {
    for (const { target, buffer, once } of sides) {
      checkBatch(target, buffer.sample(PRIORITIZED_BATCH));
      once();
      gate(`tree, ${target}`, buffer.tree.sums, sides[0]?.buffer.tree.sums ?? [], EXACT);
    }
  };
  const params = { stored: STORED, observation: OBSERVATION, batch: PRIORITIZED_BATCH, alpha: 0.6, beta: 0.4 };
  const arms = sides.map(({ target, once }): Arm => ({ framework: target, run: once }));
  await measureArms(run, { name: "prioritized", params, items: 1, gate: check }, arms);
  for (const { buffer } of sides) buffer.dispose();
}

const p99 = (ns: readonly number[]): number =>
  quantile(
    [...ns].sort((a, b) => a - b),
    0.99,
  );

interface Bars {
  readonly recorder: Recorder;
  readonly found: Found;
  readonly reason: (arm: string) => string | undefined;
}

function ratioBar(bars: Bars, name: string, ours: string, baseline: string, limit: number, what: string): void {
  const samples = bars.found.get(name) ?? new Map();
  const measured = bars.recorder.compare(`${name}/${ours}`, samples, ours, baseline);
  const id = `${ours.replace(/[ ,]+/g, "-")}/${name}`;
  const spec: BarSpec = { id, what: `${what}, against ${baseline}`, relation: ">=", limit, unit: "x" };
  bars.recorder.bar(spec, measured, bars.reason(ours));
}

function latencyBar(bars: Bars, size: number, target: TargetName): void {
  const samples = bars.found.get(`latency/${size}`);
  const [ours, theirs] = [samples?.get(target), samples?.get(RLOX)];
  const what = `sample ${size} of ${STORED}, 99th percentile of ${LATENCY_CALLS} calls, against ${RLOX}`;
  const spec: BarSpec = { id: `${target}/latency/${size}`, what, relation: ">=", limit: 2, unit: "x" };
  bars.recorder.bar(spec, ours && theirs ? p99(theirs) / p99(ours) : undefined, bars.reason(target));
}

const SAMPLE_BARS: { readonly [size: number]: number } = { 32: 3, 256: 3, 1024: 2.5 };

function recordBars(bars: Bars, memory: Memory): void {
  ratioBar(
    bars,
    "push",
    OURS,
    RLOX,
    5,
    `push ${PUSHES} transitions of ${OBSERVATION} numbers with next ones (JavaScript, whatever the target)`,
  );
  const images = bars.found.get("images") ?? new Map();
  const fastest = fastestOf(images, [RLOX, SB3]) ?? RLOX;
  ratioBar(bars, "images", ONCE, fastest, 1.3, `push ${IMAGE_PUSHES} transitions of ${IMAGE} observations`);
  bars.recorder.compare("images/separate", images, SEPARATE, fastest);
  bars.recorder.compare("images/bytes", images, BYTES, fastest);
  // Rewards, flags and the like take the same room beside both, so that whole buffers stay just below.
  const what = `memory of images' observations, f32 over u8 (with all other columns ${memory.all.toFixed(4)})`;
  bars.recorder.bar({ id: "memory/u8", what, relation: ">=", limit: 4, unit: "x" }, memory.observations);
  for (const size of BATCHES) {
    ratioBar(bars, `sample/${size}`, "native", RLOX, SAMPLE_BARS[size] ?? 3, `sample ${size} of ${STORED}, native`);
    ratioBar(bars, `sample/${size}`, "wasm", RLOX, 2, `sample ${size} of ${STORED}, wasm`);
    latencyBar(bars, size, "native");
    latencyBar(bars, size, "wasm");
  }
  ratioBar(bars, "prioritized", "native", RLOX, 5, `sample and update ${PRIORITIZED_BATCH} prioritised, native`);
  ratioBar(bars, "prioritized", "wasm", RLOX, 3, `sample and update ${PRIORITIZED_BATCH} prioritised, wasm`);
}

async function runAll(recorder: Recorder): Promise<void> {
  const targets = new BenchTargets(recorder, TARGETS);
  const run: Run = { recorder, peers: await startBufferPeers(recorder), found: new Map(), targets: targets.present };
  try {
    await measurePushes(run);
    await measureSamples(run);
    await measurePrioritized(run);
    const memory = await measureImages(run);
    recordBars({ recorder, found: run.found, reason: (arm) => targets.reason(arm) }, memory);
  } finally {
    run.peers.close();
  }
}

export const buffersSuite: Suite = {
  name: "buffers",
  what: "pushing, sampling and prioritised sampling, against rlox and Stable-Baselines3",
  run: runAll,
};
