/**
 * @file Opens a Program on the target that was asked for; `auto` falls back when native code cannot be built.
 */
import type { Module } from "../ir/nodes.ts";
import { LockstepError } from "../platform/errors.ts";
import { Program, type ProgramOptions } from "./program.ts";
import { chooseTarget, defaultThreads, giveUpOn, notice, type TargetChoice } from "./targets.ts";

/** More threads than any machine this runs on has cores for are a mistake. */
const MOST_THREADS = 256;

export function checkThreads(threads: number): number {
  if (Number.isInteger(threads) && threads >= 1 && threads <= MOST_THREADS) return threads;
  throw new LockstepError(`threads must be a whole number from 1 to ${MOST_THREADS}, not ${threads}`);
}

export function openProgram(
  module: Module,
  wish: TargetChoice = "auto",
  options: Partial<ProgramOptions> = {},
): Program {
  const all: ProgramOptions = {
    ...options,
    threads: checkThreads(options.threads ?? defaultThreads()),
    unchecked: options.unchecked ?? false,
  };
  const { target } = chooseTarget(wish);
  const program = new Program(module, target, all);
  if (wish !== "auto" || target.name !== "native") return program;
  try {
    program.load();
    return program;
  } catch (error) {
    // The user's own mistakes are errors on every target; a compiler that fails is a reason to use another.
    if (!(error instanceof LockstepError) || error.name !== "NativeBuildError") throw error;
    giveUpOn("native", error.message);
    notice(`the C compiler failed on ${module.name}, using WebAssembly from here on: ${firstLine(error.message)}`);
    return openProgram(module, wish, options);
  }
}

const firstLine = (text: string): string => text.split("\n")[0] ?? text;
