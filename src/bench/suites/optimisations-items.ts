/**
 * @file The items of the suite `optimisations`: for each, how things would be done without it, and how they are done.
 *
 * Both forms work on the same inputs, and a gate holds their results against each other before they are timed.
 */
import { ReplayBuffer } from "../../buffers/replay.ts";
import { SumTree } from "../../buffers/sumTree.ts";
import { f32, f64, i32, u8 } from "../../kernel/declare.ts";
import { allocate, allocateFrom, free } from "../../kernel/kernel.ts";
import { gae } from "../../kernels/estimators/index.ts";
import { EXACT, gate } from "../gate.ts";
import type { Params } from "../result.ts";
import { type CLibrary, loadC } from "./c-library.ts";
import { C_BASELINES } from "./kernels-c.ts";
import {
  branchyGae,
  gatheredGae,
  gatherRows,
  leastLeaf,
  oneExponential,
  peeledGae,
  sumsByCount,
  sumsByWork,
  twoExponentials,
} from "./optimisations-kernels.ts";

export interface Forms {
  readonly before: () => unknown;
  readonly after: () => unknown;
  /** Compares what both have computed; each has run once. */
  readonly gate: () => void;
  readonly dispose?: () => void;
}

export interface Item {
  readonly id: string;
  readonly what: string;
  readonly params: Params;
  /** What one call works on. */
  readonly items: number;
  readonly make: () => Forms;
}

/** Numbers in [0, 1) without a visible pattern. */
export const noise = (i: number): number => {
  const x = Math.sin(i * 12.9898 + 4.1) * 43758.5453;
  return x - Math.floor(x);
};
const listOf = (length: number, at: (i: number) => number): number[] => Array.from({ length }, (_, i) => at(i));
const flagsOf = (length: number): Uint8Array =>
  allocateFrom(
    u8,
    listOf(length, (i) => (noise(i + 7) < 0.02 ? 1 : 0)),
  );

/** P1: one environment after the other, gathered into arrays of its own and scattered back; or all at once. */
function batchedGae(): Forms {
  const [envs, steps] = [64, 128];
  const size = envs * steps;
  const rewards = allocateFrom(f32, listOf(size, noise));
  const values = allocateFrom(
    f32,
    listOf(size, (i) => noise(i + 3)),
  );
  const terminated = flagsOf(size);
  const lastValues = allocateFrom(
    f32,
    listOf(envs, (e) => noise(e + 11)),
  );
  const make = () => ({ advantages: allocate(f32, size), returns: allocate(f32, size) });
  const [gathered, batched] = [make(), make()];
  // One set of arrays for all environments: what new ones would cost comes on top.
  const before = gatheredGae.on("auto").bind({
    rewards,
    values,
    terminated,
    lastValues,
    ownRewards: allocate(f32, steps),
    ownValues: allocate(f32, steps),
    ownEnds: allocate(u8, steps),
    own: allocate(f32, steps),
    ...gathered,
    gamma: 0.99,
    lambda: 0.95,
  });
  const input = { rewards, values, terminated, lastValues, out: batched };
  const options = { threads: 1 };
  const after = (): unknown => gae(input, options);
  const near = { absolute: 1e-4, relative: 1e-4 };
  return { before, after, gate: () => gate("P1", gathered.advantages, batched.advantages, near) };
}

interface Step {
  readonly observation: Float32Array;
  readonly nextObservation: Float32Array;
}
const stepOf = (width: number): Step => ({
  observation: Float32Array.from(listOf(width, noise)),
  nextObservation: Float32Array.from(listOf(width, (i) => noise(i + 5))),
});

const replay = (capacity: number, observation: number) =>
  new ReplayBuffer({ capacity, observation, action: 1, columns: {} });

/** P3: a record with arrays of its own for every transition, or the caller's arrays copied once, into the ring. */
function pushing(width: number, capacity: number): Forms {
  const { observation, nextObservation } = stepOf(width);
  const [records, slices] = [replay(capacity, width), replay(capacity, width)];
  const before = (): number =>
    records.push({
      observation: observation.slice(),
      action: Float32Array.of(1),
      reward: 0.5,
      terminated: 0,
      truncated: 0,
      nextObservation: nextObservation.slice(),
    });
  const { pushSlices } = slices;
  const after = (): number => pushSlices(observation, 1, 0.5, 0, 0, nextObservation);
  const row = (buffer: typeof slices): number[] => {
    const { array, offset, size } = buffer.column("nextObservation");
    return listOf(size, (k) => array[offset + k] as number);
  };
  const dispose = (): void => {
    records.dispose();
    slices.dispose();
  };
  return { before, after, gate: () => gate("P3", row(records), row(slices), EXACT), dispose };
}

