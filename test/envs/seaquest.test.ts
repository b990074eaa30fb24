/**
 * @file Seaquest-MinAtar against the same rules written plainly, with lists of fish, submarines, bullets and divers.
 *
 * There are no recordings of this game. Random play visits states; each is unpacked into lists, stepped by the plain rules
 * and compared with what the compiled game made of it. Steps that draw are compared by distribution.
 */
import { describe, expect, test } from "vitest";
import { Seaquest } from "../../src/envs/minatar/index.ts";
import { VecEnv } from "../../src/envs/vector/vecEnv.ts";
import type { TypedArray } from "../../src/ir/arrays.ts";
import { chiSquareBound, chiSquareOfTwo } from "./distributions.ts";
import { describeEveryTarget, stepOnce } from "./support.ts";

interface Swimmer {
  x: number;
  y: number;
  right: boolean;
  move: number;
  shoot?: number;
}
interface Game {
  x: number;
  y: number;
  facesRight: number;
  oxygen: number;
  divers: number;
  atSurface: number;
  shotTimer: number;
  spawnSpeed: number;
  spawnTimer: number;
  diverTimer: number;
  moveSpeed: number;
  rampIndex: number;
  fish: Swimmer[];
  subs: Swimmer[];
  swimmers: Swimmer[];
  bullets: Swimmer[];
  enemyBullets: Swimmer[];
}
const SCALARS = [
  "x",
  "y",
  "facesRight",
  "oxygen",
  "divers",
  "atSurface",
  "shotTimer",
  "spawnSpeed",
  "spawnTimer",
  "diverTimer",
  "moveSpeed",
  "rampIndex",
] as const;

/** The state of environment i as lists. */
function unpack(vec: VecEnv, i: number): Game {
  const values = (field: string): number[] => {
    const array = vec.state[field] as TypedArray;
    return Array.from({ length: array.length / vec.n }, (_, k) => Number(array[k * vec.n + i]));
  };
  const swimmer = (v: number): Swimmer => ({
    x: (v >> 4) & 15,
    y: (v >> 8) & 15,
    right: (v & 2) !== 0,
    move: (v >> 12) & 255,
    ...(v & 4 ? { shoot: v >> 20 } : {}),
  });
  const cells = (field: string): Swimmer[] =>
    values(field).flatMap((word, w) =>
      Array.from({ length: 30 }, (_, k) => k)
        .filter((k) => (word >> k) & 1)
        .map((k) => ({ x: k % 10, y: (w % 3) * 3 + Math.floor(k / 10), right: w < 3, move: 0 })),
    );
  const enemies = values("enemies").filter((v) => v !== 0);
  return {
    ...(Object.fromEntries(SCALARS.map((name) => [name, values(name)[0]])) as unknown as Game),
    fish: enemies.filter((v) => !(v & 4)).map(swimmer),
    subs: enemies.filter((v) => v & 4).map(swimmer),
    swimmers: values("swimmers")
      .filter((v) => v !== 0)
      .map(swimmer),
    bullets: cells("bullets"),
    enemyBullets: cells("enemyBullets"),
  };
}

const advance = (s: Swimmer): void => {
  s.x += s.right ? 1 : -1;
};
const left = (s: Swimmer): boolean => s.x < 0 || s.x > 9;

