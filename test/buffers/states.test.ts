/**
 * @file Saved states that do not fit: each is refused, and the buffer stays as it was.
 */
import { describe, expect, test } from "vitest";
import { HerBuffer } from "../../src/buffers/her.ts";
import { NStepBuffer } from "../../src/buffers/nstep.ts";
import { PrioritizedReplayBuffer } from "../../src/buffers/prioritized.ts";
import { ReplayBuffer } from "../../src/buffers/replay.ts";
import { SequenceBuffer } from "../../src/buffers/sequence.ts";
import { DataError } from "../../src/kernels/errors.ts";

const LAYOUT = { capacity: 8, observation: 2, action: 1 } as const;
const row = (n: number): Float32Array => Float32Array.of(n, n + 0.5);
const transition = (n: number, ended = false) => ({
  observation: row(n),
  action: n,
  reward: n,
  terminated: ended,
  truncated: false,
  nextObservation: row(n + 1),
});

describe("restored states", () => {
  test("must refer to rows that exist", () => {
    const options = { ...LAYOUT, nextObservations: "once" } as const;
    const buffer = new ReplayBuffer(options);
    for (let n = 0; n < 5; n++) buffer.push({ ...transition(n) });
    const saved = buffer.save();
    const pool = saved.pool as NonNullable<typeof saved.pool>;
    const wrong = [
      { ...saved, columns: { ...saved.columns, observationRow: Int32Array.of(0, 1, 2, 3, 10 ** 9) } },
      { ...saved, columns: { ...saved.columns, nextObservationRow: Int32Array.of(0, 1, 2, 3, -1) } },
      { ...saved, pool: { ...pool, taken: Number.NaN } },
      { ...saved, pool: { ...pool, first: 3 } },
      { ...saved, pool: { ...pool, rows: new Float32Array(3) } },
      { ...saved, pool: { ...pool, last: [100] } },
      { ...saved, calls: -1 },
    ];
    const other = new ReplayBuffer(options);
    other.push(transition(7));
    for (const [k, one] of wrong.entries()) expect(() => other.restore(one), `state ${k}`).toThrow(DataError);
    expect(other.length).toBe(1);
    expect(other.sample(1).reward[0]).toBe(7);
    other.restore(saved);
    expect(other.sample(5).observation).toEqual(buffer.sample(5).observation);
  });

  test("of windows must add up", () => {
    const buffer = new SequenceBuffer({ ...LAYOUT, window: 2 });
    for (let n = 0; n < 5; n++) buffer.push(transition(n));
    const saved = buffer.save();
    for (const wrong of [
      { lost: Number.NaN },
      { ends: Float64Array.of(0, 1, 2, 3, 9) },
      { ends: new Float64Array(5).fill(NaN) },
    ])
      expect(() => buffer.restore({ ...saved, ...wrong }), JSON.stringify(wrong)).toThrow(DataError);
    buffer.restore(saved);
    expect(buffer.windows).toBe(4);
  });

  test("of hindsight buffers must hold steps and lengths that fit together", () => {
    const buffer = new HerBuffer({ ...LAYOUT, goal: 1, strategy: "final" });
    buffer.pushEpisode([0, 1].map((n) => ({ ...transition(n, n === 1), achievedGoal: [n], desiredGoal: [0] })));
    const saved = buffer.save();
    for (const wrong of [
      { lengths: Int32Array.of(100, 100) },
      { steps: Int32Array.of(5, 6) },
      { current: Number.NaN },
      { current: 7 },
    ])
      expect(() => buffer.restore({ ...saved, ...wrong }), JSON.stringify(wrong)).toThrow(DataError);
    buffer.restore(saved);
    expect(buffer.finished).toBe(2);
  });

  test("are records with all their parts", () => {
    const buffers = [
      new ReplayBuffer(LAYOUT),
      new ReplayBuffer({ ...LAYOUT, nextObservations: "once" }),
      new PrioritizedReplayBuffer(LAYOUT),
      new NStepBuffer({ ...LAYOUT, n: 2 }),
      new SequenceBuffer({ ...LAYOUT, window: 2 }),
      new HerBuffer({ ...LAYOUT, goal: 1 }),
    ];
    for (const [k, buffer] of buffers.entries()) {
      const saved = buffer.save() as unknown as { readonly [name: string]: unknown };
      const restore = buffer.restore.bind(buffer) as (state: unknown) => void;
      for (const state of [undefined, null, 5, {}]) expect(() => restore(state), `${k} ${state}`).toThrow(DataError);
      for (const name of Object.keys(saved))
        expect(() => restore({ ...saved, [name]: undefined }), `${k} without ${name}`).toThrow(DataError);
      if (saved.pool) expect(() => restore({ ...saved, pool: {} })).toThrow(DataError);
    }
  });

  test("hold what their columns can hold", () => {
    const buffer = new ReplayBuffer({ ...LAYOUT, observation: { dtype: "u8", size: 1 } });
    buffer.push({ ...transition(7), observation: [3], nextObservation: [4] });
    const saved = buffer.save();
    const other = { reward: [5], observation: [200], terminated: [1] };
    for (const wrong of [
      { observation: [300] },
      { observation: [0.5] },
      { reward: ["x"] },
      { reward: [undefined] },
      { terminated: [9] },
      { reward: BigInt64Array.of(1n) },
    ]) {
      const columns = { ...saved.columns, ...other, ...wrong } as never;
      expect(() => buffer.restore({ ...saved, columns }), JSON.stringify(Object.keys(wrong))).toThrow(DataError);
    }
    expect(buffer.sample(1)).toMatchObject({ observation: Uint8Array.of(3), reward: Float32Array.of(7) });
    buffer.restore({ ...saved, columns: { ...saved.columns, ...other } as never });
    expect(buffer.sample(1)).toMatchObject({ observation: Uint8Array.of(200), terminated: Uint8Array.of(1) });
  });

  test("begin at slot 0 until they are full, and hold whole steps of environments", () => {
    const buffer = new ReplayBuffer(LAYOUT);
    buffer.push(transition(0));
    expect(() => buffer.restore({ ...buffer.save(), head: 3 })).toThrow(/do not fit together/);
    const options = { ...LAYOUT, environments: 2 } as const;
    const both = Float32Array.of(...row(0), ...row(1));
    const flags = { terminated: [0, 0], truncated: [0, 0] };
    const rows = { observation: both, nextObservation: both, action: [0, 1], reward: [0, 1], ...flags };
    for (const one of [
      new ReplayBuffer({ ...options, nextObservations: "once" }),
      new NStepBuffer({ ...options, n: 2 }),
      new SequenceBuffer({ ...options, window: 2 }),
    ]) {
      for (let t = 0; t < 5; t++) one.pushBatch(rows, 2);
      const restore = one.restore.bind(one) as (state: object) => void;
      expect(() => restore({ ...one.save(), head: 1 })).toThrow(/do not fit together/);
      restore(one.save());
    }
  });

  test("of windows have steps and ends that follow from their flags", () => {
    const make = () => new SequenceBuffer({ ...LAYOUT, window: 3 });
    const ended = make();
    for (let n = 0; n < 3; n++) ended.push(transition(n, true));
    const other = make();
    expect(() => other.restore({ ...ended.save(), steps: [50] })).toThrow(/50 steps of the episode in environment 0/);
    expect(() => other.restore({ ...ended.save(), pushed: 9 })).toThrow(DataError);
    const ends = Float64Array.of(0, 1, 1);
    expect(() => other.restore({ ...ended.save(), ends })).toThrow(/up to transition 1 do not add up/);
    expect(other.length).toBe(0);
    // The first steps of an episode that is longer than the buffer are not known.
    const long = make();
    for (let n = 0; n < 20; n++) long.push(transition(n));
    expect(() => other.restore({ ...long.save(), steps: [7] })).toThrow(DataError);
    other.restore(long.save());
    for (const one of [long, other]) one.push(transition(20));
    expect([other.windows, [...other.sample(4).reward]]).toEqual([long.windows, [...long.sample(4).reward]]);
  });
});

describe("saved states", () => {
  test("of a buffer that was cleared go on as it does", () => {
    const make = () => new ReplayBuffer({ ...LAYOUT, capacity: 4 });
    const [a, b] = [make(), make()];
    for (let n = 0; n < 6; n++) a.push(transition(n));
    a.clear();
    for (let n = 10; n < 13; n++) a.push(transition(n));
    b.restore(structuredClone(a.save()));
    expect([b.length, b.pushed]).toEqual([3, 9]);
    for (const one of [a, b]) for (let n = 13; n < 16; n++) one.push(transition(n));
    expect([...b.sample(4).reward]).toEqual([...a.sample(4).reward]);
  });
});
