/**
 * @file Files that are read and written at positions. Node only: its module is reached at run time, so that this file
 * loads everywhere.
 */
import { LockstepError } from "./errors.ts";

/** A file cannot be used: there are no files here, or the system refused. */
export class FileError extends LockstepError {
  override readonly name = "FileError";
}

export interface RandomAccessFile {
  /** Bytes in the file. */
  size(): number;
  /** Reads bytes at a position into `into`; how many there were. */
  read(into: Uint8Array, position: number): number;
  /** Writes all bytes at a position. */
  write(bytes: Uint8Array, position: number): void;
  /** Waits until what was written is on the disk. */
  sync(): void;
  close(): void;
}

function fileSystem() {
  const fs = globalThis.process?.getBuiltinModule?.("node:fs");
  if (!fs) throw new FileError("files are not available here; this needs Node");
  return fs;
}

function refused<T>(what: string, path: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw new FileError(`${path} cannot be ${what}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Opens a file for reading and writing; makes it when it is not there. */
export function openFile(path: string): RandomAccessFile {
  const fs = fileSystem();
  const { O_RDWR, O_CREAT } = fs.constants;
  const descriptor = refused("opened", path, () => fs.openSync(path, O_RDWR | O_CREAT, 0o644));
  return {
    size: () => fs.fstatSync(descriptor).size,
    read: (into, position) =>
      refused("read", path, () => {
        let done = 0;
        while (done < into.length) {
          const got = fs.readSync(descriptor, into, done, into.length - done, position + done);
          if (got === 0) break;
          done += got;
        }
        return done;
      }),
    write: (bytes, position) =>
      refused("written", path, () => {
        let done = 0;
        while (done < bytes.length) done += fs.writeSync(descriptor, bytes, done, bytes.length - done, position + done);
      }),
    sync: () => refused("synchronised", path, () => fs.fsyncSync(descriptor)),
    close: () => fs.closeSync(descriptor),
  };
}

/** All bytes of a file. */
export function readWhole(path: string): Uint8Array {
  const fs = fileSystem();
  return refused("read", path, () => new Uint8Array(fs.readFileSync(path)));
}

/** Writes a file so that there is always a whole one: beside the old one first, then in its place. */
export function writeWhole(path: string, parts: readonly Uint8Array[]): void {
  const fs = fileSystem();
  const draft = `${path}.part`;
  refused("written", path, () => {
    const descriptor = fs.openSync(draft, "w", 0o644);
    try {
      for (const part of parts) {
        let done = 0;
        while (done < part.length) done += fs.writeSync(descriptor, part, done);
      }
      fs.fsyncSync(descriptor);
    } finally {
      fs.closeSync(descriptor);
    }
    try {
      fs.renameSync(draft, path);
    } catch (error) {
      fs.rmSync(draft, { force: true });
      throw error;
    }
  });
}