/** One step of the rules, without the steps in which something appears. */
function play(game: Game, action: number): { reward: number; terminated: boolean } {
  const g = game;
  let reward = 0;
  let terminated = false;
  if (action === 5 && g.shotTimer === 0) {
    g.bullets.push({ x: g.x, y: g.y, right: g.facesRight === 1, move: 0 });
    g.shotTimer = 5;
  }
  if (action === 1) [g.x, g.facesRight] = [Math.max(0, g.x - 1), 0];
  if (action === 2) g.y = Math.max(0, g.y - 1);
  if (action === 3) [g.x, g.facesRight] = [Math.min(9, g.x + 1), 1];
  if (action === 4) g.y = Math.min(8, g.y + 1);
  const at = (a: { x: number; y: number }, b: { x: number; y: number }): boolean => a.x === b.x && a.y === b.y;
  for (const bullet of g.bullets) advance(bullet);
  g.bullets = g.bullets.filter((b) => !left(b));
  for (const bullet of [...g.bullets]) {
    const list = [g.fish, g.subs].find((enemies) => enemies.some((e) => at(e, bullet)));
    if (!list) continue;
    list.splice(
      list.findIndex((e) => at(e, bullet)),
      1,
    );
    g.bullets.splice(g.bullets.indexOf(bullet), 1);
    reward++;
  }
  const board = (diver: Swimmer): boolean => {
    if (!at(diver, g) || g.divers >= 6) return false;
    g.divers++;
    return true;
  };
  g.swimmers = g.swimmers.filter((diver) => {
    if (board(diver)) return false;
    if (diver.move-- > 0) return true;
    diver.move = 5;
    advance(diver);
    return !left(diver) && !board(diver);
  });
  const enemy = (e: Swimmer): boolean => {
    terminated ||= at(e, g);
    let stays = true;
    if (e.move-- === 0) {
      e.move = g.moveSpeed;
      advance(e);
      const bullet = g.bullets.find((b) => at(b, e));
      if (left(e)) stays = false;
      else if (at(e, g)) terminated = true;
      else if (bullet) {
        g.bullets.splice(g.bullets.indexOf(bullet), 1);
        reward++;
        stays = false;
      }
    }
    if (e.shoot !== undefined && e.shoot-- === 0) {
      e.shoot = 10;
      g.enemyBullets.push({ ...e, move: 0 });
    }
    return stays;
  };
  g.subs = g.subs.filter(enemy);
  for (const bullet of g.enemyBullets) {
    terminated ||= at(bullet, g);
    advance(bullet);
    terminated ||= at(bullet, g);
  }
  g.enemyBullets = g.enemyBullets.filter((b) => !left(b));
  g.fish = g.fish.filter(enemy);
  g.spawnTimer--;
  g.diverTimer--;
  g.shotTimer = Math.max(0, g.shotTimer - 1);
  terminated ||= g.oxygen < 0;
  if (g.y > 0) {
    g.oxygen--;
    g.atSurface = 0;
  } else if (!g.atSurface) {
    if (g.divers === 0) terminated = true;
    else {
      g.atSurface = 1;
      if (g.divers === 6) reward += Math.floor((g.oxygen * 10) / 200);
      g.divers = g.divers === 6 ? 0 : g.divers - 1;
      g.oxygen = 200;
      if (g.spawnSpeed > 1 || g.moveSpeed > 2) {
        if (g.moveSpeed > 2 && g.rampIndex % 2) g.moveSpeed--;
        if (g.spawnSpeed > 1) g.spawnSpeed--;
        g.rampIndex++;
      }
    }
  }
  return { reward, terminated };
}

/** The picture, as places that are on. */
function picture(g: Game): string[] {
  const on = new Set<string>();
  const put = (row: number, column: number, channel: number): void => {
    if (column >= 0 && column <= 9) on.add(`${row} ${column} ${channel}`);
  };
  put(g.y, g.x, 0);
  put(g.y, g.x + (g.facesRight ? -1 : 1), 1);
  for (const b of g.bullets) put(b.y, b.x, 2);
  for (const b of g.enemyBullets) put(b.y, b.x, 4);
  for (const [list, channel] of [[g.fish, 5] as const, [g.subs, 6] as const, [g.swimmers, 9] as const])
    for (const s of list) {
      put(s.y, s.x, channel);
      put(s.y, s.x + (s.right ? -1 : 1), 3);
    }
  for (let k = 0; k < Math.floor((g.oxygen * 10) / 200); k++) put(9, k, 7);
  for (let k = 9 - g.divers; k < 9; k++) put(9, k, 8);
  return [...on].sort();
}

/** Lists in an order of their own, identical bullets once: both games then read alike. */
function normal(g: Game): unknown {
  const text = (list: readonly Swimmer[]): string[] =>
    [...new Set(list.map((s) => `${s.y} ${s.x} ${s.right} ${s.move} ${s.shoot ?? ""}`))].sort();
  const { fish, subs, swimmers, bullets, enemyBullets, ...scalars } = g;
  return {
    ...scalars,
    lists: [fish, subs, swimmers].map((l) => l.map((s) => text([s])[0]).sort()),
    shots: [bullets, enemyBullets.map((b) => ({ ...b, shoot: 0 }))].map(text),
  };
}

/** One of thousands: an expectation of its own for each would take longer than the game. */
function same(got: string, wanted: string, place: string): void {
  if (got !== wanted) expect(got, place).toBe(wanted);
}

