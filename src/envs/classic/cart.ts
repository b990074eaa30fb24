/**
 * @file The cart and the pole that CartPole and its drifting relative are drawn with.
 */
import type { Canvas } from "../canvas.ts";

const [WIDTH, HEIGHT] = [0.25, 0.15];

export function drawCart(s: { readonly x: number; readonly theta: number }, canvas: Canvas): void {
  canvas.view([-2.4, -0.4], [2.4, 1.4]);
  canvas.line([-2.4, 0], [2.4, 0], "grey");
  canvas.polygon(
    [
      [s.x - WIDTH, -HEIGHT],
      [s.x + WIDTH, -HEIGHT],
      [s.x + WIDTH, HEIGHT],
      [s.x - WIDTH, HEIGHT],
    ],
    "ink",
  );
  canvas.line([s.x, HEIGHT], [s.x + Math.sin(s.theta), HEIGHT + Math.cos(s.theta)], "orange");
  canvas.circle([s.x, HEIGHT], 0.05, "blue");
}
