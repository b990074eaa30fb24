/**
 * @file Pong-misc, with the dynamics of gymnax 0.0.9: two paddles of five cells on a field of 30 rows and 40 columns. The
 * agent moves the left one and is paid for every step that the ball stays in play.
 *
 * What follows the reference: the ball is reflected at the last row but not at the first (rows become negative; the
 * picture shows the nearest cell); a new vertical speed is truncated towards 0; the right paddle never rests and goes down
 * when it is level with the ball. The last step before the time limit pays nothing: `unpaidStep` is its number.
 *
 * Channels: paddles, ball, where the ball was.
 */
import { i32 } from "../../kernel/declare.ts";
import { drawBar, drawGrid } from "../cells.ts";
import { defineEnv } from "../define.ts";
import { box, discrete } from "../spaces.ts";

export const Pong = defineEnv({
  id: "Pong-misc",
  params: { ballMaxYSpeed: 3, paddleYSpeed: 1, ballXSpeed: 1, unpaidStep: 1000 },
  state: {
    /** The rows of the paddles' middles: the left one, the right one. */
    paddles: i32.array(2),
    /** Row and column, as below. */
    ball: i32.array(2),
    lastBall: i32.array(2),
    velocity: i32.array(2),
    time: i32,
  },
  observation: box([30, 40, 3], { low: 0, high: 1 }),
  action: discrete(3),
  maxSteps: 1000,
  solved: "no bar is set; an episode pays 999 at most",
  reset(s, { params }) {
    s.paddles[0] = 15;
    s.paddles[1] = 15;
    s.ball[0] = 15;
    s.ball[1] = 20;
    s.lastBall[0] = 15;
    s.lastBall[1] = 20;
    s.velocity[0] = 0;
    s.velocity[1] = params.ballXSpeed;
    s.time = 0;
  },
  step(s, action, { params }) {
    const moved = (paddle: number, up: boolean, down: boolean): number =>
      Math.min(Math.max(paddle + (down ? params.paddleYSpeed : 0) - (up ? params.paddleYSpeed : 0), 2), 27);
    const rises = s.ball[0]! < s.paddles[1]!;
    const left = moved(s.paddles[0]!, action === 1, action === 2);
    const right = moved(s.paddles[1]!, rises, !rises);
    let row = s.ball[0]! + s.velocity[0]!;
    let column = s.ball[1]! + s.velocity[1]!;
    let speed = s.velocity[0]!;
    const atLast = row >= 30;
    row = atLast ? 58 - row : row;
    speed = atLast ? -speed : speed;
    const hitLeft = column <= 1 && Math.abs(row - left) <= 2;
    const hitRight = column > 38 && Math.abs(row - right) <= 2;
    const hit = hitLeft || hitRight;
    const most = params.ballMaxYSpeed;
    const turned = Math.trunc((2 * speed + row - (hitLeft ? left : right)) / 2);
    speed = hit ? Math.min(Math.max(turned, -most), most) : speed;
    column = hitLeft ? 2 - column : hitRight ? 76 - column : column;
    const terminated = column < 0 || column >= 40;
    const time = s.time + 1;
    s.lastBall[0] = s.ball[0]!;
    s.lastBall[1] = s.ball[1]!;
    s.ball[0] = row;
    s.ball[1] = column;
    s.velocity[0] = speed;
    s.velocity[1] = hit ? -s.velocity[1]! : s.velocity[1]!;
    s.paddles[0] = left;
    s.paddles[1] = right;
    s.time = time;
    return { reward: terminated || time >= params.unpaidStep ? 0 : 1, terminated };
  },
  observe(s, obs) {
    const cell = (row: number, column: number): number =>
      (Math.min(Math.max(row, 0), 29) * 40 + Math.min(Math.max(column, 0), 39)) * 3;
    obs.fill(0);
    for (let k = -2; k < 3; k++) {
      obs[cell(s.paddles[0]! + k, 0)] = 1;
      obs[cell(s.paddles[1]! + k, 39)] = 1;
    }
    obs[cell(s.ball[0]!, s.ball[1]!) + 1] = 1;
    obs[cell(s.lastBall[0]!, s.lastBall[1]!) + 2] = 1;
  },
  draw(s, canvas) {
    drawGrid(canvas, 30, 40);
    for (const [paddle, x] of [[s.paddles[0]!, 0] as const, [s.paddles[1]!, 39] as const]) {
      drawBar(canvas, [x, 27 - paddle], [x + 1, 32 - paddle], "ink");
    }
    canvas.circle([s.ball[1]! + 0.5, 29.5 - Math.max(s.ball[0]!, 0)], 0.7, "orange");
  },
});
