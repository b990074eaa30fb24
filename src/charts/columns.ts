/**
 * @file Tables as lines of text, for terminals and plain files.
 */

/** Lines whose cells stand under each other; a column named in `right` is set to the right. */
export function columns(rows: readonly (readonly string[])[], right: readonly number[] = []): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, k) => {
      widths[k] = Math.max(widths[k] ?? 0, cell.length);
    });
  }
  return rows.map((row) =>
    row
      .map((cell, k) => (right.includes(k) ? cell.padStart(widths[k] ?? 0) : cell.padEnd(widths[k] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
}

/** The text, or its beginning and an ellipsis, in at most so many characters. */
export const cutToLength = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, Math.max(length - 1, 0))}…`;
