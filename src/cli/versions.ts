/**
 * @file Versions of packages: of this one, and of those it works with.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

function manifestIn(folder: string): { readonly name?: string; readonly version?: string } | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  } catch {
    return undefined;
  }
}

const OWN = fileURLToPath(new URL("../..", import.meta.url));
export const ownVersion = (): string => manifestIn(OWN)?.version ?? "unknown";

/** The version in the package.json above a module's file, null when the module is not there. */
export function versionOf(name: string): string | null {
  try {
    const file = createRequire(import.meta.url).resolve(name);
    for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
      const found = manifestIn(folder);
      if (found?.name === name) return found.version ?? null;
    }
  } catch {
    // Not installed.
  }
  return null;
}
