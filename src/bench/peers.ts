/**
 * @file Python peers: virtual environments under `.peers/`, made on demand, and scripts run in them.
 *
 * Two environments, because their packages want different versions of the same things. The lists are pinned. A
 * finished environment carries a stamp with its list; an interrupted or changed one is made anew. A script answers
 * each line of JSON with another; what it writes to stderr is progress.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { LockstepError } from "../platform/errors.ts";
import type { RemoteArm } from "./timing.ts";

export interface PeerGroup {
  readonly name: string;
  readonly packages: readonly string[];
  /** Roughly what is downloaded and what it takes on disk, to be shown before it begins. */
  readonly size: string;
}

export const PEER_GROUPS = {
  torch: {
    name: "torch",
    packages: [
      "rlox==1.2.0",
      "numpy==2.4.6",
      "torch==2.15.0",
      "torchrl==0.14.1",
      "tensordict==0.14.3",
      "stable-baselines3==2.9.2",
      "gymnasium==1.4.0",
    ],
    size: "1 to 6 GB on disk, depending on the build of PyTorch that the system gets",
  },
  jax: {
    name: "jax",
    packages: ["jax==0.10.2", "jaxlib==0.10.2", "flax==0.12.8", "optax==0.2.8", "gymnax==0.0.9", "six==1.17.0"],
    size: "about 1 GB on disk",
  },
} as const satisfies { readonly [name: string]: PeerGroup };
export type PeerGroupName = keyof typeof PEER_GROUPS;

export class PeerError extends LockstepError {
  override readonly name = "PeerError";
}

export interface PeerOptions {
  /** The folder that holds `.peers/`. */
  readonly root: string;
  readonly say: (line: string) => void;
  /** The Python to make environments with; the first of the usual names when not given. */
  readonly python?: string;
}

const PYTHON_NAMES = process.platform === "win32" ? ["python", "py"] : ["python3", "python"];
const SECONDS_PER_PROGRESS_LINE = 15;
const TAIL_LINES = 12;

interface Finished {
  readonly code: number;
  /** The last lines that it wrote. */
  readonly tail: string;
}

/** Runs a program to its end. Code -1: it could not be started. */
function runProgram(program: string, args: readonly string[]): Promise<Finished> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
    const output: string[] = [];
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (chunk: string) => output.push(chunk));
    const finish = (code: number, extra: string): void => {
      const lines = (output.join("") + extra).split("\n").filter((line) => line.trim() !== "");
      resolve({ code, tail: lines.slice(-TAIL_LINES).join("\n") });
    };
    child.on("error", (error) => finish(-1, error.message));
    child.on("close", (code) => finish(code ?? 1, ""));
  });
}

async function findPython(options: PeerOptions): Promise<string> {
  for (const name of options.python === undefined ? PYTHON_NAMES : [options.python]) {
    const { code } = await runProgram(name, ["-c", "import sys, venv; sys.exit(sys.version_info < (3, 10))"]);
    if (code === 0) return name;
  }
  throw new PeerError("no Python 3.10 or later with venv was found: install Python, or run without --peers");
}

const pythonIn = (folder: string): string =>
  process.platform === "win32" ? join(folder, "Scripts", "python.exe") : join(folder, "bin", "python");

async function makeEnvironment(group: PeerGroup, folder: string, options: PeerOptions): Promise<void> {
  const python = await findPython(options);
  options.say(`peers: making the environment "${group.name}": ${group.size}`);
  for (const line of group.packages) options.say(`peers:   ${line}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(options.root, { recursive: true });
  const venv = await runProgram(python, ["-m", "venv", folder]);
  if (venv.code !== 0) throw new PeerError(`python -m venv failed:\n${venv.tail}`);
  const begin = Date.now();
  const clock = setInterval(() => {
    options.say(`peers: installing "${group.name}", ${Math.round((Date.now() - begin) / 1000)} s`);
  }, SECONDS_PER_PROGRESS_LINE * 1000);
  const args = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...group.packages];
  const pip = await runProgram(pythonIn(folder), args);
  clearInterval(clock);
  if (pip.code !== 0) throw new PeerError(`pip could not install "${group.name}":\n${pip.tail}`);
  writeFileSync(join(folder, "lockstep.json"), JSON.stringify(group.packages));
}

/** The Python of a group's environment, which is made first when it is missing or was made from another list. */
export async function ensurePeers(group: PeerGroup, options: PeerOptions): Promise<string> {
  const folder = join(options.root, ".peers", group.name);
  const stamp = join(folder, "lockstep.json");
  const ready = existsSync(stamp) && readFileSync(stamp, "utf8") === JSON.stringify(group.packages);
  if (!ready) await makeEnvironment(group, folder, options);
  return pythonIn(folder);
}

/** A script that is running: it answers one line of JSON with another. */
export class PeerProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #waiting: { resolve(answer: unknown): void; reject(error: PeerError): void }[] = [];
  readonly #tail: string[] = [];
  #failure: PeerError | undefined;

  /** `options` make the program, Python unless they say otherwise, take its script as the last argument. */
  constructor(program: string, script: string, say: (line: string) => void, options = ["-u", "-c"]) {
    this.#child = spawn(program, [...options, script]);
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#answer(line));
    createInterface({ input: this.#child.stderr }).on("line", (line) => {
      this.#tail.push(line);
      if (this.#tail.length > TAIL_LINES) this.#tail.shift();
      say(line);
    });
    // A script that ends before it has read its input tells us by its exit code.
    this.#child.stdin.on("error", () => {});
    this.#child.on("error", (error) => this.#fail(error.message));
    this.#child.on("close", (code) => this.#fail(`it ended with code ${code}:\n${this.#tail.join("\n")}`));
  }

  #answer(line: string): void {
    const first = this.#waiting.shift();
    try {
      first?.resolve(JSON.parse(line));
    } catch {
      first?.reject(new PeerError(`the peer's script printed no JSON but: ${line.slice(0, 200)}`));
    }
  }
  #fail(reason: string): void {
    this.#failure ??= new PeerError(`the peer's script does not answer: ${reason}`);
    for (const { reject } of this.#waiting.splice(0)) reject(this.#failure);
  }

  ask(request: unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#failure) return reject(this.#failure);
      this.#waiting.push({ resolve, reject });
      this.#child.stdin.write(`${JSON.stringify(request)}\n`);
    });
  }

  /** An arm of the script, by its number: it answers `{ arm, calls, each }` with the time of all calls, or of each. */
  arm(arm: number, framework: string, samples?: number): RemoteArm {
    const ask = (calls: number, each: boolean): Promise<unknown> => this.ask({ arm, calls, each });
    return {
      framework,
      time: (calls) => ask(calls, false) as Promise<number>,
      timeEach: (calls) => ask(calls, true) as Promise<readonly number[]>,
      ...(samples === undefined ? {} : { samples }),
    };
  }

  /** Ends the script. */
  close(): void {
    this.#child.kill();
  }
}
