/**
 * @file What both mountain cars have in common: the limits of what is observed, and the hill they are drawn on.
 */
import type { Canvas, Point } from "../canvas.ts";

/** Limits of position and velocity, as f32 like these themselves. */
export const LIMITS = {
  low: [Math.fround(-1.2), Math.fround(-0.07)],
  high: [Math.fround(0.6), Math.fround(0.07)],
} as const;

const height = (x: number): number => Math.sin(3 * x) * 0.45 + 0.55;
const PIECES = 40;

export function drawCar(
  position: number,
  canvas: Canvas,
  params: { readonly minPosition: number; readonly maxPosition: number; readonly goalPosition: number },
): void {
  const { minPosition, maxPosition, goalPosition } = params;
  canvas.view([minPosition, 0], [maxPosition, 1.3]);
  const at = (k: number): Point => {
    const x = minPosition + ((maxPosition - minPosition) * k) / PIECES;
    return [x, height(x)];
  };
  for (let k = 0; k < PIECES; k++) canvas.line(at(k), at(k + 1), "grey");
  const top = height(goalPosition) + 0.2;
  canvas.line([goalPosition, height(goalPosition)], [goalPosition, top], "ink");
  canvas.polygon(
    [
      [goalPosition, top],
      [goalPosition + 0.08, top - 0.04],
      [goalPosition, top - 0.08],
    ],
    "yellow",
  );
  canvas.circle([position, height(position) + 0.04], 0.04, "blue");
}
