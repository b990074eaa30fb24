/**
 * @file progress.csv, for spreadsheets and data frames: one row per record, its place first, then its numbers.
 *
 * An evaluation has a row of its own, with its numbers under `eval_` and the other cells empty: a row is written when
 * its record comes and never touched again, except when a column appears for the first time. Then the file is written
 * anew with the longer header, which happens as often as there are new names, not more. NaN is an empty cell.
 */
import { LockstepError } from "../../platform/errors.ts";
import { readWhole, writeWhole } from "../../platform/files.ts";
import type { Logger, RunInfo, RunRecord } from "../records.ts";
import { type LogFile, openLog, wholeLines } from "./logFile.ts";
import { numbersOf } from "./scalars.ts";

/** A file that should be continued is not a table of this logger. */
export class CsvError extends LockstepError {
  override readonly name = "CsvError";
}

/** The columns that every row has. */
const PLACE: readonly string[] = ["iteration", "steps", "wall_s"];

/** Lines are rows, so a name has no line breaks; commas and quotes are quoted. */
function headerCell(name: string): string {
  const line = name.replaceAll(/[\r\n]+/g, " ");
  return /[",]/.test(line) ? `"${line.replaceAll('"', '""')}"` : line;
}

function cell(value: number): string {
  if (Number.isNaN(value)) return "";
  return Number.isFinite(value) ? String(value) : value > 0 ? "inf" : "-inf";
}

/** The names in a header: cells, quoted or not, between commas. */
function parseHeader(line: string): string[] {
  const cells = line.match(/(?<=^|,)("(?:[^"]|"")*"|[^",]*)(?=,|$)/g) ?? [];
  if (PLACE.some((name, k) => cells[k] !== name) || cells.join(",") !== line) {
    throw new CsvError(
      `the table to continue begins with ${JSON.stringify(line.slice(0, 60))}, expected a header that begins with ` +
        `${PLACE.join(",")}; move the file away to go on without it`,
    );
  }
  return cells.map((text) => (text.startsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text));
}

/** Columns and rows of a file, up to the iteration that a run was resumed at. */
function readTable(bytes: Uint8Array, iteration: number): { columns: string[]; kept: number } {
  let columns: string[] = [];
  let kept = 0;
  for (const { text, number, end } of wholeLines(bytes)) {
    if (number === 1) columns = parseHeader(text);
    else {
      const cells = text.split(",");
      const of = Number(cells[0]);
      if (cells[0] === "" || !Number.isInteger(of) || cells.length !== columns.length) {
        throw new CsvError(
          `line ${number} of the table is ${JSON.stringify(text.slice(0, 60))}, expected ${columns.length} cells that ` +
            "begin with the number of an iteration; remove the line to go on without it",
        );
      }
      if (of > iteration) break;
    }
    kept = end;
  }
  return { columns, kept };
}

class CsvLogger implements Logger {
  private readonly path: string;
  private readonly encoder = new TextEncoder();
  private log: LogFile | undefined;
  /** The columns behind the place; undefined before there is a header. */
  private columns: Set<string> | undefined;

  constructor(path: string) {
    this.path = path;
  }

  start({ resumed }: RunInfo): void {
    this.log = openLog(this.path, (bytes) => {
      if (!resumed) return 0;
      const { columns, kept } = readTable(bytes, resumed.iteration);
      if (kept > 0) this.columns = new Set(columns.slice(PLACE.length));
      return kept;
    });
  }

  record(record: RunRecord): void {
    if (this.log === undefined) return;
    const numbers = numbersOf(record);
    const columns = this.columnsWith(Object.keys(numbers));
    let line = `${record.iteration},${record.steps},${record.wall_s}`;
    for (const name of columns) line += `,${Object.hasOwn(numbers, name) ? cell(numbers[name] ?? Number.NaN) : ""}`;
    this.append(line);
  }

  end(): void {
    this.log?.close();
    this.log = undefined;
  }

  private append(line: string): void {
    this.log?.append(this.encoder.encode(`${line}\n`));
  }

  /** The columns of the file after those that are new were added to it; a metric does not hide a record's place. */
  private columnsWith(names: readonly string[]): Set<string> {
    const known = this.columns;
    const fresh = names.filter((name) => !known?.has(name) && !PLACE.includes(name));
    if (known !== undefined && fresh.length === 0) return known;
    const columns = new Set([...(known ?? []), ...fresh]);
    const header = [...PLACE, ...columns].map(headerCell).join(",");
    if (known === undefined) this.append(header);
    else this.rewrite(header, ",".repeat(fresh.length));
    this.columns = columns;
    return columns;
  }

  /** Writes the file anew with another header, and something behind each row. */
  private rewrite(header: string, behind: string): void {
    this.log?.close();
    const rows = [...wholeLines(readWhole(this.path))].slice(1).map(({ text }) => text + behind);
    writeWhole(this.path, [this.encoder.encode(`${[header, ...rows].join("\n")}\n`)]);
    this.log = openLog(this.path, (bytes) => bytes.length);
  }
}

/** Writes progress.csv. A new run replaces the file; a resumed one goes on where it was resumed. */
export const csvLogger = (path: string): Logger => new CsvLogger(path);
