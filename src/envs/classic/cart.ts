/**
 * @file The cart and the pole of CartPole and its drifting relative: how they are seen, and drawn.
 */

import type { KernelArray } from "../../kernel/declare.ts";
import type { Canvas } from "../canvas.ts";
import { drawBar, drawRod } from "../cells.ts";

const [WIDTH, HEIGHT] = [0.25, 0.15];

interface Cart {
  readonly x: number;
  readonly xDot: number;
  readonly theta: number;
  readonly thetaDot: number;
}

export function observeCart(s: Cart, obs: KernelArray): void {
  obs[0] = s.x;
  obs[1] = s.xDot;
  obs[2] = s.theta;
  obs[3] = s.thetaDot;
}

export function drawCart(s: Pick<Cart, "x" | "theta">, canvas: Canvas): void {
  canvas.view([-2.4, -0.4], [2.4, 1.4]);
  canvas.line([-2.4, 0], [2.4, 0], "grey");
  drawBar(canvas, [s.x - WIDTH, -HEIGHT], [s.x + WIDTH, HEIGHT], "ink");
  drawRod(canvas, [s.x, HEIGHT], [s.x + Math.sin(s.theta), HEIGHT + Math.cos(s.theta)], 0.08, "orange");
  canvas.circle([s.x, HEIGHT], 0.05, "blue");
}
