/**
 * @file MetaMaze-misc (Miconi and others 2019): a maze of pillars with a goal that is drawn for every episode and never
 * seen; whoever reaches it is put into a random cell and starts to search again. As in gymnax.
 *
 * The maze is 11 by 11 with its border, pillars stand where row and column are even, 65 cells are open. As in gymnax an
 * episode ends early only when the random cell happens to be the goal.
 */
import { f32, i32 } from "../../kernel/declare.ts";
import { drawCell, drawGrid, drawPlayer } from "../cells.ts";
import { defineEnv } from "../define.ts";
import { box, discrete } from "../spaces.ts";

export const MetaMaze = defineEnv({
  id: "MetaMaze-misc",
  params: {
    goalReward: 10,
    /** The reward of walking against a wall. */
    wallReward: 0,
    /** 1: the time in the observation goes from -1 to 1 over `timeScale` steps; 0: it is the number of steps. */
    normalizeTime: 0,
    timeScale: 100,
  },
  state: { pos: i32.array(2), goal: i32.array(2), lastAction: i32, lastReward: f32, time: i32 },
  observation: box([15]),
  action: discrete(4),
  maxSteps: 200,
  solved: "a mean return of 30",
  reset(s, { rng }) {
    const cell = rng.int(65);
    // Two rows have 14 open cells: 9 in the first, every second one in the other.
    const rows = Math.trunc(cell / 14);
    const rest = cell - 14 * rows;
    s.goal[0] = 2 * rows + (rest < 9 ? 1 : 2);
    s.goal[1] = rest < 9 ? rest + 1 : 2 * rest - 17;
    s.pos[0] = 5;
    s.pos[1] = 5;
    s.lastAction = 0;
    s.lastReward = 0;
    s.time = 0;
  },
  step(s, action, { params, rng }) {
    const y = s.pos[0]! + (action === 0 ? -1 : action === 2 ? 1 : 0);
    const x = s.pos[1]! + (action === 1 ? 1 : action === 3 ? -1 : 0);
    const isWall = y < 1 || y > 9 || x < 1 || x > 9 || ((y | x) & 1) === 0;
    let nextY = isWall ? s.pos[0]! : y;
    let nextX = isWall ? s.pos[1]! : x;
    const reached = nextY === s.goal[0] && nextX === s.goal[1];
    if (reached) {
      const cell = rng.int(65);
      const rows = Math.trunc(cell / 14);
      const rest = cell - 14 * rows;
      nextY = 2 * rows + (rest < 9 ? 1 : 2);
      nextX = rest < 9 ? rest + 1 : 2 * rest - 17;
    }
    s.pos[0] = nextY;
    s.pos[1] = nextX;
    const reward = (reached ? params.goalReward : 0) + (isWall ? params.wallReward : 0);
    s.lastAction = action;
    s.lastReward = reward;
    s.time += 1;
    return { reward, terminated: reached && nextY === s.goal[0] && nextX === s.goal[1] };
  },
  observe(s, obs, { params }) {
    for (let k = 0; k < 9; k++) {
      const y = s.pos[0]! + Math.trunc(k / 3) - 1;
      const x = s.pos[1]! + (k % 3) - 1;
      obs[k] = y < 1 || y > 9 || x < 1 || x > 9 || ((y | x) & 1) === 0 ? 1 : 0;
    }
    for (let k = 0; k < 4; k++) obs[9 + k] = s.lastAction === k ? 1 : 0;
    const time = Math.fround(s.time);
    obs[13] = s.lastReward;
    obs[14] = params.normalizeTime > 0 ? (2 * time) / params.timeScale - 1 : time;
  },
  draw(s, canvas) {
    drawGrid(canvas, 11, 11);
    for (let y = 0; y < 11; y++)
      for (let x = 0; x < 11; x++)
        if (y % 10 === 0 || x % 10 === 0 || ((y | x) & 1) === 0) drawCell(canvas, 11, y, x, "grey");
    drawCell(canvas, 11, s.goal[0] as number, s.goal[1] as number, "green");
    drawPlayer(canvas, 11, s.pos[0] as number, s.pos[1] as number);
  },
});
