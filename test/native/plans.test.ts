/**
 * @file Kept plans: what was compiled before is found without lowering, does the same, and is found by nothing else.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { TypedArray } from "../../src/ir/arrays.ts";
import { add, Builder, buffer, func, i32, lengthOf, load, store } from "../../src/ir/build.ts";
import type { Buffer, Module } from "../../src/ir/nodes.ts";
import { setPlace } from "../../src/ir/places.ts";
import { heap } from "../../src/runtime/heap.ts";
import { Program, type ProgramOptions } from "../../src/runtime/program.ts";
import { LibraryCache } from "../../src/targets/native/cache.ts";
import { createNativeTarget, type NativeTarget } from "../../src/targets/native/index.ts";
import { codeVersion, versionOf } from "../../src/targets/native/version.ts";
import { cachePerTest } from "./rig.ts";

const root = cachePerTest();

function open(version: string | undefined = "one", threads = 1): NativeTarget {
  const env = { ...process.env, LOCKSTEP_CACHE: root.path };
  const made = createNativeTarget({ memory: heap().memory, threads, env, ...(version ? { version } : {}) });
  if (!made.target) throw new Error(made.reason);
  return made.target;
}

/** A sum that a state carries on: total[0] += x[0] + x[1] + ... + x[n], with one subscript too many when it is asked for. */
function running(place = "7:9  x[i]", extra = 0): { readonly module: Module; readonly total: Buffer } {
  const x = buffer("x", "f32", "param");
  const copy = buffer("copy", "f32", "temp", 64);
  const total = buffer("total", "f32", "state", 1);
  const b = new Builder();
  b.for("i", { begin: i32(0), end: add(lengthOf(x), i32(extra)), axis: "parallel" }, (i) => {
    b.emit(store(copy, i, setPlace(load(x, i), place)));
  });
  b.for("i", { begin: i32(0), end: lengthOf(x) }, (i) =>
    b.store(total, i32(0), add(load(total, i32(0)), load(copy, i))),
  );
  return { module: { name: "running", entry: func("running", [x], [], b.statements), sites: [] }, total };
}

const OPTIONS: ProgramOptions = { threads: 1, unchecked: false };
const floats = (): TypedArray => Float32Array.from({ length: 20 }, (_, i) => i * 0.25);

/** Runs twice on a target; what the state holds then. */
function sums(target: NativeTarget, options = OPTIONS, made = running()): number {
  const program = new Program(made.module, target, options);
  for (let k = 0; k < 2; k++) program.run({ x: floats() });
  const sum = program.view(made.total)[0] as number;
  program.dispose();
  return sum;
}
const noteOf = (target: NativeTarget): string => {
  const name = readdirSync(target.cacheFolder).find((n) => n.endsWith(".note"));
  return join(target.cacheFolder, name as string);
};

