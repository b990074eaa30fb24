/**
 * @file Plain lines: which there are, given records and a clock.
 */
import { expect, test } from "vitest";
import { lineLogger } from "../../../src/train/loggers/lines.ts";
import type { RunRecord } from "../../../src/train/records.ts";
import { evaluationRecord, iterationRecord, sampleInfo, sampleResult, sampleSummary } from "./samples.ts";

/** The lines of a run whose iterations take some seconds each. */
function linesOf(iterations: number, secondsEach: number, extra: readonly RunRecord[] = []): string[] {
  let text = "";
  let now = 0;
  const logger = lineLogger(
    (piece) => {
      text += piece;
    },
    { clock: () => now },
  );
  logger.start?.(sampleInfo({ total_steps: 1024 * iterations }));
  for (let k = 1; k <= iterations; k++) {
    now += secondsEach * 1000;
    logger.record?.({ ...iterationRecord(k), wall_s: k * secondsEach });
    for (const record of extra) if (record.iteration === k) logger.record?.(record);
  }
  logger.notice?.("checkpoint written\nto \u001b[1mruns/1");
  void logger.end?.(sampleSummary({ evaluation: sampleResult, run: "runs/1" }));
  return text.split("\n");
}

test("a short run: a header, a line for each tenth, and the end", () => {
  expect(linesOf(20, 0.1, [evaluationRecord(20)])).toMatchInlineSnapshot(`
    [
      "ppo CartPole-v1: 20.5k steps, seed 42, native, 2 threads",
      " 10 %  2.05k steps  10.2 k/s  return 40  policy -0.02  entropy 0.69  1.8s left",
      " 20 %  4.1k steps  10.2 k/s  return 80  policy -0.04  entropy 0.69  1.6s left",
      " 30 %  6.14k steps  10.2 k/s  return 120  policy -0.06  entropy 0.69  1.4s left",
      " 40 %  8.19k steps  10.2 k/s  return 160  policy -0.08  entropy 0.69  1.2s left",
      " 50 %  10.2k steps  10.2 k/s  return 200  policy -0.1  entropy 0.69  1.0s left",
      " 60 %  12.3k steps  10.2 k/s  return 240  policy -0.12  entropy 0.69  0.8s left",
      " 70 %  14.3k steps  10.2 k/s  return 280  policy -0.14  entropy 0.69  0.6s left",
      " 80 %  16.4k steps  10.2 k/s  return 320  policy -0.16  entropy 0.69  0.4s left",
      " 90 %  18.4k steps  10.2 k/s  return 360  policy -0.18  entropy 0.69  0.2s left",
      "100 %  20.5k steps  10.2 k/s  return 400  policy -0.2  entropy 0.69",
      "evaluation at 20.5k steps: 187.5 ± 12.25, IQM 190 [180, 195], 30 episodes",
      "checkpoint written",
      "to  [1mruns/1",
      "finished: 10.2k steps in 2.5s, 5.12 k/s in training",
      "evaluation: 187.5 ± 12.25, IQM 190 [180, 195], 30 episodes",
      "run folder: runs/1",
      "",
    ]
  `);
});

test("a long run: a line every thirty seconds", () => {
  const lines = linesOf(400, 7).filter((line) => line.includes(" %"));
  // 30 s are five iterations of 7 s; a tenth is 40 of them.
  expect(lines).toHaveLength(80);
});

test("a run of very short iterations has no more lines", () => {
  expect(linesOf(10_000, 0.001).filter((line) => line.includes(" %"))).toHaveLength(10);
});

test("a resumed run says where", () => {
  const lines: string[] = [];
  const logger = lineLogger((text) => lines.push(text));
  logger.start?.(sampleInfo({ resumed: { iteration: 5, steps: 5120 } }));
  expect(lines).toEqual(["ppo CartPole-v1: 10.2k steps, seed 42, native, 2 threads, resumed at 5.12k\n"]);
});
