/**
 * @file Columns of rows, stored as vector code: whole rows and neighbours in long ones hold what the plain loop stores,
 * whatever lies beside them, and go to memory as vectors of neighbours.
 */
import { describe, expect, test } from "vitest";
import { interpret } from "../../src/ir/interpret.ts";
import type { Store } from "../../src/ir/nodes.ts";
import { lower, type PassOptions } from "../../src/ir/pipeline.ts";
import { eachStmt, functionsOf } from "../../src/ir/walk.ts";
import { constant, f32, i32 } from "../../src/kernel/declare.ts";
import { type Kernel, kernel } from "../../src/kernel/kernel.ts";
import { availability, TARGET_NAMES } from "../../src/runtime/targets.ts";

const ROWS = 37;
interface Shape {
  /** Elements of a row, and the columns that are stored, in this order. */
  readonly width: number;
  readonly columns: readonly number[];
  /** The lanes of the vectors that rows are stored in; 1 where columns go one by one. */
  readonly lanes: number;
}
const SHAPES: readonly Shape[] = [
  // Two vectors of eight rows go side by side.
  { width: 4, columns: [0, 1, 2, 3], lanes: 2 * 8 * 4 },
  { width: 16, columns: [2, 3, 4, 5], lanes: 4 },
  { width: 64, columns: [8, 9, 10, 11, 12, 13, 14, 15], lanes: 8 },
  { width: 20, columns: [7, 6, 5, 4, 3, 2, 1, 0], lanes: 8 },
  { width: 17, columns: [0, 1, 2, 3, 4], lanes: 4 },
  { width: 5, columns: [0, 1, 2, 3, 4], lanes: 1 },
  { width: 19, columns: [0, 2, 4, 6], lanes: 1 },
];

/** Row k of `to` gets column c of the turned matrix `of` in column c. */
const turning = ({ width, columns }: Shape): Kernel => {
  const [c0 = 0, c1 = 0, c2 = 0, c3 = 0, c4 = -1, c5 = -1, c6 = -1, c7 = -1] = columns;
  return kernel(
    { of: f32.array(), to: f32.array(), rows: i32, at: constant({ width, c0, c1, c2, c3, c4, c5, c6, c7 }) },
    ({ of, to, rows, at }, { parallel }) => {
      parallel(rows, (k) => {
        to[k * at.width + at.c0] = of[at.c0 * rows + k]!;
        to[k * at.width + at.c1] = of[at.c1 * rows + k]!;
        to[k * at.width + at.c2] = of[at.c2 * rows + k]!;
        to[k * at.width + at.c3] = of[at.c3 * rows + k]!;
        if (at.c4 >= 0) to[k * at.width + at.c4] = of[at.c4 * rows + k]!;
        if (at.c5 >= 0) to[k * at.width + at.c5] = of[at.c5 * rows + k]!;
        if (at.c6 >= 0) to[k * at.width + at.c6] = of[at.c6 * rows + k]!;
        if (at.c7 >= 0) to[k * at.width + at.c7] = of[at.c7 * rows + k]!;
      });
    },
    { name: "turning" },
  ) as unknown as Kernel;
};
const VECTORS: PassOptions = { vectorBytes: 32, vectorRegisters: 16, launches: true };

const given = ({ width }: Shape): Float32Array => Float32Array.from({ length: width * ROWS }, (_, k) => k + 0.5);
/** What the plain loop leaves in memory of -1. */
function wanted(shape: Shape): number[] {
  const to = new Float32Array(shape.width * ROWS).fill(-1);
  for (let k = 0; k < ROWS; k++) for (const c of shape.columns) to[k * shape.width + c] = c * ROWS + k + 0.5;
  return [...to];
}

describe.each(SHAPES)("%o", (shape) => {
  const turn = turning(shape);
  test("interpreted as vector code", () => {
    const to = new Float32Array(shape.width * ROWS).fill(-1);
    interpret(lower(turn.ir(), VECTORS), { buffers: [given(shape), to], params: [ROWS] });
    expect([...to]).toEqual(wanted(shape));
  });

  test.each(TARGET_NAMES.filter((name) => availability(name).target))("%s", (target) => {
    const to = new Float32Array(shape.width * ROWS).fill(-1);
    turn.on(target)({ of: given(shape), to, rows: ROWS } as never);
    expect([...to]).toEqual(wanted(shape));
  });

  test("the widest stores", () => {
    const stores: Store[] = [];
    for (const f of functionsOf(lower(turn.ir(), VECTORS)))
      eachStmt(f.body, (s) => {
        if (s.kind === "store") stores.push(s);
      });
    const side = stores.filter(({ stride }) => stride?.kind === "const" && stride.value === 1);
    expect(Math.max(1, ...side.map(({ value }) => value.lanes))).toBe(shape.lanes);
  });
});
