/**
 * @file Weights & Biases as a logger, without its client. Rows wait in memory and are sent in the background; a server
 * that fails is told of once and then left alone, so that it never stops or slows a run.
 *
 * A row is a step: an evaluation joins the row of its iteration, which therefore waits for the next one. A resumed run
 * goes on in the same run there: rows that the server has are the same as those that come again, and are left out.
 */
import { FileError, readWhole, writeWhole } from "../../platform/files.ts";
import type { Logger, RunInfo, RunRecord, RunSummary } from "../records.ts";
import { type TagStyle, taggedScalars } from "./scalars.ts";
import { later } from "./timer.ts";
import { type StreamPost, WandbApi, WandbError, type WandbRun } from "./wandbApi.ts";

export interface WandbOptions {
  readonly apiKey: string;
  /** A user or a team; the key's default one unless told. */
  readonly entity?: string;
  readonly project: string;
  /** https://api.wandb.ai unless told. */
  readonly baseUrl?: string;
  readonly fetch?: typeof globalThis.fetch;
  /** The run's id there. Unless told, a new one, kept in wandb.json of the run folder for a resumption. */
  readonly id?: string;
  readonly style?: TagStyle;
  /** Receives the run's page, and the one line that says that the server failed. */
  readonly notice?: (text: string) => void;
  /** Seconds between posts; 5 unless told. */
  readonly seconds?: number;
  /** Seconds that the end of a run waits for the rest to be sent; 20 unless told. */
  readonly patience?: number;
  /** Milliseconds before a failed request is tried again; 1000 unless told. */
  readonly backoff?: number;
}

interface Row {
  readonly step: number;
  readonly values: { [tag: string]: number | string };
}

/** More rows than this do not wait: every second one is left out. */
const MOST_ROWS = 10_000;
const ROWS_PER_POST = 1000;
/** A run that says nothing for minutes is taken for dead by the server. */
const HEARTBEAT_MS = 30_000;
const EXIT_CODES = { finished: 0, stopped: 0, interrupted: 255 } as const satisfies {
  [ended in RunSummary["ended"]]: number;
};

const ID = /^[A-Za-z0-9_-]{1,64}$/;
const newId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(10)), (byte) => (byte % 36).toString(36)).join("");

