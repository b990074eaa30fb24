/**
 * @file Observations stored once: what comes back is what separate columns give, episode ends included.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ReplayBuffer } from "../../src/buffers/replay.ts";
import { DataError } from "../../src/kernels/errors.ts";
import { targets } from "./support.ts";

const SIZE = 2;
const row = (n: number): Float32Array => Float32Array.of(n, n + 0.5);

/** Observations of episodes have numbers of their own: the first of episode e is 100 e. */
interface Step {
  readonly from: number;
  readonly to: number;
  readonly ended: boolean;
}
function stepsOf(lengths: readonly number[]): Step[] {
  return lengths.flatMap((length, e) =>
    Array.from({ length }, (_, t) => ({ from: 100 * e + t, to: 100 * e + t + 1, ended: t === length - 1 })),
  );
}

describe("observations stored once", () => {
  test.each(targets)("give the same samples as separate columns (%s)", (target) => {
    const lengths = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(fc.integer({ min: 5, max: 20 }), lengths, (capacity, list) => {
        const layout = { capacity, observation: SIZE, action: 1, target, seed: 4 } as const;
        const once = new ReplayBuffer({ ...layout, nextObservations: "once", finalObservations: 40 });
        const separate = new ReplayBuffer(layout);
        let begins = true;
        for (const { from, to, ended } of stepsOf(list)) {
          once.pushSlices(begins ? row(from) : undefined, from, 1, ended, false, row(to));
          separate.pushSlices(row(from), from, 1, ended, false, row(to));
          begins = ended;
        }
        expect(once.length).toBe(separate.length);
        const [a, b] = [once.sample(once.length), separate.sample(once.length)];
        expect(a.observation).toEqual(b.observation);
        expect(a.nextObservation).toEqual(b.nextObservation);
        expect(a.action).toEqual(b.action);
        once.dispose();
        separate.dispose();
      }),
      { numRuns: 25 },
    );
  });

  test("holds fewer transitions, all of them right, when many episodes end", () => {
    const buffer = new ReplayBuffer({
      capacity: 32,
      observation: SIZE,
      action: 1,
      nextObservations: "once",
      finalObservations: 0,
    });
    let least = 32;
    let begins = true;
    stepsOf(Array.from({ length: 120 }, (_, k) => 1 + (k % 3))).forEach(({ from, to, ended }, k) => {
      buffer.pushSlices(begins ? row(from) : undefined, from, 1, ended, false, row(to));
      begins = ended;
      if (k < 40) return;
      least = Math.min(least, buffer.length);
      const batch = buffer.sample(8);
      for (let i = 0; i < 8; i++) {
        const n = batch.action[i] as number;
        expect([...batch.observation.subarray(2 * i, 2 * i + 2)]).toEqual([...row(n)]);
        expect([...batch.nextObservation.subarray(2 * i, 2 * i + 2)]).toEqual([...row(n + 1)]);
      }
    });
    expect(least).toBeLessThan(32);
    expect(least).toBeGreaterThan(12);
  });

  test("environments in step: batches equal separate columns", () => {
    const environments = 3;
    const layout = { capacity: 30, observation: SIZE, action: 1, environments, seed: 9 } as const;
    const once = new ReplayBuffer({ ...layout, nextObservations: "once", finalObservations: 60 });
    const separate = new ReplayBuffer(layout);
    const now = [0, 1000, 2000];
    for (let t = 0; t < 40; t++) {
      const ended = now.map((_, e) => (t + e) % 4 === 0);
      const batch = {
        observation: Float32Array.from(now.flatMap((n) => [...row(n)])),
        nextObservation: Float32Array.from(now.flatMap((n) => [...row(n + 1)])),
        action: [...now],
        reward: now.map(() => 1),
        terminated: ended,
        truncated: now.map(() => false),
      };
      once.pushBatch(batch, environments);
      separate.pushBatch(batch, environments);
      now.forEach((n, e) => {
        now[e] = ended[e] ? n + 10 : n + 1;
      });
      if (t < 10) continue;
      const [a, b] = [once.sample(20), separate.sample(20)];
      expect(a.observation).toEqual(b.observation);
      expect(a.nextObservation).toEqual(b.nextObservation);
    }
    const other = new ReplayBuffer({ ...layout, nextObservations: "once", finalObservations: 60 });
    other.restore(structuredClone(once.save()));
    expect(other.sample(20).nextObservation).toEqual(once.sample(20).nextObservation);
  });

  test("a quarter of the bytes in u8, and half of them when stored once", () => {
    const size = 1000;
    const bytes = (dtype: "u8" | "f32", nextObservations: "once" | "separate") =>
      new ReplayBuffer({
        capacity: 64,
        observation: { dtype, size },
        action: 1,
        nextObservations,
        finalObservations: 0,
      }).bytes;
    expect(bytes("f32", "separate") / bytes("u8", "separate")).toBeGreaterThan(3.9);
    expect(bytes("f32", "separate") / bytes("f32", "once")).toBeGreaterThan(1.85);
    expect(bytes("f32", "separate") / bytes("u8", "once")).toBeGreaterThan(7.3);
  });

  test("a stream must begin with an observation", () => {
    const buffer = new ReplayBuffer({ capacity: 8, observation: SIZE, action: 1, nextObservations: "once" });
    expect(() => buffer.pushSlices(undefined, 0, 0, false, false, row(1))).toThrow(/a stream begins here/);
    buffer.pushSlices(row(0), 0, 0, false, true, row(1));
    expect(() => buffer.pushSlices(undefined, 0, 0, false, false, row(1))).toThrow(DataError);
    buffer.pushSlices(row(5), 0, 0, false, false, row(6));
    buffer.pushSlices(undefined, 0, 0, false, false, row(7));
    buffer.restart();
    expect(() => buffer.pushSlices(undefined, 0, 0, false, false, row(8))).toThrow(DataError);
    expect(() => buffer.pushSlices(row(1), 0, 0, false, false)).toThrow(/nextObservation/);
    expect(buffer.pushed).toBe(3);
    expect(() => new ReplayBuffer({ capacity: 8, observation: 1, action: 1, environments: 3 })).toThrow(/multiple/);
    expect(() => buffer.share()).toThrow(DataError);
  });
});
