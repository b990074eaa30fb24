import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Builder, buffer, constant, func, i32 } from "../../src/ir/build.ts";
import type { Buffer, Module } from "../../src/ir/nodes.ts";
import { planArena } from "../../src/runtime/plan.ts";
import { ARENA_HEADER } from "../../src/targets/target.ts";
import { findOverlap } from "./overlap.ts";

/** A program that touches temps in a given order, one statement each; loops keep theirs alive. */
function program(
  uses: readonly { which: number; loop: boolean }[],
  lengths: readonly number[],
  states: number,
): Module {
  const temps = lengths.map((n, k) => buffer(`t${k}`, k % 2 ? "f64" : "f32", k < states ? "state" : "temp", n));
  const b = new Builder();
  for (const { which, loop } of uses) {
    const t = temps[which % temps.length] as Buffer;
    const touch = (): void => b.store(t, i32(0), constant(t.storage === "f64" ? "f64" : "f32", 1));
    if (loop) b.for("k", { begin: i32(0), end: i32(2) }, touch);
    else touch();
  }
  return { name: "plan", entry: func("plan", [], [], b.statements), sites: [] };
}

describe("the memory plan", () => {
  it("never lets live buffers overlap, aligns all, and keeps clear of the header", () => {
    const use = fc.record({ which: fc.nat(20), loop: fc.boolean() });
    const lengths = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(fc.array(use, { maxLength: 20 }), lengths, fc.nat(2), (uses, sizes, states) => {
        const module = program(uses, sizes, states);
        const layout = planArena(module);
        expect(findOverlap(module, layout)).toBeUndefined();
        for (const offset of layout.offsets.values()) {
          expect(offset % 64).toBe(0);
          expect(offset).toBeGreaterThanOrEqual(ARENA_HEADER);
        }
      }),
    );
  });

  it("lets temps that are not live together share memory", () => {
    const module = program(
      [
        { which: 0, loop: false },
        { which: 1, loop: false },
        { which: 2, loop: true },
      ],
      [256, 128, 256],
      0,
    );
    expect(planArena(module).bytes).toBe(ARENA_HEADER + 1024);
  });

  it("is checked by a checker that can fail", () => {
    const module = program(
      [
        { which: 0, loop: false },
        { which: 1, loop: false },
        { which: 0, loop: false },
      ],
      [16, 16],
      0,
    );
    const layout = planArena(module);
    const broken = new Map([...layout.offsets.keys()].map((b) => [b, 64]));
    expect(findOverlap(module, { offsets: broken, bytes: 1000 })).toBeDefined();
  });
});
