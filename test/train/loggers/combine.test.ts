/**
 * @file Several loggers as one: all are told, in order, and at the end all are told even if one fails.
 */
import { expect, test } from "vitest";
import { combine } from "../../../src/train/loggers/index.ts";
import type { Logger } from "../../../src/train/records.ts";
import { iterationRecord, sampleInfo, sampleSummary } from "./samples.ts";

const telling = (name: string, said: string[]): Logger => ({
  start: ({ env }) => said.push(`${name} start ${env}`),
  record: ({ iteration }) => said.push(`${name} record ${iteration}`),
  notice: (text) => said.push(`${name} notice ${text}`),
  end: async ({ ended }) => {
    await Promise.resolve();
    said.push(`${name} end ${ended}`);
  },
});

test("each is told everything in order; parts may be missing", async () => {
  const said: string[] = [];
  const logger = combine([telling("a", said), {}, telling("b", said)]);
  logger.start?.(sampleInfo());
  logger.record?.(iterationRecord(3));
  logger.notice?.("text");
  await logger.end?.(sampleSummary());
  const events = ["start CartPole-v1", "record 3", "notice text", "end finished"];
  expect(said).toEqual(events.flatMap((event) => [`a ${event}`, `b ${event}`]));
});

test("the end reaches all, and the first fault is thrown", async () => {
  const said: string[] = [];
  const failing = (message: string): Logger => ({
    end: () => {
      throw new Error(message);
    },
  });
  const logger = combine([failing("first"), telling("b", said), failing("second")]);
  await expect(logger.end?.(sampleSummary())).rejects.toThrow("first");
  expect(said).toEqual(["b end finished"]);
});

test("the fault of a record is the run's", () => {
  const broken: Logger = {
    record: () => {
      throw new Error("full disk");
    },
  };
  expect(() => combine([broken]).record?.(iterationRecord(1))).toThrow("full disk");
});
