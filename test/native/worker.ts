/**
 * @file A thread of the workers test: makes its own target on the shared heap, compiles the same program as its
 * siblings and runs it many times on its own arrays. Reports how many results were wrong.
 */
import { parentPort, workerData } from "node:worker_threads";
import { createNativeTarget } from "../../src/targets/native/index.ts";
import { planArena } from "./arena.ts";
import { scaledSum } from "./sample.ts";

export interface WorkerJob {
  readonly memory: WebAssembly.Memory;
  readonly cache: string;
  readonly threads: number;
  readonly seed: number;
  /** Where this thread's part of the heap begins. */
  readonly offset: number;
  readonly length: number;
  readonly rounds: number;
}

function work(job: WorkerJob): number {
  const env = { ...process.env, LOCKSTEP_CACHE: job.cache };
  const made = createNativeTarget({ memory: job.memory, threads: job.threads, env });
  if (!made.target) throw new Error(made.reason);
  const lowered = planArena(scaledSum());
  const executable = made.target.compile(lowered, { threads: job.threads });
  const arena = job.offset;
  const scratch = arena + lowered.arena.bytes;
  const x = new Float32Array(job.memory.buffer, scratch + executable.scratchBytes, job.length);
  const y = new Float32Array(job.memory.buffer, x.byteOffset + x.byteLength, job.length);
  const entry = executable.instantiate(arena, scratch);
  if (entry.convention !== "block") throw new Error("native code takes a block");
  entry.block.set([entry.base + x.byteOffset, x.length, entry.base + y.byteOffset, y.length], 1);
  let wrong = 0;
  for (let round = 0; round < job.rounds; round++) {
    const factor = job.seed + round;
    x.fill(round);
    y.fill(0);
    entry.block[5] = factor;
    wrong += entry.call();
    for (let i = 0; i < y.length; i++) if (y[i] !== Math.fround(Math.fround(factor * round) + i)) wrong++;
  }
  return wrong;
}

parentPort?.postMessage(work(workerData as WorkerJob));
