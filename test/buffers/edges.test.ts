/**
 * @file Buffers at their edges: sizes that are too large, values that do not fit, calls that fail half-way, memory that
 * is given back.
 */
import { describe, expect, test, vi } from "vitest";
import { type GoalTransition, HerBuffer } from "../../src/buffers/her.ts";
import { sampleMixed } from "../../src/buffers/mixed.ts";
import { NStepBuffer } from "../../src/buffers/nstep.ts";
import { OfflineDataset } from "../../src/buffers/offline.ts";
import { Pipeline } from "../../src/buffers/pipeline.ts";
import { PrioritizedReplayBuffer } from "../../src/buffers/prioritized.ts";
import { ReplayBuffer } from "../../src/buffers/replay.ts";
import { RolloutBuffer } from "../../src/buffers/rollout.ts";
import { SequenceBuffer } from "../../src/buffers/sequence.ts";
import { SumTree } from "../../src/buffers/sumTree.ts";
import { ExperienceTable } from "../../src/buffers/table.ts";
import { f32, f64 } from "../../src/kernel/declare.ts";
import { allocate } from "../../src/kernel/kernel.ts";
import { DataError } from "../../src/kernels/errors.ts";
import { LockstepError } from "../../src/platform/errors.ts";
import { HeapError, heap } from "../../src/runtime/heap.ts";
import { kept } from "./support.ts";

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

describe("samples larger than the buffer", () => {
  const offline = new OfflineDataset({
    observation: new Float32Array(4),
    action: new Float32Array(4),
    reward: [0, 0, 0, 0],
    terminated: [0, 0, 0, 1],
    truncated: [0, 0, 0, 0],
  });
  const buffers = {
    ReplayBuffer: new ReplayBuffer(LAYOUT),
    PrioritizedReplayBuffer: new PrioritizedReplayBuffer(LAYOUT),
    NStepBuffer: new NStepBuffer({ ...LAYOUT, n: 2 }),
    SequenceBuffer: new SequenceBuffer({ ...LAYOUT, window: 2 }),
    HerBuffer: new HerBuffer({ ...LAYOUT, goal: 1 }),
    OfflineDataset: offline,
  };
  test.each(Object.entries(buffers))("are refused before any memory is taken (%s)", (_, buffer) => {
    const allocate = vi.spyOn(heap(), "allocate");
    for (const size of [2 ** 40, 9, 5, 0, -1, 1.5, Number.NaN])
      expect(() => buffer.sample(size), String(size)).toThrow(DataError);
    expect(allocate).not.toHaveBeenCalled();
    allocate.mockRestore();
  });

  test("trajectories and mixed samples of no size", () => {
    for (const size of [0, -1, 1.5, Number.NaN]) {
      expect(() => offline.sampleTrajectories(size, 2)).toThrow(DataError);
      expect(() => sampleMixed(buffers.ReplayBuffer, buffers.ReplayBuffer, size, 0.5)).toThrow(DataError);
    }
  });
});

describe("values that a column cannot hold", () => {
  const bytes = { dtype: "u8", size: 2 } as const;
  test("rollouts", () => {
    const rollout = new RolloutBuffer({
      steps: 2,
      environments: 1,
      observation: bytes,
      action: { dtype: "i32", size: 1 },
    });
    expect(() => rollout.begin([0.5, 1])).toThrow(/whole numbers from 0 to 255/);
    rollout.begin([1, 2]);
    const step = { action: [1], reward: [0], terminated: [0], truncated: [false], nextObservation: [3, 4] };
    for (const wrong of [
      { nextObservation: [0, 256] },
      { action: [2 ** 31] },
      { terminated: [0.5] },
      { truncated: [2] },
      { nextObservation: Float32Array.of(0.25, 0.5) },
    ])
      expect(() => rollout.add({ ...step, ...wrong }), JSON.stringify(wrong)).toThrow(DataError);
    expect(rollout.length).toBe(0);
    rollout.add(step);
    expect([...rollout.columns.observation]).toEqual([1, 2, 3, 4, 0, 0]);
  });

  test("tables and pipelines", () => {
    const table = new ExperienceTable({ columns: { frame: bytes, score: 1 } });
    expect(() => table.append({ frame: [0, -1], score: 1 })).toThrow(DataError);
    expect(() => table.appendRows({ frame: [0, 1, 2, 0.5], score: [1, 2] }, 2)).toThrow(DataError);
    expect(table.length).toBe(0);
    const pipeline = new Pipeline({ capacity: 2, columns: { frame: bytes, count: { dtype: "i32", size: 1 } } });
    expect(() => pipeline.trySend({ frame: [0, 300], count: 1 })).toThrow(DataError);
    expect(() => pipeline.trySend({ frame: [0, 1], count: 0.5 })).toThrow(DataError);
    expect(pipeline.length).toBe(0);
    expect(pipeline.trySend({ frame: [0, 1], count: -1 })).toBe(true);
  });
});

