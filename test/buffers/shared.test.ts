/**
 * @file A buffer in shared memory: one thread pushes ten million transitions, another samples all the while.
 */
import { Worker } from "node:worker_threads";
import { describe, expect, test } from "vitest";
import { ReplayBuffer } from "../../src/buffers/replay.ts";
import { DataError } from "../../src/kernels/errors.ts";
import { type SamplerJob, type SamplerResult, WIDTH } from "./sampler.ts";
import { targets } from "./support.ts";

/** Workers start from TypeScript, for which Node 20 needs a loader. */
const START = `
  import("tsx/esm/api").then(({ register }) => {
    register();
    return import(${JSON.stringify(new URL("./sampler.ts", import.meta.url).href)});
  });
`;

interface Started {
  readonly ready: Promise<void>;
  readonly result: Promise<SamplerResult>;
}
function start(job: SamplerJob): Started {
  const worker = new Worker(START, { eval: true, workerData: job });
  const failed = new Promise<never>((_, reject) => {
    worker.once("error", reject);
  });
  const ready = new Promise<void>((resolve) => {
    worker.once("message", () => resolve());
  });
  const result = ready.then(
    () =>
      new Promise<SamplerResult>((resolve) => {
        worker.once("message", resolve);
      }),
  );
  return { ready: Promise.race([ready, failed]), result: Promise.race([result, failed]) };
}

const observation = new Float32Array(WIDTH);
const next = new Float32Array(WIDTH);
function pushNumbers(buffer: ReplayBuffer<number, number>, from: number, to: number): void {
  for (let n = from; n < to; n++) {
    observation.fill(n);
    next.fill(n + 1);
    buffer.pushSlices(observation, n, n, n % 2 === 1, false, next);
  }
}

describe("a shared buffer", () => {
  const total = 10_000_000;
  test("loses nothing over ten million transitions, and no sample is torn", async () => {
    // A small ring: the writer overtakes samples again and again.
    const buffer = new ReplayBuffer<number, number>({ capacity: 512, observation: WIDTH, action: 1 });
    pushNumbers(buffer, 0, 100);
    const done = new Int32Array(new SharedArrayBuffer(4));
    const handle = buffer.share();
    const target = targets.includes("native") ? "native" : "wasm";
    const sampler = start({ handle, target, batch: 64, done });
    await sampler.ready;
    pushNumbers(buffer, 100, total);
    Atomics.store(done, 0, 1);
    const { samples, torn, stale, pushed, newest } = await sampler.result;
    expect([torn, stale, pushed]).toEqual([0, 0, total]);
    expect(samples).toBeGreaterThan(100);
    expect(newest).toBe(total - 1);
    expect([buffer.pushed, buffer.length]).toEqual([total, 512]);
    const left = new Set<number>();
    for (let k = 0; k < 60; k++) for (const n of buffer.sample(256).reward) left.add(n);
    expect(Math.min(...left)).toBeGreaterThanOrEqual(total - 512);
    const { array, offset, stride } = buffer.column("reward");
    const all = Array.from({ length: 512 }, (_, slot) => array[offset + slot * stride] as number).sort((a, b) => a - b);
    expect(all).toEqual(Array.from({ length: 512 }, (_, k) => total - 512 + k));
  }, 60_000);

  test("batches are published whole; only the owner pushes; the same thread may attach", () => {
    const owner = new ReplayBuffer<number, number>({ capacity: 40, observation: 1, action: 1, seed: 2 });
    owner.pushSlices([0], 0, 0, false, false, [1]);
    const other = ReplayBuffer.attach<number, number, Record<never, never>>(owner.share(), { seed: 2 });
    expect([other.length, other.pushed]).toEqual([1, 1]);
    for (let n = 1; n < 100; n += 3) {
      const rows = [n, n + 1, n + 2];
      const flags = [0, 0, 0];
      owner.pushBatch(
        { observation: rows, action: rows, reward: rows, terminated: flags, truncated: flags, nextObservation: rows },
        3,
      );
    }
    expect([other.length, other.pushed]).toEqual([40, 100]);
    for (let k = 0; k < 20; k++) for (const n of other.sample(16).reward) expect(n).toBeGreaterThanOrEqual(60);
    expect(() => other.pushSlices([0], 0, 0, false, false, [1])).toThrow(/only the thread that made/);
    expect(() => other.sample(41)).toThrow(DataError);
    expect(owner.share().position).toBe(owner.share().position);
    for (const buffer of [owner, other]) {
      expect(() => buffer.clear()).toThrow(/not while the buffer is shared/);
      expect(() => buffer.restore(owner.save())).toThrow(DataError);
    }
    expect(() => other.share()).toThrow(DataError);
    other.dispose();
    expect(owner.sample(8).size).toBe(8);
    owner.dispose();
  });

  test("readers see what is left after clear, and after a state that was saved then", () => {
    const make = () => new ReplayBuffer<number, number>({ capacity: 40, observation: WIDTH, action: 1 });
    const cleared = make();
    pushNumbers(cleared, 0, 55);
    cleared.clear();
    pushNumbers(cleared, 1000, 1010);
    const restored = make();
    restored.restore(cleared.save());
    for (const owner of [cleared, restored]) {
      const reader = ReplayBuffer.attach<number, number, Record<never, never>>(owner.share());
      expect([reader.length, reader.pushed]).toEqual([10, 65]);
      for (const n of reader.sample(10).reward) expect(n).toBeGreaterThanOrEqual(1000);
      expect([...reader.sampleRecent(1, 1).reward]).toEqual([1009]);
      pushNumbers(owner, 1010, 1095);
      expect([reader.length, reader.pushed]).toEqual([40, 150]);
      expect([...reader.sampleRecent(1, 1).reward]).toEqual([1094]);
      for (const n of reader.sample(16).reward) expect(n).toBeGreaterThanOrEqual(1055);
    }
  });

  test("readers see a ring that was full when it was shared", () => {
    const owner = new ReplayBuffer<number, number>({ capacity: 40, observation: WIDTH, action: 1 });
    pushNumbers(owner, 0, 95);
    const reader = ReplayBuffer.attach<number, number, Record<never, never>>(owner.share());
    expect([reader.length, reader.pushed]).toEqual([40, 95]);
    expect([...reader.sampleRecent(1, 1).reward]).toEqual([94]);
    const seen = new Set<number>();
    for (let k = 0; k < 60; k++) for (const n of reader.sample(32).reward) seen.add(n);
    expect([Math.min(...seen), Math.max(...seen), seen.size]).toEqual([55, 94, 40]);
  });
});
