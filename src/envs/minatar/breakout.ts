/**
 * @file Breakout-MinAtar (Young and Tian 2019), with the dynamics of gymnax 0.0.9: the ball moves one cell diagonally
 * each step. The paddle moves first, so on the last row its new column meets the ball's old column and then its new one.
 *
 * Channels: paddle, ball, where the ball was, bricks.
 */
import { bool, i32 } from "../../kernel/declare.ts";
import { drawCell, drawGrid } from "../cells.ts";
import { defineEnv } from "../define.ts";
import { box, discrete } from "../spaces.ts";

export const Breakout = defineEnv({
  id: "Breakout-MinAtar",
  params: {},
  state: {
    ballX: i32,
    ballY: i32,
    /** 0 up left, 1 up right, 2 down right, 3 down left. */
    direction: i32,
    paddle: i32,
    /** Bit (row - 1) * 10 + column for the bricks of rows 1 to 3. */
    bricks: i32,
    /** A brick was hit in the step before: the next one is passed through. */
    strike: bool,
    lastX: i32,
    lastY: i32,
  },
  observation: box([10, 10, 4], { low: 0, high: 1 }),
  action: discrete(3),
  maxSteps: 1000,
  solved: "no bar is set; trained agents reach a mean return of about 28",
  reset(s, { rng }) {
    const right = rng.int(2);
    s.ballX = right * 9;
    s.ballY = 3;
    s.direction = 2 + right;
    s.paddle = 4;
    s.bricks = 0x3fffffff;
    s.strike = false;
    s.lastX = s.ballX;
    s.lastY = 3;
  },
  step(s, action) {
    const paddle = Math.min(Math.max(s.paddle + (action === 2 ? 1 : 0) - (action === 1 ? 1 : 0), 0), 9);
    const lastX = s.ballX;
    const lastY = s.ballY;
    let direction = s.direction;
    let x = lastX + (direction === 1 || direction === 2 ? 1 : -1);
    let y = lastY + (direction > 1 ? 1 : -1);
    if (x < 0 || x > 9) direction ^= 1;
    x = Math.min(Math.max(x, 0), 9);
    const atTop = y < 0;
    if (atTop) direction ^= 3;
    y = Math.max(y, 0);
    const bit = y > 0 && y < 4 ? 1 << ((y - 1) * 10 + x) : 0;
    let bricks = s.bricks;
    const atBrick = !atTop && (bricks & bit) !== 0;
    const struck = atBrick && !s.strike;
    if (struck) bricks ^= bit;
    const atBottom = !atTop && !atBrick && y === 9;
    if (atBottom && bricks === 0) bricks = 0x3fffffff;
    const under = atBottom && lastX === paddle;
    const corner = atBottom && !under && x === paddle;
    if (struck || under) direction ^= 3;
    if (corner) direction ^= 2;
    if (struck || under || corner) y = lastY;
    s.ballX = x;
    s.ballY = y;
    s.direction = direction;
    s.paddle = paddle;
    s.bricks = bricks;
    s.strike = atBrick;
    s.lastX = lastX;
    s.lastY = lastY;
    return { reward: struck ? 1 : 0, terminated: atBottom && !under && !corner };
  },
  observe(s, obs) {
    obs.fill(0);
    for (let k = 0; k < 30; k++) obs[(k + 10) * 4 + 3] = Math.fround((s.bricks >> k) & 1);
    obs[(90 + s.paddle) * 4] = 1;
    obs[(s.ballY * 10 + s.ballX) * 4 + 1] = 1;
    obs[(s.lastY * 10 + s.lastX) * 4 + 2] = 1;
  },
  draw(s, canvas) {
    drawGrid(canvas, 10, 10);
    for (let k = 0; k < 30; k++) if ((s.bricks >> k) & 1) drawCell(canvas, 10, 1 + Math.floor(k / 10), k % 10, "red");
    drawCell(canvas, 10, s.lastY, s.lastX, "grey");
    drawCell(canvas, 10, s.ballY, s.ballX, "orange");
    drawCell(canvas, 10, 9, s.paddle, "blue");
  },
});
