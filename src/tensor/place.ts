/**
 * @file Where in the user's own files the current call comes from: the first frame outside of this package.
 */

/**
 * The package's folders of code: as published, and, in a clone or by way of source maps, as written. None in a bundle,
 * where its code cannot be told from the user's.
 */
const OWN: readonly string[] = ["src/", "dist/"].flatMap((folder) => {
  const here: string | undefined = import.meta.url;
  return URL.canParse(`../../${folder}`, here) ? [pathOf(new URL(`../../${folder}`, here).href)] : [];
});
const FRAME = /((?:[a-z][a-z0-9+.-]*:\/\/|\/)[^\s()]+):(\d+):(\d+)\)?$/;

function pathOf(url: string): string {
  return url.replace(/^file:\/\//, "");
}

/** Frames are many when layers call layers; errors are rare. */
const DEPTH = 100;

function stack(): string {
  const before = Error.stackTraceLimit;
  Error.stackTraceLimit = DEPTH;
  const text = new Error().stack ?? "";
  Error.stackTraceLimit = before;
  return text;
}

export function userPlace(): string | undefined {
  if (OWN.length === 0) return undefined;
  for (const line of stack().split("\n").slice(1)) {
    const found = FRAME.exec(line.trim());
    const file = found?.[1] && pathOf(found[1]);
    if (!found || !file || file.startsWith("node:") || OWN.some((folder) => file.startsWith(folder))) continue;
    return `${file}:${found[2]}:${found[3]}`;
  }
  return undefined;
}

/** A message with the place behind it, where that is known. */
export function withPlace(message: string): string {
  const place = userPlace();
  return place ? `${message}\n  at ${place}` : message;
}
