/**
 * @file Which functions may have their pairs of vectors joined, and that programs work when they are split for it.
 */
import { describe, expect, test } from "vitest";
import {
  add,
  Builder,
  buffer,
  convert,
  func,
  gather,
  get,
  i32,
  load,
  loadLanes,
  local,
  mul,
  store,
  unary,
} from "../../src/ir/build.ts";
import type { Expr, Func, Module } from "../../src/ir/nodes.ts";
import { compileProgram } from "../../src/targets/wasm/compile.ts";
import { wasmFeatures } from "../../src/targets/wasm/index.ts";
import { array, bind, moduleOf, onInterpreter, planArena, shown } from "./harness.ts";

const x = array("x", "f32");
const y = array("y", "f32");
const index = array("index", "i32");

/** A program that launches `value` over all elements, 8 at a time. */
function program(value: (i: Expr) => Expr): Module {
  const begin = local("begin", "i32");
  const end = local("end", "i32");
  const body = new Builder();
  body.for("i", { begin: get(begin), end: get(end), step: 8, axis: "vector" }, (i) => {
    body.emit(store(y, i, value(i), i32(1)));
  });
  const piece: Func = func("piece", [], [begin, end], body.statements);
  const b = new Builder();
  b.emit({ kind: "launch", func: piece, args: [], count: i32(32), cost: 1, threaded: false });
  b.store(y, i32(0), load(x, i32(3)));
  return moduleOf("program", [x, y, index], [], b.statements);
}
const lanes =
  (from = x) =>
  (i: Expr): Expr =>
    loadLanes(from, i, i32(1), 8);

const plain = program((i) => mul(add(lanes()(i), lanes(y)(i)), unary("sqrt", unary("abs", lanes()(i)))));
const shuffled = program((i) => convert("f32", mul(convert("f64", lanes()(i)), convert("f64", lanes()(i)))));
const gathered = program((i) => gather(x, loadLanes(index, i, i32(1), 8)));

function joinedNames(module: Module, joined: boolean): string[] {
  const options = { sharedMemory: true, relaxed: true, fusedMadd: true, joined, threads: 1 };
  const code = compileProgram({ module, arena: planArena(module) }, options);
  expect(code.module.imports.map((f) => f.name)).toEqual(code.joined?.functions.map((f) => f.ref.name) ?? []);
  return code.joined?.functions.map((f) => f.ref.name) ?? [];
}

describe("functions to be joined", () => {
  test("are those that work on whole lanes", () => {
    expect(joinedNames(plain, true)).toEqual(["piece"]);
    expect(joinedNames(plain, false)).toEqual([]);
  });
  test("have no shuffles and no single lanes", () => {
    expect(joinedNames(shuffled, true)).toEqual([]);
    expect(joinedNames(gathered, true)).toEqual([]);
  });
});

test.each([
  ["plain", plain],
  ["shuffled", shuffled],
  ["gathered", gathered],
])("a split program gives the same: %s", (_, module) => {
  const arrays = [
    Float32Array.from({ length: 32 }, (_, k) => Math.sin(k * 7) * 100),
    Float32Array.from({ length: 32 }, (_, k) => k),
    Int32Array.from({ length: 32 }, (_, k) => (k * 11) % 32),
  ];
  const expected = onInterpreter(module, arrays).arrays;
  const bound = bind(module, { features: { wide: true } });
  bound.run(arrays);
  expect(arrays.map(shown)).toEqual(expected);
  const text = bound.executable.source() ?? "";
  expect(text.includes('(import "joined" "piece"')).toBe(module === plain);
});

test("what an engine can do is found once", () => {
  const found = wasmFeatures();
  expect(found).toBe(wasmFeatures());
  expect(found.simd && found.threads).toBe(true);
  // Wide code is made for fused multiply-add.
  expect(found.wide && !found.fusedMadd).toBe(false);
});

test("a local buffer that only the launched function uses is on its own stack", () => {
  const own = buffer("own", "f32", "local", 8, { lanes: 8 });
  const begin = local("begin", "i32");
  const end = local("end", "i32");
  const body = new Builder();
  body.for("i", { begin: get(begin), end: get(end), step: 8, axis: "vector" }, (i) => {
    body.emit(store(own, i32(1), loadLanes(x, i, i32(1), 8)));
    body.emit(store(y, i, add({ ...load(own, i32(1)), lanes: 8 }, { ...load(own, i32(0)), lanes: 8 }), i32(1)));
  });
  const b = new Builder();
  const piece = func("piece", [], [begin, end], body.statements);
  b.emit({ kind: "launch", func: piece, args: [], count: i32(32), cost: 1, threaded: false });
  const module = moduleOf("own", [x, y], [], b.statements);
  const arrays = [Float32Array.from({ length: 32 }, (_, k) => k * 0.5), new Float32Array(32)];
  const expected = onInterpreter(module, arrays).arrays;
  bind(module, { features: { wide: true } }).run(arrays);
  expect(arrays.map(shown)).toEqual(expected);
});
