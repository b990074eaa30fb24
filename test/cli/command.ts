/**
 * @file The built command line as a user meets it, for tests: without colours, without the verifier of tests.
 */
import { type ChildProcess, execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Builds dist/ before the tests of a file, where it is stale. */
export function builtFirst(): void {
  beforeAll(() => {
    const ensured = spawnSync(process.execPath, [join(ROOT, "scripts", "ensure.mjs")], { encoding: "utf8" });
    expect(ensured.stderr.includes("failed"), ensured.stderr).toBe(false);
  }, 120_000);
}

/** A folder that is gone after the tests of a file. */
export function ownFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-cli-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Starts a command in a folder; its process, and how it ends. */
export function started(
  folder: string,
  ...args: string[]
): { readonly child: ChildProcess; readonly ended: Promise<Ended> } {
  const env = { ...process.env, FORCE_COLOR: undefined, LOCKSTEP_VERIFY: undefined };
  const file = join(ROOT, "dist", "cli", "main.js");
  let child: ChildProcess | undefined;
  const ended = new Promise<Ended>((resolve) => {
    child = execFile(process.execPath, [file, ...args], { env, cwd: folder }, (_, out, err) => {
      resolve({ code: child?.exitCode ?? null, out, err });
    });
  });
  return { child: child as ChildProcess, ended };
}
export const lockstep = (folder: string, ...args: string[]): Promise<Ended> => started(folder, ...args).ended;

/** Lines of at most 80 characters, and no colours. */
export function expectPlain(text: string): void {
  expect(text).not.toContain("\u001b");
  for (const line of text.split("\n")) expect([...line].length, line).toBeLessThanOrEqual(80);
}
