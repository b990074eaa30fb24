import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { add, Builder, buffer, constant, convert, func, i32, load, mul } from "../../src/ir/build.ts";
import type { Buffer, Expr, Module } from "../../src/ir/nodes.ts";
import { usedBuffers } from "../../src/ir/walk.ts";
import { planArena } from "../../src/runtime/plan.ts";
import { verifyPlan } from "../../src/runtime/verifyPlan.ts";
import { ARENA_HEADER } from "../../src/targets/target.ts";
import { findSpoiled } from "./overlap.ts";

/** Writes all of a temp, or one element, or adds an element to the result; in loops of two iterations, one in another. */
interface Use {
  readonly what: "all" | "one" | "read";
  readonly which: number;
  readonly at: number;
}
type Item = Use | { readonly body: readonly Item[] };

const use: fc.Arbitrary<Use> = fc.record({
  what: fc.constantFrom("all", "one", "read", "read"),
  which: fc.nat(7),
  at: fc.nat(300),
});
const inner = fc.record({ body: fc.array(use, { maxLength: 6 }) });
const loop = fc.record({ body: fc.array(fc.oneof({ weight: 4, arbitrary: use }, inner), { maxLength: 8 }) });
const items = fc.array(fc.oneof({ weight: 2, arbitrary: use }, loop), { maxLength: 14, size: "max" });
const lengths = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 8 });

/** Reads of temps that were not wholly written before are left out: what they would see is undefined. */
function program(list: readonly Item[], sizes: readonly number[], states: number): Module {
  const temps = sizes.map((n, k) => buffer(`t${k}`, k % 2 ? "f64" : "f32", k < states ? "state" : "temp", n));
  const result = buffer("result", "f64", "param", 1);
  const b = new Builder();
  const defined = new Set<Buffer>();
  let count = 0;
  const write = ({ what, which, at }: Use): void => {
    const t = temps[which % temps.length] as Buffer;
    const dtype = t.storage === "f64" ? "f64" : "f32";
    const value = (i: Expr): Expr => convert(dtype, add(mul(i, i32(3)), i32(++count)));
    const element = i32(at % (t.length as number));
    if (what === "one") b.store(t, element, value(i32(0)));
    else if (what === "all") {
      b.for("i", { begin: i32(0), end: i32(t.length as number), axis: "parallel" }, (i) => b.store(t, i, value(i)));
      defined.add(t);
    } else if (defined.has(t) || t.space === "state") {
      const seen = b.let("seen", convert("f64", load(t, element)));
      b.store(result, i32(0), add(mul(load(result, i32(0)), constant("f64", 0.75)), seen));
    }
  };
  const visit = (some: readonly Item[]): void => {
    for (const item of some) {
      if ("what" in item) write(item);
      else b.for("k", { begin: i32(0), end: i32(2) }, () => visit(item.body));
    }
  };
  visit(list);
  return { name: "plan", entry: func("plan", [result], [], b.statements), sites: [] };
}
const all = (which: number): Use => ({ what: "all", which, at: 0 });
const read = (which: number): Use => ({ what: "read", which, at: 5 });
const spoiled = (module: Module, layout = planArena(module)): number | undefined =>
  findSpoiled(module, layout, [new Float64Array(1)]);

describe("the memory plan", () => {
  it("never lets live buffers overlap, aligns all, and keeps clear of the header", () => {
    fc.assert(
      fc.property(items, lengths, fc.nat(2), (list, sizes, states) => {
        const module = program(list, sizes, states);
        const layout = planArena(module);
        expect(spoiled(module, layout)).toBeUndefined();
        verifyPlan(module, layout);
        for (const offset of layout.offsets.values()) {
          expect(offset % 64).toBe(0);
          expect(offset).toBeGreaterThanOrEqual(ARENA_HEADER);
        }
      }),
      { numRuns: 200 },
    );
  });

  it("is refused where buffers that are still needed lie upon each other", () => {
    const laid = (list: readonly Item[], apart: number, states = 0) => {
      const module = program(list, [256, 256], states);
      const offsets = new Map(
        [...usedBuffers(module.entry.body)]
          .flatMap((b) => (b.space === "param" ? [] : [b]))
          .map((b, k) => [b, ARENA_HEADER + k * apart]),
      );
      return () => verifyPlan(module, { offsets, bytes: ARENA_HEADER + 4096 });
    };
    // One after the other is well; one over the other while it is needed is not, nor once around a loop.
    expect(laid([all(0), read(0), all(1), read(1)], 0)).not.toThrow();
    expect(laid([all(0), all(1), read(0)], 0)).toThrow("plan: t0 is read after t1 was written over it");
    expect(laid([all(0), all(1), read(0)], 512)).toThrow("t0 is read after t1 was written over it");
    expect(laid([all(0), all(1), read(0)], 2048)).not.toThrow();
    expect(laid([all(0), { body: [read(0), all(1), read(1)] }], 0)).toThrow("t0 is read after t1");
    expect(laid([{ body: [all(0), read(0), all(1), read(1)] }], 0)).not.toThrow();
    expect(laid([all(0), read(0), all(1)], 0, 1)).toThrow("share memory, one of them for good");
    expect(laid([all(0), all(1)], 4096)).toThrow("t1 does not lie in the arena");
  });

  it("lets temps that are not live together share memory", () => {
    const module = program([all(0), read(0), all(1), read(1), { body: [all(2), read(2)] }], [256, 128, 256], 0);
    expect(planArena(module).bytes).toBe(ARENA_HEADER + 1024);
  });

  it("lets temps of one loop share memory when each iteration writes them before it reads them", () => {
    const body = [all(0), read(0), all(2), read(2)];
    const sizes = [256, 1, 256];
    expect(planArena(program([{ body }], sizes, 0)).bytes).toBe(ARENA_HEADER + 1024);
    expect(planArena(program([{ body: [{ body }] }], sizes, 0)).bytes).toBe(ARENA_HEADER + 1024);
    // What is carried from one iteration to the next, or read behind the loop, lives for all of it.
    const carried = [all(0), { body: [read(0), all(0), all(2), read(2)] }];
    expect(planArena(program(carried, sizes, 0)).bytes).toBe(ARENA_HEADER + 2048);
    expect(planArena(program([{ body }, read(0)], sizes, 0)).bytes).toBe(ARENA_HEADER + 2048);
  });

  it("is checked by a checker that can fail", () => {
    const module = program([all(0), all(2), read(0)], [16, 1, 16], 0);
    expect(spoiled(module)).toBeUndefined();
    const together = new Map([...planArena(module).offsets.keys()].map((b) => [b, 64]));
    expect(spoiled(module, { offsets: together, bytes: 1000 })).toBe(1);
    const loops = program([{ body: [all(0), all(2), read(0)] }], [16, 1, 16], 0);
    const shared = new Map([...planArena(loops).offsets.keys()].map((b) => [b, 64]));
    expect(spoiled(loops, { offsets: shared, bytes: 1000 })).toBe(1);
  });
});
