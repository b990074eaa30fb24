/**
 * @file `lockstep compare`: several runs side by side, as a table, charts and a page.
 */
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { UsageError } from "../platform/errors.ts";
import { listFolder } from "../platform/files.ts";
import { type Comparison, compareRuns } from "../train/compare.ts";
import { comparisonFiles, comparisonTable } from "../train/comparePage.ts";
import type { Estimate, Group } from "../train/groups.ts";
import { type RunData, readRun } from "../train/runFiles.ts";
import { RUN_FILES } from "../train/runFolder.ts";
import { asJson, picturesOf, type Say, toStderr, writeAll } from "./output.ts";
import { wrap } from "./text.ts";

const LINE = 80;
/** Width of the charts among the files of a comparison. */
const CHART_WIDTH = 640;
const OUT = "comparison";

/** A run folder, and what tells it from others where the user says so. */
interface Found {
  readonly folder: string;
  readonly label?: string;
}

/** A folder that was given, maybe with a label in front of it: label=folder. */
function labelled(given: string): Found {
  const [, label, folder] = /^([^=]+)=(.+)$/.exec(given) ?? [];
  if (label === undefined || folder === undefined || existsSync(given)) return { folder: given };
  return { folder, label };
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
const isRun = (path: string): boolean => isFolder(path) && listFolder(path).includes(RUN_FILES.config);

/** The run folders that are meant: those that were given, and of others the runs in them. */
export function findRuns(given: readonly string[]): Found[] {
  const found = given.flatMap((text) => {
    const { folder, label } = labelled(text);
    const named = label === undefined ? {} : { label };
    if (!existsSync(folder)) throw new UsageError(`there is no folder ${folder}`);
    if (isRun(folder)) return [{ folder, ...named }];
    const names = isFolder(folder) ? listFolder(folder) : [];
    const inside = names.map((name) => join(folder, name)).filter(isRun);
    if (inside.length === 0) throw new UsageError(`${folder} is not the folder of a run, and holds none`);
    return inside.map((path) => ({ folder: path, ...named }));
  });
  // A run that is named twice, by itself and by the folder it lies in, is one run.
  return [...new Map(found.map((one) => [join(one.folder, "."), one])).values()];
}

const estimateJson = (estimate: Estimate | null): { readonly value: number; readonly ci: unknown } | null =>
  estimate && { value: estimate.value, ci: estimate.ci };

function groupJson({ algo, env, label, method, seeds, steps, finals, sources, final, stepsPerSecond }: Group): object {
  return {
    algo,
    env,
    label,
    method,
    seeds,
    steps,
    finals,
    sources,
    final_iqm: estimateJson(final),
    steps_per_s: estimateJson(stepsPerSecond),
  };
}

/** A comparison as plain data; curves and profiles are in the charts. */
export function comparisonJson(comparison: Comparison): object {
  const { runs, methods, environments, overall, improvements, notes } = comparison;
  return {
    runs,
    methods,
    groups: environments.flatMap(({ groups }) => groups.map(groupJson)),
    overall: overall && {
      envs: overall.envs,
      methods: overall.aggregates.map(({ method, point, intervals }) => ({ method, ...point, intervals })),
    },
    improvements,
    notes,
  };
}

export interface CompareOptions {
  readonly out?: string;
}
export interface WrittenComparison {
  readonly comparison: Comparison;
  readonly folder: string;
  readonly files: readonly string[];
}

/** Compares runs and writes charts, their pictures and the page into a folder. */
export async function writeComparison(comparison: Comparison, folder: string, say: Say): Promise<WrittenComparison> {
  const files = comparisonFiles(comparison);
  const pictures = await picturesOf(files, CHART_WIDTH, say);
  return { comparison, folder, files: writeAll(folder, new Map<string, string | Uint8Array>([...files, ...pictures])) };
}

export async function compare(given: readonly string[], options: CompareOptions, say: Say): Promise<WrittenComparison> {
  const runs = findRuns(given).map(
    ({ folder, label }): RunData => readRun(folder, label === undefined ? {} : { label }),
  );
  return writeComparison(compareRuns(runs), options.out ?? OUT, say);
}

/** The table, what could mislead, and where the files are. */
export function describeComparison({ comparison, folder, files }: WrittenComparison): string {
  const notes = comparison.notes.map((note) => wrap(`note: ${note}`, LINE, "  "));
  const page = files.find((name) => name.endsWith(".html")) ?? "";
  return [
    comparisonTable(comparison),
    ...notes,
    ...(notes.length > 0 ? [""] : []),
    `${join(folder, page)} and ${files.length - 1} other files`,
    "",
  ].join("\n");
}

export function addCompare(program: Command): void {
  program
    .command("compare")
    .description("compare runs: final returns with intervals, curves, profiles")
    .argument("<runs...>", "run folders, or folders of them; label=folder tells them apart in the comparison")
    .option("--out <folder>", "where charts and the page are written", OUT)
    .option("--json", "print the result as one JSON document")
    .action(async (given: readonly string[], options: CompareOptions & { readonly json?: boolean }) => {
      const written = await compare(given, options, toStderr);
      const { comparison, folder, files } = written;
      const document = { ...comparisonJson(comparison), out: folder, files };
      process.stdout.write(options.json ? asJson(document) : describeComparison(written));
    });
}
