/**
 * @file What the tests of the native target share: a heap, a target with a cache of its own, and running a module
 * both natively and under the interpreter.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, vi } from "vitest";
import { interpret, newArray, type TypedArray } from "../../src/ir/interpret.ts";
import type { Func, Module } from "../../src/ir/nodes.ts";
import { createNativeTarget, type NativeTarget } from "../../src/targets/native/index.ts";
import type { Entry } from "../../src/targets/target.ts";
import { align, planArena } from "./arena.ts";

export const PAGES = 512;

/** A cache folder that lives as long as the test file. */
export function temporaryFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "lockstep-native-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** An empty cache for each test of a file, with what is kept in it in use: it is left alone while every pass is checked. */
export function cachePerTest(): { readonly path: string } {
  let root: ReturnType<typeof temporaryFolder>;
  beforeEach(() => {
    root = temporaryFolder();
    vi.stubEnv("LOCKSTEP_VERIFY", "");
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    root.remove();
  });
  return {
    get path() {
      return root.path;
    },
  };
}

export class Rig {
  readonly memory = new WebAssembly.Memory({ initial: PAGES, maximum: 4096, shared: true });
  readonly target: NativeTarget;
  readonly threads: number;
  #top = 64;

  constructor(cache: string, threads = 1, env: Readonly<Record<string, string | undefined>> = {}) {
    const all = { ...process.env, ...env, LOCKSTEP_CACHE: cache };
    const made = createNativeTarget({ memory: this.memory, threads, env: all });
    if (!made.target) throw new Error(made.reason);
    this.target = made.target;
    this.threads = threads;
  }

  allocate(bytes: number): number {
    const at = this.#top;
    this.#top = align(at + bytes);
    if (this.#top > this.memory.buffer.byteLength) throw new Error("the test's heap is too small");
    return at;
  }

  /** A copy of an array in the heap. */
  place(array: TypedArray): TypedArray {
    const make = array.constructor as new (b: ArrayBufferLike, at: number, n: number) => TypedArray;
    const view = new make(this.memory.buffer, this.allocate(array.byteLength + 64), array.length);
    view.set(array);
    return view;
  }

  /** Compiles a module and binds its arguments; calling the result runs it once. */
  bind(module: Module, buffers: readonly TypedArray[], params: readonly number[]): { entry: Entry; source: string } {
    const lowered = planArena(module);
    const executable = this.target.compile(lowered, { threads: this.threads });
    const entry = executable.instantiate(this.allocate(lowered.arena.bytes), this.allocate(executable.scratchBytes));
    if (entry.convention !== "block") throw new Error("native code takes a block");
    let at = 1;
    module.entry.buffers.forEach((b, k) => {
      const array = buffers[k] as TypedArray;
      entry.block[at++] = entry.base + array.byteOffset;
      if (b.length === undefined) entry.block[at++] = array.length;
    });
    for (const p of params) entry.block[at++] = p;
    return { entry, source: executable.source() ?? "" };
  }

  /** Frees and clears everything that was allocated. */
  reset(): void {
    new Uint8Array(this.memory.buffer, 0, this.#top).fill(0);
    this.#top = 64;
  }
}

export interface Arguments {
  readonly buffers: readonly TypedArray[];
  readonly params?: readonly number[];
}

/** Runs a module natively and under the interpreter and expects the same fault, buffers and bits. */
export function expectSame(rig: Rig, module: Module, { buffers, params = [] }: Arguments): string {
  const expected = buffers.map((b) => b.slice() as TypedArray);
  const actual = buffers.map((b) => rig.place(b));
  const fault = interpret(module, { buffers: expected, params });
  const { entry, source } = rig.bind(module, actual, params);
  if (entry.convention !== "block") throw new Error("native code takes a block");
  expect(entry.call()).toBe(fault);
  module.entry.buffers.forEach((b, k) => {
    expectBits(b.name, actual[k] as TypedArray, expected[k] as TypedArray);
  });
  return source;
}

/** Same bits, any NaN being equal to any other. */
export function expectBits(name: string, actual: TypedArray, expected: TypedArray): void {
  const wrong: string[] = [];
  for (let i = 0; i < expected.length && wrong.length < 5; i++)
    if (!Object.is(actual[i], expected[i])) wrong.push(`${name}[${i}] is ${actual[i]}, expected ${expected[i]}`);
  expect(wrong).toEqual([]);
  expect(actual.length).toBe(expected.length);
}

export function moduleOf(entry: Func, name = "test"): Module {
  return { name, entry, sites: [{ reason: "assert", message: "test", place: undefined }] };
}

export { newArray, type TypedArray };
