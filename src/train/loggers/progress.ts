/**
 * @file Where a run stands: what the loggers for people show, gathered from its records in bounded memory.
 */
import type { EvaluationRecord, Metrics, RunInfo, RunRecord, RunSummary } from "../records.ts";
import { printable } from "./format.ts";

/** Where a run stands, as far as it has told. */
export interface ProgressState {
  /** Algorithm and environment. */
  readonly title: string;
  /** Seed, target and threads. */
  readonly details: string;
  readonly total: number;
  readonly iteration: number;
  readonly steps: number;
  readonly wall: number;
  /** Steps per second of late; NaN when it is not known. */
  readonly speed: number;
  /** The return of the last episodes that ended; NaN before the first. */
  readonly lastReturn: number;
  /** Returns over the whole run, thinned out. */
  readonly returns: readonly number[];
  /** Of the last iteration. */
  readonly metrics: Metrics;
  readonly evaluation: EvaluationRecord | undefined;
  readonly ended: RunSummary["ended"] | undefined;
}

/** Seconds that are left at the present speed; NaN when that is not known. */
export const secondsLeft = ({ total, steps, speed }: ProgressState): number =>
  speed > 0 ? Math.max(0, total - steps) / speed : Number.NaN;

/** How much is done, from 0 to 1. */
export const shareDone = ({ total, steps }: ProgressState): number =>
  total > 0 ? Math.min(1, Math.max(0, steps / total)) : 0;

const threadsText = (threads: number): string => `${threads} ${threads === 1 ? "thread" : "threads"}`;

/** Values in the order they came; when there are too many, each two neighbours become their mean. */
class ThinnedSeries {
  private static readonly MOST = 256;
  readonly values: number[] = [];
  private perValue = 1;
  private sum = 0;
  private count = 0;

  add(value: number): void {
    this.sum += value;
    this.count++;
    if (this.count < this.perValue) return;
    this.values.push(this.sum / this.count);
    this.sum = 0;
    this.count = 0;
    if (this.values.length < ThinnedSeries.MOST) return;
    for (let k = 0; 2 * k < this.values.length; k++) {
      this.values[k] = ((this.values[2 * k] ?? 0) + (this.values[2 * k + 1] ?? 0)) / 2;
    }
    this.values.length /= 2;
    this.perValue *= 2;
  }
}

interface Mark {
  readonly steps: number;
  readonly wall: number;
}
/** Speed is measured over about so many seconds: long enough to stand still, short enough to follow. */
const SPEED_SECONDS = 10;
const MARKS = 20;

export class Progress implements ProgressState {
  readonly title: string;
  readonly details: string;
  readonly total: number;
  iteration = 0;
  steps = 0;
  wall = 0;
  speed = Number.NaN;
  lastReturn = Number.NaN;
  metrics: Metrics = {};
  evaluation: EvaluationRecord | undefined;
  ended: RunSummary["ended"] | undefined;
  private readonly series = new ThinnedSeries();
  private readonly marks: Mark[] = [];

  constructor(info: RunInfo) {
    this.title = printable(`${info.algo} ${info.env}`);
    this.details = printable(`seed ${info.seed}, ${info.target}, ${threadsText(info.threads)}`);
    this.total = info.total_steps;
    this.iteration = info.resumed?.iteration ?? 0;
    this.steps = info.resumed?.steps ?? 0;
    // How long the parts before a resumption took is told with the first record.
    if (info.resumed === undefined) this.marks.push({ steps: 0, wall: 0 });
  }

  get returns(): readonly number[] {
    return this.series.values;
  }

  record(record: RunRecord): void {
    this.iteration = record.iteration;
    this.steps = record.steps;
    this.wall = record.wall_s;
    if (record.kind === "evaluation") {
      this.evaluation = record;
      return;
    }
    this.metrics = record.metrics;
    const { episode_return: latest = Number.NaN } = record.metrics;
    if (Number.isFinite(latest)) {
      this.lastReturn = latest;
      this.series.add(latest);
    }
    this.measureSpeed();
  }

  end(summary: RunSummary): void {
    this.ended = summary.ended;
    this.steps = summary.steps;
    this.iteration = summary.iterations;
    this.wall = summary.wall_s;
    this.speed = summary.steps_per_s;
    if (summary.evaluation === null) return;
    const { iteration, steps, wall } = this;
    this.evaluation = { kind: "evaluation", iteration, steps, wall_s: wall, evaluation: summary.evaluation };
  }

  private measureSpeed(): void {
    const first = this.marks[0];
    const elapsed = first === undefined ? 0 : this.wall - first.wall;
    if (first !== undefined && elapsed > 0) this.speed = (this.steps - first.steps) / elapsed;
    else this.speed = this.metrics.steps_per_s ?? Number.NaN;
    const last = this.marks.at(-1);
    if (last !== undefined && this.wall - last.wall < SPEED_SECONDS / MARKS) return;
    this.marks.push({ steps: this.steps, wall: this.wall });
    if (this.marks.length > MARKS) this.marks.shift();
  }
}
