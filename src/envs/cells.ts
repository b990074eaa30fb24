/**
 * @file Grids of cells as environments draw them: row 0 at the top, one unit per cell.
 */
import type { Canvas, Colour } from "./canvas.ts";

/** Sets the view and draws the border. */
export function drawGrid(canvas: Canvas, rows: number, columns: number): void {
  canvas.view([0, 0], [columns, rows]);
  canvas.line([0, 0], [columns, 0], "grey");
  canvas.line([columns, 0], [columns, rows], "grey");
  canvas.line([columns, rows], [0, rows], "grey");
  canvas.line([0, rows], [0, 0], "grey");
}

/** Fills a cell of a grid of so many rows. */
export function drawCell(canvas: Canvas, rows: number, row: number, column: number, colour: Colour): void {
  const bottom = rows - 1 - row;
  canvas.polygon(
    [
      [column, bottom],
      [column + 1, bottom],
      [column + 1, bottom + 1],
      [column, bottom + 1],
    ],
    colour,
  );
}
