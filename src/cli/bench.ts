/**
 * @file `lockstep bench`: runs a suite, renders stored results, compares two of them.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import { compareReports, comparisonToMarkdown, toMarkdown } from "../bench/report.ts";
import type { Report } from "../bench/result.ts";
import { parseReport } from "../bench/stored.ts";
import { findSuite, runSuite } from "../bench/suite.ts";
import { SUITES } from "../bench/suites.ts";
import { UsageError } from "../platform/errors.ts";
import { asJson, toStderr } from "./output.ts";

interface RunOptions {
  readonly quick?: boolean;
  readonly peers?: boolean;
  readonly json?: boolean;
  readonly out?: string;
  readonly threads?: number;
}

function parseThreads(text: string): number {
  const threads = Number(text);
  if (!Number.isInteger(threads) || threads < 1) throw new InvalidArgumentError("It must be a whole number from 1 up.");
  return threads;
}

/** Writes the report as JSON and as Markdown into a folder. */
function store(report: Report, folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const [ending, content] of [
    ["json", asJson(report)],
    ["md", toMarkdown(report)],
  ] as const) {
    const file = join(folder, `${report.suite}.${ending}`);
    writeFileSync(file, content);
    toStderr(`wrote ${file}`);
  }
}

async function run(name: string, options: RunOptions): Promise<number> {
  const suite = findSuite(name, SUITES);
  const threads = options.threads === undefined ? {} : { threads: options.threads };
  const { report, failures } = await runSuite(suite, {
    quick: options.quick === true,
    peers: options.peers === true,
    say: toStderr,
    ...threads,
  });
  if (options.out !== undefined) store(report, options.out);
  process.stdout.write(options.json ? asJson(report) : toMarkdown(report));
  if (failures > 0) toStderr(`${failures} workloads were not timed because their sides computed different numbers`);
  return failures > 0 ? 1 : 0;
}

function readReport(file: string): Report {
  let content: string;
  try {
    content = readFileSync(file, "utf8");
  } catch {
    throw new UsageError(`The file ${file} cannot be read.`);
  }
  return parseReport(content, file);
}

function compare(first: string, second: string, options: { readonly json?: boolean }): number {
  const comparison = compareReports(readReport(first), readReport(second));
  process.stdout.write(options.json ? asJson(comparison) : comparisonToMarkdown(comparison));
  return comparison.regressions > 0 ? 1 : 0;
}

export function addBench(program: Command, exit: (code: number) => void): void {
  const suites = SUITES.map((suite) => `  ${suite.name.padEnd(10)} ${suite.what}`).join("\n");
  const bench = program
    .command("bench")
    .description("measure: run a suite, or work with stored results")
    .argument("<suite>", "the suite to run")
    .option("--quick", "fewer and shorter samples")
    .option("--peers", "measure Python peers too, in a virtual environment made under .peers/")
    .option("--json", "print the result as one JSON document")
    .option("--out <dir>", "also write <suite>.json and <suite>.md into this folder")
    .option("--threads <n>", "add arms that use so many threads", parseThreads)
    .addHelpText("after", `\nSuites:\n${suites}`)
    .action(async (name: string, options: RunOptions) => exit(await run(name, options)));
  bench
    .command("report")
    .description("print stored results as Markdown")
    .argument("<files...>", "JSON files written by bench --out")
    .action((files: string[]) => {
      process.stdout.write(files.map((file) => toMarkdown(readReport(file))).join("\n"));
    });
  bench
    .command("compare")
    .description("what became slower from one stored result to another (exit code 1 when something did)")
    .argument("<first>", "the earlier JSON file")
    .argument("<second>", "the later JSON file")
    .option("--json", "print the result as one JSON document")
    .action((first: string, second: string, options: { json?: boolean }) => exit(compare(first, second, options)));
}
