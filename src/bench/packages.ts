/**
 * @file Peers that are packages of npm: installed into a folder of `.peers` when they are asked for, and run in a process
 * of their own, in which their arms take turns like those of Python.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { PeerError, PeerProcess } from "./peers.ts";
import type { Recorder } from "./suite.ts";

export interface PackagePeers {
  /** A folder in `.peers`. */
  readonly folder: string;
  /** Names and versions. */
  readonly packages: readonly string[];
  /** What is said of their size. */
  readonly size: string;
}

/** The folder with the packages, which are installed first when they are missing. */
export async function ensurePackages(recorder: Recorder, { folder, packages, size }: PackagePeers): Promise<string> {
  const path = join(process.cwd(), ".peers", folder);
  const stamp = join(path, "lockstep.json");
  const wanted = JSON.stringify(packages);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return path;
  recorder.say(`peers: installing ${packages.join(", ")} into .peers/${folder}, about ${size}`);
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, "package.json"), JSON.stringify({ private: true }));
  try {
    const options = { cwd: path, timeout: 180_000, shell: process.platform === "win32" };
    await promisify(execFile)("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", ...packages], options);
  } catch (error) {
    throw new PeerError(`npm could not install them: ${error instanceof Error ? error.message.slice(0, 300) : error}`);
  }
  writeFileSync(stamp, wanted);
  return path;
}

const HEAD = `
import { createInterface } from "node:readline";
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const task = JSON.parse((await lines.next()).value);
const say = (value) => process.stdout.write(JSON.stringify(value) + "\\n");
const arms = [], skipped = {};
`;
const SERVE = `
for await (const line of lines) {
  const { arm, calls, each } = JSON.parse(line);
  const { time } = arms[arm];
  const found = [];
  for (let k = 0; each && k < calls; k++) found.push(await time(1));
  say(each ? found : await time(calls));
}
`;

/** Starts a script: it finds its \`task\`, fills \`arms\` with functions \`time(calls)\`, and says something first. */
export const startScript = (program: string, script: string, recorder: Recorder): PeerProcess =>
  new PeerProcess(program, HEAD + script + SERVE, (line) => recorder.say(line), ["--input-type=module", "-e"]);