/** The id kept in a run folder; undefined when there is none that can be used. */
function keptId(path: string): string | undefined {
  try {
    const kept: unknown = JSON.parse(new TextDecoder().decode(readWhole(path)));
    const id = typeof kept === "object" && kept !== null && "id" in kept ? kept.id : undefined;
    return typeof id === "string" && ID.test(id) ? id : undefined;
  } catch (error) {
    if (error instanceof FileError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function idFor({ folder, resumed }: RunInfo): string {
  if (folder === undefined) return newId();
  const path = `${folder}/wandb.json`;
  const kept = resumed ? keptId(path) : undefined;
  if (kept !== undefined) return kept;
  const id = newId();
  writeWhole(path, [new TextEncoder().encode(`${JSON.stringify({ id })}\n`)]);
  return id;
}

/** JSON has no infinities; the server takes them by name. */
const figure = (value: number): number | string => (Number.isFinite(value) ? value : String(value));

function configText(info: RunInfo): string {
  const { algo, env, seed, target, threads, numerics, config } = info;
  const all = Object.entries({ ...config, algo, env, seed, target, threads, numerics });
  return JSON.stringify(Object.fromEntries(all.map(([key, value]) => [key, { value }])));
}

class WandbLogger implements Logger {
  private readonly options: WandbOptions;
  private readonly api: WandbApi;
  private readonly style: TagStyle;
  private run: WandbRun | undefined;
  /** Rows that are not sent yet; `open` is the last, which may still grow. */
  private rows: Row[] = [];
  private open: Row | undefined;
  private readonly latest: Row["values"] = {};
  private linesThere = 0;
  private stepThere = -1;
  /** What is under way; one thing at a time. */
  private work: Promise<void> = Promise.resolve();
  private isBusy = false;
  private isOff = false;
  private sentAt = 0;
  private cancelTick: (() => void) | undefined;

  constructor(options: WandbOptions) {
    if (options.id !== undefined && !ID.test(options.id)) {
      throw new WandbError(`the run id is "${options.id}", expected 1 to 64 letters, digits, "-" and "_"`);
    }
    this.options = options;
    this.style = options.style ?? "sb3";
    this.api = new WandbApi({
      apiKey: options.apiKey,
      baseUrl: options.baseUrl ?? "https://api.wandb.ai",
      fetch: options.fetch ?? globalThis.fetch,
      backoff: options.backoff ?? 1000,
    });
  }

  start(info: RunInfo): void {
    const name = this.options.id ?? idFor(info);
    this.inBackground(() => this.connect(info, name));
    this.tick();
  }

  record(record: RunRecord): void {
    if (this.isOff) return;
    if (this.open?.step !== record.steps) {
      this.closeRow();
      const place = { _step: record.steps, _runtime: record.wall_s, _timestamp: Date.now() / 1000 };
      this.open = { step: record.steps, values: place };
    }
    for (const [tag, value] of taggedScalars(record, this.style)) this.open.values[tag] = figure(value);
    if (this.rows.length >= ROWS_PER_POST) this.send();
  }

  async end(summary: RunSummary): Promise<void> {
    this.cancelTick?.();
    if (this.isOff) return;
    this.closeRow();
    this.inBackground(() => this.finish(EXIT_CODES[summary.ended]));
    let timer: ReturnType<typeof setTimeout> | undefined;
    const seconds = this.options.patience ?? 20;
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        this.turnOff(`not everything was sent within ${seconds} s`);
        resolve();
      }, seconds * 1000);
    });
    await Promise.race([this.work, patience]);
    clearTimeout(timer);
  }

  /** The row that may still grow is complete. */
  private closeRow(): void {
    if (this.open === undefined) return;
    this.rows.push(this.open);
    Object.assign(this.latest, this.open.values);
    this.open = undefined;
    const last = this.rows.length - 1;
    if (last >= MOST_ROWS) this.rows = this.rows.filter((_, k) => (last - k) % 2 === 0);
  }

  private tick(): void {
    this.cancelTick = later((this.options.seconds ?? 5) * 1000, () => {
      this.send();
      if (!this.isOff) this.tick();
    });
  }

  private send(): void {
    if (!this.isBusy) this.inBackground(() => this.postRows());
  }

  /** Does something after what is under way; a fault turns the logger off. */
  private inBackground(run: () => Promise<void>): void {
    this.isBusy = true;
    this.work = this.work
      .then(() => (this.isOff ? undefined : run()))
      .catch((error: unknown) => this.turnOff(error instanceof Error ? error.message : String(error)))
      .then(() => {
        this.isBusy = false;
      });
  }

  private turnOff(reason: string): void {
    if (this.isOff) return;
    this.isOff = true;
    this.cancelTick?.();
    this.api.abort();
    this.rows = [];
    this.open = undefined;
    this.options.notice?.(`Weights & Biases: ${reason}; nothing more is sent there`);
  }

  private async connect(info: RunInfo, name: string): Promise<void> {
    const { entity, project } = this.options;
    if (info.resumed) {
      const there = await this.api.position({ name, project, entity });
      this.linesThere = there.lines;
      this.stepThere = there.step;
    }
    const displayName = `${info.algo}-${info.env}-${info.seed}`;
    this.run = await this.api.upsertRun({ name, project, entity, displayName, config: configText(info) });
    this.options.notice?.(`Weights & Biases: ${this.api.pageOf(this.run)}`);
  }

  /** Sends the rows that are complete, in several posts when there are many. */
  private async postRows(): Promise<void> {
    do {
      const batch = this.rows.splice(0, ROWS_PER_POST).filter(({ step }) => step > this.stepThere);
      if (batch.length > 0) await this.post(this.filesOf(batch), batch.length);
      else if (performance.now() - this.sentAt > HEARTBEAT_MS) await this.post({}, 0);
    } while (this.rows.length > 0);
  }

  private async finish(exitcode: number): Promise<void> {
    await this.postRows();
    await this.post({ complete: true, exitcode }, 0);
  }

  private async post(post: StreamPost, lines: number): Promise<void> {
    if (this.run === undefined) return;
    await this.api.postStream(this.run, post);
    this.linesThere += lines;
    this.sentAt = performance.now();
  }

  private filesOf(batch: readonly Row[]): StreamPost {
    return {
      files: {
        "wandb-history.jsonl": { offset: this.linesThere, content: batch.map(({ values }) => JSON.stringify(values)) },
        // One line, written over each time.
        "wandb-summary.json": { offset: 0, content: [JSON.stringify(this.latest)] },
      },
    };
  }
}

/** Sends the records of a run to Weights & Biases. */
export const wandbLogger = (options: WandbOptions): Logger => new WandbLogger(options);
