/**
 * @file Pipelines between real threads: nothing lost, nothing torn, order kept for each sender.
 */
import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import { Pipeline } from "../../src/buffers/pipeline.ts";
import { COLUMNS, type PipelineJob, type PipelineOutcome } from "./pipelineWorker.ts";

/** Workers start from TypeScript, for which Node 20 needs a loader. */
const START = `
  import("tsx/esm/api").then(({ register }) => {
    register();
    return import(${JSON.stringify(new URL("./pipelineWorker.ts", import.meta.url).href)});
  });
`;

function start(job: PipelineJob): Promise<PipelineOutcome> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(START, { eval: true, workerData: job });
    worker.once("message", resolve);
    worker.once("error", reject);
  });
}

const make = (capacity: number) => new Pipeline({ capacity, columns: COLUMNS });

/** Every sender's numbers must arrive complete, and in order at each receiver. */
function expectComplete(received: readonly PipelineOutcome[], senders: number, count: number): void {
  for (const { seen, torn } of received) {
    expect(torn).toBe(0);
    const last = new Array<number>(senders).fill(-1);
    let disorder = 0;
    for (const [sender, sequence] of seen) {
      if (sequence <= (last[sender] as number)) disorder++;
      last[sender] = sequence;
    }
    expect(disorder).toBe(0);
  }
  const all = received.flatMap(({ seen }) => seen.map(([sender, sequence]) => sender * count + sequence));
  all.sort((a, b) => a - b);
  expect(all.length).toBe(senders * count);
  expect(all.every((value, i) => value === i)).toBe(true);
}

it("carries everything from two blocking senders to two blocking receivers", async () => {
  const pipeline = make(8);
  const handle = pipeline.share();
  const count = 30_000;
  const receivers = [0, 1].map(() => start({ handle, mode: "receive", wait: "sync", sender: 0, count: 0 }));
  const senders = [0, 1].map((sender) => start({ handle, mode: "send", wait: "sync", sender, count }));
  for (const { sent } of await Promise.all(senders)) expect(sent).toBe(count);
  pipeline.close();
  const received = await Promise.all(receivers);
  expectComplete(received, 2, count);
  for (const { longest } of received) expect(longest).toBeLessThanOrEqual(8);
  expect(pipeline.length).toBe(0);
});

it("carries everything between threads that wait with promises", async () => {
  const pipeline = make(5);
  const handle = pipeline.share();
  const count = 5_000;
  const receivers = [0, 1].map(() => start({ handle, mode: "receive", wait: "promise", sender: 0, count: 0 }));
  const senders = [0, 1].map((sender) => start({ handle, mode: "send", wait: "promise", sender, count }));
  for (const { sent } of await Promise.all(senders)) expect(sent).toBe(count);
  pipeline.close();
  expectComplete(await Promise.all(receivers), 2, count);
});

it("lets this thread receive from a worker while it goes on with other things", async () => {
  const pipeline = make(16);
  const count = 20_000;
  const sending = start({ handle: pipeline.share(), mode: "send", wait: "sync", sender: 0, count });
  let ticks = 0;
  const timer = setInterval(() => ticks++, 1);
  for (let i = 0; i < count; i++) {
    const record = await pipeline.receive();
    if (record?.sequence[0] !== i) throw new Error(`record ${i} is ${record?.sequence[0]}`);
  }
  clearInterval(timer);
  expect((await sending).sent).toBe(count);
  expect(ticks).toBeGreaterThan(0);
});

it("ends a blocked receiver and a blocked sender when it is closed", async () => {
  const empty = make(4);
  const receiving = start({ handle: empty.share(), mode: "receive", wait: "sync", sender: 0, count: 0 });
  await empty.send({ sender: 3, sequence: 0, payload: [3, 0, 3] });
  while (empty.length > 0) await new Promise((resolve) => setTimeout(resolve, 1));
  empty.close();
  expect((await receiving).seen).toEqual([[3, 0]]);

  const full = make(4);
  const sending = start({ handle: full.share(), mode: "send", wait: "sync", sender: 0, count: 100 });
  while (full.length < 4) await new Promise((resolve) => setTimeout(resolve, 1));
  full.close();
  expect(await sending).toMatchObject({ sent: 4, refused: true });
  const left: number[] = [];
  for await (const record of full) left.push(record.sequence[0] as number);
  expect(left).toEqual([0, 1, 2, 3]);
});
