/**
 * @file Several seeds for people: a line for each in a terminal, drawn over and over, and plain lines elsewhere.
 */
import { cutToLength, formatCount, formatValue } from "../charts/index.ts";
import { formatDuration, formatRate, printable } from "../train/loggers/format.ts";
import { type ProgressState, secondsLeft, shareDone } from "../train/loggers/progress.ts";
import type { TerminalStream } from "../train/loggers/terminal.ts";
import type { SeedState } from "./seedRun.ts";
import type { Style } from "./text.ts";

/** What is shown of a seed. */
export interface SeedLook {
  readonly seed: number;
  readonly state: SeedState;
  readonly progress: ProgressState | undefined;
  readonly error: string | undefined;
}

/** How seeds are shown while they run. */
export interface SeedView {
  /** A seed has begun or ended. */
  changed(seed: SeedLook): void;
  /** Some time has gone by. */
  update(): void;
  /** A line that stays. */
  note(text: string): void;
  end(): void;
}

const LINE = 80;
const BAR = 10;
/** Widths of what a line consists of. */
const WIDTHS = { seed: 11, steps: 11, value: 14, speed: 9 } as const;

function bar(share: number): string {
  const halves = Math.floor(share * BAR * 2);
  const done = "━".repeat(halves >> 1) + (halves % 2 === 1 ? "╸" : "");
  return done + "─".repeat(BAR - done.length);
}

/** The last evaluation where there is one, or else the return while learning. */
function returnText({ evaluation, lastReturn }: ProgressState): string {
  if (evaluation) return `eval ${formatValue(evaluation.evaluation.mean)}`;
  return Number.isNaN(lastReturn) ? "" : `return ${formatValue(lastReturn)}`;
}

/** Where a seed stands, in words. */
function standing({ state, progress, error }: SeedLook): string[] {
  if (state === "failed") return [`failed: ${printable(error ?? "")}`];
  if (progress === undefined) return [state === "running" ? "starting" : state];
  const left = secondsLeft(progress);
  const { steps, value, speed } = WIDTHS;
  const parts = [`${formatCount(progress.steps)} steps`.padEnd(steps), returnText(progress).padEnd(value)];
  if (state !== "running") return [...parts, state];
  return [...parts, formatRate(progress.speed).padEnd(speed), Number.isNaN(left) ? "" : `${formatDuration(left)} left`];
}

/** A seed in one line of a terminal. */
export function seedLine(look: SeedLook, columns = LINE): string {
  const name = `seed ${look.seed}`.padEnd(WIDTHS.seed);
  const share = look.progress ? shareDone(look.progress) : 0;
  const drawn = look.state === "failed" ? "" : `${bar(share)} ${String(Math.floor(share * 100)).padStart(3)} %  `;
  return cutToLength(`${name} ${drawn}${standing(look).join(" ")}`.trimEnd(), Math.min(columns, LINE) - 1);
}

const plural = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;
/** How many seeds are done. */
export function totalLine(looks: readonly SeedLook[]): string {
  const among = (state: SeedState): number => looks.filter((look) => look.state === state).length;
  const over = looks.length - among("waiting") - among("running");
  const failed = among("failed") > 0 ? `, ${among("failed")} failed` : "";
  return `${over} of ${plural(looks.length, "seed")} done, ${among("running")} running${failed}`;
}

const ESCAPE = "\u001b[";

/** Lines that are drawn over; the cursor stands below them in between. */
class TerminalView implements SeedView {
  readonly #looks: readonly SeedLook[];
  readonly #stream: TerminalStream;
  readonly #style: Style;
  /** The lengths of the lines that stand in the terminal. */
  #drawn: readonly number[] = [];

  constructor(looks: readonly SeedLook[], stream: TerminalStream, style: Style) {
    this.#looks = looks;
    this.#stream = stream;
    this.#style = style;
  }

  changed(): void {
    this.update();
  }
  note(text: string): void {
    this.#draw(`${text}\n`);
  }
  update(): void {
    this.#draw("");
  }
  end(): void {
    this.update();
  }
  #draw(above: string): void {
    const { columns = LINE, rows = Number.POSITIVE_INFINITY } = this.#stream;
    const tones = { failed: this.#style.bad, finished: this.#style.good, waiting: this.#style.dim };
    const tone = (state: SeedState) => tones[state as keyof typeof tones] ?? ((text: string) => text);
    const lines = this.#fitting(Math.max(1, rows - 2)).map((look) => ({
      text: seedLine(look, columns),
      paint: tone(look.state),
    }));
    lines.push({ text: cutToLength(totalLine(this.#looks), columns - 1), paint: (text) => text });
    // A terminal that became narrower has broken what stands in it.
    const height = this.#drawn.reduce((sum, length) => sum + Math.max(1, Math.ceil(length / columns)), 0);
    const back = `\r${height > 0 ? `${ESCAPE}${height}A` : ""}${ESCAPE}J`;
    this.#stream.write(`${back}${above}${lines.map(({ text, paint }) => `${paint(text)}\n`).join("")}`);
    this.#drawn = lines.map(({ text }) => [...text].length);
  }
  /** All seeds where there is room for them; otherwise those that tell something. */
  #fitting(room: number): readonly SeedLook[] {
    if (this.#looks.length <= room) return this.#looks;
    const order: readonly SeedState[] = ["running", "failed", "interrupted", "finished", "waiting"];
    const chosen = [...this.#looks].sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state)).slice(0, room);
    return this.#looks.filter((look) => chosen.includes(look));
  }
}

const QUIET_MS = 30_000;

/** A line for every beginning and end, and from time to time. */
class LineView implements SeedView {
  readonly #looks: readonly SeedLook[];
  readonly #write: (text: string) => void;
  readonly #clock: () => number;
  #saidAt: number;

  constructor(looks: readonly SeedLook[], write: (text: string) => void, clock: () => number) {
    this.#looks = looks;
    this.#write = write;
    this.#clock = clock;
    this.#saidAt = clock();
  }

  changed(look: SeedLook): void {
    const words = look.state === "running" ? "started" : standing(look).join(" ").replaceAll(/ +/g, " ");
    this.note(`seed ${look.seed}: ${words}`);
  }
  update(): void {
    if (this.#clock() - this.#saidAt < QUIET_MS) return;
    const percent = ({ progress }: SeedLook): string => `${Math.floor((progress ? shareDone(progress) : 0) * 100)} %`;
    const running = this.#looks.filter(({ state }) => state === "running");
    const each = running.map((look) => `${look.seed} at ${percent(look)}`);
    this.note([totalLine(this.#looks), ...each].join(", "));
  }
  note(text: string): void {
    this.#saidAt = this.#clock();
    this.#write(`${text}\n`);
  }
  end(): void {
    this.note(totalLine(this.#looks));
  }
}

export const terminalView = (looks: readonly SeedLook[], stream: TerminalStream, style: Style): SeedView =>
  new TerminalView(looks, stream, style);
export const lineView = (
  looks: readonly SeedLook[],
  write: (text: string) => void,
  clock: () => number = () => performance.now(),
): SeedView => new LineView(looks, write, clock);
/** Nothing but failures. */
export const quietView = (write: (text: string) => void): SeedView => ({
  changed: ({ seed, state, error }) => {
    if (state === "failed") write(`seed ${seed} failed: ${printable(error ?? "")}\n`);
  },
  update: () => {},
  note: () => {},
  end: () => {},
});
