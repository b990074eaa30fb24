/**
 * @file OfflineDataset and sampleMixed.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { mixedCount, sampleMixed } from "../../src/buffers/mixed.ts";
import { OfflineDataset } from "../../src/buffers/offline.ts";
import { ReplayBuffer } from "../../src/buffers/replay.ts";
import { DataError } from "../../src/kernels/errors.ts";
import { targets } from "./support.ts";

const LENGTHS = [5, 1, 7, 3];
/** Row n of the data says n; episodes are terminated. */
function data() {
  const rows = LENGTHS.reduce((a, b) => a + b);
  const ends = new Set(LENGTHS.map((_, e) => LENGTHS.slice(0, e + 1).reduce((a, b) => a + b) - 1));
  return {
    observation: Float32Array.from({ length: 2 * rows }, (_, k) => (k % 2 ? -1 : 1) * (k >> 1)),
    action: Int32Array.from({ length: rows }, (_, n) => n),
    reward: Float32Array.from({ length: rows }, (_, n) => n),
    terminated: Uint8Array.from({ length: rows }, (_, n) => (ends.has(n) ? 1 : 0)),
    truncated: new Uint8Array(rows),
  };
}

describe("OfflineDataset", () => {
  test("finds episodes and next observations", () => {
    const set = new OfflineDataset(data());
    expect([...set.episodes]).toEqual([0, 5, 6, 13]);
    expect(set.length).toBe(16);
    const next = set.column("nextObservation");
    expect([next[0], next[2 * 3], next[2 * 4], next[2 * 6]]).toEqual([1, 4, 0, 7]);
    const truncated = { ...data(), terminated: new Uint8Array(16), truncated: data().terminated };
    expect(() => new OfflineDataset(truncated)).toThrow(/row 4 ends an episode that was not terminated/);
    const given = new OfflineDataset({ ...truncated, nextObservation: data().observation });
    expect([...given.episodes]).toEqual([0, 5, 6, 13]);
  });

  test.each(targets)("draws whole transitions, by seed and call (%s)", (target) => {
    const [a, b] = [new OfflineDataset(data(), { seed: 4, target }), new OfflineDataset(data(), { seed: 4 })];
    for (let k = 0; k < 4; k++) {
      const batch = a.sample(16);
      batch.action.forEach((n, i) => {
        expect([batch.reward[i], batch.observation[2 * i], batch.index[i]]).toEqual([n, n, n]);
      });
      expect(b.sample(16).index).toEqual(batch.index);
    }
    expect(() => a.sample(17)).toThrow(/17 transitions were asked for, 16 are there/);
  });

  test("windows end with their episodes; the rest is padded and masked", () => {
    const set = new OfflineDataset(data(), { seed: 1 });
    const starts = new Set<number>();
    for (let k = 0; k < 40; k++) {
      const batch = set.sampleTrajectories(6, 4);
      for (let w = 0; w < 6; w++) {
        const first = batch.action[4 * w] as number;
        starts.add(first);
        const episode = [...set.episodes].findLastIndex((row) => row <= first);
        const end = set.episodes[episode + 1] ?? 16;
        for (let t = 0; t < 4; t++) {
          const i = 4 * w + t;
          const n = first + t;
          const inside = n < end;
          expect(batch.mask[i]).toBe(inside ? 1 : 0);
          expect(batch.action[i]).toBe(inside ? n : 0);
          expect(batch.observation[2 * i]).toBe(inside ? n : 0);
          expect(batch.terminated[i]).toBe(inside && n === end - 1 ? 1 : 0);
          expect(batch.step[i]).toBe(inside ? n - (set.episodes[episode] as number) : 0);
          let toGo = 0;
          for (let m = n; m < end; m++) toGo += m;
          expect(batch.returnToGo[i]).toBe(toGo);
        }
      }
    }
    expect(starts.size).toBe(16);
  });

  test("normalises observations and rewards once", () => {
    const set = new OfflineDataset(data());
    set.normalise({ rewards: "standard" });
    const values = [...set.column("observation")].filter((_, k) => k % 2 === 0);
    const mean = values.reduce((a, b) => a + b, 0) / 16;
    expect(Math.abs(mean)).toBeLessThan(1e-6);
    expect(values.reduce((a, b) => a + (b - mean) ** 2, 0) / 16).toBeCloseTo(1, 5);
    expect(set.mean?.[0]).toBeCloseTo(7.5, 12);
    const rewards = [...set.column("reward")];
    const middle = rewards.reduce((a, b) => a + b, 0) / 16;
    expect(rewards.reduce((a, b) => a + (b - middle) ** 2, 0) / 16).toBeCloseTo(1, 5);
    expect(() => set.normalise()).toThrow(/already/);
    const range = new OfflineDataset(data());
    range.normalise({ observations: false, rewards: "return" });
    const returns = [...range.episodes].map((row, e) =>
      [...range.column("reward").subarray(row, range.episodes[e + 1] ?? 16)].reduce((a, b) => a + b, 0),
    );
    expect(Math.max(...returns) - Math.min(...returns)).toBeCloseTo(1000, 2);
    expect(range.column("observation")).toEqual(data().observation);
    expect(() => new OfflineDataset({ ...data(), observation: new Uint8Array(16) }).normalise()).toThrow(/u8/);
  });

  test("is written to a file and read back; damaged and hostile bytes are refused", () => {
    const folder = mkdtempSync(join(tmpdir(), "lockstep-offline-"));
    const set = new OfflineDataset(data(), { seed: 9 });
    set.save(join(folder, "set"));
    const loaded = OfflineDataset.load(join(folder, "set"), { seed: 9 });
    for (const name of ["observation", "nextObservation", "action", "reward", "terminated", "truncated"])
      expect(loaded.column(name)).toEqual(set.column(name));
    expect(loaded.sample(8).index).toEqual(set.sample(8).index);
    rmSync(folder, { recursive: true });
    expect(() => OfflineDataset.load(join(folder, "set"))).toThrow(/cannot be read/);
    const bytes = set.encode();
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (place, change) => {
        const broken = Uint8Array.from(bytes);
        broken[place] = (broken[place] as number) ^ change;
        expect(() => OfflineDataset.decode(broken)).toThrow(DataError);
      }),
      { numRuns: 150 },
    );
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), (end) => {
        expect(() => OfflineDataset.decode(bytes.subarray(0, end))).toThrow(DataError);
      }),
      { numRuns: 50 },
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => {
        const start = bytes.subarray(0, 8);
        expect(() => OfflineDataset.decode(Uint8Array.of(...start, ...noise))).toThrow(DataError);
      }),
      { numRuns: 50 },
    );
  });

  test("refuses columns that do not belong together", () => {
    const good = data();
    expect(() => new OfflineDataset({ ...good, observation: good.observation.subarray(1) })).toThrow(/not a multiple/);
    expect(() => new OfflineDataset({ ...good, terminated: good.terminated.subarray(1) })).toThrow(
      /"terminated" has 15/,
    );
    expect(() => new OfflineDataset({ ...good, truncated: new Uint8Array(16).fill(2) })).toThrow(/flags are 0 and 1/);
    expect(() => new OfflineDataset({ ...good, nextObservation: new Float32Array(16) })).toThrow(DataError);
    expect(() => new OfflineDataset({ ...good, reward: [] })).toThrow(DataError);
    expect(() => new OfflineDataset({ ...good, action: [1, 2] as never })).toThrow(DataError);
  });
});

