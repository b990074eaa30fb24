/**
 * @file NStepBuffer, SequenceBuffer and HerBuffer: windows and goals that never cross an episode; fixtures.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { goalStep, HerBuffer, sparseReward } from "../../src/buffers/her.ts";
import { NStepBuffer } from "../../src/buffers/nstep.ts";
import { SequenceBuffer } from "../../src/buffers/sequence.ts";
import { DataError } from "../../src/kernels/errors.ts";
import { casesOf, chiSquareDeviations, isNear, numbers, targets } from "./support.ts";

describe("NStepBuffer", () => {
  describe.each(targets)("on %s", (target) => {
    test.each(casesOf("n_step_transitions").map((c) => [c.name, c] as const))(
      "%s",
      (_, { inputs, expected, tolerance }) => {
        const [rewards, terminated, truncated] = [inputs.rewards, inputs.terminated, inputs.truncated].map(numbers) as [
          number[],
          number[],
          number[],
        ];
        for (const nextObservations of ["separate", "once"] as const) {
          const buffer = new NStepBuffer({
            capacity: inputs.capacity as number,
            observation: 1,
            action: 1,
            n: inputs.n as number,
            gamma: inputs.gamma as number,
            nextObservations,
            finalObservations: 8,
            target,
          });
          rewards.forEach((reward, t) => {
            const begins = t === 0 || terminated[t - 1] || truncated[t - 1];
            // Observation t precedes step t; the one after it is t + 1.
            const observation = begins || nextObservations === "separate" ? Float32Array.of(t) : undefined;
            buffer.pushSlices(
              observation,
              t,
              reward,
              Boolean(terminated[t]),
              Boolean(truncated[t]),
              Float32Array.of(t + 1),
            );
          });
          const starts = numbers(expected.start);
          const found = new Map<number, number[]>();
          for (let k = 0; k < 60; k++) {
            const batch = buffer.sample(buffer.length);
            batch.action.forEach((t, i) => {
              const part = [batch.reward[i], batch.discount[i], batch.nextObservation[i], batch.terminated[i]];
              found.set(t, part as number[]);
              expect(batch.observation[i]).toBe(t);
            });
          }
          expect([...found.keys()].sort((a, b) => a - b)).toEqual(starts);
          const column = (k: number): number[] => starts.map((t) => found.get(t)?.[k] ?? Number.NaN);
          const limit = tolerance.f32 as { rtol: number; atol: number };
          expect(isNear(column(0), numbers(expected.returns), limit)).toBe(true);
          expect(isNear(column(1), numbers(expected.discounts), limit)).toBe(true);
          expect(column(2)).toEqual(numbers(expected.next_index));
          expect(column(3)).toEqual(numbers(expected.terminated));
          buffer.dispose();
        }
      },
    );
  });

  test("environments in step have windows of their own", () => {
    const buffer = new NStepBuffer({ capacity: 12, observation: 1, action: 1, n: 3, gamma: 1, environments: 2 });
    for (let t = 0; t < 9; t++)
      buffer.pushBatch(
        {
          observation: [t, 100 + t],
          action: [t, 100 + t],
          reward: [1, 10],
          terminated: [0, t === 5 ? 1 : 0],
          truncated: [0, 0],
          nextObservation: [t + 1, 101 + t],
        },
        2,
      );
    for (let k = 0; k < 30; k++) {
      const batch = buffer.sample(12);
      batch.action.forEach((n, i) => {
        const second = n >= 100;
        const t = second ? n - 100 : n;
        const end = Math.min(t + 2, second && t <= 5 ? 5 : 8);
        expect(batch.steps[i]).toBe(end - t + 1);
        expect(batch.reward[i]).toBe((end - t + 1) * (second ? 10 : 1));
        expect(batch.nextObservation[i]).toBe((second ? 100 : 0) + end + 1);
        expect(batch.terminated[i]).toBe(second && end === 5 ? 1 : 0);
      });
    }
    expect(() =>
      buffer.push({ observation: [1], action: 1, reward: 1, terminated: 0, truncated: 0, nextObservation: [1] }),
    ).toThrow(/use pushBatch/);
    expect(() => new NStepBuffer({ capacity: 1, observation: 1, action: 1, n: 0 })).toThrow(DataError);
    expect(() => new NStepBuffer({ capacity: 1, observation: 1, action: 1, n: 1, gamma: 2 })).toThrow(/gamma/);
  });
});

describe("SequenceBuffer", () => {
  test("windows never cross an episode, and all are equally likely", () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 12 });
    const shape = fc.record({
      window: fc.integer({ min: 1, max: 5 }),
      capacity: fc.integer({ min: 10, max: 30 }),
      lengths,
    });
    fc.assert(
      fc.property(shape, ({ window, capacity, lengths: list }) => {
        const buffer = new SequenceBuffer({ capacity, observation: 1, action: 1, window, seed: 5 });
        const episodes: number[] = [];
        list.forEach((length, e) => {
          for (let t = 0; t < length; t++) {
            const n = episodes.push(e) - 1;
            buffer.pushSlices([n], n, e, t === length - 1, false, [n + 1]);
          }
        });
        const first = Math.max(0, episodes.length - capacity);
        const starts = episodes.map((_, n) => n).filter((n) => n >= first && episodes[n] === episodes[n + window - 1]);
        expect(buffer.windows).toBe(starts.length);
        if (starts.length === 0) {
          expect(() => buffer.sample(1)).toThrow(DataError);
          return;
        }
        const seen = new Set<number>();
        for (let k = 0; k < 12 * starts.length; k++) {
          const batch = buffer.sample(1);
          const start = batch.action[0] as number;
          seen.add(start);
          expect(starts).toContain(start);
          expect([...batch.action]).toEqual(Array.from({ length: window }, (_, t) => start + t));
          expect([...batch.observation]).toEqual([...batch.action]);
        }
        if (starts.length < 12) expect(seen.size).toBe(starts.length);
        buffer.dispose();
      }),
      { numRuns: 25 },
    );
  });

  test("frequencies of windows pass a chi-square test; environments in step", () => {
    const buffer = new SequenceBuffer({ capacity: 40, observation: 1, action: 1, window: 3, environments: 2, seed: 1 });
    for (let t = 0; t < 30; t++)
      buffer.pushBatch({
        observation: [t, 100 + t],
        action: [t, 100 + t],
        reward: [0, 0],
        terminated: [0, 0],
        truncated: [t % 7 === 0, t % 5 === 0],
        nextObservation: [0, 0],
      });
    const counts = new Map<number, number>();
    for (let k = 0; k < 200; k++) {
      const batch = buffer.sample(16);
      for (let w = 0; w < 16; w++) {
        const n = batch.action[3 * w] as number;
        expect([batch.action[3 * w + 1], batch.action[3 * w + 2]]).toEqual([n + 1, n + 2]);
        expect([batch.truncated[3 * w], batch.truncated[3 * w + 1]]).toEqual([0, 0]);
        counts.set(n, (counts.get(n) ?? 0) + 1);
      }
    }
    expect(counts.size).toBe(buffer.windows);
    const chances = new Float64Array(buffer.windows).fill(1 / buffer.windows);
    expect(Math.abs(chiSquareDeviations([...counts.values()], chances))).toBeLessThan(4);
    expect(() => buffer.sample(buffer.windows + 1)).toThrow(/windows of 3 steps were asked for/);
    expect(() => new SequenceBuffer({ capacity: 4, observation: 1, action: 1, window: 5 })).toThrow(DataError);
  });
});

describe("HerBuffer", () => {
  test.each(casesOf("her_offset").map((c) => [c.name, c] as const))("%s", (_, { inputs, expected }) => {
    const [lengths, steps, uniforms] = [inputs.length, inputs.step, inputs.uniform].map(numbers) as [
      number[],
      number[],
      number[],
    ];
    const rule = (strategy: "future" | "episode", inclusive: boolean): number[] =>
      lengths.map((length, k) => goalStep(strategy, inclusive, steps[k] as number, length, uniforms[k] as number));
    expect(rule("future", false)).toEqual(numbers(expected.future_strict));
    expect(rule("future", true)).toEqual(numbers(expected.future_inclusive));
    expect(rule("episode", false)).toEqual(numbers(expected.episode));
  });

  test.each(casesOf("her_relabel").map((c) => [c.name, c] as const))("%s", (_, { inputs, expected }) => {
    const achieved = numbers(inputs.next_achieved);
    const size = achieved.length / numbers(inputs.episode_lengths).reduce((a, b) => a + b, 0);
    const starts = numbers(inputs.episode_lengths).map((_, e, all) => all.slice(0, e).reduce((a, b) => a + b, 0));
    const reward = sparseReward(inputs.tolerance as number);
    const row = (n: number): number[] => achieved.slice(n * size, (n + 1) * size);
    const picks = numbers(inputs.pick_episode).map((e, k) => {
      const start = starts[e] as number;
      return {
        at: start + (numbers(inputs.pick_step)[k] as number),
        goal: start + (numbers(inputs.goal_offset)[k] as number),
      };
    });
    expect(picks.flatMap(({ goal }) => row(goal))).toEqual(numbers(expected.new_goals));
    expect(picks.map(({ at, goal }) => reward(row(at), row(goal)))).toEqual(numbers(expected.rewards));
    if (inputs.strategy !== "final") return;
    const buffer = new HerBuffer({ capacity: 32, observation: 1, action: 1, goal: size, strategy: "final" });
    numbers(inputs.episode_lengths).forEach((length, e) => {
      for (let t = 0; t < length; t++) {
        const n = (starts[e] as number) + t;
        buffer.push({
          observation: [n],
          action: n,
          reward: -1,
          terminated: false,
          truncated: t === length - 1,
          nextObservation: [n],
          achievedGoal: row(n),
          desiredGoal: row(0),
        });
      }
    });
    expect(picks.map(({ at }) => buffer.goalSlot(at, 0.5))).toEqual(picks.map(({ goal }) => goal));
  });

  test.each([
    ["final", false],
    ["future", false],
    ["future", true],
    ["episode", false],
  ] as const)("%s, inclusive %s: goals come from the same episode", (strategy, inclusive) => {
    const buffer = new HerBuffer({
      capacity: 40,
      observation: 1,
      action: 1,
      goal: 2,
      strategy,
      inclusive,
      ratio: 0.7,
      seed: 2,
    });
    const episodes: { e: number; t: number; length: number }[] = [];
    for (let e = 0; e < 14; e++) {
      const length = 1 + (e % 6);
      for (let t = 0; t < length; t++) {
        const n = episodes.push({ e, t, length }) - 1;
        buffer.push({
          observation: [n],
          action: n,
          reward: -5,
          terminated: t === length - 1,
          truncated: false,
          nextObservation: [n + 1],
          achievedGoal: [n, e],
          desiredGoal: [-1, -1],
        });
      }
    }
    const open = {
      observation: [0],
      action: 999,
      reward: 0,
      terminated: false,
      truncated: false,
      nextObservation: [0],
      achievedGoal: [0, 0],
      desiredGoal: [0, 0],
    };
    buffer.push(open);
    expect(buffer.finished).toBe(39);
    const offsets = new Set<number>();
    for (let k = 0; k < 40; k++) {
      const batch = buffer.sample(20);
      expect(batch.relabelled).toBe(14);
      for (let i = 0; i < 20; i++) {
        const n = batch.action[i] as number;
        expect(n).not.toBe(999);
        const { e, t, length } = episodes[n] as { e: number; t: number; length: number };
        const [goal, episode] = [batch.desiredGoal[2 * i] as number, batch.desiredGoal[2 * i + 1] as number];
        if (i >= 14) {
          expect([goal, episode, batch.reward[i]]).toEqual([-1, -1, -5]);
          continue;
        }
        expect(episode).toBe(e);
        expect(batch.reward[i]).toBe(goal === n ? 0 : -1);
        const later = goal - n;
        offsets.add(later);
        if (strategy === "final") expect(later).toBe(length - 1 - t);
        if (strategy === "future") expect(later).toBeGreaterThanOrEqual(inclusive || t === length - 1 ? 0 : 1);
        expect(goal).toBeGreaterThanOrEqual(episodes.length + 1 - 40);
      }
    }
    expect(offsets.size).toBeGreaterThan(4);
    if (strategy === "episode") expect(Math.min(...offsets)).toBeLessThan(0);
    buffer.endEpisode();
    expect(buffer.finished).toBe(40);
    expect(() => buffer.pushEpisode([open])).toThrow(/terminated or truncated/);
    expect(() => buffer.sample(41)).toThrow(DataError);
    expect(() => new HerBuffer({ capacity: 4, observation: 1, action: 1, goal: 1, ratio: 2 })).toThrow(DataError);
  });
});

describe("restored buffers go on exactly as the saved ones", () => {
  test("NStepBuffer", () => {
    const make = () => new NStepBuffer({ capacity: 10, observation: 1, action: 1, n: 3, seed: 6 });
    const [a, b] = [make(), make()];
    const push = (buffer: typeof a, n: number) => buffer.pushSlices([n], n, n, n % 4 === 3, false, [n + 1]);
    for (let n = 0; n < 17; n++) push(a, n);
    a.sample(4);
    b.restore(structuredClone(a.save()));
    for (let n = 17; n < 20; n++) expect(push(b, n)).toBe(push(a, n));
    expect(b.sample(8).reward).toEqual(a.sample(8).reward);
    const other = new NStepBuffer({ capacity: 10, observation: 1, action: 1, n: 3, seed: 7 });
    expect(() => other.restore(a.save())).toThrow(DataError);
    expect(() => b.restore({ ...a.save(), head: 99 })).toThrow(/do not fit together/);
  });

  test("SequenceBuffer", () => {
    const make = () => new SequenceBuffer({ capacity: 20, observation: 1, action: 1, window: 3, seed: 6 });
    const [a, b] = [make(), make()];
    const push = (buffer: typeof a, n: number) => buffer.pushSlices([n], n, n, n % 6 === 5, false, [n + 1]);
    for (let n = 0; n < 33; n++) push(a, n);
    b.restore(structuredClone(a.save()));
    for (let n = 33; n < 40; n++) {
      expect(push(b, n)).toBe(push(a, n));
      expect(b.windows).toBe(a.windows);
      expect(b.sample(5).action).toEqual(a.sample(5).action);
    }
    const other = new SequenceBuffer({ capacity: 20, observation: 1, action: 1, window: 4, seed: 6 });
    expect(() => other.restore(a.save())).toThrow(DataError);
  });

  test("HerBuffer", () => {
    const make = () => new HerBuffer({ capacity: 20, observation: 1, action: 1, goal: 1, seed: 6 });
    const [a, b] = [make(), make()];
    const push = (buffer: typeof a, n: number) => {
      const ended = n % 5 === 4;
      const goals = { achievedGoal: [n], desiredGoal: [0] };
      buffer.push({
        observation: [n],
        action: n,
        reward: -1,
        terminated: ended,
        truncated: false,
        nextObservation: [n],
        ...goals,
      });
    };
    for (let n = 0; n < 33; n++) push(a, n);
    b.restore(structuredClone(a.save()));
    for (let n = 33; n < 44; n++) {
      push(a, n);
      push(b, n);
      expect(b.finished).toBe(a.finished);
      expect(b.sample(8).desiredGoal).toEqual(a.sample(8).desiredGoal);
    }
  });
});