/** P4: arrays made for every sample, or the same ones filled again. */
function sampling(width: number, batch: number, stored: number): Forms {
  const rows = allocate(f32, stored * width);
  for (let i = 0; i < rows.length; i++) rows[i] = i % 8191;
  const index = allocateFrom(
    i32,
    listOf(batch, (i) => Math.floor(noise(i) * stored)),
  );
  const kept = allocate(f32, batch * width);
  let fresh: Float32Array | undefined;
  const run = gatherRows.on("auto", { threads: 1 });
  const before = (): void => {
    if (fresh !== undefined) free(fresh);
    fresh = allocate(f32, batch * width);
    run({ rows, index, out: fresh, width });
  };
  const after = (): void => run({ rows, index, out: kept, width });
  const dispose = (): void => {
    for (const array of [rows, index, kept, fresh]) if (array !== undefined) free(array);
  };
  return { before, after, gate: () => gate("P4", fresh ?? [], kept, EXACT), dispose };
}

/** P5: after an update of priorities, the least of them by a scan over all, or from the root of a tree. */
function leastPriority(capacity: number, changed: number): Forms {
  const tree = new SumTree(capacity);
  const indices = listOf(changed, (i) => Math.floor(noise(i) * capacity));
  const priorities = listOf(changed, (i) => 0.1 + noise(i + 1));
  tree.setMany(
    listOf(capacity, (i) => i),
    listOf(capacity, (i) => 0.5 + noise(i)),
  );
  const leaves = allocateFrom(
    f64,
    listOf(capacity, (i) => tree.leaf(i)),
  );
  const least = allocate(f64, 1);
  const scan = leastLeaf.on("auto", { threads: 1 }).bind({ leaves, least });
  // The tree of sums is needed either way; that its update minds the least too is the smaller part of it.
  const before = (): void => {
    tree.setMany(indices, priorities);
    for (let k = 0; k < changed; k++) leaves[indices[k] as number] = priorities[k] as number;
    scan();
  };
  let root = 0;
  const after = (): void => {
    tree.setMany(indices, priorities);
    root = tree.smallest;
  };
  return { before, after, gate: () => gate("P5", least, [root], EXACT) };
}

/** P6: the same C, compiled without and with leave to use all of this processor. */
function buildFlags(symbol: "exp_map" | "polynomial", length: number): Forms {
  const plain = C_BASELINES.flags.filter((flag) => !flag.startsWith("-m"));
  const side = (flags: readonly string[]) => {
    const library: CLibrary = loadC({ ...C_BASELINES, flags });
    const x = library.array("f32", length);
    const y = library.array("f32", length);
    for (let i = 0; i < length; i++) x[i] = 2 * noise(i) - 1;
    return { y, run: library.bind(symbol, [x, y, length]) };
  };
  const [before, after] = [side(plain), side(C_BASELINES.flags)];
  const near = { absolute: 1e-6, relative: 1e-5 };
  return { before: before.run, after: after.run, gate: () => gate("P6", before.y, after.y, near) };
}

/** P7: a test for the last step in every step, or the last step before the loop. */
function peeling(steps: number): Forms {
  const input = {
    rewards: allocateFrom(f64, listOf(steps, noise)),
    values: allocateFrom(
      f64,
      listOf(steps, (i) => noise(i + 3)),
    ),
    terminated: flagsOf(steps),
    lastValue: 0.5,
    gamma: 0.99,
    lambda: 0.95,
  };
  const [branchy, peeled] = [allocate(f64, steps), allocate(f64, steps)];
  return {
    before: branchyGae.on("auto").bind({ ...input, advantages: branchy }),
    after: peeledGae.on("auto").bind({ ...input, advantages: peeled }),
    gate: () => gate("P7", branchy, peeled, EXACT),
  };
}

/** P8: threads as soon as there are many rows, or as soon as there is much to do. */
function threshold(columns: number, rows: number): Forms {
  const x = allocateFrom(f32, listOf(columns * rows, noise));
  const [byCount, byElements] = [allocate(f32, columns), allocate(f32, columns)];
  const threads = { threads: 2 };
  return {
    before: sumsByCount.on("auto", threads).bind({ x, sums: byCount, once: 1 }),
    after: sumsByWork.on("auto", threads).bind({ x, sums: byElements }),
    gate: () => gate("P8", byCount, byElements, EXACT),
  };
}

interface Ratios {
  readonly logRatios: Float32Array;
  readonly rho: Float32Array;
  readonly c: Float32Array;
}
const ratios = (steps: number): Ratios => ({
  logRatios: allocateFrom(
    f32,
    listOf(steps, (i) => noise(i) - 0.5),
  ),
  rho: allocate(f32, steps),
  c: allocate(f32, steps),
});
const gateRatios = (a: Ratios, b: Ratios) => (): void => {
  gate("P9 rho", a.rho, b.rho, EXACT);
  gate("P9 c", a.c, b.c, EXACT);
};