describe("a plan", () => {
  it("is found by another target, with the same state, faults and source", () => {
    const [first, second] = [open(), open()];
    const expected = sums(first);
    const compile = vi.spyOn(second, "compile");
    expect(sums(second)).toBe(expected);
    expect(compile).not.toHaveBeenCalled();
    expect([first.counts, second.counts]).toEqual([
      { built: 1, reused: 0 },
      { built: 0, reused: 1 },
    ]);
    const sources = [first, second].map((t) => new Program(running().module, t, OPTIONS).show("code"));
    expect(sources[1]).toBe(sources[0]);
  });

  it("tells faults as lowering would have told them", () => {
    const message = (target: NativeTarget): string => {
      try {
        new Program(running("7:9  x[i]", 1).module, target, OPTIONS).run({ x: floats() });
      } catch (error) {
        return (error as Error).message;
      }
      return "no fault";
    };
    const [first, second] = [open(), open()];
    const expected = message(first);
    expect(expected).toMatch(/7:9 {2}x\[i\]/);
    expect(message(second)).toBe(expected);
    expect(second.counts).toEqual({ built: 0, reused: 1 });
  });

  it("is found by nothing that would be lowered or told in another way", () => {
    sums(open());
    const others = [
      () => sums(open("two")),
      () => sums(open(), { ...OPTIONS, threads: 2 }),
      () => sums(open(), { ...OPTIONS, numerics: "fused" }),
      () => sums(open(), { ...OPTIONS, unchecked: true }),
      () => sums(open(), OPTIONS, running("7:10  x[i]")),
      () => sums(open(), OPTIONS, running("7:9  x[i]", -1)),
    ];
    for (const other of others) {
      const before = readdirSync(open().cacheFolder).filter((n) => n.endsWith(".note")).length;
      other();
      expect(readdirSync(open().cacheFolder).filter((n) => n.endsWith(".note")).length).toBe(before + 1);
    }
  });

  it("is made again when it or its library was changed, cut or lost", () => {
    const first = open();
    const expected = sums(first);
    const note = noteOf(first);
    const text = readFileSync(note, "utf8");
    const library = join(first.cacheFolder, readdirSync(first.cacheFolder).find((n) => n.endsWith(".so")) as string);
    const record = library.replace(/\.so$/, ".c");
    const damages = [
      () => writeFileSync(note, text.replace('"bytes":', '"bytes":1')),
      () => writeFileSync(note, text.slice(0, -1)),
      () => writeFileSync(note, text.replace("running", "runninh")),
      () => writeFileSync(note, ""),
      () => rmSync(note),
      () => {
        // Another file of the same name: this one is in use by this very process.
        rmSync(library);
        writeFileSync(library, "evil");
      },
      () => rmSync(library),
      () => writeFileSync(record, readFileSync(record, "utf8").replace("running", "runninh")),
      () => writeFileSync(record, ""),
    ];
    for (const damage of damages) {
      damage();
      const second = open();
      const compile = vi.spyOn(second, "compile");
      expect(sums(second)).toBe(expected);
      expect(compile).toHaveBeenCalledTimes(1);
      expect(readFileSync(note, "utf8")).toBe(text);
    }
  });

  it("is left alone while every pass is checked, and where the code's version is not known", () => {
    sums(open());
    vi.stubEnv("LOCKSTEP_VERIFY", "1");
    const checked = open();
    const compile = vi.spyOn(checked, "compile");
    sums(checked);
    expect(compile).toHaveBeenCalledTimes(1);
    // These tests run from sources that were transpiled on the way.
    expect(codeVersion()).toBeUndefined();
    expect(open("").kept).toBeUndefined();
  });

  it("is evicted like any other entry", () => {
    const first = open();
    sums(first);
    const note = noteOf(first);
    new LibraryCache(root.path, 0).evict();
    expect(existsSync(note)).toBe(false);
  });
});

describe("the version of the code", () => {
  const later = Date.now() + 3_600_000;
  const write = (name: string, text: string): void => {
    const path = join(root.path, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  const own = (file = "targets/native/version.js"): string => pathToFileURL(join(root.path, file)).href;
  beforeEach(() => {
    for (const name of ["ir/walk.js", "ir/passes/a.js", "platform/b.js", "runtime/c.js", "targets/native/version.js"])
      write(name, name);
  });

  it("is that of all files between a module and its library", () => {
    const versions = new Set([versionOf(own(), later)]);
    for (const [name, text] of [
      ["ir/walk.js", "changed"],
      ["ir/passes/a.js", "changed"],
      ["ir/passes/deeper/new.js", ""],
      ["runtime/c.js", "changed"],
      ["targets/target.js", ""],
    ] as const) {
      write(name, text);
      versions.add(versionOf(own(), later));
    }
    expect(versions.size).toBe(6);
    expect(versions.has(undefined)).toBe(false);
    const before = versionOf(own(), later);
    write("ir/walk.d.ts", "types");
    write("tensor/other.js", "above");
    expect(versionOf(own(), later)).toBe(before);
  });

  it("is not known of files that are younger than the process, of sources and of bundles", () => {
    expect(versionOf(own(), Date.now() - 1000)).toBeUndefined();
    expect(versionOf(own("targets/native/version.ts"), later)).toBeUndefined();
    expect(versionOf(own("bundle.js"), later)).toBeUndefined();
  });
});
