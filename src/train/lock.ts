/**
 * @file A lock on a run folder, so that two processes do not write one run.
 *
 * Whoever wants to write puts a file of its own into the folder, whole from the moment that it is there, and then looks
 * for those of others: one of a process that is gone is removed, one of a process that runs means to go away again. As
 * everyone writes before looking, two can never both stay.
 */
import * as z from "zod";
import { LockstepError } from "../platform/errors.ts";
import type { FileStore } from "../platform/files.ts";
import { ownProcess, type ProcessIdentity, runs } from "../platform/processes.ts";

/** A run folder that cannot be made, or that another process writes to. */
export class RunFolderError extends LockstepError {
  override readonly name = "RunFolderError";
}

const LOCK = /^lock-[0-9a-f]{16}\.json$/;
export const isLock = (name: string): boolean => LOCK.test(name);
const MOST_BYTES = 4096;
const identity: z.ZodType<ProcessIdentity> = z.object({
  pid: z.int().positive(),
  host: z.string().max(256),
  began: z.string().max(256),
});

/** Who wrote a lock; undefined when it has been released since it was listed. */
function holderOf(folder: string, name: string, files: FileStore): ProcessIdentity | undefined {
  const path = `${folder}/${name}`;
  try {
    return identity.parse(JSON.parse(new TextDecoder().decode(files.readWhole(path, MOST_BYTES))));
  } catch {
    if (!files.listFolder(folder).includes(name)) return undefined;
    throw new RunFolderError(`${path} is not a lock that lockstep wrote; if no run uses the folder, remove the file`);
  }
}

export class FolderLock {
  readonly #path: string;
  readonly #files: FileStore;

  private constructor(path: string, files: FileStore) {
    this.#path = path;
    this.#files = files;
  }

  /** Takes the lock of a folder, or says who has it. */
  static take(folder: string, files: FileStore): FolderLock {
    const own = ownProcess();
    if (!own) throw new RunFolderError("run folders need a process of an operating system; this needs Node");
    const bytes = crypto.getRandomValues(new Uint8Array(8));
    const name = `lock-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}.json`;
    const lock = new FolderLock(`${folder}/${name}`, files);
    files.writeWhole(lock.#path, [new TextEncoder().encode(JSON.stringify(own))]);
    try {
      for (const other of files.listFolder(folder).filter((found) => isLock(found) && found !== name))
        passOver(folder, other, files);
    } catch (error) {
      lock.release();
      throw error;
    }
    return lock;
  }

  release(): void {
    this.#files.removeFile(this.#path);
  }
}

/** Removes the lock of a process that is gone; refuses where one runs, or may run. */
function passOver(folder: string, name: string, files: FileStore): void {
  const path = `${folder}/${name}`;
  const holder = holderOf(folder, name, files);
  if (!holder) return;
  const running = runs(holder);
  if (running === false) {
    files.removeFile(path);
    return;
  }
  const who = running ? `process ${holder.pid}` : `process ${holder.pid} on the machine ${holder.host}`;
  const advice = running ? "wait for it to end, or stop it" : `if that one is gone, remove ${path}`;
  throw new RunFolderError(`${folder} is being written by ${who}; ${advice}`);
}
