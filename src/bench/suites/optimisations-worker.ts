/**
 * @file The thread that samples for the suite `optimisations`: attaches to a replay buffer that another thread fills,
 * and takes a sample for every request.
 */
import { workerData } from "node:worker_threads";
import { Pipeline, type PipelineHandle } from "../../buffers/pipeline.ts";
import { ReplayBuffer, type SharedReplay } from "../../buffers/replay.ts";

export const REQUEST = { batch: { dtype: "i32", size: 1 } } as const;
export const RESULT = { checksum: { dtype: "f64", size: 1 } } as const;

export interface SamplingJob {
  readonly sampling: true;
  readonly buffer: SharedReplay;
  readonly requests: PipelineHandle<typeof REQUEST>;
  readonly results: PipelineHandle<typeof RESULT>;
}

/** A number that depends on which transitions were drawn. */
export const checksumOf = (index: Int32Array): number => index.reduce((sum, slot, k) => sum + slot * (k + 1), 0);

function serve(job: SamplingJob): void {
  const buffer = ReplayBuffer.attach(job.buffer);
  const requests = Pipeline.attach(job.requests);
  const results = Pipeline.attach(job.results);
  for (let request = requests.receiveSync(); request !== undefined; request = requests.receiveSync()) {
    const { index } = buffer.sample(request.batch[0] as number);
    results.sendSync({ checksum: checksumOf(index) });
  }
}

// Other threads import this file for its declarations.
if ((workerData as Partial<SamplingJob> | null)?.sampling === true) serve(workerData as SamplingJob);
