/**
 * @file Where in the user's own files the current call comes from: the first frame outside of this package.
 */

/** This very file, as it is called where it has not become a part of something else. */
const HERE = /\/(?:src|dist)\/tensor\/place\.[jt]s$/;

/**
 * The package's folders of code: as published, and, in a clone or by way of source maps, as written. None in a bundle,
 * where its code cannot be told from the user's.
 */
export function ownFolders(here: string | undefined): readonly string[] {
  const file = here?.replace(/[?#].*$/, "");
  if (!file || !HERE.test(file)) return [];
  return ["src/", "dist/"].map((folder) => pathOf(new URL(`../../${folder}`, file).href));
}
const OWN = ownFolders(import.meta.url);

/** A frame's file, line and column: behind "at", or in parentheses behind the name of a function. Paths may hold both. */
const FRAME = /(?:^at (?:async )?|\()((?:[a-z][a-z0-9+.-]*:\/\/|\/).*):(\d+):(\d+)\)?$/;
/** Code that was made of text stands in no file. */
const EVALUATED = /, <anonymous>$/;

/** A file's name as people write it. */
function pathOf(url: string): string {
  if (!url.startsWith("file://")) return url;
  const path = url.slice("file://".length);
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
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

/** The first place in a stack that does not lie in one of these folders. */
export function placeIn(frames: string, own: readonly string[]): string | undefined {
  if (own.length === 0) return undefined;
  for (const line of frames.split("\n").slice(1)) {
    const [, url = "", row, column] = FRAME.exec(line.trim()) ?? [];
    const file = pathOf(url);
    if (file === "" || EVALUATED.test(file) || own.some((folder) => file.startsWith(folder))) continue;
    return `${file}:${row}:${column}`;
  }
  return undefined;
}

export const userPlace = (): string | undefined => placeIn(stack(), OWN);

/** A message with the place behind it, where that is known. */
export function withPlace(message: string): string {
  const place = userPlace();
  return place ? `${message}\n  at ${place}` : message;
}
