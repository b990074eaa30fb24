/**
 * @file Where in the user's files a function of lockstep was called, read from a stack trace.
 *
 * Capturing is cheap: the engine formats a stack only when it is looked at, which happens for error messages alone.
 */

/** A position in a file; lines and columns count from 1. */
export interface Position {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** A captured call, not yet looked at. */
export interface CallSite {
  /** As the engine prints it: in the original file where source maps are in use. */
  position(): Position | undefined;
  /** In the file that really runs. */
  generated(): Position | undefined;
}

type AnyFunction = (...args: never[]) => unknown;

/** `name (file:line:column)`, `at file:line:column` (V8) and `name@file:line:column` (Firefox, Safari). */
const FRAME = /(?:\(|@|at (?:async )?)?((?:[a-z][a-z0-9+.-]*:\/\/)?[^\s()@][^()@]*?):(\d+):(\d+)\)?$/;

function parseFrame(line: string): Position | undefined {
  const found = FRAME.exec(line.trim());
  if (!found) return undefined;
  const [, file = "", row = "0", column = "0"] = found;
  return { file: file.replace(/^.* \(/, ""), line: Number(row), column: Number(column) };
}

interface Holder {
  stack?: string | Position | undefined;
}
/** What V8 hands to `Error.prepareStackTrace`. */
interface Frame {
  getFileName(): string | null | undefined;
  getLineNumber(): number | null;
  getColumnNumber(): number | null;
}

/** The first frame of a stack that was not looked at yet, without source maps. */
function firstFrame(holder: Holder): Position | undefined {
  const before = Error.prepareStackTrace;
  Error.prepareStackTrace = (_, frames: readonly Frame[]) => {
    const [frame] = frames;
    const file = frame?.getFileName();
    return file ? { file, line: frame?.getLineNumber() ?? 0, column: frame?.getColumnNumber() ?? 0 } : undefined;
  };
  try {
    return typeof holder.stack === "object" ? holder.stack : undefined;
  } finally {
    Error.prepareStackTrace = before;
  }
}

/** The place where `callee` was called; frames of `callee` and of what it called are left out. */
export function captureCallSite(callee: AnyFunction): CallSite {
  const [printed, raw]: [Holder, Holder] = [{}, {}];
  const hidesFrames = typeof Error.captureStackTrace === "function";
  if (hidesFrames) {
    Error.captureStackTrace(printed, callee);
    Error.captureStackTrace(raw, callee);
  } else printed.stack = new Error().stack ?? "";
  let generated: Position | undefined;
  return {
    position() {
      const frames = String(printed.stack ?? "")
        .split("\n")
        .filter((line) => /:\d+:\d+\)?$/.test(line.trim()));
      // Without captureStackTrace the first frames are this function and the callee.
      const frame = frames[hidesFrames ? 0 : 2];
      return frame === undefined ? undefined : parseFrame(frame);
    },
    generated() {
      if (hidesFrames) generated ??= firstFrame(raw);
      return generated;
    },
  };
}

/** A position for people: a path instead of a file address. */
export function printPosition(position: Position): string {
  return `${position.file.replace(/^file:\/\//, "")}:${position.line}:${position.column}`;
}
