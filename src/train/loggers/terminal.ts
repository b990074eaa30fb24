/**
 * @file The live table in a terminal. Each redraw is one write: up to the first line of the table, every line over the
 * old one, the rest of each erased; so nothing flickers.
 *
 * The cursor is hidden within a write only and stands below the table between them: a process may die at any moment and
 * leaves a usable terminal.
 */
import type { Logger, RunInfo, RunRecord, RunSummary } from "../records.ts";
import { printable } from "./format.ts";
import { Progress } from "./progress.ts";
import { type Line, layout, lengthOf, painted } from "./table.ts";
import { later } from "./timer.ts";

/** What is needed of a terminal; process.stdout and process.stderr are such. */
export interface TerminalStream {
  write(text: string): unknown;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
  readonly isTTY?: boolean | undefined;
}

export interface TerminalOptions {
  /** Columns to use; those of the stream, as they are at each redraw, unless told. */
  readonly columns?: number;
  /** Whether to write colours; unless told, when the stream is a terminal. */
  readonly colours?: boolean;
  /** Milliseconds that only go up. */
  readonly clock?: () => number;
}

const ESCAPE = "\u001b[";
const HIDE_CURSOR = `${ESCAPE}?25l`;
const SHOW_CURSOR = `${ESCAPE}?25h`;
const ERASE_LINE = `${ESCAPE}K`;
const ERASE_BELOW = `${ESCAPE}J`;
const up = (lines: number): string => `\r${lines > 0 ? `${ESCAPE}${lines}A` : ""}`;

const USUAL_COLUMNS = 80;
const REDRAW_MS = 100;

class TerminalLogger implements Logger {
  private readonly stream: TerminalStream;
  private readonly options: TerminalOptions;
  private readonly clock: () => number;
  private progress: Progress | undefined;
  /** The lines that stand in the terminal. */
  private drawn: readonly Line[] = [];
  private drawnAt = Number.NEGATIVE_INFINITY;
  private cancelPending: (() => void) | undefined;

  constructor(stream: TerminalStream, options: TerminalOptions) {
    this.stream = stream;
    this.options = options;
    this.clock = options.clock ?? (() => performance.now());
  }

  start(info: RunInfo): void {
    this.progress = new Progress(info);
    this.draw();
  }

  record(record: RunRecord): void {
    this.progress?.record(record);
    const wait = this.drawnAt + REDRAW_MS - this.clock();
    if (wait <= 0) this.draw();
    // What came too early is drawn when its time has come, unless something newer is drawn before.
    else this.cancelPending ??= later(wait, () => this.draw());
  }

  notice(text: string): void {
    const lines = text.split("\n").map((line) => `${printable(line)}\n`);
    this.draw(lines.join(""));
  }

  end(summary: RunSummary): void {
    this.progress?.end(summary);
    this.draw();
  }

  /** Draws the table over the old one, below some lines that stay. */
  private draw(above = ""): void {
    this.cancelPending?.();
    this.cancelPending = undefined;
    const columns = this.options.columns ?? this.stream.columns ?? USUAL_COLUMNS;
    const colours = this.options.colours ?? this.stream.isTTY === true;
    const back = up(this.heightAt(columns));
    this.drawn = this.progress ? layout(this.progress, columns).slice(0, this.mostLines()) : [];
    const table = this.drawn.map((line) => `${painted(line, colours)}${ERASE_LINE}\n`).join("");
    const erased = above === "" ? "" : ERASE_BELOW + above;
    this.stream.write(HIDE_CURSOR + back + erased + table + ERASE_BELOW + SHOW_CURSOR);
    this.drawnAt = this.clock();
  }

  /** Lines that the old table takes now: a terminal that became narrower has broken them. */
  private heightAt(columns: number): number {
    return this.drawn.reduce((sum, line) => sum + Math.max(1, Math.ceil(lengthOf(line) / columns)), 0);
  }

  /** A table higher than the terminal could not be drawn over: the cursor does not go up further than the top. */
  private mostLines(): number {
    return Math.max(1, (this.stream.rows ?? Number.POSITIVE_INFINITY) - 1);
  }
}

/** Shows a live table of the run; notices stay above it. */
export const terminalLogger = (stream: TerminalStream, options: TerminalOptions = {}): Logger =>
  new TerminalLogger(stream, options);
