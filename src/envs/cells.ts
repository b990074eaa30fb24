/**
 * @file Pieces that drawings are made of: grids of cells (row 0 at the top, one unit per cell), bars and rods.
 */
import type { Canvas, Colour, Point } from "./canvas.ts";

/** Cells keep a little distance, so that neighbours of one colour can be counted. */
const GAP = 0.03;

/** Sets the view and draws the border. */
export function drawGrid(canvas: Canvas, rows: number, columns: number): void {
  canvas.view([0, 0], [columns, rows]);
  canvas.line([0, 0], [columns, 0], "grey");
  canvas.line([columns, 0], [columns, rows], "grey");
  canvas.line([columns, rows], [0, rows], "grey");
  canvas.line([0, rows], [0, 0], "grey");
}

/** A filled rectangle. */
export function drawBar(canvas: Canvas, [left, bottom]: Point, [right, top]: Point, colour: Colour): void {
  canvas.polygon(
    [
      [left, bottom],
      [right, bottom],
      [right, top],
      [left, top],
    ],
    colour,
  );
}

/** Fills a cell of a grid of so many rows. */
export function drawCell(canvas: Canvas, rows: number, row: number, column: number, colour: Colour): void {
  const bottom = rows - 1 - row;
  drawBar(canvas, [column + GAP, bottom + GAP], [column + 1 - GAP, bottom + 1 - GAP], colour);
}

/** Somebody in a cell of a grid of so many rows; what the cell is can still be seen. */
export function drawPlayer(canvas: Canvas, rows: number, row: number, column: number, colour: Colour = "blue"): void {
  canvas.circle([column + 0.5, rows - 0.5 - row], 0.36, colour);
}

/** A straight rod of some width. */
export function drawRod(canvas: Canvas, from: Point, to: Point, width: number, colour: Colour): void {
  const [x, y] = [to[0] - from[0], to[1] - from[1]];
  const scale = width / 2 / (Math.hypot(x, y) || 1);
  const [across, along] = [-y * scale, x * scale];
  canvas.polygon(
    [
      [from[0] - across, from[1] - along],
      [from[0] + across, from[1] + along],
      [to[0] + across, to[1] + along],
      [to[0] - across, to[1] - along],
    ],
    colour,
  );
}
