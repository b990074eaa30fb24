/**
 * @file `lockstep check`: everything that has to hold for an environment, with what to do where it does not.
 */
import type { Command } from "commander";
import { CHECKS, type CheckReport, checkEnvironment } from "../envs/check/index.ts";
import { type EnvironmentOptions, loadEnvironment } from "./environment.ts";
import { asJson } from "./output.ts";
import { columns, type Style, styleFor, wrap } from "./text.ts";

const LINE = 80;
const INDENT = "    ";
const indented = (text: string): string =>
  text
    .split("\n")
    .map((line) => wrap(line, LINE - INDENT.length).replaceAll("\n", `\n${INDENT}`))
    .map((line) => INDENT + line)
    .join("\n");

/** A report as lines for a person. */
export function describeReport(report: CheckReport, style: Style): string {
  const { findings, checks, speed, skipped } = report;
  const lines = CHECKS.map((name) => {
    if (!checks.includes(name)) return style.dim(`-   ${name}: not reached`);
    const own = findings.filter(({ check }) => check === name);
    if (own.length === 0) return `${style.good("ok")}  ${name}`;
    const texts = own.map(({ problem, fix }) => `${indented(problem)}\n${indented(`fix: ${fix}`)}`);
    return `${style.bad("no")}  ${name}\n${texts.join("\n")}`;
  });
  const times = speed.map(({ target, nsPerStep }) => [
    `${INDENT}${target}`,
    `${nsPerStep.toFixed(nsPerStep < 10 ? 2 : 0)} ns per step`,
  ]);
  const missing = skipped.map(({ target, reason }) => wrap(`${target} was not tried: ${reason}`, LINE));
  const count = findings.length;
  const tried = `${report.steps} steps, ${report.episodes} episodes`;
  const verdict =
    count === 0 ? style.good(`nothing found in ${tried}`) : style.bad(`${count} finding${count === 1 ? "" : "s"}`);
  return `${[
    style.bold(report.id),
    ...lines,
    ...(times.length > 0 ? ["", "speed, 1024 environments at once", ...columns(times, [1])] : []),
    ...missing,
    "",
    verdict,
  ].join("\n")}\n`;
}

/** A report as one JSON document. */
function toJson(report: CheckReport): object {
  const { id, findings, checks, steps, episodes, skipped } = report;
  const speed = report.speed.map(({ target, nsPerStep }) => ({ target, ns_per_step: nsPerStep }));
  return { id, ok: findings.length === 0, findings, checks, steps, episodes, speed, skipped };
}

export function addCheck(program: Command, exit: (code: number) => void): void {
  program
    .command("check")
    .description("check an environment: spaces, contracts, equal bits on every target, speed")
    .argument("<env>", "an id, or a file that exports an environment")
    .option("--export <name>", "which of several environments of a file")
    .option("--data <folder>", "the folder with the MNIST files, for MNISTBandit-bsuite")
    .option("--json", "print the result as one JSON document")
    .action(async (what: string, options: EnvironmentOptions & { readonly json?: boolean }) => {
      const report = checkEnvironment(await loadEnvironment(what, options), { timeMs: 100 });
      const text = options.json ? asJson(toJson(report)) : undefined;
      process.stdout.write(text ?? describeReport(report, styleFor(process.stdout)));
      exit(report.findings.length > 0 ? 1 : 0);
    });
}
