/**
 * @file The live table: what it shows at which width, and how it is drawn in a terminal.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { formatDuration, formatRate } from "../../../src/train/loggers/format.ts";
import { Progress, secondsLeft } from "../../../src/train/loggers/progress.ts";
import { render } from "../../../src/train/loggers/table.ts";
import { terminalLogger } from "../../../src/train/loggers/terminal.ts";
import type { Metrics, RunRecord } from "../../../src/train/records.ts";
import {
  evaluationRecord,
  iterationRecord,
  sampleInfo,
  sampleRecords,
  sampleResult,
  sampleSummary,
} from "./samples.ts";
import { Screen } from "./screen.ts";

const METRICS: Metrics = {
  episode_length: 20,
  value_loss: 12.345,
  approx_kl: 0.0042,
  clip_fraction: 0.123,
  explained_variance: 0.93,
  grad_norm: 0.5,
  learning_rate: 1e-4,
  steps_per_s: 4096,
};

function progressAfter(records: readonly RunRecord[], total = 10 * 1024): Progress {
  const progress = new Progress(sampleInfo({ total_steps: total }));
  for (const record of records) progress.record(record);
  return progress;
}

describe("numbers", () => {
  test.each([
    [-1, "0.0s"],
    [4.23, "4.2s"],
    [9.96, "10s"],
    [59.4, "59s"],
    [59.6, "1m 00s"],
    [65, "1m 05s"],
    [3599.6, "1h 00m"],
    [7384, "2h 03m"],
    [273_600, "3d 04h"],
    [Number.NaN, "-"],
    [Number.POSITIVE_INFINITY, "-"],
  ])("%s seconds are %s", (seconds, text) => expect(formatDuration(seconds)).toBe(text));

  test.each([
    [12_345, "12.3 k/s"],
    [950, "950 /s"],
    [1_200_000, "1.2 M/s"],
    [Number.NaN, "-"],
  ])("%s per second are %s", (rate, text) => expect(formatRate(rate)).toBe(text));
});

describe("progress", () => {
  test("speed follows the last ten seconds, and the time left follows the speed", () => {
    const at = (k: number, wall: number): RunRecord => ({ ...iterationRecord(k), wall_s: wall });
    // Ten iterations in 100 s, then one per second.
    const records = Array.from({ length: 40 }, (_, k) => at(k + 1, k < 10 ? 10 * (k + 1) : 91 + k));
    const progress = progressAfter(records, 50 * 1024);
    expect(progress.speed).toBeCloseTo(1024);
    expect(secondsLeft(progress)).toBeCloseTo(10);
  });

  test("a resumed run takes its first speed from the record, and later ones from the time since", () => {
    const progress = new Progress(sampleInfo({ resumed: { iteration: 4, steps: 4096 } }));
    expect(progress.steps).toBe(4096);
    progress.record({ ...iterationRecord(5, { steps_per_s: 77 }), wall_s: 100 });
    expect(progress.speed).toBe(77);
    progress.record({ ...iterationRecord(6, { steps_per_s: 77 }), wall_s: 101 });
    expect(progress.speed).toBe(1024);
  });

  test("returns of a long run are thinned out: their shape stays", () => {
    const progress = progressAfter(Array.from({ length: 10_000 }, (_, k) => iterationRecord(k + 1)));
    expect(progress.returns.length).toBeLessThan(256);
    expect(progress.returns.length).toBeGreaterThan(100);
    expect([...progress.returns].sort((a, b) => a - b)).toEqual(progress.returns);
    expect(progress.lastReturn).toBe(200_000);
  });

  test("keeps the last return when no episode ended", () => {
    expect(progressAfter(sampleRecords(1, 2)).lastReturn).toBe(20);
  });
});

describe("the table", () => {
  const records = [...sampleRecords(1, 4), iterationRecord(5, { ...METRICS, success_rate: 0.25 }), evaluationRecord(5)];

  test("in 80 columns", () => {
    expect(render(progressAfter(records), 80)).toMatchInlineSnapshot(`
      [
        "ppo CartPole-v1   seed 42, native, 2 threads",
        "━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╸────────────────────────────────────  50 %",
        "5.12k of 10.2k steps   4.1 k/s   1.3s left   1.4s elapsed",
        "return     100     ▁▅▇█",
        "evaluation 187.5 ± 12.25   IQM 190   at 5.12k steps",
        "length     20      policy     -0.05   value      12.35   entropy    0.69",
        "kl         0.0042  clipped    0.123   explained  0.93    gradient   0.5",
      ]
    `);
  });

  test("in 40 columns", () => {
    expect(render(progressAfter(records), 40)).toMatchInlineSnapshot(`
      [
        "ppo CartPole-v1",
        "━━━━━━━━━━━━━━━━╸────────────────  50 %",
        "5.12k of 10.2k steps   4.1 k/s",
        "1.3s left   1.4s elapsed",
        "return     100     ▁▅▇█",
        "evaluation 187.5 ± 12.25   IQM 190",
        "           at 5.12k steps",
        "length     20      policy     -0.05",
        "value      12.35   entropy    0.69",
        "kl         0.0042  clipped    0.123",
        "explained  0.93    gradient   0.5",
      ]
    `);
  });

  test("before anything happened", () => {
    expect(render(progressAfter([]), 80)).toMatchInlineSnapshot(`
      [
        "ppo CartPole-v1   seed 42, native, 2 threads",
        "─────────────────────────────────────────────────────────────────────────   0 %",
        "0 of 10.2k steps   0.0s elapsed",
        "return     -",
      ]
    `);
  });

  test("is not wider than 80 columns anywhere, and leaves the last column free", () => {
    const progress = progressAfter(records);
    expect(render(progress, 300)).toEqual(render(progress, 80));
    for (let columns = 1; columns <= 80; columns++) {
      for (const line of render(progress, columns)) {
        expect([...line].length).toBeLessThanOrEqual(Math.max(1, columns - 1));
      }
    }
  });

  test("shows names that it does not know behind those it does", () => {
    const lines = render(progressAfter([iterationRecord(1, { success_rate: 0.25, a_very_long_name: 7 })]), 80);
    expect(lines.at(-1)).toBe("policy     -0.01   entropy    0.69    success_ra 0.25    a_very_lon 7");
  });

  test("has colours only where they are asked for", () => {
    const progress = progressAfter(records);
    expect(render(progress, 80).join("")).not.toContain("\u001b");
    expect(render(progress, 80, true)[0]).toContain("\u001b[1mppo CartPole-v1\u001b[0m");
  });

  test("has no control characters from elsewhere", () => {
    const progress = new Progress(sampleInfo({ env: "a\u001b[2Jb\nc" }));
    expect(render(progress, 80)[0]).toContain("ppo a [2Jb c");
  });

  test("says how the run ended, and the result of its last evaluation", () => {
    const progress = progressAfter(sampleRecords(1, 10));
    progress.end(sampleSummary({ ended: "interrupted", evaluation: { ...sampleResult, mean: 499 } }));
    const lines = render(progress, 80);
    expect(lines).toContain("10.2k of 10.2k steps   5.12 k/s   interrupted   2.5s elapsed");
    expect(lines.join("\n")).toContain("evaluation 499 ± 12.25   IQM 190   at 10.2k steps");
  });
});

describe("in a terminal", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("the last state stays below the notices, the cursor is there, nothing else is left", () => {
    const screen = new Screen(80);
    const logger = terminalLogger(screen);
    logger.start?.(sampleInfo());
    logger.notice?.("first");
    const records = sampleRecords(1, 10);
    for (const [k, record] of records.entries()) {
      vi.advanceTimersByTime(150);
      logger.record?.(record);
      if (k === 4) logger.notice?.("second\nthird \u001b[31mline");
      expect(screen.isCursorVisible).toBe(true);
    }
    void logger.end?.(sampleSummary());
    const progress = progressAfter(records);
    progress.end(sampleSummary());
    expect(screen.text()).toBe(["first", "second", "third  [31mline", ...render(progress, 80)].join("\n"));
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is drawn at most ten times a second, and what came in between is drawn in time", () => {
    const screen = new Screen(80);
    const logger = terminalLogger(screen);
    logger.start?.(sampleInfo({ total_steps: 1024 * 1000 }));
    for (let k = 1; k <= 1000; k++) {
      logger.record?.(iterationRecord(k));
      vi.advanceTimersByTime(1);
    }
    expect(screen.writes).toBeGreaterThanOrEqual(10);
    expect(screen.writes).toBeLessThanOrEqual(11);
    vi.advanceTimersByTime(100);
    expect(screen.text()).toContain("100 %");
    const writes = screen.writes;
    vi.advanceTimersByTime(10_000);
    expect(screen.writes).toBe(writes);
  });

  test.each([
    [80, 40],
    [40, 80],
    [80, 25],
    [25, 200],
  ])("from %i to %i columns nothing of the old table is left", (before, after) => {
    const screen = new Screen(before, 40);
    const logger = terminalLogger(screen, { colours: false });
    logger.start?.(sampleInfo());
    logger.notice?.("kept");
    logger.record?.(iterationRecord(1, METRICS));
    vi.advanceTimersByTime(1000);
    screen.resize(after);
    logger.record?.(iterationRecord(2, METRICS));
    const progress = progressAfter([iterationRecord(1, METRICS), iterationRecord(2, METRICS)]);
    expect(screen.text()).toBe(["kept", ...render(progress, after)].join("\n"));
  });

  test("a table higher than the terminal is cut, not repeated", () => {
    const screen = new Screen(80, 4);
    const logger = terminalLogger(screen);
    logger.start?.(sampleInfo());
    for (const record of sampleRecords(1, 5)) {
      vi.advanceTimersByTime(150);
      logger.record?.(record);
    }
    expect(screen.text()).toBe(
      render(progressAfter(sampleRecords(1, 5)), 80)
        .slice(0, 3)
        .join("\n"),
    );
  });

  test("a notice before the start is a line", () => {
    const screen = new Screen(80);
    terminalLogger(screen).notice?.("early");
    expect(screen.text()).toBe("early");
  });
});
