/**
 * @file RolloutBuffer and ExperienceTable.
 */
import { describe, expect, test } from "vitest";
import { RolloutBuffer } from "../../src/buffers/rollout.ts";
import { ExperienceTable } from "../../src/buffers/table.ts";
import { environment } from "../../src/envs/registry.ts";
import { VecEnv } from "../../src/envs/vector/vecEnv.ts";
import { DataError } from "../../src/kernels/errors.ts";
import { targets } from "./support.ts";

const make = (options: { seed?: number; target?: (typeof targets)[number] } = {}) =>
  new RolloutBuffer({
    steps: 4,
    environments: 3,
    observation: 2,
    action: { dtype: "i32", size: 1 },
    columns: { value: 1 },
    ...options,
  });
type Made = ReturnType<typeof make>;

/** Step t of environment e says 10 t + e everywhere. */
const rows = (t: number): number[] => [0, 1, 2].map((e) => 10 * t + e);
const pairs = (t: number): number[] => rows(t).flatMap((n) => [n, -n]);
function fill(buffer: Made, steps = 4): void {
  buffer.begin(pairs(0));
  for (let t = 0; t < steps; t++)
    buffer.add({
      action: rows(t),
      reward: rows(t),
      terminated: rows(t).map((n) => n % 2),
      truncated: [false, false, true],
      value: rows(t),
      nextObservation: pairs(t + 1),
    });
}

describe("RolloutBuffer", () => {
  test.each(targets)("takes steps that a VecEnv wrote in place on %s", (target) => {
    const [steps, environments] = [4, 3];
    const made = () =>
      new RolloutBuffer({ steps, environments, observation: 4, action: { dtype: "i32", size: 1 }, target });
    const play = () => {
      const vec = new VecEnv(environment("CartPole-v1"), environments, { seed: 3, maxSteps: 3, target });
      vec.reset();
      return vec;
    };
    const [written, added] = [made(), made()];
    const [writing, adding] = [play(), play()];
    for (let rollout = 0; rollout < 2; rollout++) {
      written.begin(writing.out.obs);
      const { observation: obs, reward, terminated, truncated } = written.columns;
      written.columns.action.set(
        writing.collect("random", steps, { obs, reward, terminated, truncated, obsRow: 1 }).actions,
      );
      expect(() => written.commit(steps + 1)).toThrow("5 steps do not fit: 4 of 4 are left");
      written.commit(steps);
      added.begin(adding.out.obs);
      for (let t = 0; t < steps; t++) {
        const action = written.columns.action.subarray(t * environments, (t + 1) * environments);
        const { obs: nextObservation, ...step } = adding.step(action);
        added.add({ ...step, action, nextObservation });
      }
      expect(written.full).toBe(true);
      expect(written.columns).toEqual(added.columns);
      const seen = [written, added].map((buffer) => {
        const batches: number[][] = [];
        buffer.minibatches(6, ({ observation, reward: r }) => batches.push([...observation, ...r]));
        return batches;
      });
      expect(seen[0]).toEqual(seen[1]);
    }
    expect(() => made().commit(1)).toThrow("call begin(observation)");
    for (const vec of [writing, adding]) vec.dispose();
  });

  test("keeps steps + 1 observations and steps of everything else, step-major", () => {
    const buffer = make();
    fill(buffer);
    const { columns } = buffer;
    expect([buffer.full, buffer.length, buffer.size]).toEqual([true, 4, 12]);
    expect([...columns.observation]).toEqual([0, 1, 2, 3, 4].flatMap(pairs));
    expect(columns.observation.length).toBe((4 + 1) * 3 * 2);
    expect([...columns.action]).toEqual([0, 1, 2, 3].flatMap(rows));
    expect([...columns.value]).toEqual([0, 1, 2, 3].flatMap(rows));
    expect([...columns.terminated]).toEqual([0, 1, 2, 3].flatMap(rows).map((n) => n % 2));
    expect([...columns.truncated]).toEqual([0, 1, 2, 3].flatMap(() => [0, 0, 1]));
  });

  test("needs begin before each rollout: nothing is carried over silently", () => {
    const buffer = make();
    const step = {
      action: rows(0),
      reward: rows(0),
      terminated: [0, 0, 0],
      truncated: [0, 0, 0],
      value: rows(0),
      nextObservation: pairs(1),
    };
    expect(() => buffer.add(step)).toThrow(/call begin\(observation\)/);
    expect(() => buffer.observation).toThrow(DataError);
    expect(() => buffer.minibatches(3, () => {})).toThrow(DataError);
    fill(buffer);
    expect(() => buffer.add(step)).toThrow(/all 4 steps are there/);
    buffer.reset();
    expect(() => buffer.add(step)).toThrow(/call begin\(observation\)/);
    buffer.begin(pairs(7));
    expect([...buffer.observation]).toEqual(pairs(7));
  });

  test.each(targets)("minibatches hold every row once, in an order of seed and epoch (%s)", (target) => {
    const [a, b] = [make({ seed: 3, target }), make({ seed: 3 })];
    fill(a);
    fill(b);
    const seen: number[] = [];
    const other: number[] = [];
    a.minibatches(4, (batch, number) => {
      expect(number).toBe(seen.length / 4);
      for (let i = 0; i < 4; i++) {
        const n = batch.action[i] as number;
        expect([batch.reward[i], batch.value[i], batch.observation[2 * i]]).toEqual([n, n, n]);
        expect(batch.terminated[i]).toBe(n % 2);
        seen.push(n);
      }
    });
    b.minibatches(6, (batch) => other.push(...batch.action));
    expect(other).toEqual(seen);
    expect([...seen].sort((x, y) => x - y)).toEqual([0, 1, 2, 3].flatMap(rows));
    const next: number[] = [];
    a.minibatches(4, (batch) => next.push(...batch.action));
    expect(next).not.toEqual(seen);
    a.epochs = 0;
    const again: number[] = [];
    a.minibatches(4, (batch) => again.push(...batch.action));
    expect(again).toEqual(seen);
  });

  test("wrong input is refused before anything is written", () => {
    const buffer = make();
    buffer.begin(pairs(0));
    const step = {
      action: rows(5),
      reward: rows(5),
      terminated: [0, 0, 0],
      truncated: [0, 0, 0],
      value: rows(5),
      nextObservation: pairs(5),
    };
    for (const name of ["action", "reward", "terminated", "truncated", "value", "nextObservation"] as const)
      expect(() => buffer.add({ ...step, [name]: [1] })).toThrow(new RegExp(`"${name}" (must have|has 1 elements)`));
    expect(buffer.length).toBe(0);
    expect([...buffer.columns.action]).toEqual(new Array(12).fill(0));
    expect(() => buffer.begin([1])).toThrow(DataError);
    fill(buffer, 3);
    expect(() => buffer.minibatches(3, () => {})).toThrow(/3 of 4 steps are there/);
    buffer.add(step);
    expect(() => buffer.minibatches(5, () => {})).toThrow(/5 does not divide the 12 rows/);
    expect(() => make({ seed: -1 })).toThrow(DataError);
  });
});

