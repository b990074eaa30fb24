/**
 * @file Reads stored reports. They are files that anyone may have written: every field that is used is checked.
 */
import { LockstepError } from "../platform/errors.ts";
import type { Report } from "./result.ts";

type Fields = { readonly [name: string]: unknown };
type Check = (value: unknown) => boolean;

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const text: Check = (value) => typeof value === "string";
const number: Check = (value) => typeof value === "number" && Number.isFinite(value);
const flag: Check = (value) => typeof value === "boolean";
const numberOrNull: Check = (value) => value === null || number(value);

const ROW: { readonly [name: string]: Check } = {
  name: text,
  category: text,
  framework: text,
  params: isObject,
  median_ns: number,
  mean_ns: number,
  p25_ns: number,
  p75_ns: number,
  p99_ns: number,
  min_ns: number,
  max_ns: number,
  iqr_ns: number,
  n_samples: number,
  throughput_per_s: number,
};
const COMPARISON: { readonly [name: string]: Check } = {
  benchmark: text,
  ours_median_ns: number,
  baseline_median_ns: number,
  baseline_framework: text,
  speedup: number,
  speedup_ci_95_lo: number,
  speedup_ci_95_hi: number,
  significant: flag,
};
const BAR: { readonly [name: string]: Check } = {
  id: text,
  what: text,
  required: text,
  measured: numberOrNull,
  met: flag,
};
const SKIPPED: { readonly [name: string]: Check } = { what: text, reason: text };
const LISTS = { results: ROW, comparisons: COMPARISON, bars: BAR, skipped: SKIPPED } as const;

function checkFields(place: string, value: unknown, checks: { readonly [name: string]: Check }): void {
  if (!isObject(value)) throw new LockstepError(`${place} is not an object`);
  for (const [name, check] of Object.entries(checks)) {
    if (!check(value[name])) throw new LockstepError(`${place}.${name} is ${JSON.stringify(value[name])}`);
  }
}

/** The report in `content`; `file` is named in the error when it is none. */
export function parseReport(content: string, file: string): Report {
  const wrong = (detail: string): never => {
    throw new LockstepError(
      `${file} is not a bench report: ${detail}. "lockstep bench <suite> --out <dir>" writes one.`,
    );
  };
  let value: unknown;
  try {
    value = JSON.parse(content);
    checkFields("it", value, { suite: text, quick: flag, system: isObject });
    const fields = value as Fields;
    checkFields("system", fields.system, { date: text, machine: isObject, os: text, versions: isObject });
    for (const [name, checks] of Object.entries(LISTS)) {
      const list = fields[name];
      if (!Array.isArray(list)) throw new LockstepError(`${name} is not a list`);
      list.forEach((item, index) => {
        checkFields(`${name}[${index}]`, item, checks);
      });
    }
  } catch (error) {
    return wrong(error instanceof Error ? error.message : String(error));
  }
  return value as Report;
}
