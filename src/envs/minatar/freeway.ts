/**
 * @file Freeway-MinAtar (Young and Tian 2019), with the dynamics of gymnax 0.0.9: a chicken crosses eight lanes. It moves
 * at most every third step, for the first time on step 4; a car of speed v moves every v + 1 steps. At the top the speeds
 * of all cars are drawn anew, their positions stay. Nothing but the time limit ends an episode.
 *
 * The eight lanes are kept as the eight groups of four bits of whole numbers, row r in bits 4 (r - 1) and up: all cars
 * move in a few operations.
 * Channels: chicken, car, then where a car was, one channel for each speed.
 */
import { i32 } from "../../kernel/declare.ts";
import { drawCell, drawGrid } from "../cells.ts";
import { defineEnv } from "../define.ts";
import { box, discrete } from "../spaces.ts";

export const Freeway = defineEnv({
  id: "Freeway-MinAtar",
  params: { playerSpeed: 3 },
  state: {
    /** The chicken's row. */
    row: i32,
    moveTimer: i32,
    /** Of each car: its column, the steps until it moves, its speed from 1 to 5, and 1 when it moves right. */
    columns: i32,
    timers: i32,
    speeds: i32,
    right: i32,
  },
  observation: box([10, 10, 7], { low: 0, high: 1 }),
  action: discrete(3),
  maxSteps: 2500,
  solved: "no bar is set; trained agents reach a mean return of about 58",
  reset(s, { params, rng }) {
    s.row = 9;
    s.moveTimer = params.playerSpeed;
    s.columns = 0;
    // Eight draws from ten values, of which each word gives four.
    let speeds = 0;
    let right = 0;
    let word = 0;
    for (let k = 0; k < 8; k++) {
      word = (k & 3) === 0 ? rng.int(10000) : (word / 10) | 0;
      const drawn = word % 10;
      speeds |= (1 + (drawn >> 1)) << (4 * k);
      right |= (drawn & 1) << (4 * k);
    }
    s.speeds = speeds;
    s.timers = speeds;
    s.right = right;
  },
  step(s, action, { params, rng }) {
    /** Flags of the groups that are 0. */
    const zero = (x: number): number => ~(x | (x >> 1) | (x >> 2) | (x >> 3)) & 0x11111111;
    const moves = s.moveTimer === 0 && action !== 0;
    let row = s.row;
    if (moves) row = Math.min(Math.max(row + (action === 2 ? 1 : -1), 0), 9);
    const timer = moves ? params.playerSpeed : s.moveTimer;
    s.moveTimer = Math.max(timer - 1, 0);
    let speeds = s.speeds;
    let timers = s.timers;
    let right = s.right;
    const crossed = row === 0;
    if (crossed) {
      speeds = 0;
      right = 0;
      let word = 0;
      for (let k = 0; k < 8; k++) {
        word = (k & 3) === 0 ? rng.int(10000) : (word / 10) | 0;
        const drawn = word % 10;
        speeds |= (1 + (drawn >> 1)) << (4 * k);
        right |= (drawn & 1) << (4 * k);
      }
      timers = speeds;
      row = 9;
    }
    const columns = s.columns;
    const go = zero(timers);
    timers = timers - 0x11111111 + go + (speeds & Math.imul(go, 15));
    const toRight = go & right;
    const toLeft = go & ~right;
    // Columns 9 and 0 are each other's neighbours.
    const overRight = toRight & columns & (columns >> 3);
    const overLeft = toLeft & zero(columns);
    const moved =
      columns + (toRight ^ overRight) - (toLeft ^ overLeft) - Math.imul(overRight, 9) + Math.imul(overLeft, 9);
    const lane = 4 * (row - 1);
    if (row < 9 && (((columns >> lane) & 15) === 4 || ((moved >> lane) & 15) === 4)) row = 9;
    s.row = row;
    s.columns = moved;
    s.timers = timers;
    s.speeds = speeds;
    s.right = right;
    return { reward: crossed ? 1 : 0, terminated: false };
  },
  observe(s, obs) {
    obs.fill(0);
    for (let k = 0; k < 8; k++) {
      const column = (s.columns >> (4 * k)) & 15;
      const toRight = ((s.right >> (4 * k)) & 1) === 1;
      const behind = toRight ? (column === 0 ? 9 : column - 1) : column === 9 ? 0 : column + 1;
      obs[((k + 1) * 10 + column) * 7 + 1] = 1;
      obs[((k + 1) * 10 + behind) * 7 + 1 + ((s.speeds >> (4 * k)) & 15)] = 1;
    }
    obs[(s.row * 10 + 4) * 7] = 1;
  },
  draw(s, canvas) {
    drawGrid(canvas, 10, 10);
    for (let k = 0; k < 8; k++) {
      const column = (s.columns >> (4 * k)) & 15;
      const behind = (column + ((s.right >> (4 * k)) & 1 ? 9 : 1)) % 10;
      drawCell(canvas, 10, k + 1, behind, "grey");
      drawCell(canvas, 10, k + 1, column, "red");
    }
    drawCell(canvas, 10, s.row, 4, "yellow");
  },
});
