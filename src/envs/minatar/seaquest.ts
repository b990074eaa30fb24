/**
 * @file Seaquest-MinAtar (Young and Tian 2019): a submarine picks up divers, shoots fish and enemy submarines, and has to
 * surface for oxygen with at least one diver on board. gymnax has it from 1.0 on; there are no recordings of it here.
 *
 * It differs from the original in three points: there is room for 24 enemies (when it is taken none appears), of several
 * enemies in a cell a bullet takes the one with the lowest place in the list, and an empty oxygen gauge is drawn empty.
 *
 * An enemy or a diver is one whole number: bit 0 there, bit 1 moving right, bit 2 submarine, its cell from bit 4 (column)
 * and bit 8 (row) on, steps until it moves from bit 12 on, steps until it shoots from bit 20 on. Bullets are maps of rows 0
 * to 8, three rows of ten bits in each of three numbers; those moving right come first, those moving left behind.
 * Channels: front, back, own bullet, where an enemy or diver was, enemy bullet, fish, enemy submarine, oxygen, divers on
 * board, diver.
 */
import { bool, i32 } from "../../kernel/declare.ts";
import { drawCell, drawGrid } from "../cells.ts";
import { defineEnv } from "../define.ts";
import { box, discrete } from "../spaces.ts";

export const Seaquest = defineEnv({
  id: "Seaquest-MinAtar",
  params: {
    maxOxygen: 200,
    enemySpawnSpeed: 20,
    diverSpawnSpeed: 30,
    moveInterval: 5,
    diverMoveInterval: 5,
    shotCoolDown: 5,
    enemyShotInterval: 10,
    ramping: 1,
  },
  state: {
    x: i32,
    y: i32,
    facesRight: bool,
    oxygen: i32,
    /** Divers on board, up to 6. */
    divers: i32,
    atSurface: bool,
    shotTimer: i32,
    spawnSpeed: i32,
    spawnTimer: i32,
    diverTimer: i32,
    moveSpeed: i32,
    rampIndex: i32,
    enemies: i32.array(24),
    swimmers: i32.array(4),
    bullets: i32.array(6),
    enemyBullets: i32.array(6),
  },
  observation: box([10, 10, 10], { low: 0, high: 1 }),
  action: discrete(6),
  maxSteps: 1000,
  solved: "no bar is set; a hit pays 1, six divers up to 10",
  reset(s, { params }) {
    s.x = 5;
    s.y = 0;
    s.facesRight = false;
    s.oxygen = params.maxOxygen;
    s.divers = 0;
    s.atSurface = true;
    s.shotTimer = 0;
    s.spawnSpeed = params.enemySpawnSpeed;
    s.spawnTimer = params.enemySpawnSpeed;
    s.diverTimer = params.diverSpawnSpeed;
    s.moveSpeed = params.moveInterval;
    s.rampIndex = 0;
    for (let k = 0; k < 24; k++) s.enemies[k] = 0;
    for (let k = 0; k < 4; k++) s.swimmers[k] = 0;
    for (let w = 0; w < 6; w++) {
      s.bullets[w] = 0;
      s.enemyBullets[w] = 0;
    }
  },
  step(s, action, { params, rng }) {
    /** One step of something that swims, 0 when it leaves. */
    const swum = (value: number): number => {
      const right = (value & 2) !== 0;
      const leaves = ((value >> 4) & 15) === (right ? 9 : 0);
      return leaves ? 0 : value + (right ? 16 : -16);
    };
    /** The bit of a cell in the map of its three rows. */
    const bitOf = (value: number): number => 1 << ((((value >> 8) & 15) % 3) * 10 + ((value >> 4) & 15));
    const wordOf = (value: number): number => (((value >> 8) & 15) / 3) | 0;
    if (s.spawnTimer === 0) {
      const kind = rng.int(48);
      const right = kind & 1;
      const row = 1 + ((kind / 6) | 0);
      const enemy = 1 | (right << 1) | (kind % 6 < 2 ? 4 : 0) | ((right === 1 ? 0 : 9) << 4) | (row << 8);
      let open = true;
      for (let k = 0; k < 24; k++) {
        const other = s.enemies[k]!;
        if ((other & 1) === 1 && ((other >> 8) & 15) === row && ((other >> 1) & 1) !== right) open = false;
      }
      for (let k = 0; k < 24; k++)
        if (open && s.enemies[k] === 0) {
          s.enemies[k] = enemy | (s.moveSpeed << 12) | (params.enemyShotInterval << 20);
          open = false;
        }
      s.spawnTimer = s.spawnSpeed;
    }
    if (s.diverTimer === 0) {
      const kind = rng.int(16);
      const right = kind & 1;
      const diver = 1 | (right << 1) | ((right === 1 ? 0 : 9) << 4) | ((1 + (kind >> 1)) << 8);
      let open = true;
      for (let k = 0; k < 4; k++)
        if (open && s.swimmers[k] === 0) {
          s.swimmers[k] = diver | (params.diverMoveInterval << 12);
          open = false;
        }
      s.diverTimer = params.diverSpawnSpeed;
    }
    const fires = action === 5 && s.shotTimer === 0;
    if (fires) {
      const here = (s.y << 8) | (s.x << 4);
      const word = wordOf(here) + (s.facesRight ? 0 : 3);
      for (let w = 0; w < 6; w++) if (w === word) s.bullets[w] = s.bullets[w]! | bitOf(here);
      s.shotTimer = params.shotCoolDown;
    }
    if (action === 1 || action === 3) s.facesRight = action === 3;
    s.x = Math.min(Math.max(s.x + (action === 3 ? 1 : 0) - (action === 1 ? 1 : 0), 0), 9);
    s.y = Math.min(Math.max(s.y + (action === 4 ? 1 : 0) - (action === 2 ? 1 : 0), 0), 8);
    const cell = (s.y << 4) | s.x;
    let reward = 0;
    let terminated = false;
    /** Whether an own bullet is where an enemy is; the bullet is gone then. */
    const shot = (value: number): boolean => {
      const word = wordOf(value);
      let open = (value & 1) === 1;
      for (let w = 0; w < 6; w++) {
        const hit = open && (w === word || w === word + 3) && (s.bullets[w]! & bitOf(value)) !== 0;
        if (hit) s.bullets[w] = s.bullets[w]! ^ bitOf(value);
        open = open && !hit;
      }
      return (value & 1) === 1 && !open;
    };
    let flying = 0;
    for (let w = 0; w < 3; w++) {
      s.bullets[w] = (s.bullets[w]! & ~0x20080200) << 1;
      s.bullets[w + 3] = (s.bullets[w + 3]! & ~0x00100401) >> 1;
      flying |= s.bullets[w]! | s.bullets[w + 3]!;
    }
    if (flying !== 0)
      for (let k = 0; k < 24; k++) {
        const enemy = s.enemies[k]!;
        if (enemy !== 0) {
          const hit = shot(enemy);
          s.enemies[k] = hit ? 0 : enemy;
          reward += hit ? 1 : 0;
        }
      }
    for (let k = 0; k < 4; k++) {
      let diver = s.swimmers[k]!;
      let aboard = diver !== 0 && ((diver >> 4) & 255) === cell && s.divers < 6;
      const moves = diver !== 0 && ((diver >> 12) & 255) === 0;
      if (moves) diver = swum(diver | (params.diverMoveInterval << 12));
      else if (diver !== 0) diver -= 1 << 12;
      aboard = aboard || (moves && diver !== 0 && ((diver >> 4) & 255) === cell && s.divers < 6);
      s.divers += aboard ? 1 : 0;
      s.swimmers[k] = aboard ? 0 : diver;
    }
    for (let k = 0; k < 24; k++) {
      let enemy = s.enemies[k]!;
      if (enemy !== 0) {
        terminated = terminated || ((enemy >> 4) & 255) === cell;
        const isSub = (enemy & 4) !== 0;
        const shoots = isSub && enemy >> 20 === 0;
        const timers = isSub ? (shoots ? params.enemyShotInterval : (enemy >> 20) - 1) << 20 : 0;
        const moves = ((enemy >> 12) & 255) === 0;
        const word = wordOf(enemy) + ((enemy & 2) !== 0 ? 0 : 3);
        if (moves) {
          enemy = swum((enemy & 4095) | (s.moveSpeed << 12));
          terminated = terminated || (enemy !== 0 && ((enemy >> 4) & 255) === cell);
        } else enemy = (enemy & 0xfffff) - (1 << 12);
        // A submarine that shoots does so from where it is now, even when it is hit as it moves; not when it has left.
        if (shoots && enemy !== 0)
          for (let w = 0; w < 6; w++) if (w === word) s.enemyBullets[w] = s.enemyBullets[w]! | bitOf(enemy);
        if (flying !== 0 && moves && ((enemy >> 4) & 255) !== cell && shot(enemy)) {
          enemy = 0;
          reward += 1;
        }
        s.enemies[k] = enemy === 0 ? 0 : enemy | timers;
      }
    }
    for (let w = 0; w < 3; w++) {
      const here = w === ((s.y / 3) | 0) ? 1 << ((s.y % 3) * 10 + s.x) : 0;
      terminated = terminated || ((s.enemyBullets[w]! | s.enemyBullets[w + 3]!) & here) !== 0;
      s.enemyBullets[w] = (s.enemyBullets[w]! & ~0x20080200) << 1;
      s.enemyBullets[w + 3] = (s.enemyBullets[w + 3]! & ~0x00100401) >> 1;
      terminated = terminated || ((s.enemyBullets[w]! | s.enemyBullets[w + 3]!) & here) !== 0;
    }
    s.spawnTimer = Math.max(s.spawnTimer - 1, 0);
    s.diverTimer = Math.max(s.diverTimer - 1, 0);
    s.shotTimer = Math.max(s.shotTimer - 1, 0);
    terminated = terminated || s.oxygen < 0;
    if (s.y > 0) {
      s.oxygen -= 1;
      s.atSurface = false;
    } else if (!s.atSurface) {
      terminated = terminated || s.divers === 0;
      if (s.divers > 0) {
        s.atSurface = true;
        if (s.divers === 6) reward += ((s.oxygen * 10) / params.maxOxygen) | 0;
        s.divers = s.divers === 6 ? 0 : s.divers - 1;
        s.oxygen = params.maxOxygen;
        if (params.ramping !== 0 && (s.spawnSpeed > 1 || s.moveSpeed > 2)) {
          if (s.moveSpeed > 2 && (s.rampIndex & 1) === 1) s.moveSpeed -= 1;
          s.spawnSpeed = Math.max(s.spawnSpeed - 1, 1);
          s.rampIndex += 1;
        }
      }
    }
    return { reward: Math.fround(reward), terminated };
  },
  observe(s, obs, { params }) {
    /** The first channel of a cell. */
    const at = (row: number, column: number): number => (row * 10 + column) * 10;
    const inside = (column: number): boolean => column >= 0 && column < 10;
    obs.fill(0);
    obs[at(s.y, s.x)] = 1;
    const back = s.facesRight ? s.x - 1 : s.x + 1;
    if (inside(back)) obs[at(s.y, back) + 1] = 1;
    for (let w = 0; w < 3; w++) {
      const own = s.bullets[w]! | s.bullets[w + 3]!;
      const enemy = s.enemyBullets[w]! | s.enemyBullets[w + 3]!;
      if ((own | enemy) !== 0)
        for (let k = 0; k < 30; k++) {
          obs[(w * 30 + k) * 10 + 2] = Math.fround((own >> k) & 1);
          obs[(w * 30 + k) * 10 + 4] = Math.fround((enemy >> k) & 1);
        }
    }
    const show = (value: number, channel: number): void => {
      if (value !== 0) {
        const row = (value >> 8) & 15;
        const column = (value >> 4) & 15;
        const behind = (value & 2) !== 0 ? column - 1 : column + 1;
        obs[at(row, column) + channel] = 1;
        if (inside(behind)) obs[at(row, behind) + 3] = 1;
      }
    };
    for (let k = 0; k < 24; k++) show(s.enemies[k]!, (s.enemies[k]! & 4) !== 0 ? 6 : 5);
    for (let k = 0; k < 4; k++) show(s.swimmers[k]!, 9);
    const oxygen = ((Math.max(s.oxygen, 0) * 10) / params.maxOxygen) | 0;
    for (let k = 0; k < 10; k++) {
      obs[at(9, k) + 7] = k < oxygen ? 1 : 0;
      obs[at(9, k) + 8] = k >= 9 - s.divers && k < 9 ? 1 : 0;
    }
  },
  draw(s, canvas) {
    drawGrid(canvas, 10, 10);
    for (let k = 0; k < 90; k++) {
      const [word, bit] = [Math.floor(k / 30), k % 30];
      const [own, enemy] = [s.bullets, s.enemyBullets].map((b) => ((b[word]! | b[word + 3]!) >> bit) & 1);
      if (own || enemy) drawCell(canvas, 10, Math.floor(k / 10), k % 10, own ? "ink" : "orange");
    }
    for (const value of s.enemies)
      if (value) drawCell(canvas, 10, (value >> 8) & 15, (value >> 4) & 15, value & 4 ? "red" : "green");
    for (const value of s.swimmers) if (value) drawCell(canvas, 10, (value >> 8) & 15, (value >> 4) & 15, "yellow");
    drawCell(canvas, 10, s.y, s.x, "blue");
    for (let k = 0; k < 10; k++) if (k < Math.floor(s.oxygen / 20)) drawCell(canvas, 10, 9, k, "grey");
    for (let k = 0; k < s.divers; k++) drawCell(canvas, 10, 9, 8 - k, "yellow");
  },
});
