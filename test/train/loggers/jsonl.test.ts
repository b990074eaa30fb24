/**
 * @file metrics.jsonl: what is written comes back, a kill at any byte loses one line, a resumed run has each iteration
 * once.
 */
import { readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FileError } from "../../../src/platform/files.ts";
import { jsonlLogger, parseRecords, RecordError } from "../../../src/train/loggers/jsonl.ts";
import type { RunRecord } from "../../../src/train/records.ts";
import { evaluationRecord, iterationRecord, log, sampleRecords, temporaryFolder } from "./samples.ts";

const written = (records: readonly RunRecord[]): string => {
  const path = join(temporaryFolder(), "metrics.jsonl");
  log(jsonlLogger(path), records);
  return readFileSync(path, "utf8");
};

describe("what is written", () => {
  test("comes back, one record per line", () => {
    const records = sampleRecords(1, 7);
    const text = written(records);
    expect(text.trimEnd().split("\n")).toHaveLength(records.length);
    expect(parseRecords(text)).toEqual(records);
  });

  test("is valid JSON: NaN and infinities stand as null and come back as NaN", () => {
    const text = written([iterationRecord(1, { episode_return: Number.NaN, loss: Number.POSITIVE_INFINITY })]);
    expect(JSON.parse(text).metrics).toMatchObject({ episode_return: null, loss: null, entropy: 0.69 });
    expect(parseRecords(text)[0]).toMatchObject({ metrics: { episode_return: Number.NaN, loss: Number.NaN } });
  });

  test("keeps names and values of any kind", () => {
    const name = fc.string({ unit: "grapheme", minLength: 1 }).filter((text) => text !== "__proto__");
    const metrics = fc.dictionary(name, fc.double({ noDefaultInfinity: true }));
    fc.assert(
      fc.property(metrics, (values) => {
        const [record] = parseRecords(written([{ ...iterationRecord(1), metrics: values }]));
        const expected = Object.fromEntries(Object.entries(values).map(([key, value]) => [key, value + 0]));
        expect(record).toEqual({ ...iterationRecord(1), metrics: expected });
      }),
      { numRuns: 30 },
    );
  });

  test("replaces the file of another run", () => {
    const path = join(temporaryFolder(), "metrics.jsonl");
    log(jsonlLogger(path), sampleRecords(1, 9));
    log(jsonlLogger(path), sampleRecords(1, 2));
    expect(parseRecords(readFileSync(path, "utf8"))).toEqual(sampleRecords(1, 2));
  });

  test("is in the file before the run ends", () => {
    const path = join(temporaryFolder(), "metrics.jsonl");
    log(jsonlLogger(path), sampleRecords(1, 4), { ends: false });
    expect(parseRecords(readFileSync(path, "utf8"))).toEqual(sampleRecords(1, 4));
  });
});

describe("reading", () => {
  test("a file cut at any byte gives the records before the cut", () => {
    const records = sampleRecords(1, 5);
    const text = written(records);
    for (let cut = 0; cut <= text.length; cut++) {
      const whole = text.slice(0, cut).split("\n").length - 1;
      expect(parseRecords(text.slice(0, cut))).toEqual(records.slice(0, whole));
    }
  });

  const line = JSON.stringify(iterationRecord(1));
  const evaluation = JSON.stringify(evaluationRecord(1));
  const faults: readonly (readonly [what: string, line: string, words: RegExp])[] = [
    ["no JSON", "{", /line 2 .* not JSON/],
    ["an empty line", "", /line 2 .* not JSON/],
    ["another kind", line.replace('"iteration"', '"other"'), /line 2 .* kind/],
    ["no object", "7", /line 2/],
    ["a missing number", line.replace('"steps":1024,', ""), /steps/],
    ["a negative iteration", line.replace('"iteration":1', '"iteration":-1'), /iteration/],
    ["a metric that is a text", line.replace("0.69", '"0.69"'), /metrics\.entropy/],
    ["an interval of one number", evaluation.replace("[180,195]", "[180]"), /evaluation\.ci/],
  ];
  test.each(faults)("%s is refused with its place", (_, bad, words) => {
    expect(() => parseRecords(`${line}\n${bad}\n${line}\n`)).toThrow(RecordError);
    expect(() => parseRecords(`${line}\n${bad}\n${line}\n`)).toThrow(words);
  });

  test("keys of later versions are left out", () => {
    expect(parseRecords(`${line.replace("{", '{"added":1,')}\n`)).toEqual([iterationRecord(1)]);
  });
});

describe("a resumed run", () => {
  test("has each iteration once, wherever the one before was killed", () => {
    const whole = written(sampleRecords(1, 8));
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 6 }), fc.nat(), (resumedAt, extra) => {
        const path = join(temporaryFolder(), "metrics.jsonl");
        writeFileSync(path, whole);
        const needed = written(sampleRecords(1, resumedAt)).length;
        truncateSync(path, needed + (extra % (whole.length - needed)));
        log(jsonlLogger(path), sampleRecords(resumedAt + 1, 8), { resumedAt });
        expect(readFileSync(path, "utf8")).toBe(whole);
      }),
      { numRuns: 60 },
    );
  });

  test("begins a file where there is none", () => {
    const path = join(temporaryFolder(), "metrics.jsonl");
    log(jsonlLogger(path), sampleRecords(3, 4), { resumedAt: 2 });
    expect(parseRecords(readFileSync(path, "utf8"))).toEqual(sampleRecords(3, 4));
  });

  test("does not touch a file that it does not understand", () => {
    const path = join(temporaryFolder(), "metrics.jsonl");
    writeFileSync(path, "a\nb\n");
    expect(() => log(jsonlLogger(path), [], { resumedAt: 2 })).toThrow(RecordError);
    expect(readFileSync(path, "utf8")).toBe("a\nb\n");
  });
});

test("a folder that is not there is an error with the path", () => {
  const path = join(temporaryFolder(), "missing", "metrics.jsonl");
  expect(() => log(jsonlLogger(path), [])).toThrow(FileError);
  expect(() => log(jsonlLogger(path), [])).toThrow(path);
});
