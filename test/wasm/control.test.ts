/**
 * @file Control flow, calls, faults, and how values travel through loops.
 */
import { expect, test } from "vitest";
import {
  add,
  anyLane,
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
  loadLanes,
  local,
  mul,
  select,
  splat,
  store,
} from "../../src/ir/build.ts";
import type { TypedArray } from "../../src/ir/interpret.ts";
import type { Expr, Module } from "../../src/ir/nodes.ts";
import { array, bind, moduleOf, newArray, onInterpreter, onWasm } from "./harness.ts";

const y = array("y", "i32");
const x = array("x", "f32");

function compare(module: Module, arrays: readonly TypedArray[], params: readonly number[] = []): void {
  expect(onWasm(module, arrays, params)).toEqual(onInterpreter(module, arrays, params));
}
const counting = (n = 64): Int32Array => Int32Array.from({ length: n }, (_, k) => k * 3 - 20);

test("counted loops in both directions, with and without trips", () => {
  const from = local("from", "i32");
  const to = local("to", "i32");
  for (const step of [1, 2, 7, -1, -3]) {
    const b = new Builder();
    const n = b.local("n", "i32");
    b.assign(n, i32(0));
    b.for("i", { begin: get(from), end: get(to), step }, (i) => {
      b.store(y, get(n), i);
      b.assign(n, add(get(n), i32(1)));
    });
    const module = moduleOf("count", [y], [from, to], b.statements);
    for (const [a, z] of [
      [0, 9],
      [9, 0],
      [3, 3],
      [2147483640, 2147483647],
      [-2147483640, -2147483648],
    ] as const)
      compare(module, [counting()], [a, z]);
  }
});

test("the end of a loop is read once", () => {
  const n = local("n", "i32");
  const b = new Builder();
  b.for("i", { begin: i32(0), end: get(n) }, (i) => {
    b.assign(n, add(get(n), i32(5)));
    b.store(y, i, get(n));
  });
  compare(moduleOf("once", [y], [n], b.statements), [counting()], [6]);
});

test("leaving loops and blocks, also several at once", () => {
  const b = new Builder();
  const total = b.local("total", "i32");
  b.assign(total, i32(0));
  b.for("i", { begin: i32(0), end: i32(10) }, (i, outer) => {
    b.loop((inner) => {
      b.assign(total, add(get(total), i));
      b.block((skip) => {
        b.if(binary("lt", get(total), i32(20)), () => b.exit(skip));
        b.assign(total, add(get(total), i32(100)));
        b.if(binary("gt", get(total), i32(300)), () => b.exit(outer));
      });
      b.if(binary("ge", get(total), i32(15)), () => b.exit(inner));
      b.assign(total, add(get(total), i32(1)));
    });
    b.store(y, i, get(total));
  });
  compare(moduleOf("leave", [y], [], b.statements), [counting()]);
});

test("a branch in scalar and by any lane", () => {
  const b = new Builder();
  b.for("i", { begin: i32(0), end: i32(16), step: 4, axis: "vector" }, (i) => {
    const v = b.let("v", loadLanes(x, i, i32(1), 4));
    b.if(
      anyLane(binary("lt", v, constant("f32", 0, 4))),
      () => b.emit(store(y, i, convert("i32", v), i32(1))),
      () => b.emit(store(y, i, splat(i32(-1), 4), i32(1))),
    );
  });
  const values = Float32Array.from({ length: 16 }, (_, k) => (k > 7 ? k : k - 5));
  compare(moduleOf("any", [x, y], [], b.statements), [values, counting(16)]);
});

test("any of two lanes does not look at the rest of the register", () => {
  const b = new Builder();
  for (const [k, dtype] of (["f32", "f64"] as const).entries()) {
    const wide = convert(dtype, loadLanes(x, i32(0), i32(1), 2));
    b.store(y, i32(k), convert("i32", anyLane(binary("eq", wide, constant(dtype, 0, 2)))));
  }
  for (const values of [
    [1, 2],
    [0, 2],
    [1, 0],
  ])
    compare(moduleOf("any2", [x, y], [], b.statements), [Float32Array.from(values), counting(2)]);
});

test("bool variables of vectors, of both widths", () => {
  const b = new Builder();
  const d = b.let("d", convert("f64", loadLanes(x, i32(0), i32(1), 8)));
  const above = b.local("above", "bool", 8);
  const either = b.local("either", "bool", 8);
  b.assign(above, binary("gt", d, constant("f64", 0, 8)));
  b.assign(either, binary("lt", loadLanes(x, i32(8), i32(1), 8), constant("f32", 3, 8)));
  b.for("i", { begin: i32(0), end: i32(3) }, (i) => {
    b.assign(either, select(get(above), get(either), binary("ne", get(above), get(either))));
    b.assign(above, binary("and", get(above), binary("lt", d, splat(convert("f64", i), 8))));
  });
  b.emit(store(y, i32(0), convert("i32", get(above)), i32(1)));
  b.emit(store(y, i32(8), convert("i32", get(either)), i32(1)));
  b.emit(store(y, i32(16), convert("i32", select(get(above), d, convert("f64", get(either)))), i32(1)));
  const values = Float32Array.from({ length: 16 }, (_, k) => ((k * 5) % 9) - 4);
  compare(moduleOf("bools", [x, y], [], b.statements), [values, counting()]);
});

