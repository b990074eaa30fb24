/**
 * @file The progress of a run in plain lines, for files and pipes: a line when a tenth is done or some time has gone by.
 */
import { formatCount, formatValue } from "../../charts/numbers.ts";
import type { EvaluationResult, Logger, RunInfo, RunRecord, RunSummary } from "../records.ts";
import { formatDuration, formatRate, printable } from "./format.ts";
import { Progress, secondsLeft, shareDone } from "./progress.ts";

export interface LineOptions {
  /** After how many seconds there is a line even if less than a tenth was done since the last; 30 unless told. */
  readonly seconds?: number;
  /** Milliseconds that only go up. */
  readonly clock?: () => number;
}

/** What a line shows of the metrics, where a run has them. */
const SHOWN: readonly (readonly [label: string, metric: string])[] = [
  ["policy", "policy_loss"],
  ["value", "value_loss"],
  ["entropy", "entropy"],
  ["kl", "approx_kl"],
];

function resultText({ mean, std, iqm, ci, episodes }: EvaluationResult): string {
  const interval = `[${ci.map(formatValue).join(", ")}]`;
  return `${formatValue(mean)} ± ${formatValue(std)}, IQM ${formatValue(iqm)} ${interval}, ${episodes} episodes`;
}

function progressText(progress: Progress): string {
  const parts = [
    `${String(Math.floor(shareDone(progress) * 100)).padStart(3)} %`,
    `${formatCount(progress.steps)} steps`,
    formatRate(progress.speed),
    `return ${formatValue(progress.lastReturn)}`,
  ];
  for (const [label, metric] of SHOWN) {
    const value = progress.metrics[metric];
    if (value !== undefined) parts.push(`${label} ${formatValue(value)}`);
  }
  const left = secondsLeft(progress);
  if (left > 0) parts.push(`${formatDuration(left)} left`);
  return parts.join("  ");
}

class LineLogger implements Logger {
  private readonly write: (text: string) => void;
  private readonly milliseconds: number;
  private readonly clock: () => number;
  private progress: Progress | undefined;
  private lastTenth = 0;
  private lastAt = 0;

  constructor(write: (text: string) => void, { seconds = 30, clock = () => performance.now() }: LineOptions) {
    this.write = write;
    this.milliseconds = seconds * 1000;
    this.clock = clock;
  }

  start(info: RunInfo): void {
    this.progress = new Progress(info);
    this.lastTenth = Math.floor(shareDone(this.progress) * 10);
    this.lastAt = this.clock();
    const resumed = info.resumed ? `, resumed at ${formatCount(info.resumed.steps)}` : "";
    this.line(`${this.progress.title}: ${formatCount(info.total_steps)} steps, ${this.progress.details}${resumed}`);
  }

  record(record: RunRecord): void {
    if (this.progress === undefined) return;
    this.progress.record(record);
    if (record.kind === "evaluation") {
      this.line(`evaluation at ${formatCount(record.steps)} steps: ${resultText(record.evaluation)}`);
      return;
    }
    const tenth = Math.floor(shareDone(this.progress) * 10);
    const now = this.clock();
    if (tenth === this.lastTenth && now - this.lastAt < this.milliseconds) return;
    this.lastTenth = tenth;
    this.lastAt = now;
    this.line(progressText(this.progress));
  }

  notice(text: string): void {
    for (const line of text.split("\n")) this.line(line);
  }

  end(summary: RunSummary): void {
    const { steps, wall_s, steps_per_s, evaluation, run } = summary;
    this.line(
      `${summary.ended}: ${formatCount(steps)} steps in ${formatDuration(wall_s)}, ${formatRate(steps_per_s)} in training`,
    );
    if (evaluation) this.line(`evaluation: ${resultText(evaluation)}`);
    if (run !== null) this.line(`run folder: ${run}`);
  }

  private line(text: string): void {
    this.write(`${printable(text)}\n`);
  }
}

/** Writes lines of plain text, each with its line break. */
export const lineLogger = (write: (text: string) => void, options: LineOptions = {}): Logger =>
  new LineLogger(write, options);
