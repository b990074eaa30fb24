/**
 * @file ReplayBuffer: what is pushed comes back, the oldest goes first, samples depend on seed and call alone, and
 * wrong input changes nothing.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ReplayBuffer } from "../../src/buffers/replay.ts";
import { DataError } from "../../src/kernels/errors.ts";
import { chiSquareDeviations, targets } from "./support.ts";

type Made = ReturnType<typeof make>;
const make = (capacity: number, options: { seed?: number; target?: (typeof targets)[number] } = {}) =>
  new ReplayBuffer({ capacity, observation: 3, action: { dtype: "i32", size: 1 }, ...options });

/** Transition n: every part of it tells n. */
function pushNumber(buffer: Made, n: number): number {
  return buffer.pushSlices([n, n + 0.25, n + 0.5], n, -n, n % 2 === 1, n % 3 === 1, [n + 1, n + 1.25, n + 1.5]);
}

function expectNumbers(batch: ReturnType<Made["sample"]>, low: number, high: number): void {
  for (let i = 0; i < batch.size; i++) {
    const n = batch.action[i] as number;
    expect(n).toBeGreaterThanOrEqual(low);
    expect(n).toBeLessThan(high);
    expect([...batch.observation.subarray(3 * i, 3 * i + 3)]).toEqual([n, n + 0.25, n + 0.5]);
    expect([...batch.nextObservation.subarray(3 * i, 3 * i + 3)]).toEqual([n + 1, n + 1.25, n + 1.5]);
    expect(batch.reward[i]).toBe(n === 0 ? -0 : -n);
    expect(batch.terminated[i]).toBe(n % 2);
    expect(batch.truncated[i]).toBe(n % 3 === 1 ? 1 : 0);
  }
}

