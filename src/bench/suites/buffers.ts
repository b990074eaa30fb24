/**
 * @file The suite `buffers`: pushing, sampling and prioritised sampling, from the JavaScript call to the result, against
 * rlox and Stable-Baselines3. What each side gives is said in buffers-cases.ts.
 *
 * Arms that share one buffer's memory or none (pushes, images) are interleaved. Samples are not: each target is measured
 * alone, with a buffer of its own that nothing else has pushed out of the caches, which is how peers run in their own
 * process. Interleaved, a hundred thousand transitions each would evict one another between any two calls, and the
 * figures would be about that. The price: a change of the machine's speed between two targets is not evened out.
 */
import { availability } from "../../runtime/targets.ts";
import type { TargetName } from "../../targets/target.ts";
import { EXACT, gate } from "../gate.ts";
import type { BarSpec } from "../result.ts";
import { percentile } from "../statistics.ts";
import { medianOf, type Recorder, type Samples, type Suite } from "../suite.ts";
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
import { measureBufferPeers } from "./buffers-peers.ts";

const TARGETS: readonly TargetName[] = ["native", "wasm", "js"];
const LATENCY_CALLS = 2000;
const RLOX = "rlox";
const SB3 = "stable-baselines3";
const OURS = "lockstep";
const OBJECTS = "lockstep, objects";
const ONCE = "lockstep, f32 stored once";
const SEPARATE = "lockstep, f32";
const BYTES = "lockstep, u8 stored once";

type Found = Map<string, Map<string, readonly number[]>>;
type Missing = Map<string, string>;

function keep(found: Found, name: string, samples: Samples): void {
  const all = found.get(name) ?? new Map<string, readonly number[]>();
  for (const [framework, ns] of samples) all.set(framework, ns);
  found.set(name, all);
}

/** Runs `measure` for each target that is there. */
function forTargets(missing: Missing, measure: (target: TargetName) => void): void {
  for (const target of TARGETS) {
    const found = availability(target);
    if (found.target) measure(target);
    else missing.set(target, found.reason);
  }
}

function measurePushes(recorder: Recorder, found: Found): void {
  const { slices, records, check } = pushers();
  const arms: Arm[] = [
    { framework: OURS, run: slices },
    { framework: OBJECTS, run: records },
  ];
  const params = { observation: OBSERVATION, pushes: PUSHES };
  const runOnce = (): void => {
    slices();
    check();
    records();
    check();
  };
  keep(
    found,
    "push",
    recorder.workload({ name: "push", category: "buffers", params, items: PUSHES, arms, gate: runOnce }),
  );
}

/** How many times the bytes of u8 an f32 buffer takes: for observations, and with all other columns. */
interface Memory {
  readonly observations: number;
  readonly all: number;
}

/** Pushes of images. */
function measureImages(recorder: Recorder, found: Found): Memory {
  const made = {
    [ONCE]: imagePusher("f32", "once"),
    [SEPARATE]: imagePusher("f32", "separate"),
    [BYTES]: imagePusher("u8", "once"),
  };
  const arms = Object.entries(made).map(([framework, { run }]): Arm => ({ framework, run }));
  const check = (): void => {
    for (const one of Object.values(made)) {
      // Twice: the second round writes to memory that the first has touched.
      one.run();
      one.run();
      one.check();
    }
  };
  const params = { observation: IMAGE, capacity: IMAGE_CAPACITY, pushes: IMAGE_PUSHES };
  const workload = { name: "images", category: "buffers", params, items: IMAGE_PUSHES, arms, gate: check };
  keep(found, "images", recorder.workload(workload));
  const [floats, bytes] = [made[ONCE].bytes, made[BYTES].bytes];
  for (const one of Object.values(made)) one.dispose();
  return { observations: floats.observations / bytes.observations, all: floats.all / bytes.all };
}

/** Nanoseconds of every single call. */
function latencies(run: () => unknown, calls: number): number[] {
  for (let k = 0; k < calls / 10; k++) run();
  const found: number[] = [];
  for (let k = 0; k < calls; k++) {
    const begin = performance.now();
    run();
    found.push((performance.now() - begin) * 1e6);
  }
  return found;
}

/** Targets one after the other; see the header. */
function measureSamples(recorder: Recorder, found: Found, missing: Missing): void {
  const drawn = new Map<number, Int32Array>();
  forTargets(missing, (target) => {
    const buffer = filledReplay(target);
    for (const size of BATCHES) {
      const params = { stored: STORED, observation: OBSERVATION, batch: size };
      const check = (): void => {
        buffer.calls = 0;
        const batch = buffer.sample(size);
        checkBatch(target, batch);
        if (!drawn.has(size)) drawn.set(size, Int32Array.from(batch.index));
        gate(`index, ${target}`, batch.index, drawn.get(size) ?? [], EXACT);
      };
      const run = (): unknown => buffer.sample(size);
      const name = `sample/${size}`;
      const arms = [{ framework: target, run }];
      keep(found, name, recorder.workload({ name, category: "buffers", params, items: 1, arms, gate: check }));
      const ns = latencies(run, LATENCY_CALLS);
      recorder.samples({ name: `latency/${size}`, category: "buffers", framework: target, params }, ns, 1);
      keep(found, `latency/${size}`, new Map([[target, ns]]));
    }
    buffer.dispose();
  });
}

function measurePrioritized(recorder: Recorder, found: Found, missing: Missing): void {
  const priorities = Float64Array.from({ length: PRIORITIZED_BATCH }, (_, k) => 0.1 + ((k * 37) % 101) / 101);
  let sums: Float64Array | undefined;
  forTargets(missing, (target) => {
    const buffer = filledPrioritized(target);
    const run = (): void => buffer.updatePriorities(buffer.sample(PRIORITIZED_BATCH).index, priorities);
    const check = (): void => {
      checkBatch(target, buffer.sample(PRIORITIZED_BATCH));
      run();
      sums ??= Float64Array.from(buffer.tree.sums);
      gate(`tree, ${target}`, buffer.tree.sums, sums, EXACT);
    };
    const params = { stored: STORED, observation: OBSERVATION, batch: PRIORITIZED_BATCH, alpha: 0.6, beta: 0.4 };
    const arms = [{ framework: target, run }];
    const workload = { name: "prioritized", category: "buffers", params, items: 1, arms, gate: check };
    keep(found, "prioritized", recorder.workload(workload));
    buffer.dispose();
  });
}

const p99 = (ns: readonly number[]): number =>
  percentile(
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
  const peers = [RLOX, SB3].map((name) => ({ name, ns: medianOf(images, name) ?? Number.POSITIVE_INFINITY }));
  const fastest = peers.sort((a, b) => a.ns - b.ns)[0]?.name ?? RLOX;
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

async function run(recorder: Recorder): Promise<void> {
  const found: Found = new Map();
  const missing: Missing = new Map();
  measurePushes(recorder, found);
  measureSamples(recorder, found, missing);
  measurePrioritized(recorder, found, missing);
  const memory = measureImages(recorder, found);
  for (const [target, reason] of missing) recorder.skip(target, reason);
  if (recorder.options.peers)
    for (const [name, samples] of await measureBufferPeers(recorder, LATENCY_CALLS)) keep(found, name, samples);
  const reason = (arm: string): string | undefined =>
    missing.get(arm) ?? (recorder.options.peers ? undefined : "needs --peers");
  recordBars({ recorder, found, reason }, memory);
}

export const buffersSuite: Suite = {
  name: "buffers",
  what: "pushing, sampling and prioritised sampling, against rlox and Stable-Baselines3",
  run,
};
