/**
 * @file FrozenLake-misc: across a frozen lake of 4 by 4 cells to the goal, past holes (Gymnasium's FrozenLake-v1, in gymnax
 * since its version 1). Actions: left, down, right, up. On slippery ice a move goes where it should one time in three,
 * and to either side as often.
 */
import { i32 } from "../../kernel/declare.ts";
import { drawCell, drawGrid, drawPlayer } from "../cells.ts";
import { defineEnv } from "../define.ts";
import { discrete } from "../spaces.ts";

export const FrozenLake = defineEnv({
  id: "FrozenLake-misc",
  params: {
    /** 0: moves go where they should. */
    slippery: 1,
    /** Bit k is set when cell k, counted row by row, is a hole. */
    holes: (1 << 5) | (1 << 7) | (1 << 11) | (1 << 12),
  },
  state: { cell: i32 },
  observation: discrete(16),
  action: discrete(4),
  maxSteps: 100,
  solved: "a mean return of 0.7 over 100 episodes",
  reset(s) {
    s.cell = 0;
  },
  step(s, action, { params, rng }) {
    let way = action;
    if (params.slippery > 0) way = (action + 3 + rng.int(3)) & 3;
    const row = s.cell >> 2;
    const column = s.cell & 3;
    const nextRow = Math.min(Math.max(row + (way === 1 ? 1 : way === 3 ? -1 : 0), 0), 3);
    const nextColumn = Math.min(Math.max(column + (way === 2 ? 1 : way === 0 ? -1 : 0), 0), 3);
    s.cell = nextRow * 4 + nextColumn;
    const isHole = ((params.holes >> s.cell) & 1) === 1;
    return { reward: s.cell === 15 ? 1 : 0, terminated: isHole || s.cell === 15 };
  },
  observe(s, obs) {
    obs[0] = s.cell;
  },
  draw(s, canvas, params) {
    drawGrid(canvas, 4, 4);
    for (let cell = 0; cell < 16; cell++)
      if ((params.holes >> cell) & 1) drawCell(canvas, 4, cell >> 2, cell & 3, "ink");
    drawCell(canvas, 4, 3, 3, "green");
    drawPlayer(canvas, 4, s.cell >> 2, s.cell & 3);
  },
});
