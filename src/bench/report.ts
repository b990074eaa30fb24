/**
 * @file Reports as text: Markdown of one run, and the comparison of two stored runs.
 */
import type { Bar, Report, ResultRow } from "./result.ts";

/** A duration with three figures and the unit that suits it. */
export function formatNs(ns: number): string {
  const [value, unit] =
    ns < 1e3 ? [ns, "ns"] : ns < 1e6 ? [ns / 1e3, "us"] : ns < 1e9 ? [ns / 1e6, "ms"] : [ns / 1e9, "s"];
  return `${formatNumber(value)} ${unit}`;
}

function formatNumber(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size >= 100 || value === 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

/** 1234567 as 1.23 M. */
export function formatCount(value: number): string {
  const [scaled, unit] =
    value < 1e3
      ? [value, ""]
      : value < 1e6
        ? [value / 1e3, " k"]
        : value < 1e9
          ? [value / 1e6, " M"]
          : [value / 1e9, " G"];
  return `${formatNumber(scaled)}${unit}`;
}

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

const paramsText = (row: ResultRow): string =>
  Object.entries(row.params)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");

function barRow(bar: Bar): string[] {
  const measured = bar.measured === null ? "-" : formatNumber(bar.measured);
  return [bar.id, bar.what, bar.required, measured, bar.met ? "yes" : bar.reason ? `no: ${bar.reason}` : "no"];
}

function section(title: string, head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  return rows.length === 0 ? [] : ["", `## ${title}`, "", table(head, rows)];
}

export function toMarkdown(report: Report): string {
  const { machine, os, versions, date } = report.system;
  const met = report.bars.filter((bar) => bar.met).length;
  return [
    `# ${report.suite}${report.quick ? " (quick)" : ""}`,
    "",
    `${date}. ${machine.cpu}, ${machine.cores} cores, ${machine.memory_gb} GB, ${machine.architecture}, ${os}.`,
    `${Object.entries(versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(", ")}.`,
    ...section(
      `Bars: ${met} of ${report.bars.length} met`,
      ["id", "what", "required", "measured", "met"],
      report.bars.map(barRow),
    ),
    ...section(
      "Comparisons",
      ["benchmark", "ours", "baseline", "against", "speedup", "95 %", "significant"],
      report.comparisons.map((c) => [
        c.benchmark,
        formatNs(c.ours_median_ns),
        formatNs(c.baseline_median_ns),
        c.baseline_framework,
        `${formatNumber(c.speedup)}x`,
        `${formatNumber(c.speedup_ci_95_lo)} to ${formatNumber(c.speedup_ci_95_hi)}`,
        c.significant ? "yes" : "no",
      ]),
    ),
    ...section(
      "Results",
      ["name", "framework", "params", "median", "p25", "p75", "p99", "samples", "per second"],
      report.results.map((row) => [
        row.name,
        row.framework,
        paramsText(row),
        formatNs(row.median_ns),
        formatNs(row.p25_ns),
        formatNs(row.p75_ns),
        formatNs(row.p99_ns),
        String(row.n_samples),
        formatCount(row.throughput_per_s),
      ]),
    ),
    ...section(
      "Skipped",
      ["what", "reason"],
      report.skipped.map((skipped) => [skipped.what, skipped.reason]),
    ),
    "",
  ].join("\n");
}

export interface Change {
  readonly benchmark: string;
  readonly before_median_ns: number;
  readonly after_median_ns: number;
  /** Above 1: the second run is slower. */
  readonly ratio: number;
  readonly verdict: "slower" | "faster" | "same";
}

export interface ReportComparison {
  readonly changes: readonly Change[];
  readonly regressions: number;
  /** Rows that only one of the two has. */
  readonly unmatched: readonly string[];
}

const keyOf = (row: ResultRow): string => `${row.name} / ${row.framework} / ${paramsText(row)}`;

/** A change counts when medians are further apart than this and the middle halves do not overlap. */
const CHANGE = 1.05;

function verdict(before: ResultRow, after: ResultRow): Change["verdict"] {
  if (after.median_ns > before.median_ns * CHANGE && after.p25_ns > before.p75_ns) return "slower";
  if (before.median_ns > after.median_ns * CHANGE && before.p25_ns > after.p75_ns) return "faster";
  return "same";
}

export function compareReports(before: Report, after: Report): ReportComparison {
  const old = new Map(before.results.map((row) => [keyOf(row), row]));
  const changes: Change[] = [];
  const unmatched: string[] = [];
  for (const row of after.results) {
    const key = keyOf(row);
    const match = old.get(key);
    old.delete(key);
    if (match === undefined) {
      unmatched.push(`${key} (second only)`);
      continue;
    }
    changes.push({
      benchmark: key,
      before_median_ns: match.median_ns,
      after_median_ns: row.median_ns,
      ratio: Number((row.median_ns / match.median_ns).toPrecision(4)),
      verdict: verdict(match, row),
    });
  }
  for (const key of old.keys()) unmatched.push(`${key} (first only)`);
  return { changes, regressions: changes.filter((change) => change.verdict === "slower").length, unmatched };
}

export function comparisonToMarkdown(comparison: ReportComparison): string {
  const rows = comparison.changes.map((change) => [
    change.benchmark,
    formatNs(change.before_median_ns),
    formatNs(change.after_median_ns),
    `${formatNumber(change.ratio)}x`,
    change.verdict,
  ]);
  return [
    table(["benchmark", "first", "second", "second / first", "verdict"], rows),
    ...comparison.unmatched.map((line) => `\nnot compared: ${line}`),
    "",
    `${comparison.regressions} slower, ${comparison.changes.length} compared`,
    "",
  ].join("\n");
}
