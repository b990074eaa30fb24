/**
 * @file The cart and the pole that CartPole and its drifting relative are drawn with.
 */
import type { Canvas } from "../canvas.ts";
import { drawBar, drawRod } from "../cells.ts";

const [WIDTH, HEIGHT] = [0.25, 0.15];

export function drawCart(s: { readonly x: number; readonly theta: number }, canvas: Canvas): void {
  canvas.view([-2.4, -0.4], [2.4, 1.4]);
  canvas.line([-2.4, 0], [2.4, 0], "grey");
  drawBar(canvas, [s.x - WIDTH, -HEIGHT], [s.x + WIDTH, HEIGHT], "ink");
  drawRod(canvas, [s.x, HEIGHT], [s.x + Math.sin(s.theta), HEIGHT + Math.cos(s.theta)], 0.08, "orange");
  canvas.circle([s.x, HEIGHT], 0.05, "blue");
}
