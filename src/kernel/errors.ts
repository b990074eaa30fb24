/**
 * @file The error of front end A: what is wrong, the source with a caret, the original line, and what to write instead.
 */
import { type CallSite, printPosition } from "../platform/callsite.ts";
import { LockstepError } from "../platform/errors.ts";
import { lineAndColumn, lineOfText, originalLine } from "../platform/sources.ts";

/** The text of one function handed to the compiler: a kernel's or a helper's. */
export interface SourceText {
  readonly name: string;
  readonly text: string;
  /** Where `kernel()` or `inline()` was called with it. */
  readonly site: CallSite;
}
/** A piece of a source text, as offsets. */
export interface Span {
  readonly source: SourceText;
  readonly start: number;
  readonly end: number;
}

export const textOf = (span: Span): string => span.source.text.slice(span.start, span.end);

/** What a user is told. */
export interface Complaint {
  /** What is wrong, naming the value. */
  readonly problem: string;
  /** What to write instead. */
  readonly advice: string;
  /** The row of the table of refused constructs, where it is one. */
  readonly construct?: string;
}

const MARGIN = 70;
/** A line with a caret under the piece; long (minified) lines are cut around it. */
function frame(line: string, label: string, column: number, length: number): string {
  const from = Math.max(0, column - 1 - MARGIN);
  const cut = line.slice(from, column - 1 + Math.max(length, 1) + MARGIN).replaceAll("\t", " ");
  const lead = from > 0 ? "..." : "";
  const tail = from + cut.length < line.length ? "..." : "";
  const width = Math.max(1, Math.min(length, line.length - column + 1));
  const gutter = " ".repeat(label.length);
  return `    ${label} | ${lead}${cut}${tail}\n    ${gutter} | ${" ".repeat(lead.length + column - 1 - from)}${"^".repeat(width)}`;
}

function pieceOfSource(span: Span): string {
  const { line, column } = lineAndColumn(span.source.text, span.start);
  const shown = lineOfText(span.source.text, line);
  return frame(shown, `${line}`, column, textOf(span).split("\n")[0]?.length ?? 1);
}

/** "line:column  text of the line" inside the function, for faults at run time; of minified lines only a piece. */
export function placeOfSpan({ source: { text }, start }: Span): string {
  const { line, column } = lineAndColumn(text, start);
  const end = text.indexOf("\n", start);
  const shown = text.slice(start - column + 1, end < 0 ? undefined : end).trim();
  return `${line}:${column}  ${shown.length > 160 ? text.slice(start, start + 60) : shown}`;
}

function explain(kernel: string, complaint: Complaint, span: Span | undefined, made: CallSite): string {
  const lines = [`${kernel === "kernel" ? kernel : `kernel ${kernel}`}: ${complaint.problem}`];
  const position = made.position();
  if (span) {
    lines.push("", pieceOfSource(span), "");
    const found = originalLine(span.source.site, span.source.text, span.start);
    if (found) lines.push(`  in the file: ${printPosition(found)}`, `    ${found.text.trim()}`);
    if (span.source.name !== kernel) lines.push(`  in the helper ${span.source.name}`);
  }
  if (position) lines.push(`  kernel() is called at ${printPosition(position)}`);
  lines.push(`  what to write: ${complaint.advice}`);
  return lines.join("\n");
}

/** A kernel that cannot be compiled. */
export class KernelError extends LockstepError {
  override readonly name: string = "KernelError";
  readonly kernel: string;
  readonly problem: string;
  readonly advice: string;
  readonly construct: string | undefined;
  readonly span: Span | undefined;

  constructor(kernel: string, complaint: Complaint, span: Span | undefined, made: CallSite) {
    super(explain(kernel, complaint, span, made));
    this.kernel = kernel;
    this.problem = complaint.problem;
    this.advice = complaint.advice;
    this.construct = complaint.construct;
    this.span = span;
  }
}

/** Thrown inside the compiler, where the kernel's name is not at hand; `compileKernel` makes a KernelError of it. */
export class Refusal extends Error {
  readonly complaint: Complaint;
  readonly span: Span | undefined;
  constructor(complaint: Complaint, span: Span | undefined) {
    super(complaint.problem);
    this.complaint = complaint;
    this.span = span;
  }
}
