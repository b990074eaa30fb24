/**
 * @file Launches: alone and on several threads, with everything a body can see; and threads that come and go.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { buildSync } from "esbuild";
import { describe, expect, test } from "vitest";
import {
  add,
  Builder,
  binary,
  buffer,
  constant,
  convert,
  func,
  get,
  i32,
  lengthOf,
  load,
  local,
  mul,
} from "../../src/ir/build.ts";
import type { TypedArray } from "../../src/ir/interpret.ts";
import type { Expr, Func, Local, Module } from "../../src/ir/nodes.ts";
import { lower } from "../../src/ir/pipeline.ts";
import { PROCESS } from "../../src/targets/wasm/layout.ts";
import { poolOf } from "../../src/targets/wasm/pool.ts";
import { array, bind, moduleOf, newMemory, onInterpreter, shown } from "./harness.ts";

const THREADS = 3;
/** Every launch uses threads. */
const eager = { threads: THREADS, minOperations: 1 };

/** Waits for helpers, which start while this thread does something else. */
async function helpersReady(memory: WebAssembly.Memory, count = THREADS - 1): Promise<void> {
  for (let k = 0; k < 1000 && poolOf(memory).ready < count; k++) await new Promise((done) => setTimeout(done, 10));
  expect(poolOf(memory).ready).toBeGreaterThanOrEqual(count);
}

type BodyWriter = (b: Builder, begin: Expr, end: Expr, params: Expr[]) => void;
/** A function for `launch`: its last two parameters are the piece. */
function bodyOf(name: string, captured: readonly Local[], write: BodyWriter): Func {
  const begin = local("begin", "i32");
  const end = local("end", "i32");
  const b = new Builder();
  write(b, get(begin), get(end), captured.map(get));
  return func(name, [], [...captured, begin, end], b.statements);
}

const x = array("x", "f32");
const y = array("y", "f32");
const flags = array("flags", "u8");

/** y[i] = (x[i] * gain + table[i & 3]) worked out through a local buffer and a temporary one, many times over. */
function workload(rounds: number): Module {
  const gain = local("gain", "f64");
  const table = buffer("table", "f32", "table", 4, { data: [1, 2, 3, 4] });
  const seen = buffer("seen", "i32", "state", 4096);
  const own = buffer("own", "f32", "local", 40);
  const body = bodyOf("body", [gain], (b, begin, end, [g]) => {
    b.for("i", { begin, end }, (i) => {
      b.store(own, i32(5), load(x, i));
      b.for("k", { begin: i32(0), end: i32(rounds) }, (k) => {
        const next = add(
          mul(load(own, i32(5)), convert("f32", g as Expr)),
          load(table, binary("and", add(i, k), i32(3))),
        );
        b.store(own, i32(5), next);
      });
      b.store(y, i, load(own, i32(5)));
      b.store(seen, i, add(load(seen, i), i32(1)));
      b.store(flags, i, load(seen, i));
      b.fault(binary("gt", load(x, i), constant("f32", 1000)), 7);
    });
  });
  const b = new Builder();
  b.emit({
    kind: "launch",
    func: body,
    args: [constant("f64", 0.5)],
    count: lengthOf(x),
    cost: rounds * 4,
    threaded: true,
  });
  return moduleOf("workload", [x, y, flags], [], b.statements);
}

const inputs = (n: number): TypedArray[] => [
  Float32Array.from({ length: n }, (_, k) => Math.sin(k) * 10),
  new Float32Array(n),
  new Uint8Array(n),
];

