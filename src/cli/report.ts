/**
 * @file `lockstep report`: the page about a run, made again from what lies in its folder.
 */
import { dirname, extname, join } from "node:path";
import type { Command } from "commander";
import { LockstepError } from "../platform/errors.ts";
import { makeFolder } from "../platform/files.ts";
import { compareRuns } from "../train/compare.ts";
import { comparisonCharts } from "../train/compareCharts.ts";
import { resolveEnvironment } from "../train/environments.ts";
import { reportHtml } from "../train/report.ts";
import { type RunData, readRun } from "../train/runFiles.ts";
import { RUN_FILES } from "../train/runFolder.ts";
import { environmentPicture } from "../train/runReport.ts";
import { type EnvironmentOptions, isFile, loadTrainingEnvironment } from "./environment.ts";
import { asJson, picturesOf, type Say, toStderr, writeOut } from "./output.ts";

export interface ReportOptions extends EnvironmentOptions {
  readonly out?: string;
  readonly png?: boolean;
  readonly env?: string;
}

/** What was written. */
export interface WrittenReport {
  readonly run: string;
  readonly report: string;
  /** The picture of the learning curve; null when there is none. */
  readonly png: string | null;
}

const CURVE = { width: 640, height: 360 };

/**
 * How the environment looks. A run folder may come from anywhere: a file that its configuration names is not run unless
 * the user names it, too.
 */
async function pictureFor({ env }: RunData, options: ReportOptions, say: Say): Promise<string | undefined> {
  const name = options.env ?? env;
  if (options.env === undefined && isFile(env)) {
    say(`no picture of the environment: --env ${env} lets its file be loaded`);
    return undefined;
  }
  try {
    return environmentPicture(resolveEnvironment(await loadTrainingEnvironment(name, options)));
  } catch (error) {
    if (!(error instanceof LockstepError) || options.env !== undefined) throw error;
    say(`no picture of the environment: ${error.message}`);
    return undefined;
  }
}

/** Draws the learning curve beside the page. */
async function writeCurve(run: RunData, page: string, say: Say): Promise<string | null> {
  const [curve] = comparisonCharts(compareRuns([run]), CURVE);
  const pictures = await picturesOf(new Map([["curve.svg", curve?.svg ?? ""]]), CURVE.width, say);
  const png = pictures.get("curve.png");
  if (png === undefined) return null;
  const file = `${page.slice(0, page.length - extname(page).length)}.png`;
  writeOut(file, png);
  return file;
}

/** Writes the page about a run. */
export async function report(run: string, options: ReportOptions, say: Say): Promise<WrittenReport> {
  const data = readRun(run);
  const picture = await pictureFor(data, options, say);
  const page = options.out ?? join(run, RUN_FILES.report);
  makeFolder(dirname(page));
  writeOut(page, reportHtml(picture === undefined ? data : { ...data, picture }));
  for (const warning of data.warnings) say(`${run}: ${warning}`);
  return { run, report: page, png: options.png ? await writeCurve(data, page, say) : null };
}

export function addReport(program: Command): void {
  program
    .command("report")
    .description("write the page about a run")
    .argument("<run>", "the run folder")
    .option("--out <file>", "where the page is written (report.html in the run folder)")
    .option("--png", "also draw the learning curve, beside the page")
    .option("--env <env>", "the environment to draw: an id, or a file that exports one (the run's own)")
    .option("--export <name>", "which of several environments of a file")
    .option("--data <folder>", "the folder with the MNIST files, for MNISTBandit-bsuite")
    .option("--json", "print what was written as one JSON document")
    .action(async (run: string, options: ReportOptions & { readonly json?: boolean }) => {
      const written = await report(run, options, toStderr);
      const lines = [written.report, ...(written.png === null ? [] : [written.png])].map((file) => `wrote ${file}\n`);
      process.stdout.write(options.json ? asJson(written) : lines.join(""));
    });
}
