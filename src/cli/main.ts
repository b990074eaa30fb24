#!/usr/bin/env node
/**
 * @file The command line: parses, calls, prints. Exit codes: 0 fine, 1 it failed, 2 wrong usage.
 */
import { Command, CommanderError } from "commander";
import { LockstepError, UsageError } from "../platform/errors.ts";
import { addBench } from "./bench.ts";
import { addCheck } from "./check.ts";
import { addDoctor } from "./doctor.ts";
import { addEnvs } from "./envs.ts";
import { addPlay } from "./play.ts";
import { addTour } from "./tour.ts";

function makeProgram(exit: (code: number) => void): Command {
  const program = new Command("lockstep")
    .description("Plain TypeScript functions, compiled to JavaScript, WebAssembly SIMD and native code.")
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .exitOverride();
  addEnvs(program);
  addPlay(program);
  addCheck(program, exit);
  addDoctor(program);
  addBench(program, exit);
  addTour(program);
  return program;
}

/** What the process should end with after an error that reached the top. */
function report(error: unknown): number {
  // Commander has said what it had to say; help and version come this way too, with code 0.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (!(error instanceof LockstepError)) {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    return 1;
  }
  process.stderr.write(`error: ${error.message}\n`);
  return error instanceof UsageError ? 2 : 1;
}

async function main(): Promise<void> {
  // A reader that has seen enough (head, less) closes the pipe: no error of ours.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    throw error;
  });
  try {
    await makeProgram((code) => {
      process.exitCode = code;
    }).parseAsync();
  } catch (error) {
    process.exitCode = report(error);
  }
}

await main();
