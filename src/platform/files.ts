/**
 * @file Files that are read and written at positions, or whole. Node only: its module is reached at run time, so that
 * this file loads everywhere.
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
  /** Cuts the file to so many bytes. */
  truncate(size: number): void;
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
    truncate: (size) => refused("shortened", path, () => fs.ftruncateSync(descriptor, size)),
    sync: () => refused("synchronised", path, () => fs.fsyncSync(descriptor)),
    close: () => fs.closeSync(descriptor),
  };
}

/** All bytes of a file, which must not be more than `most`. */
export function readWhole(path: string, most = Number.POSITIVE_INFINITY): Uint8Array {
  const fs = fileSystem();
  const { size } = refused("read", path, () => fs.statSync(path));
  if (size > most) throw new FileError(`${path} has ${size} bytes; such a file has at most ${most}`);
  return refused("read", path, () => new Uint8Array(fs.readFileSync(path)));
}

/** What a file is called until it is whole; a killed process may leave one behind. */
export const DRAFT = ".part";

/** Writes a file so that there is always a whole one: beside the old one first, then in its place. */
export function writeWhole(path: string, parts: readonly Uint8Array[]): void {
  const fs = fileSystem();
  const draft = path + DRAFT;
  refused("written", path, () => {
    try {
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
      fs.renameSync(draft, path);
    } catch (error) {
      // On a full disk, half a file would be in the way of everything else.
      fs.rmSync(draft, { force: true });
      throw error;
    }
  });
}

/** Makes a folder, and those above it, where they are missing. */
export function makeFolder(path: string): void {
  const fs = fileSystem();
  refused("made", path, () => fs.mkdirSync(path, { recursive: true }));
}

/** The names in a folder, in order; none when there is no such folder. */
export function listFolder(path: string): string[] {
  const fs = fileSystem();
  return refused("listed", path, () => (fs.existsSync(path) ? fs.readdirSync(path).sort() : []));
}

/** Removes a file; none there is as good. */
export function removeFile(path: string): void {
  const fs = fileSystem();
  refused("removed", path, () => fs.rmSync(path, { force: true }));
}

/** Whole files in folders. Who keeps things in them takes one of these, so that a test can let it fail. */
export interface FileStore {
  readWhole(path: string, most?: number): Uint8Array;
  writeWhole(path: string, parts: readonly Uint8Array[]): void;
  makeFolder(path: string): void;
  listFolder(path: string): string[];
  removeFile(path: string): void;
}
/** The files of this machine. */
export const disk: FileStore = { readWhole, writeWhole, makeFolder, listFolder, removeFile };
