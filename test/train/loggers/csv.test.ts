/**
 * @file progress.csv: a table whose rows fit its header whatever columns appear when, and that a resumed run continues.
 */
import { readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CsvError, csvLogger } from "../../../src/train/loggers/csv.ts";
import type { RunRecord } from "../../../src/train/records.ts";
import { evaluationRecord, iterationRecord, log, sampleRecords, temporaryFolder } from "./samples.ts";

const written = (records: readonly RunRecord[]): string => {
  const path = join(temporaryFolder(), "progress.csv");
  log(csvLogger(path), records);
  return readFileSync(path, "utf8");
};

describe("what is written", () => {
  test("is a header and a row per record", () => {
    expect(written([iterationRecord(1), iterationRecord(2)])).toBe(
      [
        "iteration,steps,wall_s,policy_loss,entropy,episode_return",
        "1,1024,0.25,-0.01,0.69,20",
        "2,2048,0.5,-0.02,0.69,40",
        "",
      ].join("\n"),
    );
  });

  test("gets further columns at the right when they appear", () => {
    const text = written([iterationRecord(1), evaluationRecord(1), iterationRecord(2, { added: 7 })]);
    const names =
      "eval_episodes,eval_mean,eval_std,eval_min,eval_max,eval_iqm,eval_mean_length,eval_ci_low,eval_ci_high";
    expect(text.split("\n")).toEqual([
      `iteration,steps,wall_s,policy_loss,entropy,episode_return,${names},added`,
      "1,1024,0.25,-0.01,0.69,20,,,,,,,,,,",
      "1,1024,0.375,,,,30,187.5,12.25,150,200,190,188,180,195,",
      "2,2048,0.5,-0.02,0.69,40,,,,,,,,,,7",
      "",
    ]);
  });

  test("has empty cells for NaN and names for infinities", () => {
    const metrics = { entropy: Number.NaN, policy_loss: Number.POSITIVE_INFINITY, episode_return: -Infinity };
    expect(written([iterationRecord(1, metrics)]).split("\n")[1]).toBe("1,1024,0.25,inf,,-inf");
  });

  test("quotes names, and keeps the place of a record when a metric has its name", () => {
    const [header, row] = written([{ ...iterationRecord(1), metrics: { 'a,"b"': 1, steps: 2, "c\nd": 3 } }]).split(
      "\n",
    );
    expect(header).toBe('iteration,steps,wall_s,"a,""b""",c d');
    expect(row).toBe("1,1024,0.25,1,3");
  });
});

test("a record without numbers, and names that every object has", () => {
  const records = [{}, { constructor: 1 }, { loss: 2 }].map((metrics, k) => ({ ...iterationRecord(k + 1), metrics }));
  expect(written(records as RunRecord[])).toBe(
    "iteration,steps,wall_s,constructor,loss\n1,1024,0.25,,\n2,2048,0.5,1,\n3,3072,0.75,,2\n",
  );
});

describe("a resumed run", () => {
  test("has each record once, wherever the one before was killed", () => {
    const whole = written(sampleRecords(1, 8));
    fc.assert(
      fc.property(fc.integer({ min: 3, max: 6 }), fc.nat(), (resumedAt, extra) => {
        const path = join(temporaryFolder(), "progress.csv");
        writeFileSync(path, whole);
        const needed = written(sampleRecords(1, resumedAt)).length;
        truncateSync(path, needed + (extra % (whole.length - needed)));
        log(csvLogger(path), sampleRecords(resumedAt + 1, 8), { resumedAt });
        expect(readFileSync(path, "utf8")).toBe(whole);
      }),
      { numRuns: 60 },
    );
  });

  test("goes on with quoted columns", () => {
    const path = join(temporaryFolder(), "progress.csv");
    const record = (k: number): RunRecord => ({ ...iterationRecord(k), metrics: { 'a,"b"': k, c: 1 } });
    log(csvLogger(path), [record(1), record(2)]);
    log(csvLogger(path), [record(2)], { resumedAt: 1 });
    expect(readFileSync(path, "utf8")).toBe(written([record(1), record(2)]));
  });

  test.each([
    ["another header", "time,reward\n1,2\n", /begins with "time,reward"/],
    ["a row that is no row", "iteration,steps,wall_s,loss\n1,2,3,4\nx\n", /line 3/],
    ["a row with too many cells", "iteration,steps,wall_s,loss\n1,2,3,4,5\n", /expected 4 cells/],
    ["an open quote", 'iteration,steps,wall_s,"loss\n1,2,3,4\n', /begins with/],
  ])("refuses %s and leaves the file as it is", (_, text, words) => {
    const path = join(temporaryFolder(), "progress.csv");
    writeFileSync(path, text);
    expect(() => log(csvLogger(path), [], { resumedAt: 2 })).toThrow(CsvError);
    expect(() => log(csvLogger(path), [], { resumedAt: 2 })).toThrow(words);
    expect(readFileSync(path, "utf8")).toBe(text);
  });
});
