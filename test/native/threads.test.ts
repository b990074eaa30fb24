/**
 * @file Several JavaScript threads on one library and one pool, and processes that end while the pool exists.
 */
import { spawnSync } from "node:child_process";
import { Worker } from "node:worker_threads";
import { afterAll, expect, it } from "vitest";
import { add, Builder, buffer, func, get, i32, lengthOf, load, local } from "../../src/ir/build.ts";
import { expectBits, moduleOf, Rig, temporaryFolder } from "./rig.ts";
import { scaledSum } from "./sample.ts";
import type { WorkerJob } from "./worker.ts";

const cache = temporaryFolder();
afterAll(() => cache.remove());

const PART = 4 << 20;
/** Workers start from TypeScript, for which Node 20 needs a loader. */
const START = `
  import("tsx/esm/api").then(({ register }) => {
    register();
    return import(${JSON.stringify(new URL("./worker.ts", import.meta.url).href)});
  });
`;

function run(job: WorkerJob): Promise<number> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(START, { eval: true, workerData: job });
    worker.once("message", resolve);
    worker.once("error", reject);
  });
}

it("runs one library from two worker threads at once", async () => {
  const rig = new Rig(cache.path, 2);
  const job = (seed: number): WorkerJob => {
    return { memory: rig.memory, cache: cache.path, threads: 2, seed, offset: PART * seed, length: 30_000, rounds: 40 };
  };
  expect(await Promise.all([run(job(1)), run(job(2))])).toEqual([0, 0]);
  // Their threads have ended; the pool that they started still serves this one.
  const [x, y] = [rig.place(new Float32Array(50_000).fill(2)), rig.place(new Float32Array(50_000))];
  const { entry } = rig.bind(scaledSum(), [x, y], [3]);
  if (entry.convention !== "block") throw new Error("native code takes a block");
  expect(entry.call()).toBe(0);
  expectBits(
    "y",
    y,
    Float32Array.from(y, (_, i) => 6 + i),
  );
}, 60_000);

it("computes every iteration of thousands of launches exactly once", () => {
  const rig = new Rig(cache.path, 4);
  const y = buffer("y", "i32", "param");
  const [begin, end] = [local("begin", "i32"), local("end", "i32")];
  const b = new Builder();
  b.for("i", { begin: get(begin), end: get(end) }, (i) => b.store(y, i, add(load(y, i), i32(1))));
  const piece = func("count.1", [], [begin, end], b.statements);
  // Claims to be costly, so that even a few iterations are cut in pieces.
  const launch = { kind: "launch", func: piece, args: [], count: lengthOf(y), cost: 1e6, threaded: true } as const;
  const rounds = 3000;
  for (const n of [2, 7, 1000]) {
    const array = rig.place(new Int32Array(n));
    const { entry } = rig.bind(moduleOf(func("count", [y], [], [launch])), [array], []);
    if (entry.convention !== "block") throw new Error("native code takes a block");
    for (let k = 0; k < rounds; k++) entry.call();
    expect([...new Set(array)]).toEqual([rounds]);
  }
}, 60_000);

it("leaves the process free to end", () => {
  const script = `
    import { createNativeTarget } from "./src/targets/native/index.ts";
    import { planArena } from "./test/native/arena.ts";
    import { scaledSum } from "./test/native/sample.ts";
    const memory = new WebAssembly.Memory({ initial: 64, maximum: 64, shared: true });
    const made = createNativeTarget({ memory, threads: 3 });
    const lowered = planArena(scaledSum());
    const entry = made.target.compile(lowered, { threads: 3 }).instantiate(64, 1024);
    entry.block.set([entry.base + 8192, 100000, entry.base + 8192 + 400000, 100000, 2], 1);
    for (let k = 0; k < 20; k++) entry.call();
    console.log(new Float32Array(memory.buffer, 8192 + 400000, 100000)[77]);
  `;
  const args = ["--import", "tsx", "--input-type=module", "-e", script];
  const done = spawnSync(process.execPath, args, {
    encoding: "utf8",
    timeout: 30_000,
    env: { ...process.env, LOCKSTEP_CACHE: cache.path },
  });
  expect({ status: done.status, signal: done.signal, out: done.stdout, err: done.stderr }).toEqual({
    status: 0,
    signal: null,
    out: "77\n",
    err: "",
  });
}, 60_000);
