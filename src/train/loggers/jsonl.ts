/**
 * @file metrics.jsonl: one record per line, as JSON. This is the file that reports are made from.
 *
 * JSON has no NaN and no infinities; they stand as null and come back as NaN. A line counts when its line break is
 * there: a process that is killed while it writes leaves a torn last line, which readers leave out.
 */
import * as z from "zod";
import { LockstepError } from "../../platform/errors.ts";
import type { EvaluationRecord, IterationRecord, Logger, RunRecord } from "../records.ts";
import { count, evaluationOf, jsonFigure } from "../schemas.ts";
import { type LogFile, openLog, wholeLines } from "./logFile.ts";

/** A line of a metrics file is not a record. */
export class RecordError extends LockstepError {
  override readonly name = "RecordError";
}

const figure = jsonFigure;
const place = { iteration: count, steps: count, wall_s: z.number().min(0) };

/** Keys that are not known are left out, so that later versions may add some. */
const RECORD: z.ZodType<RunRecord> = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("iteration"),
    ...place,
    metrics: z.record(z.string(), figure),
  }) satisfies z.ZodType<IterationRecord>,
  z.object({
    kind: z.literal("evaluation"),
    ...place,
    evaluation: evaluationOf(figure),
  }) satisfies z.ZodType<EvaluationRecord>,
]);

const shortened = (text: string): string => (text.length > 60 ? `${text.slice(0, 60)}...` : text);

function parseLine(text: string, number: number): RunRecord {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new RecordError(
      `line ${number} of the metrics is not JSON: ${JSON.stringify(shortened(text))}; expected one record per line, ` +
        "remove the line to go on without it",
    );
  }
  const result = RECORD.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const key = issue?.path.join(".") || "the record";
  throw new RecordError(
    `line ${number} of the metrics is not a record: ${key}: ${issue?.message}; ` +
      "expected an iteration or an evaluation, remove the line to go on without it",
  );
}

/** The records in the text of a metrics file. A torn last line is left out; any other fault is a RecordError. */
export function parseRecords(text: string): RunRecord[] {
  const lines = text.split("\n").slice(0, -1);
  return lines.map((line, k) => parseLine(line, k + 1));
}

/** How many bytes hold the records up to an iteration; what was logged after it is not part of a resumed run. */
function bytesUpTo(bytes: Uint8Array, iteration: number): number {
  let kept = 0;
  for (const { text, number, end } of wholeLines(bytes)) {
    if (parseLine(text, number).iteration > iteration) break;
    kept = end;
  }
  return kept;
}

/** Writes metrics.jsonl. A new run replaces the file; a resumed one goes on where it was resumed. */
export function jsonlLogger(path: string): Logger {
  const encoder = new TextEncoder();
  let log: LogFile | undefined;
  return {
    start({ resumed }) {
      log = openLog(path, (bytes) => (resumed ? bytesUpTo(bytes, resumed.iteration) : 0));
    },
    record(record) {
      log?.append(encoder.encode(`${JSON.stringify(record)}\n`));
    },
    end() {
      log?.close();
      log = undefined;
    },
  };
}
