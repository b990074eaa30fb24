/**
 * @file FourRooms-misc (Sutton, Precup and Singh 1999): four rooms of a 13 by 13 grid, joined by doors; moves fail now and
 * then. As in gymnax, with its observation of coordinates.
 *
 * A move becomes one of the other three with the chance `failProbability` in all, which gymnax computes as a random action
 * with 4/3 of it.
 */
import { i32 } from "../../kernel/declare.ts";
import { drawCell, drawGrid, drawPlayer } from "../cells.ts";
import { defineEnv } from "../define.ts";
import { box, discrete } from "../spaces.ts";

export const FourRooms = defineEnv({
  id: "FourRooms-misc",
  params: {
    failProbability: 1 / 3,
    /** 1: every episode has a goal of its own, drawn from the 104 open cells; 0: it is at row 8, column 9. */
    resampleGoal: 0,
    /** 1: every episode starts in an open cell that is not the goal; 0: it starts at row 4, column 1. */
    resampleStart: 0,
  },
  state: { pos: i32.array(2), goal: i32.array(2) },
  observation: box([4], { low: 1, high: 11 }),
  action: discrete(4),
  maxSteps: 500,
  solved: "a return of 1 in every episode",
  reset(s, { params, rng }) {
    const isOpen = (y: number, x: number): boolean =>
      y > 0 &&
      y < 12 &&
      x > 0 &&
      x < 12 &&
      !(x === 6 && y !== 3 && y !== 10) &&
      !(y === 6 && x < 6 && x !== 2) &&
      !(y === 7 && x > 6 && x !== 9);
    let goal = 8 * 13 + 9;
    let start = 4 * 13 + 1;
    if (params.resampleGoal > 0) {
      let left = rng.int(104);
      for (let cell = 0; cell < 169; cell++)
        if (isOpen(Math.trunc(cell / 13), cell % 13)) {
          if (left === 0) goal = cell;
          left--;
        }
    }
    if (params.resampleStart > 0) {
      let left = rng.int(103);
      for (let cell = 0; cell < 169; cell++)
        if (cell !== goal && isOpen(Math.trunc(cell / 13), cell % 13)) {
          if (left === 0) start = cell;
          left--;
        }
    }
    s.pos[0] = Math.trunc(start / 13);
    s.pos[1] = start % 13;
    s.goal[0] = Math.trunc(goal / 13);
    s.goal[1] = goal % 13;
  },
  step(s, action, { params, rng }) {
    // One number decides whether the move fails and, below that limit, which way it goes instead.
    const limit = Math.min((params.failProbability * 4) / 3, 1);
    const drawn = rng.uniform();
    const other = Math.min((drawn * (4 / limit)) | 0, 3);
    const way = drawn < limit ? other : action;
    const y = s.pos[0]! + (way === 0 ? -1 : way === 2 ? 1 : 0);
    const x = s.pos[1]! + (way === 1 ? 1 : way === 3 ? -1 : 0);
    const isWall =
      y < 1 ||
      y > 11 ||
      x < 1 ||
      x > 11 ||
      (x === 6 && y !== 3 && y !== 10) ||
      (y === 6 && x < 6 && x !== 2) ||
      (y === 7 && x > 6 && x !== 9);
    s.pos[0] = isWall ? s.pos[0]! : y;
    s.pos[1] = isWall ? s.pos[1]! : x;
    const terminated = s.pos[0] === s.goal[0] && s.pos[1] === s.goal[1];
    return { reward: terminated ? 1 : 0, terminated };
  },
  observe(s, obs) {
    obs[0] = Math.fround(s.pos[0]!);
    obs[1] = Math.fround(s.pos[1]!);
    obs[2] = Math.fround(s.goal[0]!);
    obs[3] = Math.fround(s.goal[1]!);
  },
  draw(s, canvas) {
    drawGrid(canvas, 13, 13);
    for (let cell = 0; cell < 169; cell++) {
      const [y, x] = [Math.floor(cell / 13), cell % 13];
      const inner = (x === 6 && y !== 3 && y !== 10) || (y === 6 && x < 6 && x !== 2) || (y === 7 && x > 6 && x !== 9);
      if (inner || y % 12 === 0 || x % 12 === 0) drawCell(canvas, 13, y, x, "grey");
    }
    drawCell(canvas, 13, s.goal[0] as number, s.goal[1] as number, "green");
    drawPlayer(canvas, 13, s.pos[0] as number, s.pos[1] as number);
  },
});
