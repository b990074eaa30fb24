/**
 * @file Catch-bsuite: a ball falls through a grid, a paddle on the last row is to be under it (bsuite, as in gymnax).
 *
 * In gymnax a step after the end starts a new ball; here that is the business of autoreset.
 */
import { i32 } from "../../kernel/declare.ts";
import { drawCell, drawGrid } from "../cells.ts";
import { defineEnv } from "../define.ts";
import { box, discrete } from "../spaces.ts";

/** Catch on a grid of another size. */
export const makeCatch = (rows: number, columns: number) =>
  defineEnv({
    id: "Catch-bsuite",
    /** The size of the grid, which is that of the observation: for another one, make another environment. */
    params: { rows, columns },
    state: { ballX: i32, ballY: i32, paddleX: i32 },
    observation: box([rows, columns], { low: 0, high: 1 }),
    action: discrete(3),
    maxSteps: 1000,
    solved: "a return of 1 in every episode",
    reset(s, { params, rng }) {
      s.ballX = rng.int(params.columns);
      s.ballY = 0;
      s.paddleX = Math.trunc(params.columns / 2);
    },
    step(s, action, { params }) {
      s.paddleX = Math.min(Math.max(s.paddleX + action - 1, 0), params.columns - 1);
      s.ballY += 1;
      const terminated = s.ballY === params.rows - 1;
      const caught = s.ballX === s.paddleX ? 1 : -1;
      return { reward: terminated ? caught : 0, terminated };
    },
    observe(s, obs, { params }) {
      const ball = s.ballY * params.columns + s.ballX;
      const paddle = (params.rows - 1) * params.columns + s.paddleX;
      for (let k = 0; k < params.rows * params.columns; k++) obs[k] = k === ball || k === paddle ? 1 : 0;
    },
    draw(s, canvas, params) {
      drawGrid(canvas, params.rows, params.columns);
      drawCell(canvas, params.rows, s.ballY, s.ballX, "red");
      drawCell(canvas, params.rows, params.rows - 1, s.paddleX, "blue");
    },
  });
export const Catch = makeCatch(10, 5);
