/**
 * @file Event files for TensorBoard, read back with a decoder of the test's own and with TensorBoard itself.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { crc32c } from "../../../src/buffers/checksum.ts";
import { EventFileError, framed, scalarsEvent } from "../../../src/train/loggers/eventFile.ts";
import { taggedScalars } from "../../../src/train/loggers/scalars.ts";
import { tensorBoardLogger } from "../../../src/train/loggers/tensorBoard.ts";
import type { RunRecord } from "../../../src/train/records.ts";
import { type DecodedEvent, decodeEvent, readFrames, slowChecksum } from "./events.ts";
import {
  evaluationRecord,
  iterationRecord,
  log,
  STEPS,
  sampleInfo,
  sampleRecords,
  temporaryFolder,
} from "./samples.ts";

const clock = (): number => 1_700_000_000.5;

const eventsIn = (folder: string): DecodedEvent[] =>
  readdirSync(folder)
    .sort()
    .flatMap((name) => readFrames(readFileSync(join(folder, name))).map(decodeEvent));

const onlyFile = (folder: string): string => join(folder, readdirSync(folder)[0] ?? "");

type Curves = { [tag: string]: [step: number, value: number][] };

function addTo(curves: Curves, tag: string, step: number, value: number): void {
  curves[tag] ??= [];
  curves[tag].push([step, value]);
}

/** Steps and values of every tag, as they stand in a folder. */
function curvesIn(folder: string): Curves {
  const curves: Curves = {};
  for (const { step, scalars } of eventsIn(folder)) {
    for (const [tag, value] of Object.entries(scalars)) addTo(curves, tag, step, value);
  }
  return curves;
}

/** The same from records: values as 32-bit floats. */
function curvesOf(records: readonly RunRecord[]): Curves {
  const curves: Curves = {};
  for (const record of records) {
    for (const [tag, value] of taggedScalars(record, "sb3")) addTo(curves, tag, record.steps, Math.fround(value));
  }
  return curves;
}

test("the checksum is CRC-32C", () => {
  expect(crc32c(new TextEncoder().encode("123456789"))).toBe(0xe3069283);
  fc.assert(fc.property(fc.uint8Array({ maxLength: 50 }), (bytes) => crc32c(bytes) === slowChecksum(bytes)));
});

describe("what is written", () => {
  test("is a version, the configuration, and the scalars of each record at its steps", () => {
    const folder = join(temporaryFolder(), "deep", "events");
    log(tensorBoardLogger(folder, { clock }), [iterationRecord(1), evaluationRecord(1)]);
    expect(readdirSync(folder)).toEqual(["events.out.tfevents.1700000000.lockstep"]);
    const [version, config, iteration, evaluation] = eventsIn(folder);
    expect(version).toEqual({ wallTime: clock(), step: 0, version: "brain.Event:2", scalars: {}, texts: {} });
    expect(config?.texts.config).toContain(JSON.stringify(sampleInfo().config, null, 2));
    expect(iteration?.step).toBe(STEPS);
    expect(iteration?.scalars["train/entropy_loss"]).toBe(Math.fround(-0.69));
    expect(evaluation?.scalars["eval/mean_reward"]).toBe(187.5);
  });

  test("has the tags of the chosen style", () => {
    const folder = temporaryFolder();
    log(tensorBoardLogger(folder, { clock, style: "cleanrl" }), [iterationRecord(1)]);
    expect(Object.keys(curvesIn(folder))).toEqual(["losses/policy_loss", "losses/entropy", "charts/episodic_return"]);
  });

  test("keeps tags, steps and values of any kind", () => {
    const scalars = fc.array(fc.tuple(fc.string({ unit: "grapheme" }), fc.float()), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.double(), scalars, (step, wallTime, values) => {
        const [frame = Buffer.alloc(0)] = readFrames(Buffer.from(framed(scalarsEvent({ wallTime, step }, values))));
        const expected = { step, wallTime, scalars: Object.fromEntries(values), texts: {} };
        expect(decodeEvent(frame)).toEqual(expected);
      }),
    );
  });

  test("replaces what another run left, and nothing else", () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "events.out.tfevents.1.other"), "");
    log(tensorBoardLogger(folder, { clock }), sampleRecords(1, 5));
    log(tensorBoardLogger(folder, { clock }), sampleRecords(1, 2));
    expect(curvesIn(folder)).toEqual(curvesOf(sampleRecords(1, 2)));
    expect(existsSync(join(folder, "events.out.tfevents.1.other"))).toBe(true);
  });
});

