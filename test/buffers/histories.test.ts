/**
 * @file States of any history: what was saved is restored, and samples go on as if nothing had happened.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HerBuffer } from "../../src/buffers/her.ts";
import { PrioritizedReplayBuffer } from "../../src/buffers/prioritized.ts";
import { ReplayBuffer } from "../../src/buffers/replay.ts";
import { SequenceBuffer } from "../../src/buffers/sequence.ts";

/** Steps of one stream: goes on, ends, or is given up without an end. */
const history = fc.array(fc.constantFrom("step", "step", "step", "end", "cut", "give up"), { maxLength: 60 });
const capacity = fc.integer({ min: 2, max: 12 });
type Event = "step" | "end" | "cut" | "give up";

const row = (n: number): Float32Array => Float32Array.of(n, n + 0.5);
const transition = (n: number, event: Event) => ({
  observation: row(n),
  action: n,
  reward: n,
  terminated: event === "end",
  truncated: event === "cut",
  nextObservation: row(n + 1),
});
/** Numbers of a history's steps; a new episode begins with a number of its own. */
function numbered(events: readonly Event[]): { readonly n: number; readonly event: Event }[] {
  let n = 0;
  return events.map((event) => {
    const now = n;
    n += event === "step" ? 1 : 100;
    return { n: now, event };
  });
}

describe("restored states", () => {
  test("of hindsight buffers", () => {
    fc.assert(
      fc.property(capacity, history, (size, events) => {
        const make = () => new HerBuffer({ capacity: size, observation: 2, action: 1, goal: 1, target: "js" });
        const [buffer, other] = [make(), make()];
        for (const { n, event } of numbered(events)) {
          buffer.push({ ...transition(n, event), achievedGoal: [n], desiredGoal: [0] });
          if (event === "give up") buffer.endEpisode();
        }
        other.restore(structuredClone(buffer.save()));
        expect(other.finished).toBe(buffer.finished);
        if (buffer.finished > 0) {
          const [a, b] = [buffer.sample(buffer.finished), other.sample(buffer.finished)];
          expect(b.desiredGoal).toEqual(a.desiredGoal);
          // A goal comes from the same episode: its number is less than 100 away.
          for (let i = 0; i < a.relabelled; i++)
            expect(Math.abs((a.desiredGoal[i] as number) - (a.achievedGoal[i] as number))).toBeLessThan(100);
        }
        buffer.dispose();
        other.dispose();
      }),
      { numRuns: 60 },
    );
  });

  test("of observations stored once, with and without priorities", () => {
    fc.assert(
      fc.property(capacity, history, fc.boolean(), (size, events, prioritized) => {
        const options = { capacity: size, observation: 2, action: 1, nextObservations: "once", target: "js" } as const;
        const make = () => (prioritized ? new PrioritizedReplayBuffer(options) : new ReplayBuffer(options));
        const [buffer, other] = [make(), make()];
        for (const { n, event } of numbered(events)) {
          buffer.push(transition(n, event));
          if (event === "give up") buffer.restart();
        }
        other.restore(structuredClone(buffer.save()) as never);
        for (let n = 5000; n < 5003; n++) for (const one of [buffer, other]) one.push(transition(n, "step"));
        const count = buffer.length;
        const [a, b] = [buffer.sample(count), other.sample(count)];
        expect(b.observation).toEqual(a.observation);
        for (let i = 0; i < count; i++) {
          const n = a.reward[i] as number;
          expect([...a.observation.subarray(2 * i, 2 * i + 2)]).toEqual([...row(n)]);
          expect([...a.nextObservation.subarray(2 * i, 2 * i + 2)]).toEqual([...row(n + 1)]);
        }
        buffer.dispose();
        other.dispose();
      }),
      { numRuns: 60 },
    );
  });

  test("of windows, none of which crosses an end", () => {
    fc.assert(
      fc.property(capacity, history, (size, events) => {
        const make = () => new SequenceBuffer({ capacity: size, observation: 2, action: 1, window: 2, target: "js" });
        const [buffer, other] = [make(), make()];
        for (const { n, event } of numbered(events)) buffer.push(transition(n, event === "give up" ? "cut" : event));
        other.restore(structuredClone(buffer.save()));
        expect(other.windows).toBe(buffer.windows);
        if (buffer.windows > 0) {
          const [a, b] = [buffer.sample(buffer.windows), other.sample(buffer.windows)];
          expect(b.reward).toEqual(a.reward);
          for (let w = 0; w < a.reward.length; w += 2) expect(a.reward[w + 1]).toBe((a.reward[w] as number) + 1);
        }
        buffer.dispose();
        other.dispose();
      }),
      { numRuns: 60 },
    );
  });
});
