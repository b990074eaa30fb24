/**
 * @file P11: a training loop that pushes, samples and learns in one thread, against one whose samples another thread
 * takes meanwhile. Every round of both has its pushes, one sample that is there when the round ends, and the same
 * arithmetic in the place of learning, behind which the other thread's work can hide. Without any, nothing is gained:
 * the main thread would wait for samples instead of taking them.
 */
import { Worker } from "node:worker_threads";
import { Pipeline } from "../../buffers/pipeline.ts";
import { ReplayBuffer } from "../../buffers/replay.ts";
import { EXACT, GateError, gate } from "../gate.ts";
import { type Forms, noise } from "./optimisations-items.ts";
import { checksumOf, REQUEST, RESULT, type SamplingJob } from "./optimisations-worker.ts";

const OBSERVATION = 64;
const BATCH = 1024;
const PUSHES = 16;
/** Half of what fits: a full ring has rows that are about to be overwritten, which the other thread leaves out. */
const STORED = 50_000;
/** Steps of arithmetic in the place of learning. */
const LEARNING = 50_000;
/** Milliseconds after which a sample that does not come is given up. */
const PATIENCE = 5000;
export const SAMPLING_PARAMS = { obs: OBSERVATION, batch: BATCH, pushes: PUSHES, learning: LEARNING };

function learn(): number {
  let x = 1;
  for (let k = 0; k < LEARNING; k++) x = x * 0.999 + k;
  return x;
}

/** Where the worker's code lies; undefined when this runs from TypeScript, which a worker would not know how to load. */
function workerFile(): URL | undefined {
  if (import.meta.url.endsWith(".ts")) return undefined;
  return new URL("./optimisations-worker.js", import.meta.url);
}

/** The forms, with a thread that is ready; undefined where it cannot be started. */
export async function samplingElsewhere(): Promise<Forms | undefined> {
  const file = workerFile();
  if (file === undefined) return undefined;
  const make = () =>
    new ReplayBuffer({ capacity: 2 * STORED, observation: OBSERVATION, action: 1, columns: {}, seed: 1 });
  const [own, shared] = [make(), make()];
  const row = Float32Array.from({ length: OBSERVATION }, (_, i) => noise(i));
  const pushTo = (buffer: typeof own): void => {
    for (let k = 0; k < PUSHES; k++) buffer.pushSlices(row, 1, 0.5, 0, 0, row);
  };
  const handle = shared.share();
  for (let k = 0; k < STORED / PUSHES; k++) {
    pushTo(own);
    pushTo(shared);
  }
  const requests = new Pipeline({ capacity: 1, columns: REQUEST });
  const results = new Pipeline({ capacity: 4, columns: RESULT });
  const job: SamplingJob = { sampling: true, buffer: handle, requests: requests.share(), results: results.share() };
  const worker = new Worker(file, { workerData: job });
  const broken = new Promise<never>((_, reject) => worker.once("error", reject));
  const ask = { batch: BATCH };
  await requests.send(ask);
  const first = await Promise.race([results.receive(), broken]);
  const expected = checksumOf(own.sample(BATCH).index);
  const into = results.record();
  const receive = (): void => {
    for (const begin = performance.now(); results.tryReceive(into) === undefined; )
      if (performance.now() - begin > PATIENCE) throw new GateError("P11: the other thread does not answer");
  };
  // A sample is always on its way: each round takes the one that the round before has asked for.
  requests.trySend(ask);
  return {
    before: () => {
      pushTo(own);
      own.sample(BATCH);
      return learn();
    },
    after: () => {
      pushTo(shared);
      receive();
      requests.trySend(ask);
      return learn();
    },
    gate: () => gate("P11", first?.checksum ?? [], [expected], EXACT),
    dispose: () => {
      requests.close();
      results.close();
      void worker.terminate();
    },
  };
}
