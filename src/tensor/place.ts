/**
 * @file Where in the user's own files the current call comes from: the first frame outside of this package.
 */

/** The folder above this one: `src` in the repository, `dist` in the published package. */
const PACKAGE = new URL("../", import.meta.url).href;
const FRAME = /((?:[a-z][a-z0-9+.-]*:\/\/|\/)[^\s()]+):(\d+):(\d+)\)?$/;

export function userPlace(): string | undefined {
  const own = PACKAGE.replace(/^file:\/\//, "");
  for (const line of (new Error().stack ?? "").split("\n").slice(1)) {
    const found = FRAME.exec(line.trim());
    const file = found?.[1]?.replace(/^file:\/\//, "");
    if (!found || !file || file.startsWith("node:") || file.startsWith(own) || file.startsWith(PACKAGE)) continue;
    return `${file}:${found[2]}:${found[3]}`;
  }
  return undefined;
}
