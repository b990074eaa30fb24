import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Pipeline, PipelineClosedError } from "../../src/buffers/pipeline.ts";
import { DataError } from "../../src/kernels/errors.ts";

const numbers = (capacity: number) =>
  new Pipeline({ capacity, columns: { value: { dtype: "i32", size: 1 } } as const });
type Numbers = ReturnType<typeof numbers>;
const numberIn = (record: { value: Int32Array } | undefined): number | undefined => record?.value[0];

afterEach(() => {
  vi.unstubAllGlobals();
});

describe("a pipeline in one thread", () => {
  it("hands records over in order, as copies", () => {
    const pipeline = new Pipeline({
      capacity: 3,
      columns: {
        frame: { dtype: "u8", size: 2 },
        action: { dtype: "i32", size: 1 },
        reward: 1,
        mass: { dtype: "f64", size: 1 },
      },
    });
    const frame = Uint8Array.of(1, 2);
    expect(pipeline.trySend({ frame, action: -7, reward: [0.5], mass: 0.1 })).toBe(true);
    frame.fill(9);
    expect(pipeline.trySend({ frame, action: Int32Array.of(8), reward: 1.5, mass: [0.2] })).toBe(true);
    expect(pipeline.length).toBe(2);
    const first = pipeline.tryReceive();
    expect(first).toEqual({
      frame: Uint8Array.of(1, 2),
      action: Int32Array.of(-7),
      reward: Float32Array.of(0.5),
      mass: Float64Array.of(0.1),
    });
    const into = pipeline.record();
    expect(pipeline.tryReceive(into)).toBe(into);
    expect(into.frame).toEqual(Uint8Array.of(9, 9));
    expect(first?.frame).toEqual(Uint8Array.of(1, 2));
    expect(pipeline.tryReceive()).toBeUndefined();
    expect(pipeline.length).toBe(0);
  });

  it("behaves like a bounded queue, whatever comes", () => {
    const step = fc.oneof(fc.constant("send" as const), fc.constant("receive" as const));
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), fc.array(step, { maxLength: 200 }), (capacity, steps) => {
        const pipeline = numbers(capacity);
        const model: number[] = [];
        let next = 0;
        for (const what of steps) {
          if (what === "send") {
            expect(pipeline.trySend({ value: next })).toBe(model.length < capacity);
            if (model.length < capacity) model.push(next);
            next++;
          } else expect(numberIn(pipeline.tryReceive())).toBe(model.shift());
          expect(pipeline.length).toBe(model.length);
        }
      }),
      { numRuns: 100 },
    );
  });

  it("goes on when its counters wrap around", () => {
    const pipeline = numbers(3);
    const { memory } = pipeline.share();
    const start = 2 ** 31 - 4;
    const words = new Int32Array(memory);
    words[0] = start;
    words[16] = start;
    for (let slot = 0; slot < 4; slot++) words[64 + slot] = start + slot;
    for (let i = 0; i < 20; i += 2) {
      expect(pipeline.trySend({ value: i })).toBe(true);
      expect(pipeline.trySend({ value: i + 1 })).toBe(true);
      expect(pipeline.length).toBe(2);
      expect(numberIn(pipeline.tryReceive())).toBe(i);
      expect(numberIn(pipeline.tryReceive())).toBe(i + 1);
    }
    expect(words[16]).toBe(16);
    pipeline.close();
    expect(pipeline.closed).toBe(true);
  });

  it("refuses what is no record, and writes nothing of it", () => {
    const pipeline = new Pipeline({ capacity: 2, columns: { a: 2, b: 1 } });
    expect(() => pipeline.trySend({ a: [1], b: 1 })).toThrow(/"a" has 1 elements/);
    expect(() => pipeline.trySend({ a: [1, 2] } as never)).toThrow(DataError);
    expect(() => pipeline.sendSync({ a: 5, b: 1 })).toThrow(DataError);
    expect(() => pipeline.tryReceive({ a: new Float32Array(3), b: new Float32Array(1) })).toThrow(/receive: "a"/);
    expect(pipeline.length).toBe(0);
    pipeline.trySend({ a: [1, 2], b: 3 });
    const number = 0 as unknown as Float32Array;
    expect(() => pipeline.tryReceive({ a: new Float32Array(2), b: number })).toThrow(/"b" is a number/);
    expect([...(pipeline.tryReceive()?.b ?? [])]).toEqual([3]);
    expect(() => numbers(0)).toThrow(/capacity/);
    expect(() => numbers(2 ** 25)).toThrow(/at most/);
    expect(() => new Pipeline({ capacity: 1, columns: { a: 0 } })).toThrow(DataError);
  });

  it("says where memory cannot be shared", () => {
    vi.stubGlobal("SharedArrayBuffer", undefined);
    expect(() => numbers(2)).toThrow(/cannot be shared here/);
  });
});

/** Sends and receives at once, with a channel much smaller than what goes through it. */
async function throughput(pipeline: Numbers, count: number): Promise<number[]> {
  const seen: number[] = [];
  const sending = (async () => {
    for (let i = 0; i < count; i++) await pipeline.send({ value: i });
    pipeline.close();
  })();
  for await (const record of pipeline) {
    seen.push(record.value[0] as number);
    expect(pipeline.length).toBeLessThanOrEqual(pipeline.capacity);
  }
  await sending;
  return seen;
}

describe("waiting with promises", () => {
  const expected = Array.from({ length: 500 }, (_, i) => i);

  it("sends when there is room and receives when there is something", async () => {
    expect(await throughput(numbers(3), 500)).toEqual(expected);
  });

  it("works where nobody can be woken up", async () => {
    vi.stubGlobal(
      "Atomics",
      new Proxy(Atomics, { get: (a, k) => (k === "waitAsync" ? undefined : Reflect.get(a, k)) }),
    );
    expect(await throughput(numbers(64), 500)).toEqual(expected);
  });

  it("ends for all that wait when the pipeline is closed", async () => {
    const empty = numbers(2);
    const waiting = [empty.receive(), empty.receive()];
    empty.close();
    expect(await Promise.all(waiting)).toEqual([undefined, undefined]);
    expect(empty.receiveSync()).toBeUndefined();

    const full = numbers(1);
    full.sendSync({ value: 1 });
    const sending = full.send({ value: 2 });
    full.close();
    full.close();
    await expect(sending).rejects.toThrow(PipelineClosedError);
    expect(() => full.trySend({ value: 3 })).toThrow(/closed/);
    expect(numberIn(full.receiveSync())).toBe(1);
    expect(await full.receive()).toBeUndefined();
    expect(full.tryReceive()).toBeUndefined();
  });

  it("tells a thread that must not block what to use", () => {
    const refuse = (): never => {
      throw new TypeError("Atomics.wait cannot be called in this context");
    };
    vi.stubGlobal("Atomics", new Proxy(Atomics, { get: (a, k) => (k === "wait" ? refuse : Reflect.get(a, k)) }));
    expect(() => numbers(2).receiveSync()).toThrow(/must not block: use send and receive/);
  });
});