describe("a resumed run", () => {
  test("has each step once, wherever the one before was killed, and again", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 6 }), fc.nat(), fc.nat(), (resumedAt, cut, later) => {
        const folder = temporaryFolder();
        log(tensorBoardLogger(folder, { clock }), sampleRecords(1, resumedAt), { ends: false });
        const needed = readFileSync(onlyFile(folder)).length;
        log(tensorBoardLogger(folder, { clock }), sampleRecords(1, 8));
        const path = onlyFile(folder);
        truncateSync(path, needed + (cut % (readFileSync(path).length - needed)));
        log(tensorBoardLogger(folder, { clock }), sampleRecords(resumedAt + 1, 8), { resumedAt });
        expect(curvesIn(folder)).toEqual(curvesOf(sampleRecords(1, 8)));
        // A second time, at the same place or after it.
        const again = resumedAt + (later % (8 - resumedAt));
        log(tensorBoardLogger(folder, { clock }), sampleRecords(again + 1, 9), { resumedAt: again });
        expect(curvesIn(folder)).toEqual(curvesOf(sampleRecords(1, 9)));
        expect(eventsIn(folder).filter(({ texts }) => "config" in texts)).toHaveLength(1);
      }),
      { numRuns: 40 },
    );
  });

  test("tells a TensorBoard that watches where it goes on", () => {
    const folder = temporaryFolder();
    log(tensorBoardLogger(folder, { clock }), sampleRecords(1, 4));
    log(tensorBoardLogger(folder, { clock }), sampleRecords(3, 4), { resumedAt: 2 });
    expect(eventsIn(folder).filter(({ restarts }) => restarts)).toMatchObject([{ step: 2 * STEPS + 1 }]);
    expect(readdirSync(folder)).toHaveLength(2);
  });

  test("refuses a damaged file, wherever the damage is, and leaves it as it is", () => {
    const folder = temporaryFolder();
    log(tensorBoardLogger(folder, { clock }), sampleRecords(1, 3));
    const path = onlyFile(folder);
    const whole = readFileSync(path);
    for (let at = 0; at < whole.length; at += 5) {
      const damaged = Buffer.from(whole);
      damaged.writeUInt8(damaged.readUInt8(at) ^ 0x10, at);
      writeFileSync(path, damaged);
      expect(() => log(tensorBoardLogger(folder, { clock }), [], { resumedAt: 9 })).toThrow(EventFileError);
      expect(readFileSync(path).equals(damaged)).toBe(true);
    }
  });

  test("refuses an event that is malformed behind right checksums", () => {
    const folder = temporaryFolder();
    // A field that is longer than its message, one that does not end, and one of no known kind.
    for (const event of [
      [0x1a, 0x7f, 0x00],
      [0x10, 0xff, 0xff],
      [0x0b, 0x01],
    ]) {
      writeFileSync(join(folder, "events.out.tfevents.0000000001.lockstep"), framed(Uint8Array.from(event)));
      expect(() => log(tensorBoardLogger(folder, { clock }), [], { resumedAt: 9 })).toThrow(/malformed/);
    }
  });
});

/** Prints what TensorBoard's own reader finds in a folder, as JSON. */
const READER = `
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
accumulator = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "tensors": 0})
accumulator.Reload()
tags = accumulator.Tags()
print(json.dumps({
    "scalars": {tag: [[e.step, e.value] for e in accumulator.Scalars(tag)] for tag in tags["scalars"]},
    "texts": {tag: accumulator.Tensors(tag)[0].tensor_proto.string_val[0].decode() for tag in tags["tensors"]},
}))
`;

/** A Python that has TensorBoard: the one of the peers, or a new virtual environment. */
function pythonWithTensorBoard(): string {
  const peers = fileURLToPath(new URL("../../../.peers/torch/bin/python", import.meta.url));
  const has = (python: string): boolean => {
    try {
      execFileSync(python, ["-c", "import tensorboard"], { stdio: "ignore" });
      return true;
    } catch {
      return false;
    }
  };
  if (existsSync(peers) && has(peers)) return peers;
  const environment = join(temporaryFolder(), "python");
  execFileSync("python3", ["-m", "venv", environment], { stdio: "ignore" });
  execFileSync(join(environment, "bin", "pip"), ["install", "--quiet", "tensorboard"], { stdio: "ignore" });
  return join(environment, "bin", "python");
}

describe.runIf(process.env.LOCKSTEP_FULL)("TensorBoard itself", () => {
  test("reads what was written, resumed runs included", () => {
    const folder = temporaryFolder();
    log(tensorBoardLogger(folder), sampleRecords(1, 6));
    log(tensorBoardLogger(folder), sampleRecords(5, 8), { resumedAt: 4 });
    const read = JSON.parse(execFileSync(pythonWithTensorBoard(), ["-c", READER, folder], { encoding: "utf8" }));
    expect(read.scalars).toEqual(curvesOf(sampleRecords(1, 8)));
    expect(JSON.parse(read.texts.config.split("\n").slice(1, -1).join("\n"))).toEqual(sampleInfo().config);
  });
});