describe("several threads", () => {
  // One memory for all: its helpers are started once and see many programs.
  const memory = newMemory();
  test.each([0, 1, 2, 3, 15, 16, 17, 100, 1000, 4096])("give what one gives, %i iterations", async (n) => {
    const module = workload(5);
    const bound = bind(module, { memory, ...eager });
    await helpersReady(memory);
    const expected = onInterpreter(module, inputs(n)).arrays;
    for (let again = 0; again < 3; again++) {
      const arrays = inputs(n);
      expect(bound.run(arrays)).toBe(0);
      expect(shown(arrays[1] as TypedArray)).toEqual(expected[1]);
      // Each iteration has run once in every call: none was lost, none ran twice.
      expect(new Set(arrays[2])).toEqual(new Set(n ? [again + 1] : []));
    }
  });

  test("really are used, and report faults", async () => {
    const bound = bind(workload(2000), { memory, ...eager });
    await helpersReady(memory);
    const arrays = inputs(4000);
    const enough = poolOf(memory).joined + 5;
    for (let k = 0; k < 200 && poolOf(memory).joined < enough; k++) bound.run(arrays);
    expect(poolOf(memory).joined).toBeGreaterThanOrEqual(enough);
    (arrays[0] as Float32Array)[3999] = 2000;
    expect(bound.run(arrays)).toBe(7);
    (arrays[0] as Float32Array)[3999] = 0;
    expect(bound.run(arrays)).toBe(0);
  });

  test("are left alone by a launch while another one has them", async () => {
    const module = workload(5);
    const bound = bind(module, { memory, ...eager });
    await helpersReady(memory);
    const words = new Int32Array(memory.buffer);
    const before = poolOf(memory).joined;
    Atomics.store(words, PROCESS.busy / 4, 1);
    const arrays = inputs(500);
    bound.run(arrays);
    expect(poolOf(memory).joined).toBe(before);
    expect(Atomics.exchange(words, PROCESS.busy / 4, 0)).toBe(1);
    expect(shown(arrays[1] as TypedArray)).toEqual(onInterpreter(module, inputs(500)).arrays[1]);
  });

  test("take scalars of all types, the caller's local buffers, and launches inside launches", async () => {
    const scalars = (["f32", "f64", "i32", "u32", "bool"] as const).map((t) => local(t, t));
    const shared = buffer("shared", "f32", "local", 16);
    const at = local("at", "i32");
    const inner = bodyOf("inner", [at], (b, begin, end, [first]) => {
      b.for("j", { begin, end }, (j) => {
        const place = b.let("place", add(first as Expr, j));
        b.store(flags, place, convert("i32", load(shared, binary("and", place, i32(15)))));
      });
    });
    const outer = bodyOf("outer", scalars, (b, begin, end, given) => {
      b.for("i", { begin, end }, (i) => {
        const sum = given.slice(1).reduce((a, v) => add(a, convert("f64", v)), convert("f64", given[0] as Expr));
        b.store(y, i, add(convert("f32", sum), load(shared, binary("and", i, i32(15)))));
        b.emit({ kind: "launch", func: inner, args: [mul(i, i32(7))], count: i32(7), cost: 9, threaded: true });
      });
    });
    const b = new Builder();
    b.for("k", { begin: i32(0), end: i32(16) }, (k) => b.store(shared, k, convert("f32", mul(k, k))));
    b.emit({ kind: "launch", func: outer, args: scalars.map(get), count: lengthOf(y), cost: 9, threaded: true });
    const module = moduleOf("frames", [x, y, flags], scalars, b.statements);
    const params = [1.5, 2.25, -3, 4000000000, 1];
    const bound = bind(module, { memory, ...eager });
    await helpersReady(memory);
    const arrays = [new Float32Array(1), new Float32Array(300), new Uint8Array(2100)];
    const expected = onInterpreter(module, arrays, params);
    for (let k = 0; k < 20; k++) bound.run(arrays, params);
    expect(arrays.map(shown)).toEqual(expected.arrays);
  });
});

test("reductions give the same bits with any number of threads", async () => {
  const b = new Builder();
  const total = b.local("total", "f32");
  b.assign(total, constant("f32", 0));
  const reductions = [{ local: total, op: "add" }] as const;
  b.for("i", { begin: i32(0), end: lengthOf(x), axis: "parallel", reductions }, (i) => {
    b.assign(total, add(get(total), mul(load(x, i), load(x, i))));
  });
  b.store(y, i32(0), get(total));
  const front = moduleOf("sum", [x, y], [], b.statements);
  const arrays = [inputs(100_001)[0] as TypedArray, new Float32Array(1)];
  const results = new Set<string>();
  const memory = newMemory();
  for (const threads of [1, 2, 3]) {
    for (const vectorBytes of [0, 16, 32]) {
      const bound = bind(lower(front, { vectorBytes, launches: true }), { memory, threads, minOperations: 1 });
      if (threads > 1) await helpersReady(memory, threads - 1);
      for (let k = 0; k < 3; k++) {
        bound.run(arrays);
        results.add(shown(arrays[1] as TypedArray).join());
      }
    }
  }
  expect(results.size).toBe(1);
});

