/**
 * @file Pointers of C functions: no two that a compiler may take for different memory lie in the same.
 */
import { describe, expect, test } from "vitest";
import { add, Builder, buffer, constant, func, i32, load, store } from "../../src/ir/build.ts";
import type { Buffer, Module } from "../../src/ir/nodes.ts";
import { planArena } from "../../src/runtime/plan.ts";
import { emit } from "../../src/targets/native/emit.ts";

/** Three temps, of which two are used one after the other: out = [x + 1, x + 2, x + 3]. */
function chained(): Module {
  const [x, out] = [buffer("x", "f32", "param", 1), buffer("out", "f32", "param", 3)];
  const temp = (name: string, length: number): Buffer => buffer(name, "f32", "temp", length);
  const [first, second, long] = [temp("first", 1), temp("second", 1), temp("long", 64)];
  const b = new Builder();
  const body = b.body(() => {
    b.emit(store(long, i32(0), add(load(x, i32(0)), constant("f32", 3))));
    for (const [k, short] of [first, second].entries()) {
      b.emit(store(short, i32(0), add(load(x, i32(0)), constant("f32", k + 1))));
      b.emit(store(out, i32(k), load(short, i32(0))));
    }
    b.emit(store(out, i32(2), load(long, i32(0))));
  });
  return { name: "chained", entry: func("chained", [x, out], [], body), sites: [] };
}

describe("restrict", () => {
  const module = chained();
  const { source } = emit({ module, arena: planArena(module) }, { vectorBytes: 0, fastFma: false });
  const parameters = /void chained\(([^)]*)\)/.exec(source)?.[1] ?? "";
  test.each(["first", "second"])("is not said of %s, which shares its memory", (name) => {
    expect(parameters).toContain(`float *${name}`);
  });
  test.each(["x", "out", "long"])("is said of %s, which has its own", (name) => {
    expect(parameters).toContain(`float *restrict ${name}`);
  });
});
