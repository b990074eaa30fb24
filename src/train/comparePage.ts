/**
 * @file A comparison for readers: charts as SVG files, one HTML page with all of it, and a table for terminals.
 */
import { columns, cutToLength, formatCount, formatValue } from "../charts/index.ts";
import type { Interval } from "../stats/index.ts";
import type { Comparison, MethodAggregate, Overall } from "./compare.ts";
import { comparisonCharts } from "./compareCharts.ts";
import type { Estimate, Group } from "./groups.ts";
import { printable } from "./loggers/format.ts";
import { cards, figure, html, notes, page, section, table } from "./page.ts";

const LINE = 80;

const intervalText = ([low, high]: Interval): string => `[${formatValue(low)}, ${formatValue(high)}]`;

function estimateText(estimate: Estimate | null): string {
  if (estimate === null) return "-";
  const { value, ci } = estimate;
  return ci === null ? formatValue(value) : `${formatValue(value)} ${intervalText(ci)}`;
}

const HEAD = ["environment", "method", "runs", "steps", "final return", "steps/s"];
const NUMBERS = [2, 3, 5];
/** Columns that may be cut when lines get too long, and what they keep at least. */
const CUT = { env: 0, method: 1, least: 8 } as const;

const rowOf = (group: Group): string[] => [
  group.env,
  group.method,
  String(group.seeds.length),
  formatCount(group.steps),
  estimateText(group.final),
  group.stepsPerSecond === null ? "-" : formatCount(group.stepsPerSecond.value),
];

const groupsOf = ({ environments }: Comparison): Group[] => environments.flatMap(({ groups }) => groups);

/** Rows whose first two cells are cut so that lines fit: the longer column first. */
function fitted(rows: readonly (readonly string[])[]): string[][] {
  const widest = (k: number): number => Math.max(...rows.map((row) => row[k]?.length ?? 0));
  const rest = HEAD.reduce((sum, _, k) => sum + (k === CUT.env || k === CUT.method ? 0 : widest(k)), 0);
  const room = LINE - rest - 2 * (HEAD.length - 1);
  let [env, method] = [widest(CUT.env), widest(CUT.method)];
  while (env + method > room && Math.max(env, method) > CUT.least) {
    if (env >= method) env--;
    else method--;
  }
  return rows.map(([first = "", second = "", ...others]) => [
    cutToLength(first, env),
    cutToLength(second, method),
    ...others,
  ]);
}

/** Final returns with intervals as lines of at most 80 characters. */
export function comparisonTable(comparison: Comparison): string {
  // Names come from files of others: nothing in them may move the cursor of a terminal.
  const rows = groupsOf(comparison).map((group) => rowOf(group).map(printable));
  const [head = "", ...lines] = columns(fitted([HEAD, ...rows]), NUMBERS);
  return [head, ...lines, "", "final return: interquartile mean over runs, 95 % bootstrap interval", ""].join("\n");
}

/** Files are for slides and papers; in a page charts stand side by side, or on a phone, and text must stay legible. */
const FILE_SIZE = { width: 640, height: 360 };
const PAGE_SIZE = { width: 460, height: 300 };

const AGGREGATE_HEAD = ["method", "IQM", "median", "mean", "optimality gap"];

function aggregateRow({ method, point, intervals }: MethodAggregate): string[] {
  const names = ["iqm", "median", "mean", "optimality_gap"] as const;
  return [method, ...names.map((name) => `${formatValue(point[name])} ${intervalText(intervals[name])}`)];
}

function aggregateSection(overall: Overall | null): string {
  if (overall === null) return "";
  const caption = `normalised scores over ${overall.envs.join(", ")}, with 95 % bootstrap intervals`;
  return section("Over all environments", [
    table(AGGREGATE_HEAD, overall.aggregates.map(aggregateRow), [1, 2, 3, 4]),
    `<p class="faint">${html(caption)}</p>`,
  ]);
}

function comparisonHtml(comparison: Comparison): string {
  const { runs, methods, environments } = comparison;
  const title = `${methods.join(", ")} on ${environments.map(({ env }) => env).join(", ")}`;
  return page(`Comparison: ${title}`, [
    `<h1>${html(title)}</h1>`,
    `<p class="faint">${runs} run${runs === 1 ? "" : "s"}</p>`,
    notes(comparison.notes),
    section("Final returns", [
      table(HEAD, groupsOf(comparison).map(rowOf), NUMBERS),
      '<p class="faint">interquartile mean over runs, 95 % bootstrap interval</p>',
    ]),
    aggregateSection(comparison.overall),
    section("Charts", [cards(comparisonCharts(comparison, PAGE_SIZE).map(({ svg, caption }) => figure(svg, caption)))]),
  ]);
}

/** The files of a comparison by name: SVG charts, comparison.html and comparison.txt. Writing them is the caller's. */
export function comparisonFiles(comparison: Comparison): Map<string, string> {
  const charts = comparisonCharts(comparison, FILE_SIZE);
  const files = new Map(charts.map(({ name, svg }) => [`${name}.svg`, svg]));
  files.set("comparison.html", comparisonHtml(comparison));
  files.set("comparison.txt", comparisonTable(comparison));
  return files;
}
