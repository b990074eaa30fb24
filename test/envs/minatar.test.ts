/**
 * @file The MinAtar games against what gymnax did. States are packed here (rows of cells, or one group of bits for each
 * row), so recorded ones are converted first.
 */
import { describe, expect, test } from "vitest";
import { Asterix, Breakout, Freeway, SpaceInvaders } from "../../src/envs/minatar/index.ts";
import { VecEnv } from "../../src/envs/vector/vecEnv.ts";
import { chiSquareBound, chiSquareOfTwo } from "./distributions.ts";
import { converted, describeFixture, fastest, loadFixture, type RecordedState } from "./fixtures.ts";
import { describeEveryTarget } from "./support.ts";

type Rows = readonly (readonly (number | null)[])[];
/** One group of four bits for each number; null when one of them is. */
const grouped = (values: readonly (number | null)[]): number | null =>
  values.reduce<number | null>((all, x, k) => (all === null || x === null ? null : all | (x << (4 * k))), 0);
const bits = (cells: readonly (number | null)[]): number =>
  cells.reduce<number>((all, x, k) => all | ((x as number) << k), 0);
/** Four numbers of three rows each. */
const words = (map: Rows): number[] => [0, 1, 2, 3].map((w) => bits(map.slice(3 * w, 3 * w + 3).flat()));

describeFixture(Breakout, "Breakout-MinAtar.gymnax", {
  fields: { ball_dir: "direction", pos: "paddle", terminal: null },
  convert: ({ brick_map, ...state }) => ({ ...state, bricks: bits((brick_map as Rows).slice(1, 4).flat()) }),
});

/** An entity that is not there is all zero here; the reference keeps a row's old numbers until the next move. */
function entitiesOf({ entities }: RecordedState): Rows {
  return (entities as Rows).map((e) => (e[4] === 0 ? [0, 0, 0, 0, 0] : e[4] === null ? e.map(() => null) : e));
}
const asterix = {
  fields: { shot_timer: null, terminal: null, entities: null },
  convert: (state: RecordedState): RecordedState => {
    const field = (k: number): number | null => grouped(entitiesOf(state).map((e) => e[k] as number | null));
    return { ...state, columns: field(0), right: field(2), gold: field(3), filled: field(4) };
  },
};
describeFixture(Asterix, "Asterix-MinAtar.gymnax", asterix);

const freeway = {
  fields: { pos: "row", cars: null, terminal: null },
  convert: (state: RecordedState): RecordedState => {
    const field = (k: number, map: (x: number) => number): number | null =>
      grouped((state.cars as Rows).map((car) => (car[k] === null ? null : map(car[k] as number))));
    return {
      ...state,
      columns: field(0, (x) => x),
      timers: field(2, (x) => x),
      speeds: field(3, Math.abs),
      right: field(3, (x) => (x > 0 ? 1 : 0)),
    };
  },
};
describeFixture(Freeway, "Freeway-MinAtar.gymnax", freeway);

describeFixture(SpaceInvaders, "SpaceInvaders-MinAtar.gymnax", {
  fields: {
    pos: "cannon",
    alien_dir: "direction",
    enemy_move_interval: "moveInterval",
    alien_move_timer: "moveTimer",
    alien_shot_timer: "enemyShotTimer",
    ramping: null,
    terminal: null,
  },
  convert: ({ f_bullet_map, e_bullet_map, alien_map, ...state }) => ({
    ...state,
    bullets: words(f_bullet_map as Rows),
    enemyBullets: words(e_bullet_map as Rows),
    aliens: words(alien_map as Rows),
  }),
});

const group = (array: unknown, i: number, k: number): number => ((array as Int32Array)[i]! >> (4 * k)) & 15;

describe("chance", () => {
  test("Asterix fills and empties rows as often as recorded, in every combination", () => {
    const { random_transitions: random } = loadFixture("Asterix-MinAtar.gymnax");
    const rows = converted({ ...loadFixture("Asterix-MinAtar.gymnax") }, asterix.convert).random_transitions;
    const vec = new VecEnv(Asterix, 4096, { seed: 3, autoreset: "disabled", target: fastest });
    let compared = 0;
    for (const [at, row] of random.entries()) {
      const { joint, joint_names: names, keys } = row;
      if (!joint || !names) continue;
      compared++;
      vec.reset();
      for (const [field, value] of Object.entries(rows[at]!.state)) {
        const name = field.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
        if (name in vec.state) (vec.state[name] as Int32Array).fill(value as number);
      }
      // A stream of its own for each case.
      vec.steps.fill(at);
      vec.step(new Int32Array(4096).fill(row.action as number));
      const recorded = new Map<string, number>();
      for (const [values, count] of joint) {
        const entities = (row.next_state!.entities as Rows).map((e) => [...e]);
        let over = String(row.next_state!.terminal);
        names.forEach((name, k) => {
          const element = /^next_state\.entities\[(\d+)\]$/.exec(name);
          if (element) entities[Math.floor(Number(element[1]) / 5)]![Number(element[1]) % 5] = values[k]!;
          else if (name === "next_state.terminal") over = String(values[k]);
        });
        const key = `${entitiesOf({ entities }).map((e) => [e[0], e[2], e[3], e[4]].join(""))} ${over}`;
        recorded.set(key, (recorded.get(key) ?? 0) + count);
      }
      const ours = new Map<string, number>();
      const { columns, right, gold, filled } = vec.state;
      for (let i = 0; i < keys; i++) {
        const entities = Array.from({ length: 8 }, (_, k) => [columns, right, gold, filled].map((a) => group(a, i, k)));
        const key = `${entities.map((e) => e.join(""))} ${vec.out.terminated[i] === 1}`;
        ours.set(key, (ours.get(key) ?? 0) + 1);
      }
      const { statistic, freedom } = chiSquareOfTwo(ours, recorded);
      expect(statistic, `${at} (${row.case})`).toBeLessThan(chiSquareBound(freedom));
    }
    vec.dispose();
    expect(compared).toBeGreaterThan(5);
  });

  test("Freeway draws every speed in both directions for each lane on its own", () => {
    const vec = new VecEnv(Freeway, 4096, { seed: 3, target: "js" });
    vec.reset();
    const { speeds, timers, right } = vec.state;
    expect(timers).toEqual(speeds);
    for (const [a, b] of [
      [0, 1],
      [3, 4],
      [2, 7],
    ] as const) {
      const drawn = (i: number, k: number): number => 2 * (group(speeds, i, k) - 1) + group(right, i, k);
      const counts = new Map<string, number>();
      for (let i = 0; i < vec.n; i++) {
        const key = `${drawn(i, a)} ${drawn(i, b)}`;
        counts.set(key, (counts.get(key) ?? 0) + 1);
      }
      const even = new Map(Array.from({ length: 100 }, (_, k) => [`${Math.floor(k / 10)} ${k % 10}`, 1000]));
      const { statistic, freedom } = chiSquareOfTwo(counts, even);
      expect(freedom).toBe(99);
      expect(statistic, `lanes ${a} and ${b}`).toBeLessThan(chiSquareBound(freedom));
    }
    vec.dispose();
  });
});

describeEveryTarget("MinAtar", [Asterix, Breakout, Freeway, SpaceInvaders]);