describe("ReplayBuffer", () => {
  test.each(targets)("gives back what was pushed, and overwrites the oldest (%s)", (target) => {
    const buffer = make(10, { target });
    for (let n = 0; n < 7; n++) expect(pushNumber(buffer, n)).toBe(n);
    expect([buffer.length, buffer.pushed]).toEqual([7, 7]);
    expectNumbers(buffer.sample(7), 0, 7);
    for (let n = 7; n < 25; n++) pushNumber(buffer, n);
    expect([buffer.length, buffer.pushed]).toEqual([10, 25]);
    for (let k = 0; k < 20; k++) expectNumbers(buffer.sample(9), 15, 25);
    const seen = new Set<number>();
    for (let k = 0; k < 40; k++) for (const n of buffer.sample(10).action) seen.add(n);
    expect(seen.size).toBe(10);
    buffer.dispose();
  });

  test("the same bits on every target, and the same sample for the same seed and call", () => {
    const buffers = targets.map((target) => make(100, { seed: 5, target }));
    for (const buffer of buffers) for (let n = 0; n < 130; n++) pushNumber(buffer, n);
    for (const size of [1, 2, 7, 32, 33]) {
      const batches = buffers.map((buffer) => buffer.sample(size));
      for (const batch of batches.slice(1)) {
        expect(batch.index).toEqual(batches[0]?.index);
        expect(batch.observation).toEqual(batches[0]?.observation);
      }
    }
    const [first, ...others] = buffers as [Made, ...Made[]];
    const kept = Int32Array.from(first.sample(32).index);
    expect(first.sample(32).index).not.toEqual(kept);
    first.calls -= 2;
    expect(first.sampleInto(first.createBatch(32)).index).toEqual(kept);
    for (const other of others) expect(other.sample(32).index).toEqual(kept);
    expect(make(100, { seed: 6 }).seed).toBe(6);
  });

  test("sample and sampleInto agree; another seed gives another sample", () => {
    const [a, b, c] = [make(64, { seed: 1 }), make(64, { seed: 1 }), make(64, { seed: 2 })];
    for (let n = 0; n < 64; n++) for (const buffer of [a, b, c]) pushNumber(buffer, n);
    const into = b.createBatch(16);
    for (let k = 0; k < 5; k++) {
      const sampled = a.sample(16);
      b.sampleInto(into);
      expect(into.index).toEqual(sampled.index);
      expect(into.observation).toEqual(sampled.observation);
      expect(c.sample(16).index).not.toEqual(sampled.index);
    }
    expect(() => a.sampleInto(into)).toThrow(DataError);
  });

  test.each(targets)("draws every transition equally often (%s)", (target) => {
    // A count for which some words must be drawn again to be exactly uniform.
    const counts = new Uint32Array(97);
    const buffer = make(97, { seed: 11, target });
    for (let n = 0; n < 150; n++) pushNumber(buffer, n);
    for (let k = 0; k < 400; k++)
      for (const slot of buffer.sample(97).index) counts[slot] = (counts[slot] as number) + 1;
    const deviations = chiSquareDeviations(counts, new Float64Array(97).fill(1 / 97));
    expect(Math.abs(deviations)).toBeLessThan(4);
  });

  test("sampleRecent takes the newest only, around the end of the ring", () => {
    const buffer = make(20);
    for (let n = 0; n < 33; n++) pushNumber(buffer, n);
    for (let k = 0; k < 20; k++) expectNumbers(buffer.sampleRecent(5, 6), 27, 33);
    expect(() => buffer.sampleRecent(7, 6)).toThrow(/7 transitions were asked for, 6 are there/);
  });

  test("holds what a plain list holds, whatever is pushed how", () => {
    const actions = fc.array(fc.oneof(fc.constant("push" as const), fc.integer({ min: 1, max: 4 })), { maxLength: 40 });
    fc.assert(
      fc.property(fc.integer({ min: 4, max: 9 }), actions, (capacity, list) => {
        const buffer = make(capacity);
        let n = 0;
        for (const action of list) {
          if (action === "push") pushNumber(buffer, n++);
          else {
            const rows = Array.from({ length: action }, (_, k) => n + k);
            const each = (f: (m: number) => number[]): number[] => rows.flatMap(f);
            buffer.pushBatch(
              {
                observation: each((m) => [m, m + 0.25, m + 0.5]),
                nextObservation: each((m) => [m + 1, m + 1.25, m + 1.5]),
                action: rows,
                reward: rows.map((m) => -m),
                terminated: rows.map((m) => m % 2),
                truncated: rows.map((m) => m % 3 === 1),
              },
              action,
            );
            n += action;
          }
        }
        expect(buffer.pushed).toBe(n);
        expect(buffer.length).toBe(Math.min(n, capacity));
        if (n > 0) expectNumbers(buffer.sample(buffer.length), n - buffer.length, n);
        buffer.dispose();
      }),
      { numRuns: 30 },
    );
  });

  test("push of an object and pushSlices write the same; extra columns come along", () => {
    const layout = {
      capacity: 8,
      observation: { dtype: "u8", size: 4 },
      action: 2,
      columns: { logProb: 1, hidden: { dtype: "f64", size: 2 } },
    } as const;
    const [a, b] = [new ReplayBuffer(layout), new ReplayBuffer(layout)];
    for (let n = 0; n < 5; n++) {
      const extra = { logProb: -n, hidden: [n, n / 3] };
      const observation = Uint8Array.of(n, 2, 255, 0);
      a.push({
        observation,
        action: [n, 1],
        reward: 1,
        terminated: false,
        truncated: 1,
        nextObservation: observation,
        ...extra,
      });
      b.pushSlices(observation, [n, 1], 1, 0, true, observation, extra);
    }
    const [x, y] = [a.sample(5), b.sample(5)];
    for (const name of ["observation", "action", "logProb", "hidden", "truncated"] as const)
      expect(x[name]).toEqual(y[name]);
    expect(x.hidden).toBeInstanceOf(Float64Array);
    expect(x.observation).toBeInstanceOf(Uint8Array);
    expect(x.hidden[1]).toBe((x.hidden[0] as number) / 3);
  });

  test.each(targets)("wide rows and odd widths are gathered whole (%s)", (target) => {
    for (const [dtype, size] of [
      ["u8", 7],
      ["u8", 70],
      ["u8", 200],
      ["f32", 5],
      ["f32", 33],
      ["f64", 40],
    ] as const) {
      const buffer = new ReplayBuffer({ capacity: 6, observation: { dtype, size }, action: 1, target });
      const row = (n: number) => {
        const array = dtype === "u8" ? new Uint8Array(size) : new Float32Array(size);
        return array.fill(n).map((v, k) => v + k);
      };
      for (let n = 0; n < 9; n++) buffer.pushSlices(row(n), n, 0, false, false, row(n + 1));
      const batch = buffer.sample(6);
      for (let i = 0; i < 6; i++) {
        const n = batch.action[i] as number;
        expect([...batch.observation.subarray(i * size, (i + 1) * size)]).toEqual([...row(n)]);
        expect([...batch.nextObservation.subarray(i * size, (i + 1) * size)]).toEqual([...row(n + 1)]);
      }
    }
  });

  test.each(targets)("keeps the bits of every NaN (%s)", (target) => {
    const buffer = new ReplayBuffer({ capacity: 2, observation: { dtype: "u32", size: 2 }, action: 1, target });
    const signalling = Uint32Array.of(0x00000001, 0x7ff00000);
    for (let k = 0; k < 2; k++)
      buffer.pushSlices(signalling, 0, 0, false, false, Uint32Array.of(0x7f800001, 0xffbfffff));
    const batch = buffer.sample(2);
    expect([...batch.observation]).toEqual([...signalling, ...signalling]);
    expect([...batch.nextObservation.subarray(0, 2)]).toEqual([0x7f800001, 0xffbfffff]);
  });

  test("columns can be seen in place", () => {
    const buffer = make(5);
    for (let n = 0; n < 5; n++) pushNumber(buffer, n);
    const { array, offset, stride } = buffer.column("reward");
    expect(Array.from({ length: 5 }, (_, slot) => array[offset + slot * stride])).toEqual([-0, -1, -2, -3, -4]);
    expect(() => buffer.column("rewards")).toThrow(/there is no column "rewards"/);
  });

  test("a restored buffer goes on exactly as the saved one", () => {
    const [a, b] = [make(12, { seed: 3 }), make(12, { seed: 3 })];
    for (let n = 0; n < 20; n++) pushNumber(a, n);
    a.sample(5);
    const saved = structuredClone(a.save());
    b.restore(saved);
    for (let n = 20; n < 24; n++) expect(pushNumber(a, n)).toBe(pushNumber(b, n));
    expect(b.sample(6).index).toEqual(a.sample(6).index);
    expect(b.sample(12).observation).toEqual(a.sample(12).observation);
    expect(() => make(13, { seed: 3 }).restore(saved)).toThrow(DataError);
    expect(() => make(12, { seed: 4 }).restore(saved)).toThrow(DataError);
  });
});

