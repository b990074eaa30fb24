/**
 * @file SpaceInvaders-MinAtar (Young and Tian 2019), with the dynamics of gymnax 0.0.9: aliens march sideways and down,
 * the nearest column shoots, a cleared wave is followed by a faster one. Nothing is random.
 *
 * What follows the reference where the original game differs: whether a bullet hits is asked of the cannon's column before
 * its move, all else of the one after; of two equally near columns the left one shoots; the first wave has seven columns,
 * later ones six, which keep the direction and the timers of the wave before.
 *
 * A map of the field is four whole numbers of three rows each: cell (row, column) is bit row % 3 * 10 + column of number
 * floor(row / 3), so that rows and columns move by shifts.
 * Channels: cannon, alien, alien moving left, alien moving right, own bullet, enemy bullet.
 */
import { i32 } from "../../kernel/declare.ts";
import { drawCell, drawGrid } from "../cells.ts";
import { defineEnv } from "../define.ts";
import { box, discrete } from "../spaces.ts";

export const SpaceInvaders = defineEnv({
  id: "SpaceInvaders-MinAtar",
  params: { shotCoolDown: 5, enemyMoveInterval: 12, enemyShotInterval: 10, ramping: 1 },
  state: {
    /** The cannon's column. */
    cannon: i32,
    bullets: i32.array(4),
    enemyBullets: i32.array(4),
    aliens: i32.array(4),
    /** -1 to the left, 1 to the right. */
    direction: i32,
    moveInterval: i32,
    moveTimer: i32,
    enemyShotTimer: i32,
    shotTimer: i32,
    rampIndex: i32,
  },
  observation: box([10, 10, 6], { low: 0, high: 1 }),
  action: discrete(4),
  maxSteps: 1000,
  solved: "no bar is set; trained agents reach a mean return of about 131",
  reset(s, { params }) {
    s.cannon = 5;
    for (let w = 0; w < 4; w++) {
      s.bullets[w] = 0;
      s.enemyBullets[w] = 0;
    }
    // Four rows of columns 2 to 8.
    s.aliens[0] = 0x1fc7f1fc;
    s.aliens[1] = 0x1fc;
    s.aliens[2] = 0;
    s.aliens[3] = 0;
    s.direction = -1;
    s.moveInterval = params.enemyMoveInterval;
    s.moveTimer = params.enemyMoveInterval;
    s.enemyShotTimer = params.enemyShotInterval;
    s.shotTimer = 0;
    s.rampIndex = 0;
  },
  step(s, action, { params }) {
    const countBits = (x: number): number => {
      const pairs = x - ((x >> 1) & 0x55555555);
      const fours = (pairs & 0x33333333) + ((pairs >> 2) & 0x33333333);
      return Math.imul((fours + (fours >> 4)) & 0x0f0f0f0f, 0x01010101) >> 24;
    };
    const before = s.cannon;
    const fires = action === 3 && s.shotTimer === 0;
    const cannon = Math.min(Math.max(before + (action === 2 ? 1 : 0) - (action === 1 ? 1 : 0), 0), 9);
    s.cannon = cannon;
    const shotTimer = fires ? params.shotCoolDown : s.shotTimer;
    s.shotTimer = Math.max(shotTimer - 1, 0);
    // Own bullets go up; the last row is empty then, and a new one starts from there in the row above.
    let b0 = (s.bullets[0]! >> 10) | ((s.bullets[1]! & 1023) << 20);
    let b1 = (s.bullets[1]! >> 10) | ((s.bullets[2]! & 1023) << 20);
    let b2 = (s.bullets[2]! >> 10) | (((s.bullets[3]! | (fires ? 1 << before : 0)) & 1023) << 20);
    let e0 = (s.enemyBullets[0]! << 10) & 0x3fffffff;
    let e1 = ((s.enemyBullets[1]! << 10) & 0x3fffffff) | (s.enemyBullets[0]! >> 20);
    let e2 = ((s.enemyBullets[2]! << 10) & 0x3fffffff) | (s.enemyBullets[1]! >> 20);
    let e3 = s.enemyBullets[2]! >> 20;
    let a0 = s.aliens[0]!;
    let a1 = s.aliens[1]!;
    let a2 = s.aliens[2]!;
    let a3 = s.aliens[3]!;
    let terminated = ((e3 >> before) & 1) === 1 || ((a3 >> cannon) & 1) === 1;
    let moveTimer = s.moveTimer;
    if (moveTimer === 0) {
      moveTimer = Math.min(countBits(a0) + countBits(a1) + countBits(a2) + countBits(a3), s.moveInterval);
      const border = s.direction < 0 ? 0x00100401 : 0x20080200;
      if (((a0 | a1 | a2 | a3) & border) !== 0) {
        s.direction = -s.direction;
        // With aliens on the ground the game is over; they are shown in the first row then.
        terminated = terminated || a3 !== 0;
        const grounded = a3;
        a3 = a2 >> 20;
        a2 = ((a2 << 10) & 0x3fffffff) | (a1 >> 20);
        a1 = ((a1 << 10) & 0x3fffffff) | (a0 >> 20);
        a0 = ((a0 << 10) & 0x3fffffff) | grounded;
      } else {
        const left = s.direction < 0;
        a0 = left ? a0 >> 1 : a0 << 1;
        a1 = left ? a1 >> 1 : a1 << 1;
        a2 = left ? a2 >> 1 : a2 << 1;
        a3 = left ? a3 >> 1 : a3 << 1;
      }
      terminated = terminated || ((a3 >> cannon) & 1) === 1;
    }
    s.moveTimer = moveTimer - 1;
    let enemyShotTimer = s.enemyShotTimer;
    if (enemyShotTimer === 0) {
      enemyShotTimer = params.enemyShotInterval;
      const rows = a0 | a1 | a2 | a3;
      const columns = rows | (rows >> 10) | (rows >> 20);
      let column = 0;
      let distance = 10;
      for (let c = 0; c < 10; c++) {
        const away = Math.abs(c - cannon);
        const nearer = ((columns >> c) & 1) === 1 && away < distance;
        column = nearer ? c : column;
        distance = nearer ? away : distance;
      }
      // The lowest alien of the column.
      const cells = Math.imul(1 << column, 0x00100401);
      const lowest = (x: number): number => {
        const found = x & cells;
        return found >> 20 ? found & (1023 << 20) : found >> 10 ? found & (1023 << 10) : found;
      };
      if (a3 & cells) e3 |= lowest(a3);
      else if (a2 & cells) e2 |= lowest(a2);
      else if (a1 & cells) e1 |= lowest(a1);
      else e0 |= lowest(a0);
    }
    s.enemyShotTimer = enemyShotTimer - 1;
    const k0 = a0 & b0;
    const k1 = a1 & b1;
    const k2 = a2 & b2;
    a0 ^= k0;
    a1 ^= k1;
    a2 ^= k2;
    b0 ^= k0;
    b1 ^= k1;
    b2 ^= k2;
    if ((a0 | a1 | a2 | a3) === 0) {
      if (params.ramping !== 0 && s.moveInterval > 6) {
        s.moveInterval -= 1;
        s.rampIndex += 1;
      }
      // Four rows of columns 2 to 7.
      a0 = 0x0fc3f0fc;
      a1 = 0xfc;
    }
    s.bullets[0] = b0;
    s.bullets[1] = b1;
    s.bullets[2] = b2;
    s.bullets[3] = 0;
    s.enemyBullets[0] = e0;
    s.enemyBullets[1] = e1;
    s.enemyBullets[2] = e2;
    s.enemyBullets[3] = e3;
    s.aliens[0] = a0;
    s.aliens[1] = a1;
    s.aliens[2] = a2;
    s.aliens[3] = a3;
    return { reward: Math.fround(countBits(k0) + countBits(k1) + countBits(k2)), terminated };
  },
  observe(s, obs) {
    /** One channel of a row. Most rows are empty: the others are looked at cell by cell. */
    const show = (cells: number, row: number, channel: number): void => {
      if (cells !== 0) for (let c = 0; c < 10; c++) obs[(row * 10 + c) * 6 + channel] = Math.fround((cells >> c) & 1);
    };
    const left = s.direction < 0;
    obs.fill(0);
    for (let w = 0; w < 3; w++)
      for (let j = 0; j < 3; j++) {
        const aliens = (s.aliens[w]! >> (10 * j)) & 1023;
        show(aliens, w * 3 + j, 1);
        show(left ? aliens : 0, w * 3 + j, 2);
        show(left ? 0 : aliens, w * 3 + j, 3);
        show((s.bullets[w]! >> (10 * j)) & 1023, w * 3 + j, 4);
        show((s.enemyBullets[w]! >> (10 * j)) & 1023, w * 3 + j, 5);
      }
    show(s.aliens[3]!, 9, 1);
    show(left ? s.aliens[3]! : 0, 9, 2);
    show(left ? 0 : s.aliens[3]!, 9, 3);
    show(s.enemyBullets[3]!, 9, 5);
    obs[(90 + s.cannon) * 6] = 1;
  },
  draw(s, canvas) {
    drawGrid(canvas, 10, 10);
    for (let cell = 0; cell < 100; cell++) {
      const [word, bit] = [Math.floor(cell / 30), cell % 30];
      const [row, column] = [Math.floor(cell / 10), cell % 10];
      if ((s.aliens[word]! >> bit) & 1) drawCell(canvas, 10, row, column, "green");
      if ((s.bullets[word]! >> bit) & 1) drawCell(canvas, 10, row, column, "blue");
      if ((s.enemyBullets[word]! >> bit) & 1) drawCell(canvas, 10, row, column, "red");
    }
    drawCell(canvas, 10, 9, s.cannon, "ink");
  },
});