describe("a pipeline's handle", () => {
  test("with memory of another layout is refused", () => {
    const handle = new Pipeline({ capacity: 4, columns: { x: 1 } }).share();
    expect(() => Pipeline.attach({ ...handle, columns: { x: 100 } })).toThrow(DataError);
    expect(() => Pipeline.attach({ ...handle, memory: new SharedArrayBuffer(8) })).toThrow(DataError);
  });
});

describe("priorities", () => {
  test("a push that is refused leaves the largest priority as it was", () => {
    const buffer = new PrioritizedReplayBuffer(LAYOUT);
    expect(() => buffer.push({ ...transition(0), observation: [1], priority: 100 })).toThrow(DataError);
    expect(() => buffer.pushBatch({ action: [1] } as never, 1, 100)).toThrow(DataError);
    expect(buffer.largestPriority).toBe(1);
    buffer.push({ ...transition(0), priority: 3 });
    expect(buffer.largestPriority).toBe(3);
  });

  test("whose sum would not be finite are refused, and nothing is set", () => {
    const buffer = new PrioritizedReplayBuffer({ ...LAYOUT, alpha: 2 });
    for (let n = 0; n < 4; n++) buffer.push(transition(n));
    expect(() => buffer.push({ ...transition(9), priority: 1e200 })).toThrow(DataError);
    expect(() => buffer.updatePriorities([0, 1], [1, 1e200])).toThrow(DataError);
    expect(buffer.length).toBe(4);
    expect(buffer.tree.total).toBe(4);
    const tree = new SumTree(4);
    expect(() => tree.setMany([0, 1], [1e308, 1e308])).toThrow(DataError);
    expect(() => tree.set(0, Number.MAX_VALUE)).toThrow(DataError);
    expect(tree.total).toBe(0);
    expect(() => new SumTree(4, { alpha: Number.NaN })).toThrow(DataError);
    expect(() => tree.range(-1, 2)).toThrow(DataError);
    expect(() => tree.range(0, 5)).toThrow(DataError);
    expect(tree.range(1, 1)).toEqual({ sum: 0, least: Number.POSITIVE_INFINITY });
  });

  test("updates of many sizes share their memory", () => {
    // In JavaScript, where a bound function has no argument block of its own.
    const tree = new SumTree(64, { target: "js" });
    const indices = Array.from({ length: 64 }, (_, k) => (k * 37) % 64);
    new SumTree(4, { target: "js" }).setMany([0], [1]);
    const used = kept(() => {
      for (let size = 1; size <= 64; size++)
        tree.setMany(
          indices.slice(0, size),
          indices.slice(0, size).map((i) => size + i),
        );
    });
    expect(used).toBeLessThanOrEqual(2 * 7);
    indices.forEach((i) => {
      expect(tree.leaf(i)).toBe(64 + i);
    });
    expect(tree.total).toBe(64 * 64 + (63 * 64) / 2);
    tree.dispose();
  });
});