describe("one environment with columns of one element", () => {
  const single = () =>
    new RolloutBuffer({ steps: 4, environments: 1, observation: 1, action: 1, columns: { value: 1 }, seed: 3 });
  const step = (n: number) => ({ action: n, reward: n, terminated: [0], truncated: [0], value: n, nextObservation: n });
  test("takes plain numbers", () => {
    const buffer = single();
    buffer.begin(7);
    buffer.add(step(5));
    const { observation, action, reward, value } = buffer.columns;
    expect([...observation].slice(0, 2)).toEqual([7, 5]);
    expect([action[0], reward[0], value[0]]).toEqual([5, 5, 5]);
  });
  test("gives whole epochs, also where minibatches are taken within minibatches", () => {
    const buffer = single();
    buffer.begin(0);
    for (let t = 0; t < 4; t++) buffer.add(step(t));
    const [outer, inner]: [number[], number[]] = [[], []];
    buffer.minibatches(1, (batch, number) => {
      outer.push(...batch.reward);
      if (number === 0) buffer.minibatches(2, ({ reward }) => inner.push(...reward));
    });
    for (const seen of [outer, inner]) expect(seen.sort()).toEqual([0, 1, 2, 3]);
  });
  test("takes nothing after dispose", () => {
    const buffer = single();
    buffer.begin(0);
    buffer.dispose();
    for (const use of [() => buffer.add(step(0)), () => buffer.begin(0)]) expect(use).toThrow(DataError);
  });
});

describe("ExperienceTable", () => {
  test("takes a number for a row of one element, alone and side by side", () => {
    const table = new ExperienceTable({ columns: { x: 1 } });
    table.append({ x: 4 });
    table.appendRows({ x: 5 }, 1);
    expect([...table.column("x")]).toEqual([4, 5]);
  });
  test("grows without losing a row", () => {
    const table = new ExperienceTable({ columns: { observation: 2, action: { dtype: "u8", size: 1 } }, capacity: 2 });
    for (let n = 0; n < 9; n++) expect(table.append({ observation: [n, -n], action: n })).toBe(n);
    expect(table.appendRows({ observation: [9, -9, 10, -10], action: [9, 10] }, 2)).toBe(9);
    expect(table.length).toBe(11);
    expect([...table.column("action")]).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(table.column("observation")[21]).toBe(-10);
    expect(() => table.append({ observation: [1], action: 1 })).toThrow(/"observation" must have 2 elements/);
    expect(() => table.appendRows({ observation: [1, 2], action: [] }, 1)).toThrow(DataError);
    expect(table.length).toBe(11);
    table.clear();
    expect(table.append({ observation: [1, 2], action: 3 })).toBe(0);
    expect(() => new ExperienceTable({ columns: {} })).toThrow(DataError);
    expect(() => new ExperienceTable({ columns: { a: 1 }, capacity: 0 })).toThrow(DataError);
  });
});
