/**
 * @file From a function's own text back to the file it was written in.
 *
 * A function knows its text, not its place. The file of a call nearby is searched for it: as it stands, with blanks
 * in place of erased types, or line by line where a transpiler printed it anew; a source map, where there is one,
 * leads on to the original. Without a file system (browsers) there is no answer.
 */
import type { CallSite, Position } from "./callsite.ts";

/** A line of an original file. */
export interface OriginalLine extends Position {
  readonly text: string;
}

interface FileModules {
  readonly fs: typeof import("node:fs");
  readonly module: typeof import("node:module");
  readonly url: typeof import("node:url");
}

/** Node's modules, reached without an import so that this file loads in a browser. */
function fileModules(): FileModules | undefined {
  const get = globalThis.process?.getBuiltinModule;
  if (typeof get !== "function") return undefined;
  return { fs: get("node:fs"), module: get("node:module"), url: get("node:url") };
}

function read(file: string, modules: FileModules): string | undefined {
  try {
    const path = file.startsWith("file:") ? modules.url.fileURLToPath(file) : file.replace(/\?.*$/, "");
    return modules.fs.readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function offsetOfLine(text: string, line: number): number {
  let offset = 0;
  for (let k = 1; k < line; k++) {
    const end = text.indexOf("\n", offset);
    if (end < 0) return text.length;
    offset = end + 1;
  }
  return offset;
}

/** Line and column (from 1) of an offset. */
export function lineAndColumn(text: string, offset: number): { line: number; column: number } {
  let line = 1;
  let start = 0;
  for (let end = text.indexOf("\n"); end >= 0 && end < offset; end = text.indexOf("\n", start)) {
    line++;
    start = end + 1;
  }
  return { line, column: offset - start + 1 };
}
export const lineOfText = (text: string, line: number): string => text.split("\n")[line - 1]?.replace(/\r$/, "") ?? "";

/** Whether `content` at `start` is `text`, where a blank of `text` may stand for any character (an erased type). */
function matchesAt(content: string, start: number, text: string): boolean {
  if (start + text.length > content.length) return false;
  for (let k = 0; k < text.length; k++) {
    const c = text.charCodeAt(k);
    if (c !== 32 && c !== content.charCodeAt(start + k)) return false;
  }
  return true;
}

/** The offset of a function's text in a file, looking from the call on. */
function findText(content: string, text: string, from: number): number {
  const after = content.indexOf(text, from);
  if (after >= 0) return after;
  const before = content.lastIndexOf(text, from);
  if (before >= 0) return before;
  const first = text[0] ?? "";
  for (let at = content.indexOf(first, from); at >= 0; at = content.indexOf(first, at + 1)) {
    if (matchesAt(content, at, text)) return at;
  }
  return -1;
}

/** A line compared without blanks and semicolons, which printers of code change. */
const bare = (line: string): string => line.replace(/[\s;]/g, "").replaceAll("'", '"');

/** Lines of this length are told from others by a part of them. */
const LONG = 16;
/** The line of `content` that equals the line of `text` at `offset`: the n-th of its kind, if it is the n-th in `text`. */
function findLine(content: string, text: string, offset: number, from: number): number | undefined {
  const { line } = lineAndColumn(text, offset);
  const wanted = bare(lineOfText(text, line));
  if (wanted.length < 4) return undefined;
  const lines = text.split("\n");
  let count = lines.slice(0, line).filter((l) => bare(l) === wanted).length;
  const all = content.split("\n");
  for (let k = from - 1; k < Math.min(all.length, from + 2 * lines.length + 20); k++) {
    const line = bare(all[k] ?? "");
    const isSame = line === wanted || (wanted.length >= LONG && line.includes(wanted));
    if (isSame && --count === 0) return k + 1;
  }
  return undefined;
}

function sourceMapOf(file: string, content: string, modules: FileModules): import("node:module").SourceMap | undefined {
  const inline = /\/\/# sourceMappingURL=data:application\/json[^,]*;base64,([A-Za-z0-9+/=]+)\s*$/.exec(content);
  try {
    if (inline) return new modules.module.SourceMap(JSON.parse(atob(inline[1] ?? "")));
    return modules.module.findSourceMap(file.startsWith("file:") ? modules.url.fileURLToPath(file) : file);
  } catch {
    return undefined;
  }
}

function throughMap(
  map: import("node:module").SourceMap,
  at: { line: number; column: number },
  modules: FileModules,
): OriginalLine | undefined {
  const entry = map.findEntry(at.line - 1, at.column - 1);
  if (!("originalSource" in entry) || entry.originalSource === undefined) return undefined;
  const index = map.payload.sources.indexOf(entry.originalSource);
  const content = map.payload.sourcesContent?.[index] ?? read(entry.originalSource, modules);
  if (!content) return undefined;
  const line = entry.originalLine + 1;
  const place = { file: entry.originalSource, line, column: entry.originalColumn + 1 };
  return { ...place, text: lineOfText(content, line) };
}

/** The place of a function's text in the file that runs, led on to the original where there is a map. */
function foundInFile(near: Position, text: string, offset: number, modules: FileModules): OriginalLine | undefined {
  const content = read(near.file, modules);
  const start = content === undefined ? -1 : findText(content, text, offsetOfLine(content, near.line));
  if (content === undefined || start < 0) return undefined;
  const at = lineAndColumn(content, start + offset);
  const map = sourceMapOf(near.file, content, modules);
  const mapped = map && throughMap(map, at, modules);
  return mapped ?? { file: near.file, ...at, text: lineOfText(content, at.line) };
}
/** The line of the original that reads the same as the running one. */
function foundByLine(near: Position, text: string, offset: number, modules: FileModules): OriginalLine | undefined {
  const content = read(near.file, modules);
  const line = content === undefined ? undefined : findLine(content, text, offset, near.line);
  if (content === undefined || line === undefined) return undefined;
  const found = lineOfText(content, line);
  return { file: near.file, line, column: found.length - found.trimStart().length + 1, text: found };
}

/**
 * The original line of character `offset` of a function's `text`, which was handed over in a call at `site`.
 * Undefined where it cannot be told.
 */
export function originalLine(site: CallSite, text: string, offset: number): OriginalLine | undefined {
  const modules = fileModules();
  if (!modules) return undefined;
  const [generated, printed] = [site.generated(), site.position()];
  return (
    (generated && foundInFile(generated, text, offset, modules)) ??
    (printed && foundInFile(printed, text, offset, modules)) ??
    (printed && foundByLine(printed, text, offset, modules))
  );
}