test("without shared memory a launch stays on its thread", () => {
  const module = workload(5);
  const arrays = inputs(300);
  const bound = bind(module, { memory: newMemory(false), ...eager });
  bound.run(arrays);
  expect(shown(arrays[1] as TypedArray)).toEqual(onInterpreter(module, inputs(300)).arrays[1]);
});

/** A script that uses the target from a packed, minified bundle, and prints when its own work is done. */
function bundled(script: string): { readonly file: string; readonly folder: string } {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-"));
  const entry = join(folder, "entry.ts");
  const root = new URL("../../", import.meta.url).pathname;
  writeFileSync(entry, script.replaceAll("@/", root));
  const file = join(folder, "bundle.mjs");
  buildSync({ entryPoints: [entry], outfile: file, bundle: true, minify: true, platform: "node", format: "esm" });
  return { file, folder };
}

const SCRIPT = `
import { Builder, add, func, get, i32, lengthOf, load, local, buffer } from "@/src/ir/build.ts";
import { createWasmTarget, GUARD_BYTES } from "@/src/targets/wasm/index.ts";
import { poolOf } from "@/src/targets/wasm/pool.ts";
const memory = new WebAssembly.Memory({ initial: 64, maximum: 64, shared: true });
const { target } = createWasmTarget({ memory, minOperations: 1 });
const y = buffer("y", "i32", "param");
const begin = local("begin", "i32"), end = local("end", "i32");
const inner = new Builder();
inner.for("i", { begin: get(begin), end: get(end) }, (i) => {
  inner.for("k", { begin: i32(0), end: i32(500) }, (k) => inner.store(y, i, add(load(y, i), k)));
});
const b = new Builder();
b.emit({ kind: "launch", func: func("body", [], [begin, end], inner.statements), args: [], count: lengthOf(y), cost: 9, threaded: true });
const module = { name: "m", entry: func("m", [y], [], b.statements), sites: [] };
const executable = target.compile({ module, arena: { offsets: new Map(), bytes: 64 } }, { threads: 2 });
const entry = executable.instantiate(GUARD_BYTES, GUARD_BYTES + 64);
const at = GUARD_BYTES + 64 + executable.scratchBytes;
const values = new Int32Array(memory.buffer, at, 3000);
for (let tries = 0; tries < 1000 && poolOf(memory).joined < 3; tries++) {
  values.fill(0);
  entry.call(GUARD_BYTES, at, values.length);
  await new Promise((done) => setTimeout(done, 5));
}
console.log(JSON.stringify({ joined: poolOf(memory).joined >= 3, same: values.every((v) => v === 500 * 499 / 2) }));
`;

test("helpers work from a minified bundle and never keep a process alive", { timeout: 30_000 }, () => {
  const { file, folder } = bundled(SCRIPT);
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], { encoding: "utf8", timeout: 20_000 });
  rmSync(folder, { recursive: true });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(JSON.parse(stdout)).toEqual({ joined: true, same: true });
});

test("helpers work for a program in a worker thread, and end with it", { timeout: 30_000 }, async () => {
  const { file, folder } = bundled(
    SCRIPT.replace("console.log(", "parentPort.postMessage(").replace(
      "import {",
      'import { parentPort } from "node:worker_threads";\nimport {',
    ),
  );
  const worker = new Worker(file);
  const message = await new Promise((done, fail) => {
    worker.once("message", done);
    worker.once("error", fail);
  });
  expect(JSON.parse(String(message))).toEqual({ joined: true, same: true });
  expect(await new Promise((done) => worker.once("exit", done))).toBe(0);
  rmSync(folder, { recursive: true });
});

test("programs of different memories do not meet", () => {
  const first = newMemory();
  const second = newMemory();
  expect(poolOf(first)).not.toBe(poolOf(second));
  expect(poolOf(first)).toBe(poolOf(first));
});
