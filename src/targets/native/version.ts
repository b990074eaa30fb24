/**
 * @file What tells this code from other versions of itself, for entries of the cache that depend on it: the hash of the
 * very files from which passes and targets were loaded.
 *
 * Package versions do not change while code is being worked on, so nothing less will do. The command's own bundle knows
 * its hash, which is taken of the very text that runs. There is no version, and nothing is kept by it, where the files
 * are not those that run: sources that are transpiled on the way, other bundles, and files that were written after the
 * process started.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { runningBundle } from "../../platform/bundle.ts";

/** Everything that stands between a module of IR and a library. */
const FOLDERS: readonly string[] = ["ir", "platform", "runtime", "targets"];
const OWN_PATH = "/targets/native/version.js";
/** How far the time of a file may lag behind the clock when it is written. */
const CLOCK_MILLISECONDS = 100;

/** The code files of a folder and of those inside of it, in one order everywhere. Folders are what has no extension. */
function codeFiles(folder: string): string[] {
  const names = readdirSync(folder).sort();
  return names.flatMap((name) => {
    const path = `${folder}/${name}`;
    if (name.endsWith(".js")) return [path];
    return name.includes(".") ? [] : codeFiles(path);
  });
}

/** The version of code whose part of this file is `own`, loaded by a process that started then (milliseconds). */
export function versionOf(own: string, started: number): string | undefined {
  if (!own.startsWith("file:") || !own.endsWith(OWN_PATH)) return undefined;
  const root = fileURLToPath(own.slice(0, -OWN_PATH.length));
  const hash = createHash("sha256");
  for (const path of FOLDERS.flatMap((folder) => codeFiles(`${root}/${folder}`))) {
    if (statSync(path).ctimeMs > started - CLOCK_MILLISECONDS) return undefined;
    const content = readFileSync(path);
    hash.update(`${path.slice(root.length)} ${content.length}\n`).update(content);
  }
  return hash.digest("hex");
}

let found: { readonly version: string | undefined } | undefined;

/** The version of the code that runs, or undefined where it cannot be told for certain. */
export function codeVersion(): string | undefined {
  const bundle = runningBundle();
  if (bundle) return bundle.version;
  if (!found) {
    let version: string | undefined;
    try {
      // Of two clocks, one of which may have been set since, the earlier.
      const started = Math.min(performance.timeOrigin, Date.now() - process.uptime() * 1000);
      version = versionOf(import.meta.url, started);
    } catch {
      version = undefined;
    }
    found = { version };
  }
  return found.version;
}
