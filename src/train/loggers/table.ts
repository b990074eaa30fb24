/**
 * @file The live table as text: a pure function from where a run stands to lines that fit a number of columns.
 *
 * Lines are made of pieces with a tone, so that cutting counts what is seen and colours are put in last. Wide terminals
 * do not stretch it: a table that is read many times a minute keeps its places.
 */
import { formatCount, formatValue } from "../../charts/numbers.ts";
import { sparkline } from "../../charts/sparkline.ts";
import { formatDuration, formatRate } from "./format.ts";
import { type ProgressState, secondsLeft, shareDone } from "./progress.ts";

const TONES = { bold: 1, dim: 2, good: 32 } as const;
type Tone = keyof typeof TONES;

export interface Piece {
  readonly text: string;
  readonly tone?: Tone;
}
export type Line = readonly Piece[];

const MOST_COLUMNS = 80;
const LABEL = 11;
const CELL = 19;
const MOST_CELLS = 8;
const GAP = "   ";

/** What the cells show, by label; those that a run does not have are left out. */
const CELLS: readonly (readonly [label: string, metric: string])[] = [
  ["length", "episode_length"],
  ["policy", "policy_loss"],
  ["value", "value_loss"],
  ["entropy", "entropy"],
  ["kl", "approx_kl"],
  ["clipped", "clip_fraction"],
  ["explained", "explained_variance"],
  ["gradient", "grad_norm"],
];
/** Metrics that stand elsewhere or would only fill the table. */
const HIDDEN = /^(episode.*|reward_per_step|steps_per_s|time_.*|learning_rate|loss)$/;

const dim = (text: string): Piece => ({ text, tone: "dim" });

/** Texts side by side, in as many lines as they need. */
function flowed(texts: readonly string[], width: number): string[] {
  const lines: string[] = [];
  for (const text of texts) {
    const longer = lines.length === 0 ? text : lines.at(-1) + GAP + text;
    if (lines.length > 0 && longer.length <= width) lines[lines.length - 1] = longer;
    else lines.push(text);
  }
  return lines;
}

/** The details are left out where they do not fit. */
function heading({ title, details }: ProgressState, width: number): Line {
  const fits = title.length + GAP.length + details.length <= width;
  return [{ text: title, tone: "bold" }, dim(fits ? GAP + details : "")];
}

function bar(state: ProgressState, width: number): Line {
  const percent = ` ${String(Math.floor(shareDone(state) * 100)).padStart(3)} %`;
  const length = Math.max(0, width - percent.length);
  const halves = Math.floor(shareDone(state) * length * 2);
  const done = "━".repeat(halves >> 1) + (halves % 2 === 1 ? "╸" : "");
  return [{ text: done, tone: "good" }, dim("─".repeat(length - done.length)), { text: percent }];
}

function counts(state: ProgressState, width: number): Line[] {
  const left = secondsLeft(state);
  const end = state.ended ?? (Number.isNaN(left) ? "" : `${formatDuration(left)} left`);
  const texts = [
    `${formatCount(state.steps)} of ${formatCount(state.total)} steps`,
    Number.isNaN(state.speed) ? "" : formatRate(state.speed),
    end,
    `${formatDuration(state.wall)} elapsed`,
  ];
  return flowed(
    texts.filter((text) => text !== ""),
    width,
  ).map((text) => [{ text }]);
}

function returns(state: ProgressState, width: number): Line {
  const value = `${formatValue(state.lastReturn)} `.padEnd(CELL - LABEL);
  return [dim("return".padEnd(LABEL)), { text: value }, { text: sparkline(state.returns, width - CELL), tone: "good" }];
}

function evaluation(state: ProgressState, width: number): Line[] {
  if (state.evaluation === undefined) return [];
  const { evaluation: result, steps } = state.evaluation;
  const texts = [
    `${formatValue(result.mean)} ± ${formatValue(result.std)}`,
    `IQM ${formatValue(result.iqm)}`,
    `at ${formatCount(steps)} steps`,
  ];
  const lines = flowed(texts, width - LABEL);
  return lines.map((text, k) => [dim((k === 0 ? "evaluation" : "").padEnd(LABEL)), { text }]);
}

/** Labels and values of the metrics that are shown: the known ones first, then others as they come. */
function cells(state: ProgressState): [label: string, value: string][] {
  const known = CELLS.filter(([, metric]) => metric in state.metrics);
  const names = new Set(CELLS.map(([, metric]) => metric));
  const others = Object.keys(state.metrics).filter((metric) => !names.has(metric) && !HIDDEN.test(metric));
  return [...known, ...others.map((metric) => [metric, metric] as const)]
    .slice(0, MOST_CELLS)
    .map(([label, metric]) => [label, formatValue(state.metrics[metric] ?? Number.NaN)]);
}

function cellLines(state: ProgressState, width: number): Line[] {
  const all = cells(state);
  const perLine = Math.max(1, Math.floor((width + 1) / CELL));
  const lines: Piece[][] = [];
  all.forEach(([label, value], k) => {
    if (k % perLine === 0) lines.push([]);
    lines.at(-1)?.push(dim(label.slice(0, LABEL - 1).padEnd(LABEL)), { text: `${value} `.padEnd(CELL - LABEL) });
  });
  return lines;
}

/** Cuts a line to a width; spaces at its end are left out. */
function fitted(line: Line, width: number): Line {
  let left = width;
  const pieces: Piece[] = [];
  for (const piece of line) {
    const characters = [...piece.text].slice(0, left);
    left -= characters.length;
    pieces.push({ ...piece, text: characters.join("") });
  }
  while (pieces.at(-1)?.text.trimEnd() === "") pieces.pop();
  return pieces.map((piece, k) => (k === pieces.length - 1 ? { ...piece, text: piece.text.trimEnd() } : piece));
}

/** The table in pieces. The last column stays free: writing into it makes some terminals break the line. */
export function layout(state: ProgressState, columns: number): Line[] {
  const width = Math.max(1, Math.min(columns, MOST_COLUMNS) - 1);
  const lines: Line[] = [
    heading(state, width),
    bar(state, width),
    ...counts(state, width),
    returns(state, width),
    ...evaluation(state, width),
    ...cellLines(state, width),
  ];
  return lines.map((line) => fitted(line, width));
}

/** Characters of a line. */
export const lengthOf = (line: Line): number => line.reduce((sum, { text }) => sum + [...text].length, 0);

/** A line as text, with or without colours. */
export const painted = (line: Line, colours: boolean): string =>
  line
    .map(({ text, tone }) => (colours && tone !== undefined ? `\u001b[${TONES[tone]}m${text}\u001b[0m` : text))
    .join("");

/** The live table of a run, in lines that fit the columns of a terminal. */
export const render = (state: ProgressState, columns: number, colours = false): string[] =>
  layout(state, columns).map((line) => painted(line, colours));