describe("a ring that is too large", () => {
  test("for numbers of bytes in its records is refused, and takes no memory", () => {
    const options = { capacity: 150_000_000, observation: 1, action: 1, nextObservations: "none" } as const;
    const used = kept(() => {
      expect(() => new NStepBuffer({ ...options, n: 2 })).toThrow(/too large/);
      expect(() => new ReplayBuffer(options)).toThrow(/too large/);
    });
    expect(used).toBe(0);
  });
  test("for the heap gives back what it has taken", () => {
    const options = { ...LAYOUT, capacity: 1000, observation: 2 ** 21 } as const;
    const used = kept(() => {
      expect(() => new ReplayBuffer(options)).toThrow(HeapError);
      expect(() => new ReplayBuffer({ ...options, nextObservations: "once" })).toThrow(HeapError);
    });
    expect(used).toBe(0);
  });
  test("for its trees gives back those that were made", () => {
    const allocate = heap().allocate.bind(heap());
    new SumTree(4, { target: "js" }).dispose();
    const before = heap().bytesInUse;
    // Sums and least values of eight nodes find room, the four numbers after them do not.
    const full = vi.spyOn(heap(), "allocate").mockImplementation((bytes) => {
      if (bytes === 4 * 8) throw new HeapError("no room");
      return allocate(bytes);
    });
    expect(() => new SumTree(4, { target: "js" })).toThrow(HeapError);
    expect(full).toHaveBeenCalledTimes(3);
    full.mockRestore();
    expect(heap().bytesInUse).toBe(before);
  });
  test("as a pipeline is refused", () => {
    expect(() => new Pipeline({ capacity: 2 ** 24, columns: { x: 2 ** 30 } })).toThrow(DataError);
  });
});

describe("n-step windows longer than numbers of the kernel", () => {
  test("reach the newest transition", () => {
    const buffer = new NStepBuffer({ ...LAYOUT, n: 2 ** 32 + 1, gamma: 1 });
    for (let n = 0; n < 4; n++) buffer.push(transition(n));
    const { steps, index } = buffer.sample(4);
    index.forEach((slot, i) => {
      expect(steps[i]).toBe(4 - slot);
    });
  });
});

describe("episodes for hindsight", () => {
  const goal = (n: number, ended: boolean): GoalTransition => ({
    ...transition(n, ended),
    achievedGoal: [n],
    desiredGoal: [0],
  });
  test("are pushed whole or not at all", () => {
    const buffer = new HerBuffer({ ...LAYOUT, goal: 1 });
    expect(() => buffer.pushEpisode([goal(0, false), { ...goal(1, true), achievedGoal: [1, 2] }])).toThrow(DataError);
    expect(() => buffer.pushEpisode([goal(0, true), goal(1, true)])).toThrow(/ends before its last/);
    expect(buffer.length).toBe(0);
    buffer.pushEpisode([goal(0, false), goal(1, true)]);
    expect(buffer.finished).toBe(2);
  });
});

describe("an observation that is given where a stream goes on", () => {
  const options = { ...LAYOUT, nextObservations: "once", finalObservations: 0 } as const;
  test("takes no further row when it is the one that is known", () => {
    const buffer = new ReplayBuffer(options);
    for (let n = 0; n < 30; n++) buffer.push(transition(n));
    expect(buffer.length).toBe(8);
  });
  test("begins a stream when it is another one, alone and in batches", () => {
    const single = new ReplayBuffer(options);
    const batched = new ReplayBuffer({ ...options, environments: 2 });
    const both = (n: number): Float32Array => Float32Array.of(...row(n), ...row(n + 50));
    // An environment was reset after the second step, and no flag says so.
    for (const n of [0, 1, 20, 21]) {
      single.push(transition(n));
      const flags = { terminated: [0, 0], truncated: [0, 0] };
      const rows = { observation: both(n), nextObservation: both(n + 1), action: [n, n + 50], reward: [n, n + 50] };
      batched.pushBatch({ ...rows, ...flags }, 2);
    }
    for (const batch of [single.sample(4), batched.sample(8)])
      for (let i = 0; i < batch.size; i++) {
        const n = batch.reward[i] as number;
        expect([...batch.observation.subarray(2 * i, 2 * i + 2)]).toEqual([...row(n)]);
        expect([...batch.nextObservation.subarray(2 * i, 2 * i + 2)]).toEqual([...row(n + 1)]);
      }
  });
});

