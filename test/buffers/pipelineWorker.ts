/**
 * @file A thread of the pipeline tests: sends numbered records, or receives until the pipeline ends.
 */
import { parentPort, workerData } from "node:worker_threads";
import { Pipeline, PipelineClosedError, type PipelineHandle } from "../../src/buffers/pipeline.ts";

export const COLUMNS = {
  sender: { dtype: "i32", size: 1 },
  sequence: { dtype: "f64", size: 1 },
  payload: 3,
} as const;

export interface PipelineJob {
  readonly handle: PipelineHandle<typeof COLUMNS>;
  readonly mode: "send" | "receive";
  readonly wait: "sync" | "promise";
  readonly sender: number;
  readonly count: number;
}

export interface PipelineOutcome {
  readonly sent: number;
  /** Sender and number of every record, in the order of their arrival. */
  readonly seen: readonly (readonly [sender: number, sequence: number])[];
  /** Records whose parts do not belong together. */
  readonly torn: number;
  readonly longest: number;
  readonly refused: boolean;
}

const payloadOf = (sender: number, sequence: number): number[] => [sender, sequence % 1024, (sender + sequence) % 1024];

async function send(pipeline: Pipeline<typeof COLUMNS>, job: PipelineJob): Promise<PipelineOutcome> {
  let sent = 0;
  let refused = false;
  try {
    for (; sent < job.count; sent++) {
      const record = { sender: job.sender, sequence: sent, payload: payloadOf(job.sender, sent) };
      if (job.wait === "sync") pipeline.sendSync(record);
      else await pipeline.send(record);
    }
  } catch (error) {
    if (!(error instanceof PipelineClosedError)) throw error;
    refused = true;
  }
  return { sent, seen: [], torn: 0, longest: 0, refused };
}

async function receive(pipeline: Pipeline<typeof COLUMNS>, job: PipelineJob): Promise<PipelineOutcome> {
  const seen: [number, number][] = [];
  const record = pipeline.record();
  let torn = 0;
  let longest = 0;
  for (;;) {
    const found = job.wait === "sync" ? pipeline.receiveSync(record) : await pipeline.receive(record);
    if (found === undefined) return { sent: 0, seen, torn, longest, refused: false };
    const [sender, sequence] = [found.sender[0] as number, found.sequence[0] as number];
    seen.push([sender, sequence]);
    if (payloadOf(sender, sequence).some((value, k) => found.payload[k] !== value)) torn++;
    longest = Math.max(longest, pipeline.length);
  }
}

if (parentPort !== null && workerData !== undefined) {
  const job = workerData as PipelineJob;
  const pipeline = Pipeline.attach(job.handle);
  parentPort.postMessage(await (job.mode === "send" ? send(pipeline, job) : receive(pipeline, job)));
}
