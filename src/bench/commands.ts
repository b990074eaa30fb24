/**
 * @file Whole processes under the clock: from the start of a program to the JSON document that it prints.
 *
 * What counts is what a user waits for: the time at which the last of the document arrives. The rest of the process's
 * life is waited for too, so that it does not meet the next one's turn, but not counted.
 */
import { spawn } from "node:child_process";
import { LockstepError } from "../platform/errors.ts";
import type { RemoteArm } from "./timing.ts";

/** A program that was to be timed could not be started, failed, took too long, or printed something else. */
export class CommandError extends LockstepError {
  override readonly name = "CommandError";
}

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  /** The folder that it runs in. */
  readonly folder: string;
  /** Changes of the environment; undefined takes a variable away. */
  readonly env?: { readonly [name: string]: string | undefined };
}
export interface Printed {
  /** Nanoseconds from the start of the process to the end of what it printed. */
  readonly ns: number;
  readonly document: unknown;
}

const LIMIT_MS = 120_000;
const MOST_CHARACTERS = 1_000_000;
const TAIL_CHARACTERS = 600;

/** Variables that would make a program behave unlike itself. */
const NEUTRAL = {
  LOCKSTEP_TARGET: undefined,
  LOCKSTEP_THREADS: undefined,
  LOCKSTEP_DEBUG: undefined,
  // Python: no modules out of the current folder.
  PYTHONSAFEPATH: "1",
};

interface Ended {
  readonly ns: number;
  readonly text: string;
  /** Why it is of no use; undefined when it is. */
  readonly problem?: string;
}

function started({ program, args, folder, env }: Command, limitMs: number): Promise<Ended> {
  return new Promise((resolve) => {
    const begin = performance.now();
    let [ns, text, tail] = [0, "", ""];
    const child = spawn(program, args, {
      cwd: folder,
      env: { ...process.env, ...NEUTRAL, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: limitMs,
      killSignal: "SIGKILL",
    });
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      ns = (performance.now() - begin) * 1e6;
      text += chunk.slice(0, MOST_CHARACTERS - text.length);
    });
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      tail = (tail + chunk).slice(-TAIL_CHARACTERS);
    });
    child.on("error", (error) => resolve({ ns, text, problem: `it cannot be started: ${error.message}` }));
    child.on("close", (code, signal) => {
      if (code === 0) resolve({ ns, text });
      else if (signal !== null) resolve({ ns, text, problem: `it was ended by ${signal} (limit ${limitMs / 1000} s)` });
      else resolve({ ns, text, problem: `it ended with code ${code}: ${tail.trim()}` });
    });
  });
}

/** Runs a program that prints one JSON document. */
export async function runCommand(name: string, command: Command, limitMs = LIMIT_MS): Promise<Printed> {
  const { ns, text, problem } = await started(command, limitMs);
  if (problem !== undefined) throw new CommandError(`${name}: ${problem}`);
  try {
    return { ns, document: JSON.parse(text) };
  } catch {
    throw new CommandError(`${name}: it printed no JSON but: ${text.slice(0, 200).trim() || "nothing"}`);
  }
}

/** An arm out of a function that does the work once and says how many nanoseconds count. */
export function ownClock(framework: string, once: () => number | Promise<number>): RemoteArm {
  const timeEach = async (calls: number): Promise<readonly number[]> => {
    const found: number[] = [];
    for (let k = 0; k < calls; k++) found.push(await once());
    return found;
  };
  const time = async (calls: number): Promise<number> => (await timeEach(calls)).reduce((sum, ns) => sum + ns, 0);
  return { framework, time, timeEach };
}
