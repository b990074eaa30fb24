/**
 * @file A file that a logger appends to. Each piece goes to the system in one write as it comes, so that a killed
 * process loses at most the piece it was writing; what a resumed run does not keep is cut off when the file is opened.
 */
import { openFile } from "../../platform/files.ts";

export interface LogFile {
  append(bytes: Uint8Array): void;
  close(): void;
}

/** Opens a file to append to; `keep` says how many of the bytes in it stay. */
export function openLog(path: string, keep: (bytes: Uint8Array) => number): LogFile {
  const file = openFile(path);
  let position: number;
  try {
    const bytes = new Uint8Array(file.size());
    position = keep(bytes.subarray(0, file.read(bytes, 0)));
    file.truncate(position);
  } catch (error) {
    file.close();
    throw error;
  }
  return {
    append(bytes) {
      // The position moves only after a whole write: a piece that met a full disk is overwritten by the next.
      file.write(bytes, position);
      position += bytes.length;
    },
    close: () => file.close(),
  };
}

/** A line of a text file, and where it ends in the file, its line break included. */
export interface Line {
  readonly text: string;
  /** From 1 on. */
  readonly number: number;
  readonly end: number;
}

const NEWLINE = 10;

/** The lines of a file that are whole: what follows the last line break was torn off. */
export function* wholeLines(bytes: Uint8Array): Generator<Line> {
  const decoder = new TextDecoder();
  let begin = 0;
  for (let number = 1; ; number++) {
    const at = bytes.indexOf(NEWLINE, begin);
    if (at < 0) return;
    yield { text: decoder.decode(bytes.subarray(begin, at)), number, end: at + 1 };
    begin = at + 1;
  }
}
