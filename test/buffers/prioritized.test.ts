/**
 * @file Sum trees and PrioritizedReplayBuffer: fixtures, goldens, frequencies, and the same bits on every target.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PrioritizedReplayBuffer } from "../../src/buffers/prioritized.ts";
import { SumTree } from "../../src/buffers/sumTree.ts";
import { DataError } from "../../src/kernels/errors.ts";
import { casesOf, chiSquareDeviations, isNear, numbers, targets } from "./support.ts";

const EXACT_SUM = { rtol: 1e-12, atol: 1e-12 };
/** A leaf of 0 counts as infinity in our min tree, because it is never drawn. */
const positive = (x: number): number => (x > 0 ? x : Number.POSITIVE_INFINITY);

describe("SumTree", () => {
  test.each(casesOf("sum_min_tree").map((c) => [c.name, c] as const))("%s", (_, { inputs, expected }) => {
    const tree = new SumTree(inputs.capacity as number);
    const values = numbers(inputs.set_value);
    const hasZero = values.includes(0);
    numbers(inputs.set_index).forEach((index, k) => {
      tree.set(index, values[k] as number);
      const after = (expected.after_set as { total: number; min: number }[])[k];
      expect(isNear([tree.total], [after?.total ?? Number.NaN], EXACT_SUM)).toBe(true);
      if (!hasZero) expect(tree.smallest).toBe(after?.min);
    });
    expect(tree.leaves).toBe(expected.leaves);
    const sums = Array.from({ length: 2 * tree.leaves }, (_, n) => (n === 0 ? 0 : tree.node(n).sum));
    const infinity = Number.POSITIVE_INFINITY;
    const least = Array.from({ length: 2 * tree.leaves }, (_, n) => (n === 0 ? infinity : tree.node(n).least));
    expect(isNear(sums, numbers(expected.sum_nodes), EXACT_SUM)).toBe(true);
    if (!hasZero) expect(least).toEqual(numbers(expected.min_nodes));
    else expect(least.slice(tree.leaves)).toEqual(numbers(expected.min_nodes).slice(tree.leaves).map(positive));
    const ranges = numbers(inputs.ranges);
    numbers(expected.range_sums).forEach((sum, k) => {
      expect(tree.range(ranges[2 * k] as number, ranges[2 * k + 1] as number).sum).toBeCloseTo(sum, 12);
    });
    const wanted = numbers(inputs.find_values);
    expect(wanted.map((value) => tree.find(value))).toEqual(numbers(expected.found));
    for (const target of targets) {
      const same = new SumTree(inputs.capacity as number, { target });
      same.setMany(numbers(inputs.set_index), values);
      expect([...same.findMany(wanted)]).toEqual(numbers(expected.found));
      expect(same.sums).toEqual(tree.sums);
      expect(same.least).toEqual(tree.least);
    }
  });

  test.each(casesOf("sum_tree_find").map((c) => [c.name, c] as const))("%s", (_, { inputs, expected }) => {
    const tree = new SumTree(inputs.capacity as number);
    numbers(inputs.leaves).forEach((value, k) => {
      tree.set(k, value);
    });
    expect(numbers(inputs.find_values).map((v) => tree.find(v))).toEqual(numbers(expected.strict));
    expect([...tree.findMany(numbers(inputs.find_values))]).toEqual(numbers(expected.strict));
  });

  test("roots are the sum and the least of the leaves, however leaves were set", () => {
    const changes = fc.array(fc.record({ index: fc.nat(40), value: fc.double({ min: 0, max: 9, noNaN: true }) }), {
      minLength: 1,
      maxLength: 60,
    });
    fc.assert(
      fc.property(changes, fc.integer({ min: 1, max: 60 }), (list, cut) => {
        const tree = new SumTree(41);
        const leaves = new Float64Array(41);
        for (const { index, value } of list) leaves[index] = value;
        for (const { index, value } of list.slice(0, cut)) tree.set(index, value);
        const rest = list.slice(cut);
        tree.setMany(
          rest.map((c) => c.index),
          rest.map((c) => c.value),
        );
        expect(Array.from({ length: 41 }, (_, i) => tree.leaf(i))).toEqual([...leaves]);
        const sum = leaves.reduce((a, b) => a + b, 0);
        expect(Math.abs(tree.total - sum)).toBeLessThanOrEqual(1e-12 * sum);
        expect(tree.smallest).toBe(Math.min(...[...leaves].map(positive)));
        for (let n = 1; n < tree.leaves; n++) {
          expect(tree.node(n).sum).toBe(tree.node(2 * n).sum + tree.node(2 * n + 1).sum);
          expect(tree.node(n).least).toBe(Math.min(tree.node(2 * n).least, tree.node(2 * n + 1).least));
        }
        tree.dispose();
      }),
      { numRuns: 40 },
    );
  });

  test("values past the total, by rounding, find the last leaf that counts", () => {
    const tree = new SumTree(8);
    tree.set(1, 0.1);
    tree.set(4, 0.2);
    expect([...tree.findMany([0, 0.05, 0.1, 0.2, 0.3, tree.total, 5])]).toEqual([1, 1, 4, 4, 4, 4, 4]);
  });

  test("wrong priorities and leaves change nothing", () => {
    const tree = new SumTree(4);
    tree.set(0, 1);
    for (const wrong of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => tree.set(1, wrong)).toThrow(DataError);
      expect(() => tree.setMany([1, 2], [1, wrong])).toThrow(/a priority must be a finite number/);
      expect(() => tree.power(wrong)).toThrow(DataError);
    }
    expect(() => tree.setMany([1, 4], [1, 1])).toThrow(/there is no leaf 4/);
    expect(() => tree.setMany([1], [1, 1])).toThrow(DataError);
    expect(() => tree.set(-1, 1)).toThrow(DataError);
    expect(() => new SumTree(0)).toThrow(DataError);
    expect([tree.total, tree.smallest]).toEqual([1, 1]);
  });
});

