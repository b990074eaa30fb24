/**
 * @file P11: a training loop's main thread that pushes and samples, against one that pushes and lets another thread
 * sample. What is timed is the main thread.
 */
import { Worker } from "node:worker_threads";
import { Pipeline } from "../../buffers/pipeline.ts";
import { ReplayBuffer } from "../../buffers/replay.ts";
import { EXACT, gate } from "../gate.ts";
import { type Forms, noise } from "./optimisations-items.ts";
import { checksumOf, REQUEST, RESULT, type SamplingJob } from "./optimisations-worker.ts";

const OBSERVATION = 64;
const BATCH = 256;
const PUSHES = 16;
const STORED = 100_000;
export const SAMPLING_PARAMS = { obs: OBSERVATION, batch: BATCH, pushes: PUSHES };

/** Where the worker's code lies; undefined when this runs from TypeScript, which a worker would not know how to load. */
function workerFile(): URL | undefined {
  if (import.meta.url.endsWith(".ts")) return undefined;
  return new URL("./optimisations-worker.js", import.meta.url);
}

/** The forms, with a thread that is ready; undefined where it cannot be started. */
export async function samplingElsewhere(): Promise<Forms | undefined> {
  const file = workerFile();
  if (file === undefined) return undefined;
  const make = () => new ReplayBuffer({ capacity: STORED, observation: OBSERVATION, action: 1, columns: {}, seed: 1 });
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
  return {
    before: () => {
      pushTo(own);
      return own.sample(BATCH);
    },
    after: () => {
      pushTo(shared);
      results.tryReceive(into);
      return requests.trySend(ask);
    },
    gate: () => gate("P11", first?.checksum ?? [], [expected], EXACT),
    dispose: () => {
      requests.close();
      results.close();
      void worker.terminate();
    },
  };
}
