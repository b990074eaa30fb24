/**
 * @file `blocks`: parallel loops inside of blocks, on every target and number of threads; what may run on threads.
 */
import { describe, expect, test } from "vitest";
import type { For, Launch } from "../../src/ir/nodes.ts";
import { lower } from "../../src/ir/pipeline.ts";
import { eachStmt, functionsOf } from "../../src/ir/walk.ts";
import { constant, f32, i32 } from "../../src/kernel/declare.ts";
import { allocate, kernel } from "../../src/kernel/kernel.ts";
import { availability, TARGET_NAMES } from "../../src/runtime/targets.ts";

const targets = TARGET_NAMES.filter((name) => availability(name).target);
const BLOCK = 256;

/** Lists what is above the mean of its block, and says how many there are; the rest is scaled. */
const sift = kernel(
  { x: f32.array(), list: i32.array(BLOCK).array(), counts: i32.array() },
  ({ x, list, counts }, { blocks, parallel }) => {
    const n = x.length;
    blocks(counts.length, (b) => {
      const from = b * 256;
      const size = Math.min(n - from, 256);
      let sum = 0;
      parallel(size, (k) => {
        sum += x[from + k]!;
      });
      const mean = sum / Math.fround(size);
      let count = 0;
      for (let k = 0; k < size; k++) {
        list[b]![count & 255] = from + k;
        count += x[from + k]! > mean ? 1 : 0;
      }
      counts[b] = count;
      parallel(size, (k) => {
        const value = x[from + k]!;
        x[from + k] = value > mean ? value : Math.sqrt(Math.abs(value));
      });
    });
  },
  { name: "sift" },
);

const value = (i: number): number => Math.fround(Math.sin(i * 12.9898) * 10);

function run(target: (typeof targets)[number], n: number, threads: number) {
  const count = Math.ceil(n / BLOCK);
  const args = { x: allocate(f32, n), list: allocate(i32, count * BLOCK), counts: allocate(i32, count) };
  for (let i = 0; i < n; i++) args.x[i] = value(i);
  sift.on(target, { threads })(args);
  const listed = Array.from(args.counts, (k, b) => Array.from(args.list.subarray(b * BLOCK, b * BLOCK + k)));
  return { x: Array.from(args.x), listed };
}

describe("blocks", () => {
  test.each([1, 255, 256, 257, 5000])("of %i elements give the same on every target and number of threads", (n) => {
    const wanted = run("js", n, 1);
    expect(wanted.listed.flat()).toEqual([...wanted.listed.flat()].sort((a, b) => a - b));
    expect(wanted.listed.flat().length).toBeLessThan(n === 1 ? 1 : n);
    for (const i of wanted.listed.flat()) expect(wanted.x[i]).toBe(value(i));
    for (const target of targets) for (const threads of [1, 2]) expect(run(target, n, threads)).toEqual(wanted);
  });

  test("share an array that a block fills with the parallel loops inside", () => {
    const spread = kernel(
      { x: f32.array(), y: f32.array(), sums: f32.array() },
      ({ x, y, sums }, { blocks, parallel }) => {
        blocks(sums.length, (b) => {
          const from = b * 256;
          const first = new Float32Array(8);
          for (let k = 0; k < 8; k++) first[k] = x[from + k]!;
          let sum = 0;
          parallel(256, (k) => {
            y[from + k] = first[k & 7]!;
            sum += first[(k * 3) & 7]!;
          });
          sums[b] = sum;
        });
      },
      { name: "spread" },
    );
    const n = 40 * BLOCK;
    const x = allocate(f32, n);
    for (let i = 0; i < n; i++) x[i] = value(i);
    for (const target of targets)
      for (const threads of [1, 2]) {
        const [y, sums] = [allocate(f32, n), allocate(f32, n / BLOCK)];
        spread.on(target, { threads })({ x, y, sums });
        expect(y.every((v, i) => v === x[i - (i % BLOCK) + (i & 7)])).toBe(true);
        sums.forEach((sum, b) => {
          const eight = x.subarray(b * BLOCK, b * BLOCK + 8).reduce((a, v) => a + v, 0);
          expect(sum).toBeCloseTo(32 * eight, 2);
        });
      }
  });

  test("that sum up in themselves are shared out by threads, too", () => {
    const machine = { vectorBytes: 32, vectorRegisters: 16, launches: true };
    const threaded: boolean[] = [];
    for (const f of functionsOf(lower(sift.ir(), machine)))
      eachStmt(f.body, (s) => {
        if (s.kind === "launch") threaded.push(s.threaded);
      });
    expect(threaded).toContain(true);
  });

  /** A block lists some of its elements in a row of its own, so long as masks say, and changes the others. */
  const listing = (mask: number) =>
    kernel(
      { x: f32.array(), list: i32.array(), counts: i32.array(), mask: constant(mask) },
      ({ x, list, counts, mask }, { blocks, parallel }) => {
        blocks(counts.length, (b) => {
          const from = b * 256;
          const size = Math.min(x.length - from, 256);
          let count = 0;
          for (let k = 0; k < size; k++) {
            list[from + (count & mask)] = k;
            count += x[from + k]! > 0 ? 1 : 0;
          }
          counts[b] = count;
          parallel(size, (k) => {
            x[from + k] = Math.exp(x[from + k]!);
          });
        });
      },
      { name: "listing" },
    );
  function loweredLoops(mask: number): { launches: Launch[]; loops: For[] } {
    const launches: Launch[] = [];
    const loops: For[] = [];
    const machine = { vectorBytes: 32, vectorRegisters: 16, launches: true };
    for (const f of functionsOf(lower(listing(mask).ir(), machine)))
      eachStmt(f.body, (s) => {
        if (s.kind === "launch") launches.push(s);
        if (s.kind === "for") loops.push(s);
      });
    return { launches, loops };
  }

  test("are shared out by threads, rows that a mask keeps apart included, and hold vector loops", () => {
    const { launches, loops } = loweredLoops(255);
    expect(launches.some((s) => s.threaded)).toBe(true);
    expect(loops.some((s) => s.axis === "vector")).toBe(true);
  });

  test("do not run on threads where rows may meet", () => {
    const { launches } = loweredLoops(256);
    expect(launches.length).toBeGreaterThan(0);
    expect(launches.every((s) => !s.threaded)).toBe(true);
  });
});
