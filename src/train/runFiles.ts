/**
 * @file A run folder, read back: config.json, metrics.jsonl and, once the run is over, summary.json.
 *
 * Folders may come from anywhere: sizes and forms are checked, and what does not fit is named with its file. A run that
 * is still going on, or was killed, has no summary yet and may end in a torn line; it can be read all the same.
 */
import * as z from "zod";
import { LockstepError } from "../platform/errors.ts";
import { listFolder, readWhole } from "../platform/files.ts";
import { parseRecords, RecordError } from "./loggers/jsonl.ts";
import type { EvaluationRecord, IterationRecord, RunRecord, RunSummary } from "./records.ts";
import { count, evaluationOf, jsonFigure } from "./schemas.ts";

/** A folder is not that of a run, or one of its files cannot be used. */
export class RunFileError extends LockstepError {
  override readonly name = "RunFileError";
}

/** What a run left behind: all that reports and comparisons are made from. */
export interface RunData {
  readonly folder: string;
  readonly algo: string;
  readonly env: string;
  readonly seed: number;
  /** What tells this kind of run from others of the same algorithm and environment; empty for none. */
  readonly label: string;
  readonly config: { readonly [key: string]: unknown };
  readonly iterations: readonly IterationRecord[];
  readonly evaluations: readonly EvaluationRecord[];
  /** Null while a run is not over. */
  readonly summary: RunSummary | null;
  /** What was wrong with the files but does not keep them from being read. */
  readonly warnings: readonly string[];
  /** The environment, as the text of an SVG file. */
  readonly picture?: string;
}

const MEGABYTE = 2 ** 20;
const LIMITS = { "config.json": 16 * MEGABYTE, "summary.json": MEGABYTE, "metrics.jsonl": 256 * MEGABYTE } as const;
const DEEPEST = 16;
type FileName = keyof typeof LIMITS;

const figure = jsonFigure;

const SUMMARY: z.ZodType<RunSummary> = z.object({
  algo: z.string(),
  env: z.string(),
  seed: z.number(),
  target: z.string(),
  threads: z.number(),
  numerics: z.string(),
  steps: count,
  iterations: count,
  ended: z.enum(["finished", "stopped", "interrupted"]),
  wall_s: figure,
  train_s: figure,
  steps_per_s: figure,
  crossings: count,
  evaluation: evaluationOf(figure).nullable(),
  parameters_sha256: z.string(),
  run: z.string().nullable(),
});

const CONFIG = z.looseObject({
  algo: z.string(),
  env: z.string(),
  seed: z.number(),
  label: z.string().optional(),
  preset: z.string().nullish(),
});

function read(folder: string, file: FileName): string {
  return new TextDecoder().decode(readWhole(`${folder}/${file}`, LIMITS[file]));
}

/** Whether values are nested no deeper than what can be walked through without care. */
const isShallow = (value: unknown, depth = DEEPEST): boolean =>
  typeof value !== "object" ||
  value === null ||
  (depth > 0 && Object.values(value).every((one) => isShallow(one, depth - 1)));

function readJson<T>(folder: string, file: FileName, schema: z.ZodType<T>): T {
  let value: unknown;
  try {
    value = JSON.parse(read(folder, file));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new RunFileError(`${folder}/${file} is not JSON: ${error.message}; expected the file that a run wrote`);
  }
  if (!isShallow(value)) throw new RunFileError(`${folder}/${file} is nested more than ${DEEPEST} levels deep`);
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const key = issue?.path.join(".") || "the whole";
  throw new RunFileError(`${folder}/${file} does not describe a run: ${key}: ${issue?.message}`);
}

function readRecords(folder: string): { readonly records: readonly RunRecord[]; readonly warnings: readonly string[] } {
  const text = read(folder, "metrics.jsonl");
  try {
    const torn = text.length > 0 && !text.endsWith("\n");
    const warnings = torn ? ["the last line of metrics.jsonl is torn and was left out: the run was cut off"] : [];
    return { records: parseRecords(text), warnings };
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    throw new RunFileError(`${folder}/metrics.jsonl: ${error.message}`);
  }
}

/** Records around values that configurations do not name: JSON has no infinities, and hyperparameters are a group. */
const TRANSPARENT: ReadonlySet<string> = new Set(["$", "hyperparameters"]);

/** A configuration as texts by key; keys of objects inside of others are dotted. */
export function configEntries(config: RunData["config"], path: readonly string[] = []): [string, string][] {
  return Object.entries(config).flatMap(([key, value]): [string, string][] => {
    const here = TRANSPARENT.has(key) ? path : [...path, key];
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    if (isObject) return configEntries(value as RunData["config"], here);
    return [[here.join("."), typeof value === "string" ? value : String(JSON.stringify(value))]];
  });
}

export interface ReadRunOptions {
  /** Instead of the label or the preset that stands in the configuration. */
  readonly label?: string;
  /** The environment, as the text of an SVG file. */
  readonly picture?: string;
}

/** What a run left in its folder. */
export function readRun(folder: string, options: ReadRunOptions = {}): RunData {
  const there = new Set(listFolder(folder));
  const missing = (["config.json", "metrics.jsonl"] as const).filter((file) => !there.has(file));
  if (missing.length > 0) {
    throw new RunFileError(
      `${folder} is not the folder of a run: there is no ${missing.join(" and no ")}; ` +
        "give a folder that a training run has written",
    );
  }
  const config = readJson(folder, "config.json", CONFIG);
  const { records, warnings } = readRecords(folder);
  const summary = there.has("summary.json") ? readJson(folder, "summary.json", SUMMARY) : null;
  return {
    folder,
    algo: config.algo,
    env: config.env,
    seed: config.seed,
    label: options.label ?? config.label ?? config.preset ?? "",
    config,
    iterations: records.filter((record) => record.kind === "iteration"),
    evaluations: records.filter((record) => record.kind === "evaluation"),
    summary,
    warnings:
      summary === null ? [...warnings, "there is no summary.json: the run is not over, or was cut off"] : warnings,
    ...(options.picture === undefined ? {} : { picture: options.picture }),
  };
}