/** P9 in a hand-written loop, where the engine computes what is written. */
function exponentialsByHand(steps: number): Forms {
  const [two, one] = [ratios(steps), ratios(steps)];
  const before = ({ logRatios, rho, c } = two): void => {
    for (let t = 0; t < steps; t++) {
      rho[t] = Math.min(1, Math.exp(logRatios[t] as number));
      c[t] = Math.min(0.9, Math.exp(logRatios[t] as number));
    }
  };
  const after = ({ logRatios, rho, c } = one): void => {
    for (let t = 0; t < steps; t++) {
      const ratio = Math.exp(logRatios[t] as number);
      rho[t] = Math.min(1, ratio);
      c[t] = Math.min(0.9, ratio);
    }
  };
  return { before: () => before(), after: () => after(), gate: gateRatios(two, one) };
}

/** P9 in a kernel, where the compiler finds what is computed twice. */
function exponentialsInKernel(steps: number): Forms {
  const [two, one] = [ratios(steps), ratios(steps)];
  return {
    before: twoExponentials.on("auto", { threads: 1 }).bind({ ...two, rhoBar: 1, cBar: 0.9 }),
    after: oneExponential.on("auto", { threads: 1 }).bind({ ...one, rhoBar: 1, cBar: 0.9 }),
    gate: gateRatios(two, one),
  };
}

/** P12: records kept as objects, or taken apart into the ring's columns by `push`. */
function records(width: number, capacity: number): Forms {
  const { observation, nextObservation } = stepOf(width);
  const flat = replay(capacity, width);
  const kept: object[] = new Array(capacity);
  let position = 0;
  const before = (): void => {
    kept[position++ % capacity] = {
      observation: observation.slice(),
      action: Float32Array.of(1),
      reward: 0.5,
      terminated: 0,
      truncated: 0,
      nextObservation: nextObservation.slice(),
    };
  };
  const after = (): number =>
    flat.push({ observation, action: 1, reward: 0.5, terminated: 0, truncated: 0, nextObservation });
  const check = (): void => {
    const { array, offset, size } = flat.column("observation");
    const stored = listOf(size, (k) => array[offset + k] as number);
    gate("P12", (kept[0] as Step).observation, stored, EXACT);
  };
  return { before, after, gate: check, dispose: () => flat.dispose() };
}

const FRAME = 28_224;

export const ITEMS: readonly Item[] = [
  { id: "P1", what: "GAE, batched against gathered", params: { envs: 64, steps: 128 }, items: 8192, make: batchedGae },
  { id: "P3", what: "push, slices against records", params: { obs: 4 }, items: 1, make: () => pushing(4, 100_000) },
  {
    id: "P3",
    what: "push of frames, slices against records",
    params: { obs: FRAME },
    items: 1,
    make: () => pushing(FRAME, 256),
  },
  {
    id: "P4",
    what: "sample, into the same arrays against new ones",
    params: { obs: 4, batch: 256 },
    items: 256,
    make: () => sampling(4, 256, 100_000),
  },
  {
    id: "P4",
    what: "sample of frames, into the same arrays against new ones",
    params: { obs: FRAME, batch: 64 },
    items: 64,
    make: () => sampling(FRAME, 64, 256),
  },
  {
    id: "P5",
    what: "least priority, tree against scan",
    params: { capacity: 100_000, updates: 256 },
    items: 256,
    make: () => leastPriority(100_000, 256),
  },
  {
    id: "P6",
    what: "build flags, exp",
    params: { elements: 16_384 },
    items: 16_384,
    make: () => buildFlags("exp_map", 16_384),
  },
  {
    id: "P6",
    what: "build flags, polynomial",
    params: { elements: 16_384 },
    items: 16_384,
    make: () => buildFlags("polynomial", 16_384),
  },
  { id: "P7", what: "peeled loop", params: { steps: 2048 }, items: 2048, make: () => peeling(2048) },
  {
    id: "P8",
    what: "threads by what there is to do against by count",
    params: { columns: 256, rows: 4 },
    items: 1024,
    make: () => threshold(256, 4),
  },
  {
    id: "P9",
    what: "one exponential, hand-written",
    params: { steps: 10_000 },
    items: 10_000,
    make: () => exponentialsByHand(10_000),
  },
  {
    id: "P9",
    what: "one exponential, in a kernel",
    params: { steps: 10_000 },
    items: 10_000,
    make: () => exponentialsInKernel(10_000),
  },
  {
    id: "P12",
    what: "record wrapper over columns against kept records",
    params: { obs: 4 },
    items: 1,
    make: () => records(4, 100_000),
  },
];