describe("wrong input to ReplayBuffer is an error that changes nothing", () => {
  const buffer = make(4);
  pushNumber(buffer, 0);
  const row = [1, 2, 3];
  const wrong: readonly [string, () => unknown][] = [
    ["observation", () => buffer.pushSlices([1, 2], 0, 0, false, false, row)],
    ["observation", () => buffer.pushSlices(undefined, 0, 0, false, false, row)],
    ["nextObservation", () => buffer.pushSlices(row, 0, 0, false, false)],
    ["action", () => buffer.pushSlices(row, 0.5, 0, false, false, row)],
    ["action", () => buffer.pushSlices(row, [1, 2], 0, false, false, row)],
    ["reward", () => buffer.pushSlices(row, 1, undefined as never, false, false, row)],
    ["terminated", () => buffer.pushSlices(row, 1, 0, 2, false, row)],
    ["truncated", () => buffer.pushSlices(row, 1, 0, false, undefined as never, row)],
    ["5 transitions were asked for", () => buffer.sample(5)],
    ["size of a batch", () => buffer.sample(0)],
    ["capacity", () => make(0)],
    ["capacity", () => make(1.5)],
    ["not one of", () => new ReplayBuffer({ capacity: 1, observation: { dtype: "f16" as never, size: 1 }, action: 1 })],
    ["is taken", () => new ReplayBuffer({ capacity: 1, observation: 1, action: 1, columns: { reward: 1 } })],
    [
      "rows",
      () =>
        buffer.pushBatch(
          { observation: row, action: [1], reward: [], terminated: [0], truncated: [0], nextObservation: row },
          1,
        ),
    ],
    ["transitions", () => buffer.pushBatch({ action: [], reward: [], terminated: [], truncated: [] }, 5)],
  ];
  test.each(wrong.map(([what, call], k) => [k, what, call] as const))("%i: %s", (_, what, call) => {
    if (what !== "rows") expect(call).toThrow(new RegExp(what));
    expect(call).toThrow(DataError);
    expect(buffer.pushed).toBe(1);
    expectNumbers(buffer.sample(1), 0, 1);
  });
});