describe("arrays that the caller gives for a batch", () => {
  test("must lie in the heap, and be what the column is", () => {
    const buffer = new ReplayBuffer(LAYOUT);
    const arrays = { f32: new Float32Array(64), u8: new Uint8Array(64) };
    const outside = vi.fn((_: string, { dtype, size }: { dtype: string; size: number }) =>
      arrays[dtype as "f32" | "u8"].subarray(0, 2 * size),
    );
    expect(() => buffer.createBatch(2, outside)).toThrow(/array of allocate/);
    expect(() => buffer.createBatch(2, () => allocate(f32, 1))).toThrow(/must be a Float32Array of 4 elements/);
    expect(() => buffer.createBatch(2, () => allocate(f64, 4))).toThrow(DataError);
    expect(() => buffer.createBatch(2, () => allocate(f32, 8).subarray(1, 5))).toThrow(DataError);
  });
});

describe("memory", () => {
  test("of mixed samples goes back with the buffers", () => {
    const layout = { ...LAYOUT, target: "js" } as const;
    const run = (): void => {
      const [first, second] = [new ReplayBuffer(layout), new ReplayBuffer(layout)];
      const other = new ReplayBuffer({ ...layout, observation: 3 });
      for (let n = 0; n < 8; n++) {
        first.push(transition(n));
        second.push(transition(n + 100));
        other.push({ ...transition(n), observation: [1, 2, 3], nextObservation: [1, 2, 3] });
      }
      const batch = sampleMixed(first, second, 4, 0.5);
      expect([...batch.reward].map((r) => r >= 100)).toEqual([false, false, true, true]);
      expect(() => sampleMixed(first, other as never, 4, 0.5)).toThrow(/"observation" differs/);
      for (const buffer of [first, second, other]) buffer.dispose();
    };
    // The first time takes memory for programs, which stay.
    run();
    expect(kept(run)).toBe(0);
  });

  test("of a buffer that was shared goes back whole", () => {
    const used = kept(() => {
      const buffer = new ReplayBuffer(LAYOUT);
      buffer.share();
      buffer.dispose();
    });
    expect(used).toBe(0);
  });

  test("is given back once, however often dispose is called", () => {
    const buffers = [
      new ReplayBuffer({ ...LAYOUT, nextObservations: "once" }),
      new PrioritizedReplayBuffer(LAYOUT),
      new NStepBuffer({ ...LAYOUT, n: 2 }),
      new SequenceBuffer({ ...LAYOUT, window: 2 }),
      new HerBuffer({ ...LAYOUT, goal: 1 }),
      new RolloutBuffer({ steps: 2, environments: 1, observation: 2, action: 1 }),
      new ExperienceTable({ columns: { x: 1 } }),
      new SumTree(4),
    ];
    for (const buffer of buffers) {
      buffer.dispose();
      expect(() => buffer.dispose()).not.toThrow();
    }
  });
});