describe("Seaquest", () => {
  test("steps as the plain rules do, from every state of random play", () => {
    let random = 17;
    const next = (n: number): number => {
      random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
      return Math.floor((random / 2 ** 32) * n);
    };
    const seen = { steps: 0, kills: 0, ends: 0, boarded: 0, surfaced: 0, paid: 0, drew: 0 };
    for (const [enemySpawnSpeed, moveInterval] of [[20, 5] as const, [3, 3] as const, [2, 2] as const]) {
      const vec = new VecEnv(Seaquest, 25, {
        target: "js",
        seed: 5,
        autoreset: "next-step",
        params: { enemySpawnSpeed, moveInterval },
      });
      vec.reset();
      (vec.state.divers as Int32Array).forEach((_, i, all) => {
        all[i] = i % 7;
      });
      const over = new Uint8Array(vec.n);
      for (let t = 0; t < 80; t++) {
        const before = Array.from({ length: vec.n }, (_, i) => unpack(vec, i));
        for (let i = 0; i < vec.n; i++) {
          const drawn = next(10);
          vec.actions[i] = drawn < 6 ? drawn : drawn < 8 ? 5 : t % 30 < 15 ? 4 : 2;
        }
        const { obs, reward, terminated } = vec.step(vec.actions);
        for (let i = 0; i < vec.n; i++) {
          const game = before[i] as Game;
          const drew = game.spawnTimer === 0 || game.diverTimer === 0;
          if (drew) seen.drew++;
          if (over[i] || drew) continue;
          const [divers, oxygen] = [game.divers, game.oxygen];
          const wanted = play(game, vec.actions[i] as number);
          const got = { reward: reward[i], terminated: terminated[i] === 1, game: normal(unpack(vec, i)) };
          const place = `spawn speed ${enemySpawnSpeed}, step ${t}, environment ${i}`;
          same(JSON.stringify(got), JSON.stringify({ ...wanted, game: normal(game) }), place);
          const row = obs.subarray(i * 1000, (i + 1) * 1000) as Float32Array;
          const on: string[] = [];
          row.forEach((x, k) => {
            if (x === 1) on.push(`${Math.floor(k / 100)} ${Math.floor(k / 10) % 10} ${k % 10}`);
          });
          same(on.sort().join(), picture(game).join(), place);
          seen.steps++;
          if (wanted.reward > 0) seen.kills++;
          if (wanted.terminated) seen.ends++;
          if (game.divers > divers) seen.boarded++;
          if (game.oxygen > oxygen) seen.surfaced++;
          if (divers === 6 && game.divers === 0) seen.paid++;
        }
        over.set(terminated);
      }
      vec.dispose();
    }
    for (const count of Object.values(seen)) expect(count, JSON.stringify(seen)).toBeGreaterThan(0);
  });

  const spawned = (enemy: number): Map<string, number> => {
    const vec = new VecEnv(Seaquest, 4096, { seed: 8, target: "js" });
    vec.reset();
    (vec.state.spawnTimer as Int32Array).fill(0);
    (vec.state.enemies as Int32Array).fill(enemy, 0, vec.n);
    vec.step(new Int32Array(vec.n));
    const counts = new Map<string, number>();
    for (let i = 0; i < vec.n; i++) {
      const { fish, subs } = unpack(vec, i);
      const text = [...fish, ...subs].map((e) => `${e.y} ${e.x} ${e.right} ${e.shoot === undefined}`).join("; ");
      counts.set(text, (counts.get(text) ?? 0) + 1);
    }
    vec.dispose();
    return counts;
  };
  test("enemies appear in every row, from both sides, a third of them submarines", () => {
    const rows = Array.from({ length: 8 }, (_, k) => k + 1);
    const wanted = rows.flatMap((row) =>
      [true, false].flatMap((right) =>
        [true, false].map((fish): [string, number] => [
          `${row} ${right ? 0 : 9} ${right} ${fish}`,
          fish ? 20000 : 10000,
        ]),
      ),
    );
    const { statistic, freedom } = chiSquareOfTwo(spawned(0), new Map(wanted));
    expect(freedom).toBe(31);
    expect(statistic).toBeLessThan(chiSquareBound(freedom));
  });
  test("no enemy appears against another one in its row", () => {
    // A fish in row 3 that moves left.
    const counts = spawned(1 | (6 << 4) | (3 << 8) | (5 << 12));
    const texts = [...counts.keys()];
    expect(texts).toHaveLength(31);
    expect(texts.filter((text) => text.includes("3 0 true"))).toEqual([]);
    expect(texts.filter((text) => text.includes("3 9 false"))).toHaveLength(2);
  });
  test("surfacing with six divers pays for the oxygen that is left, without any it is the end", () => {
    const below = { y: 1, atSurface: 0, oxygen: 105 };
    expect(stepOnce(Seaquest, { ...below, divers: 6 }, [2])).toMatchObject({ reward: 5, terminated: false });
    expect(stepOnce(Seaquest, { ...below, divers: 5 }, [2])).toMatchObject({ reward: 0, terminated: false });
    expect(stepOnce(Seaquest, { ...below, divers: 0 }, [2])).toMatchObject({ reward: 0, terminated: true });
    expect(stepOnce(Seaquest, { ...below, y: 5, oxygen: -1 }, [0])).toMatchObject({ terminated: true });
  });
});

describeEveryTarget("Seaquest", [Seaquest]);
