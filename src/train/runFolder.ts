/**
 * @file The folder of a run: config.json, metrics.jsonl, events for TensorBoard, checkpoints, summary.json and a report.
 *
 * Making one never touches a run that is there already. While a process writes to it, it holds the folder's lock.
 */
import { DRAFT, disk, FileError, type FileStore } from "../platform/files.ts";
import { Checkpoints } from "./checkpoints.ts";
import { FolderLock, isLock, RunFolderError } from "./lock.ts";
import type { RunSummary } from "./records.ts";
import { type RunDocument, readDocument, writeDocument } from "./runDocument.ts";

export { RunFolderError };

/** What stands where in the folder. */
export const RUN_FILES = {
  config: "config.json",
  metrics: "metrics.jsonl",
  summary: "summary.json",
  report: "report.html",
  events: "tensorboard",
  checkpoints: "checkpoints",
} as const;
const MOST_CONFIG_BYTES = 2 ** 24;

export interface RunNaming {
  readonly env: string;
  readonly algo: string;
  readonly seed: number;
}

/** A name for a run folder: what was trained, and when. */
export function runName({ env, algo, seed }: RunNaming, date = new Date()): string {
  const time = date.toISOString().replace(/[-:]/g, "").replace("T", "-").slice(0, 15);
  // An environment may be named by the path of its file.
  const base = env.split(/[\\/]/).pop() ?? env;
  return [base, algo, seed, time].map((part) => String(part).replace(/[^A-Za-z0-9._+=@-]/g, "-")).join("__");
}

/** What a process leaves that was killed before the run began. */
const isLeftover = (name: string): boolean => isLock(name) || name.endsWith(DRAFT);

const text = (value: string): Uint8Array[] => [new TextEncoder().encode(value)];

/** Says what was to be done when the system refuses. */
function attempt<T>(what: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    throw new RunFolderError(`${what}: ${error.message}; choose a folder that can be written to`);
  }
}

export class RunFolder {
  readonly path: string;
  readonly checkpoints: Checkpoints;
  readonly #files: FileStore;
  #lock: FolderLock | undefined;

  private constructor(path: string, files: FileStore) {
    this.path = path;
    this.#files = files;
    this.checkpoints = new Checkpoints(`${path}/${RUN_FILES.checkpoints}`, files);
  }

  /** Makes the folder of a new run, locked. One that holds something already is refused. */
  static make(path: string, files: FileStore = disk): RunFolder {
    const folder = new RunFolder(path, files);
    attempt(`a run cannot be kept in ${path}`, () => {
      if (files.listFolder(path).some((name) => !isLeftover(name)))
        throw new RunFolderError(`${path} is not empty; resume the run in it, remove it, or choose another name`);
      files.makeFolder(path);
      folder.#lock = FolderLock.take(path, files);
    });
    return folder;
  }
  /** The same in `out`, under a name that is not taken yet. */
  static makeIn(out: string, naming: RunNaming, files: FileStore = disk): RunFolder {
    const name = runName(naming);
    const taken = new Set(attempt(`runs cannot be kept in ${out}`, () => files.listFolder(out)));
    for (let k = 1; ; k++) {
      const candidate = k === 1 ? name : `${name}-${k}`;
      if (!taken.has(candidate)) return RunFolder.make(`${out}/${candidate}`, files);
    }
  }
  /** A run that is there, to read; to write, it has to be locked. */
  static open(path: string, files: FileStore = disk): RunFolder {
    if (!attempt(`${path} cannot be read`, () => files.listFolder(path)).includes(RUN_FILES.config))
      throw new RunFolderError(
        `${path} is not the folder of a run: there is no ${RUN_FILES.config}; give a folder that a run has written`,
      );
    return new RunFolder(path, files);
  }

  /** Takes the lock, and removes what killed processes left behind. */
  lock(): this {
    this.#lock ??= attempt(`the run in ${this.path} cannot be written to`, () =>
      FolderLock.take(this.path, this.#files),
    );
    for (const name of Object.values(RUN_FILES)) this.#files.removeFile(`${this.path}/${name}${DRAFT}`);
    this.checkpoints.tidy();
    return this;
  }
  release(): void {
    this.#lock?.release();
    this.#lock = undefined;
  }

  pathOf(file: keyof typeof RUN_FILES): string {
    return `${this.path}/${RUN_FILES[file]}`;
  }
  has(file: keyof typeof RUN_FILES): boolean {
    return this.#files.listFolder(this.path).includes(RUN_FILES[file]);
  }
  readConfig(): RunDocument {
    const path = this.pathOf("config");
    return readDocument(new TextDecoder().decode(this.#files.readWhole(path, MOST_CONFIG_BYTES)), path);
  }
  writeConfig(document: RunDocument): void {
    this.#files.writeWhole(this.pathOf("config"), text(writeDocument(document)));
  }
  writeSummary(summary: RunSummary): void {
    this.#files.writeWhole(this.pathOf("summary"), text(`${JSON.stringify(summary, null, 2)}\n`));
  }
  writeReport(html: string): void {
    this.#files.writeWhole(this.pathOf("report"), text(html));
  }
  /** The run goes on: what was said at its end does not hold any more. */
  removeSummary(): void {
    this.#files.removeFile(this.pathOf("summary"));
  }
}