test("functions with buffers, scalars, local buffers and tables", () => {
  const into = array("into", "i32");
  const by = local("by", "i32");
  const scale = local("scale", "f64");
  const on = local("on", "bool");
  const own = buffer("own", "i32", "local", 9);
  const table = buffer("table", "i32", "table", 4, { data: [7, 8, 9, -10] });
  const inner = new Builder();
  inner.for("i", { begin: i32(0), end: i32(9) }, (i) => {
    inner.store(own, i, add(load(own, i), mul(i, get(by))));
  });
  inner.for("i", { begin: i32(0), end: i32(4) }, (i) => {
    const scaled = convert("i32", mul(convert("f64", load(own, add(i, i32(4)))), get(scale)));
    inner.store(into, i, select(get(on), add(scaled, load(table, i)), lengthOf(into)));
  });
  const callee = func("callee", [into], [by, scale, on], inner.statements);
  const outer = new Builder();
  const mine = buffer("mine", "i32", "local", 20);
  const temp = buffer("temp", "i32", "temp", 5);
  for (const [target, factor] of [
    [mine, 2],
    [temp, 3],
    [y, 4],
  ] as const)
    outer.emit({
      kind: "call",
      func: callee,
      buffers: [target],
      args: [i32(factor), constant("f64", 1.5), binary("ne", lengthOf(y), i32(0))],
    });
  outer.for("i", { begin: i32(0), end: i32(4) }, (i) => {
    outer.store(y, add(i, i32(10)), load(mine, i));
    outer.store(y, add(i, i32(20)), load(temp, i));
  });
  // The interpreter keeps one copy of a function's local buffers; each call clears its own here, so it is run once each.
  const found = onWasm(moduleOf("calls", [y], [], outer.statements), [counting()]).arrays[0] as string[];
  const expected = (factor: number): string[] =>
    [7, 8, 9, -10].map((t, i) => `${Math.trunc((i + 4) * factor * 1.5) + t}`);
  expect(found.slice(0, 4)).toEqual(expected(4));
  expect(found.slice(10, 14)).toEqual(expected(2));
  expect(found.slice(20, 24)).toEqual(expected(3));
});

test("the first fault is reported, and forgotten by the next call", () => {
  const limit = local("limit", "i32");
  const b = new Builder();
  b.fault(binary("gt", get(limit), i32(10)), 3);
  b.fault(binary("gt", loadLanes(y, i32(0), i32(1), 4), splat(get(limit), 4)), 5);
  b.store(y, i32(0), get(limit));
  const module = moduleOf("faults", [y], [limit], b.statements);
  const bound = bind(module);
  const run = (value: number): number => bound.run([Int32Array.of(1, 2, 3, 4)], [value]);
  expect([run(11), run(5), run(3), run(12), run(9)]).toEqual([3, 0, 5, 3, 0]);
});

test("scalars of every type arrive as they are", () => {
  const params = (["f32", "f64", "i32", "u32", "bool"] as const).map((t) => local(t, t));
  const out = array("out", "f64");
  const b = new Builder();
  params.forEach((p, k) => {
    b.store(out, i32(k), convert("f64", get(p) as Expr));
  });
  const module = moduleOf("scalars", [out], params, b.statements);
  compare(module, [newArray("f64", 5)], [Math.fround(0.1), 0.1, -5, 4000000000, 1]);
});

test("values that a loop does not change may be computed before it, and no others", () => {
  const n = local("n", "i32");
  const scale = local("scale", "f32");
  const b = new Builder();
  const last = b.local("last", "f32");
  b.assign(last, constant("f32", 0));
  b.for("i", { begin: i32(0), end: get(n) }, (i) => {
    const fixed = b.let("fixed", mul(get(scale), constant("f32", 3)));
    b.store(x, i, add(mul(load(x, i), fixed), get(last)));
    b.assign(last, mul(get(scale), get(scale)));
    b.store(x, add(i, get(n)), convert("f32", binary("div", i32(100), add(i, get(n)))));
  });
  b.store(x, i32(40), get(last));
  const module = moduleOf("invariants", [x], [n, scale], b.statements);
  for (const count of [0, 1, 5]) compare(module, [Float32Array.from(counting())], [count, 1.25]);
});
