/**
 * @file Kept modules of WebAssembly, and kept texts of JavaScript: what was compiled before is found without lowering, does the same, and is found by nothing else.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { TypedArray } from "../../src/ir/arrays.ts";
import { add, Builder, buffer, constant, func, i32, lengthOf, load, mul, store } from "../../src/ir/build.ts";
import type { Buffer, Module } from "../../src/ir/nodes.ts";
import { heap } from "../../src/runtime/heap.ts";
import { Program, type ProgramOptions } from "../../src/runtime/program.ts";
import { createJsTarget } from "../../src/targets/js/index.ts";
import { openNotes } from "../../src/targets/native/index.ts";
import type { Target } from "../../src/targets/target.ts";
import { createWasmTarget, wasmFeatures } from "../../src/targets/wasm/index.ts";
import { cachePerTest } from "../native/rig.ts";

const root = cachePerTest();

function open(version = "one", features = wasmFeatures()): Target {
  const kept = openNotes("wasm", { ...process.env, LOCKSTEP_CACHE: root.path }, version);
  const made = createWasmTarget({ memory: heap().memory, minOperations: 1, features, kept });
  if (!made.target) throw new Error(made.reason);
  return made.target;
}
function openJs(): Target {
  return createJsTarget(heap().memory, openNotes("js", { ...process.env, LOCKSTEP_CACHE: root.path }, "one"));
}
const OPENED = [
  ["wasm", () => open()],
  ["js", openJs],
] as const;
const notes = (): string[] => readdirSync(join(root.path, "wasm")).map((name) => join(root.path, "wasm", name));

/** So many loops, each of which adds a state and an entry of a table to all elements; `beyond` reaches behind the last. */
function repeated(loops: number, beyond = 0): { readonly module: Module; readonly total: Buffer } {
  const x = buffer("x", "f32", "param");
  const total = buffer("total", "f32", "state", 1);
  const table: Buffer = { ...buffer("table", "f32", "table", 3), data: [0.5, 0.25, 2] };
  const b = new Builder();
  for (let k = 0; k < loops; k++) {
    b.for("i", { begin: i32(0), end: add(lengthOf(x), i32(beyond)), axis: "parallel" }, (i) => {
      const grown = add(load(x, i), mul(load(table, i32(k % 3)), constant("f32", k)));
      b.emit(store(x, i, add(grown, load(total, i32(0)))));
    });
    b.store(total, i32(0), add(load(total, i32(0)), constant("f32", 1)));
  }
  return { module: { name: "repeated", entry: func("repeated", [x], [], b.statements), sites: [] }, total };
}
const LARGE = 150;
const OPTIONS: ProgramOptions = { threads: 2, unchecked: false };

/** Runs twice on a target; all numbers that there are then. */
function outcome(target: Target, options = OPTIONS, made = repeated(LARGE)): number[] {
  const program = new Program(made.module, target, options);
  const x: TypedArray = Float32Array.from({ length: 300 }, (_, i) => i * 0.25);
  for (let k = 0; k < 2; k++) program.run({ x });
  const found = [...x, program.view(made.total)[0] as number];
  program.dispose();
  return found;
}

describe("a module", () => {
  it.each(OPENED)("is found by another target, with the same state, tables, threads and source: %s", (_, open) => {
    const [first, second] = [open(), open()];
    const expected = outcome(first);
    const compile = vi.spyOn(second, "compile");
    expect(outcome(second)).toEqual(expected);
    expect(compile).not.toHaveBeenCalled();
    const sources = [first, second].map((t) => new Program(repeated(LARGE).module, t, OPTIONS).show("code"));
    expect(sources[0]).toContain("table");
    expect(sources[1]).toBe(sources[0]);
  });

  it.each(OPENED)("tells faults as lowering would have told them: %s", (_, open) => {
    const message = (target: Target): string => {
      try {
        outcome(target, OPTIONS, repeated(LARGE, 1));
      } catch (error) {
        return (error as Error).message;
      }
      return "no fault";
    };
    const expected = message(open());
    const second = open();
    const compile = vi.spyOn(second, "compile");
    expect(expected).not.toBe("no fault");
    expect(message(second)).toBe(expected);
    expect(compile).not.toHaveBeenCalled();
  });

  it("is found by nothing that would be compiled in another way", () => {
    outcome(open());
    const plain = { ...wasmFeatures(), relaxedSimd: false, fusedMadd: false, wide: false };
    const others = [
      () => outcome(open("two")),
      () => outcome(open("one", plain)),
      () => outcome(open(), { ...OPTIONS, threads: 1 }),
      () => outcome(open(), { ...OPTIONS, unchecked: true }),
      () => outcome(open(), OPTIONS, repeated(LARGE + 1)),
    ];
    for (const other of others) {
      const before = notes().length;
      other();
      expect(notes().length).toBe(before + 1);
    }
  });

  it("is made again when its note was changed, cut or lost", () => {
    const expected = outcome(open());
    const note = notes()[0] as string;
    const text = readFileSync(note, "utf8");
    const damages = [
      () => writeFileSync(note, text.replace('"main":"', '"main":"A')),
      () => writeFileSync(note, text.slice(0, -1)),
      () => writeFileSync(note, ""),
      () => rmSync(note),
    ];
    for (const damage of damages) {
      damage();
      const target = open();
      const compile = vi.spyOn(target, "compile");
      expect(outcome(target)).toEqual(expected);
      expect(compile).toHaveBeenCalledOnce();
    }
  });

  it("is not kept where it is small, or there is nowhere to keep it", () => {
    outcome(open(), OPTIONS, repeated(2));
    expect(notes()).toEqual([]);
    const made = createWasmTarget({ memory: heap().memory, features: wasmFeatures() });
    expect(made.target?.kept).toBeUndefined();
  });
});
