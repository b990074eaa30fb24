/**
 * @file The gates of the suite `buffers` see batches that mix transitions, and pass those that do not.
 */
import { describe, expect, test } from "vitest";
import { GateError } from "../../src/bench/gate.ts";
import { checkBatch, imagePusher, OBSERVATION, pushers } from "../../src/bench/suites/buffers-cases.ts";

const batchOf = (numbers: readonly number[]) => ({
  size: numbers.length,
  observation: numbers.flatMap((n) => new Array<number>(OBSERVATION).fill(n)),
  nextObservation: numbers.flatMap((n) => new Array<number>(OBSERVATION).fill(n + 1)),
  action: [...numbers],
  reward: [...numbers],
  terminated: numbers.map((n) => n % 2),
  truncated: numbers.map((n) => (n % 3 === 1 ? 1 : 0)),
});

describe("the suite buffers", () => {
  test("a batch is checked in all its parts", () => {
    const good = batchOf([3, 17, 4]);
    expect(() => checkBatch("good", good)).not.toThrow();
    for (const name of ["observation", "nextObservation", "action", "reward", "terminated", "truncated"] as const) {
      const changed = good[name].map((value, k) => (k === good[name].length - 1 ? value + 1 : value));
      expect(() => checkBatch(name, { ...good, [name]: changed })).toThrow(GateError);
    }
  });

  test("what is timed as a push is stored", () => {
    const { slices, records, check } = pushers();
    slices();
    check();
    records();
    check();
  });

  test("images are stored with their next ones", () => {
    const { run, check, bytes, dispose } = imagePusher("u8", "once");
    run();
    check();
    expect(bytes.observations).toBeGreaterThan(2000 * 84 * 84 * 4);
    expect(bytes.all).toBeGreaterThan(bytes.observations);
    dispose();
  });
});
