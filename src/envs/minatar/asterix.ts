/**
 * @file Asterix-MinAtar (Young and Tian 2019), with the dynamics of gymnax 0.0.9: enemies and gold cross rows 1 to 8,
 * at most one of them in each row; gold is collected, an enemy ends the episode.
 *
 * What follows the reference where the original game differs: of the random order of rows that a new entity looks
 * through, the first is never examined. With no free row, and with one free row one time in eight, an occupied row is
 * emptied instead. The game becomes harder every 102 steps, and the time between moves has no lower bound.
 *
 * The eight rows are kept as the eight groups of four bits of whole numbers, row r in bits 4 (r - 1) and up: all of them
 * move in a few operations. Flags use the lowest bit of a group.
 * Channels: player, enemy, where an entity was, gold.
 */
import { i32 } from "../../kernel/declare.ts";
import { drawCell, drawGrid } from "../cells.ts";
import { defineEnv } from "../define.ts";
import { box, discrete } from "../spaces.ts";

export const Asterix = defineEnv({
  id: "Asterix-MinAtar",
  params: { spawnSpeed: 10, moveSpeed: 5, rampInterval: 100, ramping: 1 },
  state: {
    playerX: i32,
    playerY: i32,
    spawnSpeed: i32,
    spawnTimer: i32,
    moveSpeed: i32,
    moveTimer: i32,
    rampTimer: i32,
    rampIndex: i32,
    /** Flags of the rows that hold an entity, of those moving right, and of those that are gold. */
    filled: i32,
    right: i32,
    gold: i32,
    /** The entities' columns; 0 in empty rows. */
    columns: i32,
  },
  observation: box([10, 10, 4], { low: 0, high: 1 }),
  action: discrete(5),
  maxSteps: 1000,
  solved: "no bar is set; trained agents reach a mean return of about 15",
  reset(s, { params }) {
    s.playerX = 5;
    s.playerY = 5;
    s.spawnSpeed = params.spawnSpeed;
    s.spawnTimer = params.spawnSpeed;
    s.moveSpeed = params.moveSpeed;
    s.moveTimer = params.moveSpeed;
    s.rampTimer = params.rampInterval;
    s.rampIndex = 0;
    s.filled = 0;
    s.right = 0;
    s.gold = 0;
    s.columns = 0;
  },
  step(s, action, { params, rng }) {
    /** Flags of the groups that are 0. */
    const zero = (x: number): number => ~(x | (x >> 1) | (x >> 2) | (x >> 3)) & 0x11111111;
    let filled = s.filled;
    let right = s.right;
    let gold = s.gold;
    let columns = s.columns;
    let spawnTimer = s.spawnTimer;
    if (spawnTimer === 0) {
      spawnTimer = s.spawnSpeed;
      const kind = rng.int(48);
      const free = ~filled & 0x11111111;
      const freeRows = Math.imul(free, 0x11111111) >>> 28;
      const fails = freeRows === 0 || (freeRows === 1 && kind < 6);
      const rows = fails ? filled : free;
      // Group k of the product counts the rows up to k: the chosen row is where the count first reaches the choice.
      const choice = rng.int(fails ? 8 - (freeRows | 0) : freeRows | 0) + 1;
      const row = zero(Math.imul(rows, 0x11111111) ^ Math.imul(choice, 0x11111111)) & rows;
      const toRight = (kind & 1) === 1;
      const isGold = kind % 6 < 2;
      filled = fails ? filled & ~row : filled | row;
      right = toRight && !fails ? right | row : right & ~row;
      gold = isGold && !fails ? gold | row : gold & ~row;
      columns &= ~Math.imul(row, 15);
      if (!toRight && !fails) columns |= Math.imul(row, 9);
    }
    const x = Math.min(Math.max(s.playerX + (action === 3 ? 1 : 0) - (action === 1 ? 1 : 0), 0), 9);
    const y = Math.min(Math.max(s.playerY + (action === 4 ? 1 : 0) - (action === 2 ? 1 : 0), 1), 8);
    const shift = (y - 1) * 4;
    let reward = 0;
    let terminated = false;
    /** What is in the player's cell: gold is taken away. */
    const meet = (): void => {
      const here = 1 << shift;
      const met = (filled & here) !== 0 && ((columns >> shift) & 15) === x;
      const taken = met && (gold & here) !== 0;
      terminated = terminated || (met && !taken);
      reward += taken ? 1 : 0;
      if (taken) {
        filled &= ~here;
        right &= ~here;
        gold &= ~here;
        columns &= ~(15 << shift);
      }
    };
    meet();
    let moveTimer = s.moveTimer;
    if (moveTimer === 0) {
      moveTimer = s.moveSpeed;
      const atRight = columns & (columns >> 3) & right;
      const atLeft = zero(columns) & ~right;
      filled &= ~(atRight | atLeft);
      right &= filled;
      gold &= filled;
      columns = (columns & Math.imul(filled, 15)) + right - (filled & ~right);
      meet();
    }
    s.playerX = x;
    s.playerY = y;
    s.filled = filled;
    s.right = right;
    s.gold = gold;
    s.columns = columns;
    s.spawnTimer = spawnTimer - 1;
    s.moveTimer = moveTimer - 1;
    const rising = params.ramping !== 0 && (s.spawnSpeed > 1 || s.moveSpeed > 1);
    const rises = rising && s.rampTimer < 0;
    s.rampTimer = rising && !rises ? s.rampTimer - 1 : params.rampInterval;
    if (rises) {
      if ((s.rampIndex & 1) === 1 && s.moveSpeed !== 0) s.moveSpeed -= 1;
      s.spawnSpeed = Math.max(s.spawnSpeed - 1, 1);
      s.rampIndex += 1;
    }
    return { reward: Math.fround(reward), terminated };
  },
  observe(s, obs) {
    obs.fill(0);
    for (let k = 0; k < 8; k++) {
      const cell = (k + 1) * 10 + ((s.columns >> (4 * k)) & 15);
      const toRight = ((s.right >> (4 * k)) & 1) === 1;
      const before = ((s.columns >> (4 * k)) & 15) + (toRight ? -1 : 1);
      if (((s.filled >> (4 * k)) & 1) === 1) {
        obs[cell * 4 + 1 + 2 * ((s.gold >> (4 * k)) & 1)] = 1;
        if (before >= 0 && before < 10) obs[((k + 1) * 10 + before) * 4 + 2] = 1;
      }
    }
    obs[(s.playerY * 10 + s.playerX) * 4] = 1;
  },
  draw(s, canvas) {
    drawGrid(canvas, 10, 10);
    for (let k = 0; k < 8; k++) {
      if (!((s.filled >> (4 * k)) & 1)) continue;
      const column = (s.columns >> (4 * k)) & 15;
      const before = column + ((s.right >> (4 * k)) & 1 ? -1 : 1);
      if (before >= 0 && before < 10) drawCell(canvas, 10, k + 1, before, "grey");
      drawCell(canvas, 10, k + 1, column, (s.gold >> (4 * k)) & 1 ? "yellow" : "red");
    }
    drawCell(canvas, 10, s.playerY, s.playerX, "blue");
  },
});
