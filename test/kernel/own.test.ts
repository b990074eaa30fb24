/**
 * @file Stores through computed subscripts that are promised not to meet, and rows that are stored as rows: the same
 * numbers on every target, for every length.
 */
import { describe, expect, test } from "vitest";
import { interpret, RaceError } from "../../src/ir/interpret.ts";
import { f32, i32, struct } from "../../src/kernel/declare.ts";
import { allocate, allocateFrom, free, kernel } from "../../src/kernel/kernel.ts";
import { availability, TARGET_NAMES } from "../../src/runtime/targets.ts";

const targets = TARGET_NAMES.filter((name) => availability(name).target);

const listed = kernel(
  { list: i32.array(), sum: f32.array(), rows: f32.array(4).array(), s: struct({ x: f32, visits: i32 }).array() },
  ({ list, sum, rows, s }, { parallel, own }) => {
    const n = s.length;
    parallel(list.length, (j) => {
      const i = own(Math.min(Math.max(list[j]!, 0), n - 1));
      s[i]!.visits += 1;
      s[i]!.x = s[i]!.x * 2 + Math.sin(s[i]!.x);
      for (let k = 0; k < 4; k++) sum[i] = sum[i]! + rows[i]![k]! * Math.fround(k + 1);
      rows[i]![0] = s[i]!.x;
      rows[i]![1] = sum[i]!;
      rows[i]![2] = s[i]!.x + 2;
      rows[i]![3] = s[i]!.x * 3;
    });
  },
  { name: "listed" },
);
function listedArguments(list: readonly number[], n = 40) {
  const rows = allocateFrom(
    f32,
    Float32Array.from({ length: 4 * n }, (_, k) => k / 7),
  );
  const x = allocateFrom(
    f32,
    Float32Array.from({ length: n }, (_, k) => Math.cos(k)),
  );
  return { list: allocateFrom(i32, list), sum: allocate(f32, n), rows, s: { x, visits: allocate(i32, n) } };
}
const LIST = Array.from({ length: 29 }, (_, j) => (j * 11) % 40);

describe("own", () => {
  test("what is promised runs side by side, and on several threads", () => {
    const lowered = listed.on("wasm").program.show("lowered");
    expect(lowered).toMatch(/vector j/);
    expect(lowered).toMatch(/shuffle/);
  });

  test("the same on every target", () => {
    const runs = targets.flatMap((target) =>
      [1, 2].map((threads) => {
        const args = listedArguments(LIST);
        listed.on(target, { threads })(args);
        return [...args.sum, ...args.rows, ...args.s.x, ...args.s.visits];
      }),
    );
    expect(runs[0]?.slice(-40)).toEqual(Array.from({ length: 40 }, (_, i) => Number(LIST.includes(i))));
    for (const other of runs) expect(other).toEqual(runs[0]);
  });

  test("subscripts that are kept between two limits need no check on the way", () => {
    for (const target of targets) {
      const args = listedArguments([-5, 99, 7]);
      listed.on(target, { threads: 1 })(args);
      expect(Array.from(args.s.visits).flatMap((x, i) => (x ? [i] : []))).toEqual([0, 7, 39]);
    }
    expect(listed.on("wasm").program.show("lowered").split("vector j")[1]?.split("serial j")[0]).not.toMatch(/fault/);
  });

  test("a broken promise is reported by the interpreter", () => {
    const run = (list: readonly number[]): number => {
      const { list: at, sum, rows, s } = listedArguments(list);
      return interpret(listed.ir(), { buffers: [at, sum, rows, s.x, s.visits], params: [] });
    };
    expect(run([3, 5, 4])).toBe(0);
    expect(() => run([3, 5, 3])).toThrow(RaceError);
  });
});

const rowsOf = (width: number) =>
  kernel(
    { x: f32.array(), rows: f32.array(width).array(), offset: i32 },
    ({ x, rows, offset }, { parallel }) => {
      parallel(x.length, (i) => {
        const row = rows[offset + i]!;
        // Columns out of order, with reads of something else between.
        row[1] = x[i]! * 2;
        row[0] = x[i]!;
        if (row.length > 2) row[2] = x[i]! * 3;
        if (row.length > 3) row[3] = -x[i]!;
        if (row.length > 4) row[4] = x[i]! + 1;
        if (row.length > 5) row[5] = x[i]! + 2;
        if (row.length > 6) row[6] = x[i]! + 3;
        if (row.length > 7) row[7] = x[i]! + 4;
      });
    },
    { name: `rows of ${width}` },
  );
const COLUMNS: readonly ((x: number) => number)[] = [
  (x) => x,
  (x) => x * 2,
  (x) => x * 3,
  (x) => -x,
  (x) => x + 1,
  (x) => x + 2,
  (x) => x + 3,
  (x) => x + 4,
];

test.each([2, 3, 4, 5, 6, 7, 8])("rows of %i are stored as they lie", (width) => {
  const rows = rowsOf(width);
  const isShuffled = rows.on("wasm", { threads: 1 }).program.show("lowered").includes("shuffle");
  expect(isShuffled).toBe(width !== 5 && width !== 7);
  for (const target of targets)
    for (const n of [1, 8, 19, 32]) {
      const x = allocateFrom(
        f32,
        Float32Array.from({ length: n }, (_, k) => k / 4 - 2),
      );
      const out = allocate(f32, (n + 2) * width).fill(9);
      rows.on(target, { threads: 1 })({ x, rows: out, offset: 1 });
      const wanted = Array.from(x, (v) => COLUMNS.slice(0, width).map((f) => f(v))).flat();
      const edge = new Array<number>(width).fill(9);
      expect(Array.from(out)).toEqual([...edge, ...wanted, ...edge]);
      for (const array of [x, out]) free(array);
    }
});

test("what stands between the columns of a row stays between them", () => {
  const between = kernel(
    { x: f32.array(), rows: f32.array(4).array() },
    ({ x, rows }, { parallel }) => {
      parallel(x.length, (i) => {
        const row = rows[i]!;
        row[0] = x[i]!;
        // A column read again, one stored twice, and one stored by some lanes only.
        row[1] = row[0]! * 2;
        row[2] = 7;
        if (x[i]! > 0) row[2] = x[i]!;
        row[3] = row[2]! + row[1]!;
        row[1] = -1;
      });
    },
    { name: "between" },
  );
  for (const target of targets) {
    const x = allocateFrom(
      f32,
      Float32Array.from({ length: 21 }, (_, k) => (k % 5) - 2),
    );
    const rows = allocate(f32, 84);
    between.on(target, { threads: 1 })({ x, rows });
    const wanted = Array.from(x, (v) => [v, -1, v > 0 ? v : 7, (v > 0 ? v : 7) + v * 2]).flat();
    expect(Array.from(rows), target).toEqual(wanted);
    for (const array of [x, rows]) free(array);
  }
});
