/**
 * @file Rows that are cleared and then written at places known at run time: the clearing is vector code.
 */
import { expect, test } from "vitest";
import { f32, i32 } from "../../src/kernel/declare.ts";
import { allocate, kernel } from "../../src/kernel/kernel.ts";
import { availability, TARGET_NAMES } from "../../src/runtime/targets.ts";

const WIDTH = 45;
const oneHot = kernel(
  { rows: f32.array(WIDTH).array(), at: i32.array() },
  ({ rows, at }, { parallel }) => {
    parallel(at.length, (i) => {
      rows[i]!.fill(0.5);
      rows[i]![at[i]!] = 1;
      rows[i]![(at[i]! + 7) % 45] = 2;
    });
  },
  { name: "one hot" },
);

test.each(TARGET_NAMES.filter((name) => availability(name).target))("rows filled on %s", (target) => {
  const n = 21;
  const rows = allocate(f32, n * WIDTH);
  const at = allocate(i32, n);
  for (let i = 0; i < n; i++) at[i] = (i * 11) % WIDTH;
  oneHot.on(target, { threads: 1 })({ rows, at });
  const wanted = Float32Array.from({ length: n * WIDTH }, (_, k) => {
    const [i, c] = [Math.floor(k / WIDTH), k % WIDTH];
    return c === (at[i]! + 7) % WIDTH ? 2 : c === at[i] ? 1 : 0.5;
  });
  expect(Array.from(rows)).toEqual(Array.from(wanted));
});

test("a fill inside a loop that stays scalar is a vector loop", () => {
  expect(oneHot.on("wasm", { threads: 1 }).program.show("lowered")).toMatch(/vector k/);
});