describe("sampleMixed", () => {
  const make = (seed: number, offset: number) => {
    const buffer = new ReplayBuffer({ capacity: 20, observation: 3, action: 1, seed });
    for (let n = offset; n < offset + 20; n++) buffer.pushSlices([n, n, n], n, n, false, n % 2 === 0, [n + 1, n, n]);
    return buffer;
  };

  test.each(targets)("takes the share, rounded up, from the first (%s)", () => {
    for (const [size, ratio, count] of [
      [10, 0.25, 3],
      [10, 0, 0],
      [10, 1, 10],
      [7, 0.5, 4],
      [1, 0.01, 1],
    ] as const) {
      const [a, b] = [make(1, 0), make(2, 100)];
      const [x, y] = [make(1, 0), make(2, 100)];
      expect(mixedCount(size, ratio)).toBe(count);
      for (let k = 0; k < 3; k++) {
        const batch = sampleMixed(a, b, size, ratio);
        const expected = [
          ...(count ? x.sample(count).reward : []),
          ...(size > count ? y.sample(size - count).reward : []),
        ];
        expect([...batch.reward]).toEqual(expected);
        batch.reward.forEach((n, i) => {
          expect([batch.action[i], batch.observation[3 * i + 2], batch.nextObservation[3 * i]]).toEqual([n, n, n + 1]);
          expect(batch.truncated[i]).toBe(n % 2 === 0 ? 1 : 0);
        });
      }
    }
  });

  test("refuses wrong shares, too few transitions and other columns", () => {
    const [a, b] = [make(1, 0), make(2, 0)];
    expect(() => sampleMixed(a, b, 4, 1.5)).toThrow(/"ratio" must be a number from 0 to 1/);
    expect(() => sampleMixed(a, b, 50, 0.5)).toThrow(/25 and 25 transitions were asked for, 20 and 20 are there/);
    const other = new ReplayBuffer({ capacity: 4, observation: 2, action: 1 });
    for (let n = 0; n < 4; n++) other.pushSlices([1, 2], 1, 1, 0, 0, [1, 2]);
    expect(() => sampleMixed(a, other as never, 4, 0.5)).toThrow(DataError);
  });
});
