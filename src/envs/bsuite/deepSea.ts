/**
 * @file DeepSea-bsuite: a diver goes down one row per step, to the left or, at a cost, to the right; treasure lies in the
 * last column of the last row (bsuite). Defaults are those of gymnax 0.0.9: action 1 is always right, nothing is random.
 *
 * `randomizeActions: 1` lets a fixed table decide in which cells action 1 is right, as bsuite does; it is computed from
 * `mappingSeed`. `deterministic: 0` makes moves to the right fail one time in `size`, and adds noise to the reward at
 * the bottom corners, as bsuite does (gymnax 0.0.9 lacks the noise).
 */
import { bool, i32 } from "../../kernel/declare.ts";
import { drawCell, drawGrid, drawPlayer } from "../cells.ts";
import { defineEnv } from "../define.ts";
import { box, discrete } from "../spaces.ts";

/** DeepSea of another depth. */
export const makeDeepSea = (size: number) =>
  defineEnv({
    id: "DeepSea-bsuite",
    params: {
      /** The side of the grid, which is that of the observation: for another one, make another environment. */
      size,
      moveCost: 0.01,
      deterministic: 1,
      randomizeActions: 0,
      mappingSeed: 0,
    },
    state: { row: i32, column: i32, badEpisode: bool, totalBadEpisodes: i32, denoisedReturn: i32 },
    observation: box([size, size], { low: 0, high: 1 }),
    action: discrete(2),
    maxSteps: 2000,
    solved: "a return of 0.99 in every episode",
    reset(s) {
      s.row = 0;
      s.column = 0;
      s.badEpisode = false;
      s.totalBadEpisodes = 0;
      s.denoisedReturn = 0;
    },
    step(s, action, { params, rng }) {
      const last = params.size - 1;
      let rightAction = 1;
      if (params.randomizeActions > 0) {
        const mixed = Math.imul(
          (s.row * 64 + s.column + 1) ^ Math.imul(params.mappingSeed | 0, 0x3c6ef372),
          0x2c1b3c6d,
        );
        rightAction = (Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39) >>> 15) & 1;
      }
      const wantsRight = action === rightAction;
      let right = wantsRight;
      let reward = wantsRight && s.column === last ? 1 : 0;
      s.denoisedReturn += wantsRight && s.column === last ? 1 : 0;
      if (params.deterministic === 0) {
        right = wantsRight && rng.uniform() > 1 / params.size;
        if (s.row === last && (s.column === 0 || s.column === last)) reward += rng.normal();
      }
      if (right) reward -= params.moveCost / params.size;
      s.badEpisode = s.badEpisode || (!wantsRight && s.row === s.column);
      s.column = wantsRight ? (right ? Math.min(s.column + 1, last) : s.column) : Math.max(s.column - 1, 0);
      s.row += 1;
      const terminated = s.row === params.size;
      s.totalBadEpisodes += terminated && s.badEpisode ? 1 : 0;
      return { reward, terminated };
    },
    observe(s, obs, { params }) {
      const at = s.row * params.size + s.column;
      for (let k = 0; k < params.size * params.size; k++) obs[k] = k === at ? 1 : 0;
    },
    draw(s, canvas, params) {
      drawGrid(canvas, params.size, params.size);
      drawCell(canvas, params.size, params.size - 1, params.size - 1, "yellow");
      drawPlayer(canvas, params.size, Math.min(s.row, params.size - 1), s.column);
    },
  });
export const DeepSea = makeDeepSea(8);