type Target = (typeof targets)[number];
function filled(
  priorities: readonly number[],
  options: { capacity: number; alpha?: number; beta?: number; seed?: number; target?: Target },
) {
  const buffer = new PrioritizedReplayBuffer({ observation: 2, action: 1, ...options });
  priorities.forEach((priority, n) => {
    buffer.push({
      observation: [n, -n],
      action: n,
      reward: n,
      terminated: false,
      truncated: false,
      nextObservation: [n + 1, 0],
      priority,
    });
  });
  return buffer;
}

describe("PrioritizedReplayBuffer", () => {
  describe.each(targets)("on %s", (target) => {
    test.each(casesOf("per").map((c) => [c.name, c] as const))("%s", (_, { inputs, expected, tolerance }) => {
      const [capacity, alpha, beta] = [inputs.capacity, inputs.alpha, inputs.beta] as [number, number, number];
      const buffer = filled(numbers(inputs.priorities), { capacity, alpha, beta, target });
      buffer.updatePriorities(numbers(inputs.update_index), numbers(inputs.update_priority));
      const wanted = numbers(expected.leaves);
      const { f64, f32 } = tolerance as { f64: { rtol: number; atol: number }; f32: { rtol: number; atol: number } };
      expect(
        isNear(
          wanted.map((_, k) => buffer.leaf(k)),
          wanted,
          f64,
        ),
      ).toBe(true);
      expect(
        isNear([buffer.tree.total, buffer.tree.smallest], [expected.total as number, expected.min as number], f64),
      ).toBe(true);
      const uniforms = numbers(inputs.uniforms);
      const values = uniforms.map((u, k) => ((k + u) * buffer.tree.total) / uniforms.length);
      expect([...buffer.tree.findMany(values)]).toEqual(numbers(expected.stratified_indices));
      const probabilities = numbers(expected.probabilities);
      const weights = numbers(expected.weights);
      const batch = buffer.sample(Math.min(buffer.length, 8));
      for (let i = 0; i < batch.size; i++) {
        const slot = batch.index[i] as number;
        expect(isNear([batch.probability[i] as number], [probabilities[slot] as number], f64)).toBe(true);
        expect(isNear([batch.weight[i] as number], [weights[slot] as number], f32)).toBe(true);
      }
    });

    test("the golden of four priorities", () => {
      const buffer = filled([1, 2, 3, 4], { capacity: 4, alpha: 0.6, beta: 0.4, target });
      const probability: number[] = [];
      const weight: number[] = [];
      for (let k = 0; k < 60; k++) {
        const batch = buffer.sample(4);
        batch.index.forEach((slot, i) => {
          probability[slot] = batch.probability[i] as number;
          weight[slot] = batch.weight[i] as number;
        });
      }
      expect(isNear(probability, [0.1482295, 0.2246739, 0.2865546, 0.340542], { rtol: 0, atol: 5e-8 })).toBe(true);
      expect(isNear(weight, [1, 0.8467453, 0.7682294, 0.7169776], { rtol: 0, atol: 1e-6 })).toBe(true);
    });

    test("draws in proportion to leaves, one in each part of the total", () => {
      const priorities = Array.from({ length: 37 }, (_, k) => ((k * 17) % 11) + 0.5);
      const buffer = filled(priorities, { capacity: 37, alpha: 0.7, seed: 2, target });
      const counts = new Uint32Array(37);
      for (let k = 0; k < 3000; k++) {
        // A single draw: strata would make frequencies too regular for the test.
        const slot = buffer.sample(1).index[0] as number;
        counts[slot] = (counts[slot] as number) + 1;
      }
      const chances = priorities.map((_, slot) => buffer.leaf(slot) / buffer.tree.total);
      expect(Math.abs(chiSquareDeviations(counts, chances))).toBeLessThan(4);
      const batch = buffer.sample(30);
      const starts = chances.map((_, slot) => chances.slice(0, slot).reduce((a, b) => a + b, 0));
      batch.index.forEach((slot, k) => {
        expect((starts[slot] as number) + (chances[slot] as number)).toBeGreaterThan(k / 30 - 1e-9);
        expect(starts[slot] as number).toBeLessThan((k + 1) / 30 + 1e-9);
        expect(batch.reward[k]).toBe(slot);
        expect(batch.observation[2 * k + 1]).toBe(slot === 0 ? -0 : -slot);
      });
    });
  });

  test("the same bits on every target, updates included", () => {
    const buffers = targets.map((target) =>
      filled(
        Array.from({ length: 200 }, (_, k) => 1 + (k % 7)),
        { capacity: 150, seed: 8, target },
      ),
    );
    for (let round = 0; round < 5; round++) {
      const batches = buffers.map((buffer) => buffer.sample(33));
      for (const batch of batches.slice(1)) {
        expect(batch.index).toEqual(batches[0]?.index);
        expect(batch.weight).toEqual(batches[0]?.weight);
        expect(batch.probability).toEqual(batches[0]?.probability);
        expect(batch.nextObservation).toEqual(batches[0]?.nextObservation);
      }
      buffers.forEach((buffer, k) => {
        buffer.updatePriorities(
          batches[k]?.index as Int32Array,
          Float32Array.from({ length: 33 }, (_, i) => i * 0.37 + 0.01),
        );
      });
      for (const buffer of buffers.slice(1)) {
        expect(buffer.tree.sums).toEqual(buffers[0]?.tree.sums);
        expect(buffer.tree.least).toEqual(buffers[0]?.tree.least);
      }
    }
  });

  test("of several priorities for one slot the last stays; pushes get the largest so far", () => {
    const buffer = filled([1, 1, 1, 1], { capacity: 8, alpha: 1 });
    buffer.updatePriorities([2, 1, 2, 2], [5, 3, 7, 0.5]);
    expect([0, 1, 2, 3].map((slot) => buffer.leaf(slot))).toEqual([1, 3, 0.5, 1]);
    expect(buffer.largestPriority).toBe(7);
    const slot = buffer.pushSlices([0, 0], 0, 0, false, false, [0, 0]);
    expect(buffer.leaf(slot)).toBe(7);
  });

  test("weights are 1 without correction; beta may change", () => {
    const buffer = filled([1, 2, 3], { capacity: 3, beta: 0 });
    expect("value" in buffer.sample(1)).toBe(false);
    expect([...buffer.sample(3).weight]).toEqual([1, 1, 1]);
    buffer.beta = 1;
    expect(Math.min(...buffer.sample(3).weight)).toBeLessThan(0.9);
    expect(() => {
      buffer.beta = Number.NaN;
    }).toThrow(DataError);
    expect(buffer.beta).toBe(1);
  });

  test("a transition of priority 0 is never drawn and does not weigh on the others", () => {
    const buffer = filled([1, 0, 1, 0], { capacity: 4 });
    for (let k = 0; k < 50; k++) {
      const batch = buffer.sample(4);
      for (const slot of batch.index) expect(slot % 2).toBe(0);
      expect([...batch.weight]).toEqual([1, 1, 1, 1]);
    }
    buffer.updatePriorities([0, 2], [0, 0]);
    expect(() => buffer.sample(1)).toThrow(/all priorities are 0/);
  });

  test("transitions given up because rows ran out are not drawn", () => {
    const buffer = new PrioritizedReplayBuffer({
      capacity: 16,
      observation: 1,
      action: 1,
      nextObservations: "once",
      finalObservations: 0,
    });
    for (let n = 0; n < 100; n++) {
      const ended = n % 2 === 1;
      buffer.pushSlices(n % 2 === 0 ? Float32Array.of(n) : undefined, n, 0, ended, false, Float32Array.of(n + 1));
      if (n < 20) continue;
      const batch = buffer.sample(8);
      batch.action.forEach((m, i) => {
        expect(batch.observation[i]).toBe(m);
        expect(batch.nextObservation[i]).toBe(m + 1);
      });
    }
    expect(buffer.length).toBeLessThan(16);
  });

  test("a restored buffer goes on exactly as the saved one", () => {
    const a = filled(
      Array.from({ length: 40 }, (_, k) => 1 + (k % 5)),
      { capacity: 32, seed: 3 },
    );
    a.updatePriorities(a.sample(16).index, new Float64Array(16).fill(9));
    const b = filled([], { capacity: 32, seed: 3 });
    b.restore(structuredClone(a.save()));
    expect(b.sample(16).index).toEqual(a.sample(16).index);
    expect(b.pushSlices([0, 0], 0, 0, 0, 0, [0, 0])).toBe(a.pushSlices([0, 0], 0, 0, 0, 0, [0, 0]));
    expect(b.tree.sums).toEqual(a.tree.sums);
    expect(b.tree.least).toEqual(a.tree.least);
  });

  test("wrong input changes nothing", () => {
    const buffer = filled([1, 2], { capacity: 4 });
    const before = Float64Array.from(buffer.tree.sums);
    expect(() => buffer.updatePriorities([0, 1], [1, -1])).toThrow(DataError);
    expect(() => buffer.updatePriorities([0, 1], [Number.NaN, 1])).toThrow(DataError);
    expect(() => buffer.updatePriorities([0, 3], [1, 1])).toThrow(/no transition in slot 3/);
    expect(() => buffer.updatePriorities([0], [1, 1])).toThrow(DataError);
    expect(() => buffer.pushSlices([0, 0], 0, 0, false, false, [0, 0], undefined, -1)).toThrow(DataError);
    expect(() => buffer.sample(3)).toThrow(/3 transitions were asked for, 2 are there/);
    expect(() => new PrioritizedReplayBuffer({ capacity: 4, observation: 1, action: 1, alpha: -1 })).toThrow(DataError);
    expect(buffer.tree.sums).toEqual(before);
    expect(buffer.length).toBe(2);
  });
});