describe("sharing", () => {
  test("leaves out no more than what the writer has reserved, however large the batch", () => {
    const capacity = 512;
    const owner = new ReplayBuffer({ ...LAYOUT, capacity });
    const handle = owner.share();
    for (let n = 0; n < 1001; n++) owner.push(transition(n));
    const reader = ReplayBuffer.attach(handle);
    const seen = new Set<number>();
    for (let k = 0; k < 40; k++) for (const reward of reader.sample(256).reward) seen.add(reward);
    expect(Math.max(...seen)).toBe(1000);
    expect(Math.min(...seen)).toBeLessThan(1001 - capacity + 64);
    expect(seen.size).toBeGreaterThan(capacity - 64 - 8);
  });

  test("functions taken before do not push past the counters", () => {
    const buffer = new ReplayBuffer(LAYOUT);
    const { pushSlices, pushBatch } = buffer;
    pushSlices(row(0), 0, 0, false, false, row(1));
    buffer.share();
    expect(() => pushSlices(row(1), 1, 1, false, false, row(2))).toThrow(/after share/);
    const flags = { terminated: [0], truncated: [0] };
    const rows = { observation: row(1), nextObservation: row(2), action: [1], reward: [1], ...flags };
    expect(() => pushBatch(rows, 1)).toThrow(DataError);
    buffer.pushSlices(row(1), 1, 1, false, false, row(2));
    expect(buffer.pushed).toBe(2);
    expect([...buffer.sample(2).index].every((slot) => slot < 2)).toBe(true);
  });
});

describe("a buffer that cannot be made", () => {
  const rows = 4;
  const arrays = {
    observation: new Float32Array(rows),
    action: new Float32Array(rows),
    reward: new Float32Array(rows),
    terminated: new Uint8Array(rows),
    truncated: new Uint8Array(rows),
  };
  const target = "bogus" as "js";
  const ended = { ...arrays, terminated: new Uint8Array(rows).fill(1) };
  const failing: readonly (readonly [string, () => unknown])[] = [
    ["a dataset with an open end", () => new OfflineDataset(arrays)],
    ["a dataset without columns", () => new OfflineDataset({ reward: [1] } as never)],
    ["a dataset", () => new OfflineDataset(ended, { target })],
    ["windows that do not fit", () => new SequenceBuffer({ ...LAYOUT, window: 9 })],
    ["windows", () => new SequenceBuffer({ ...LAYOUT, window: 2, target })],
    ["a negative beta", () => new PrioritizedReplayBuffer({ ...LAYOUT, beta: -1 })],
    ["priorities", () => new PrioritizedReplayBuffer({ ...LAYOUT, target })],
    ["a ring", () => new ReplayBuffer({ ...LAYOUT, target })],
    ["a ring with a pool", () => new ReplayBuffer({ ...LAYOUT, nextObservations: "once", target })],
    ["no room for ends", () => new ReplayBuffer({ ...LAYOUT, nextObservations: "once", finalObservations: -1 })],
    ["no observation", () => new ReplayBuffer({ capacity: 8, action: 1 } as never)],
    ["n steps", () => new NStepBuffer({ ...LAYOUT, n: 2, target })],
    ["hindsight", () => new HerBuffer({ ...LAYOUT, goal: 1, target })],
    ["a rollout", () => new RolloutBuffer({ steps: 2, environments: 1, observation: 1, action: 1, target })],
    ["a tree", () => new SumTree(4, { target })],
  ];
  test.each(failing)("says why and gives its memory back: %s", (_name, make) => {
    expect(kept(() => expect(make).toThrow(LockstepError))).toBe(0);
  });

  test("as a batch of two that differ: nothing is kept", () => {
    const [first, second, third] = [2, 3, 2].map((observation) => new ReplayBuffer({ ...LAYOUT, observation }));
    for (const one of [first, second, third])
      for (let n = 0; n < 4; n++) {
        const observation = one === second ? [n, n, n] : [n, n];
        one?.push({ ...transition(n), observation, nextObservation: observation });
      }
    const more = new ReplayBuffer({ ...LAYOUT, columns: { z: 1 } });
    for (let n = 0; n < 4; n++) more.push({ ...transition(n), z: n });
    const mix = (a: unknown, b: unknown) => sampleMixed(a as ReplayBuffer, b as ReplayBuffer, 4, 0.5);
    const used = kept(() => {
      expect(() => mix(first, second)).toThrow(/"observation" differs .* 2 f32 a row and 3 f32/);
      expect(() => mix(first, more)).toThrow(/different columns/);
    });
    expect(used).toBe(0);
    expect(mix(first, third)).toBe(mix(first, third));
  });
});
