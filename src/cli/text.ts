/**
 * @file Text for terminals: colour only where it is wanted, columns that line up.
 */
export { columns } from "../charts/columns.ts";

export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  good(text: string): string;
  bad(text: string): string;
}

const plain = (text: string): string => text;
const coded =
  (code: number) =>
  (text: string): string =>
    `\u001b[${code}m${text}\u001b[0m`;

/** Whether to write colours: to a terminal, unless NO_COLOR is set or it has none. */
export const hasColours = (
  stream: { readonly isTTY?: boolean },
  environment: NodeJS.ProcessEnv = process.env,
): boolean => stream.isTTY === true && !environment.NO_COLOR && environment.TERM !== "dumb";

/** Colours for a terminal; none for a pipe, with NO_COLOR, or on a terminal that has none. */
export function styleFor(stream: { readonly isTTY?: boolean }, environment: NodeJS.ProcessEnv = process.env): Style {
  if (!hasColours(stream, environment)) return { bold: plain, dim: plain, good: plain, bad: plain };
  return { bold: coded(1), dim: coded(2), good: coded(32), bad: coded(31) };
}

/** Breaks text at spaces so that no line is longer than `width`, where a word is not longer itself. */
export function wrap(text: string, width: number, indent = ""): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = indent + word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return [...lines, line].join("\n");
}
