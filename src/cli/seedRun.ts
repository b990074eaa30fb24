/**
 * @file One of several seeds: a process of its own that trains, and how far it is, read from what it writes.
 *
 * The process has no terminal of its own to be interrupted by: signals reach it from here alone, each once, so that the
 * first one lets it end cleanly and the second one ends it at once.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { LockstepError } from "../platform/errors.ts";
import { readWhole } from "../platform/files.ts";
import { Progress } from "../train/loggers/index.ts";
import { parseRecords } from "../train/loggers/jsonl.ts";
import type { RunRecord } from "../train/records.ts";
import { readDocument } from "../train/runDocument.ts";
import { type RunData, readRun } from "../train/runFiles.ts";
import { RUN_FILES } from "../train/runFolder.ts";

const CHUNK = 2 ** 18;
const MOST_CONFIG_BYTES = 2 ** 24;
/** Characters of what a process complains that are kept: its last words. */
const LAST_WORDS = 4000;
/** What a process ends with when it was told to stop at once. */
const INTERRUPTED = 130;

/** New records of a metrics file that grows, each once. */
export class MetricsTail {
  readonly #path: string;
  #position = 0;
  /** The beginning of a line whose end is not there yet. */
  #rest = new Uint8Array(0);

  constructor(path: string) {
    this.#path = path;
  }

  /** What was written since the last look. What cannot be read is left out: this is for looking only. */
  read(): RunRecord[] {
    const records: RunRecord[] = [];
    for (let bytes = this.#next(); bytes.length > 0; bytes = this.#next()) records.push(...this.#parsed(bytes));
    return records;
  }
  #next(): Uint8Array {
    const into = new Uint8Array(CHUNK);
    try {
      const file = openSync(this.#path, "r");
      try {
        const got = readSync(file, into, 0, CHUNK, this.#position);
        this.#position += got;
        return into.subarray(0, got);
      } finally {
        closeSync(file);
      }
    } catch {
      // It is not there yet, or not any more.
      return new Uint8Array(0);
    }
  }
  #parsed(bytes: Uint8Array): RunRecord[] {
    const all = new Uint8Array(this.#rest.length + bytes.length);
    all.set(this.#rest);
    all.set(bytes, this.#rest.length);
    const end = all.lastIndexOf(10) + 1;
    this.#rest = all.slice(end);
    try {
      return parseRecords(new TextDecoder().decode(all.subarray(0, end)));
    } catch (error) {
      if (error instanceof LockstepError) return [];
      throw error;
    }
  }
}

export type SeedState = "waiting" | "running" | "finished" | "interrupted" | "failed";

/** How a seed's process is started. */
export interface SeedCommand {
  /** The program and its arguments, up to those of this seed. */
  readonly command: readonly string[];
  readonly seed: number;
  /** The run folder that it writes. */
  readonly folder: string;
}

export class SeedRun {
  readonly seed: number;
  readonly folder: string;
  state: SeedState = "waiting";
  /** Where it stands; undefined before its first record. */
  progress: Progress | undefined;
  /** Everything that it left, when it is over and has not failed. */
  data: RunData | undefined;
  /** What went wrong. */
  error: string | undefined;
  /** What its process ended with. */
  code: number | null = null;
  readonly #command: readonly string[];
  readonly #tail: MetricsTail;
  #child: ChildProcess | undefined;
  #isSignalled = false;
  #words = "";

  constructor({ command, seed, folder }: SeedCommand) {
    this.seed = seed;
    this.folder = folder;
    this.#command = command;
    this.#tail = new MetricsTail(join(folder, RUN_FILES.metrics));
  }

  /** Runs to the end; never fails: how it ended is said by `state`. */
  async run(): Promise<void> {
    this.state = "running";
    const signal = await this.#process();
    this.look();
    this.#conclude(signal);
  }
  /** Passes a signal on. */
  signal(name: NodeJS.Signals): void {
    this.#isSignalled = true;
    this.#child?.kill(name);
  }

  #process(): Promise<NodeJS.Signals | null> {
    const [program = "", ...args] = this.#command;
    return new Promise((resolve) => {
      const child = spawn(program, args, { stdio: ["ignore", "ignore", "pipe"], detached: true, windowsHide: true });
      this.#child = child;
      child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
        this.#words = (this.#words + chunk).slice(-LAST_WORDS);
      });
      child.on("error", (error) => {
        this.error = `it cannot be started: ${error.message}`;
        resolve(null);
      });
      child.on("close", (code, signal) => {
        this.code = code;
        resolve(signal);
      });
    });
  }

  /** Reads how far it is. */
  look(): void {
    const records = this.#tail.read();
    if (records.length === 0) return;
    this.progress ??= this.#beginning();
    for (const record of records) this.progress?.record(record);
  }
  #beginning(): Progress | undefined {
    try {
      const bytes = readWhole(join(this.folder, RUN_FILES.config), MOST_CONFIG_BYTES);
      const { algo, env, seed, target, numerics, steps, threads } = readDocument(new TextDecoder().decode(bytes));
      return new Progress({ algo, env, seed, target, numerics, threads: threads ?? 1, total_steps: steps, config: {} });
    } catch (error) {
      if (error instanceof LockstepError) return undefined;
      throw error;
    }
  }

  /** Whether there is a run, and if not, what is known of the reason. */
  #conclude(signal: NodeJS.Signals | null): void {
    const isCutOff = this.#isSignalled && (signal !== null || this.code === INTERRUPTED);
    if (this.error === undefined && !isCutOff) {
      if (signal !== null) this.error = `it was ended by ${signal}`;
      else if (this.code !== 0) this.error = this.#complaint();
      else this.#readRun();
    }
    const ended = isCutOff ? "interrupted" : this.data?.summary?.ended;
    this.state = this.error !== undefined ? "failed" : ended === "interrupted" ? "interrupted" : "finished";
  }
  #readRun(): void {
    try {
      const data = readRun(this.folder);
      if (data.summary === null) this.error = `it left no ${RUN_FILES.summary} in ${this.folder}`;
      else this.data = data;
    } catch (error) {
      if (!(error instanceof LockstepError)) throw error;
      this.error = error.message;
    }
  }
  /** The error that a process told, or its last words. */
  #complaint(): string {
    const told = this.#words.lastIndexOf("error: ");
    const words = (told < 0 ? this.#words : this.#words.slice(told + "error: ".length)).trim();
    return words === "" ? `it ended with code ${this.code}` : words;
  }
}
