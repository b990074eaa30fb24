/**
 * @file A thread of the sharing test: samples a buffer that another thread pushes to, and counts torn transitions.
 */
import { parentPort, workerData } from "node:worker_threads";
import { ReplayBuffer, type SharedReplay } from "../../src/buffers/replay.ts";
import type { TargetName } from "../../src/targets/target.ts";

export interface SamplerJob {
  readonly handle: SharedReplay;
  readonly target: TargetName;
  readonly batch: number;
  /** 0 while the other thread pushes, 1 when it is done. */
  readonly done: Int32Array;
}
export interface SamplerResult {
  readonly samples: number;
  readonly torn: number;
  /** Transitions outside of what can have been in the buffer. */
  readonly stale: number;
  readonly pushed: number;
  readonly newest: number;
}

/** The width of an observation in the test. */
export const WIDTH = 6;

function work({ handle, target, batch: size, done }: SamplerJob): SamplerResult {
  const buffer = ReplayBuffer.attach<number, number, Record<never, never>>(handle, { target, seed: 3 });
  let [samples, torn, stale, newest] = [0, 0, 0, 0];
  const look = (): void => {
    const before = buffer.pushed;
    if (buffer.length < size) return;
    const batch = buffer.sample(size);
    samples++;
    for (let i = 0; i < size; i++) {
      const n = batch.reward[i] as number;
      let whole = batch.action[i] === n && batch.terminated[i] === n % 2;
      for (let k = 0; k < WIDTH; k++)
        whole &&= batch.observation[i * WIDTH + k] === n && batch.nextObservation[i * WIDTH + k] === n + 1;
      if (!whole) torn++;
      if (n < before - buffer.capacity || n >= buffer.pushed) stale++;
      newest = Math.max(newest, n);
    }
  };
  parentPort?.postMessage("ready");
  while (Atomics.load(done, 0) === 0) look();
  for (let k = 0; k < 50; k++) look();
  return { samples, torn, stale, pushed: buffer.pushed, newest };
}

if (parentPort) parentPort.postMessage(work(workerData as SamplerJob));
