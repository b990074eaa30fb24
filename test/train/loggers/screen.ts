/**
 * @file A terminal for tests: as much of one as the live table uses, with lines that break at the last column and are
 * broken anew when its width changes.
 */
import type { TerminalStream } from "../../../src/train/loggers/terminal.ts";

const ESCAPE = "\u001b[";
/** What a program sends: escape sequences, control characters, or a character. */
const TOKENS = new RegExp(`${ESCAPE.replace("[", "\\[")}\\??(\\d*)([A-Za-z])|[\\s\\S]`, "gu");

export class Screen implements TerminalStream {
  columns: number;
  readonly rows: number;
  readonly isTTY = true;
  isCursorVisible = true;
  writes = 0;
  /** All lines there ever were; the last `rows` of them can be reached. */
  lines: string[] = [""];
  private row = 0;
  private column = 0;

  constructor(columns: number, rows = 24) {
    this.columns = columns;
    this.rows = rows;
  }

  write(text: string): void {
    this.writes++;
    for (const [token, count = "", command = ""] of text.matchAll(TOKENS)) {
      if (token.startsWith(ESCAPE)) this.obey(command, count);
      else if (token === "\r") this.column = 0;
      else if (token === "\n") this.nextLine();
      else this.put(token);
    }
  }

  /** What is seen, without empty lines at the end. */
  text(): string {
    return this.lines
      .map((line) => line.trimEnd())
      .join("\n")
      .trimEnd();
  }

  /** Breaks the lines anew, as terminals do; the cursor stays behind the last. */
  resize(columns: number): void {
    const above = this.lines.slice(0, this.row);
    this.lines = above.flatMap((line) => {
      const characters = [...line.trimEnd()];
      const parts = Math.max(1, Math.ceil(characters.length / columns));
      return Array.from({ length: parts }, (_, k) => characters.slice(k * columns, (k + 1) * columns).join(""));
    });
    this.columns = columns;
    this.lines.push("");
    this.row = this.lines.length - 1;
    this.column = 0;
  }

  private obey(command: string, count: string): void {
    const commands: { readonly [command: string]: () => void } = {
      A: () => {
        const top = Math.max(0, this.lines.length - this.rows);
        this.row = Math.max(top, this.row - Math.max(1, Number(count)));
      },
      K: () => {
        this.lines[this.row] = this.current().slice(0, this.column).join("");
      },
      J: () => {
        this.lines[this.row] = this.current().slice(0, this.column).join("");
        this.lines.length = this.row + 1;
      },
      h: () => {
        this.isCursorVisible = true;
      },
      l: () => {
        this.isCursorVisible = false;
      },
      m: () => undefined,
    };
    const run = commands[command];
    if (run === undefined) throw new Error(`no such command: ${command}`);
    run();
  }

  private current(): string[] {
    return [...(this.lines[this.row] ?? "")];
  }

  private nextLine(): void {
    this.row++;
    this.column = 0;
    if (this.row === this.lines.length) this.lines.push("");
  }

  private put(character: string): void {
    if (this.column === this.columns) this.nextLine();
    const characters = this.current();
    while (characters.length < this.column) characters.push(" ");
    characters[this.column++] = character;
    this.lines[this.row] = characters.join("");
  }
}
