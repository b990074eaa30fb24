/**
 * @file Statements, memory and control flow: hand-built functions against the interpreter.
 */
import { afterAll, describe, expect, it } from "vitest";
import {
  add,
  and,
  anyLane,
  Builder,
  binary,
  buffer,
  constant,
  convert,
  func,
  gather,
  get,
  i32,
  iota,
  lengthOf,
  load,
  loadLanes,
  local,
  mul,
  not,
  select,
  splat,
  store,
  unary,
} from "../../src/ir/build.ts";
import type { Buffer, Expr, Func } from "../../src/ir/nodes.ts";
import type { StorageType } from "../../src/ir/types.ts";
import { expectSame, moduleOf, newArray, Rig, type TypedArray, temporaryFolder } from "./rig.ts";

const cache = temporaryFolder();
afterAll(() => cache.remove());
const rig = new Rig(cache.path);

const ramp = (storage: StorageType, n: number, f: (i: number) => number = (i) => i): TypedArray => {
  const array = newArray(storage, n);
  for (let i = 0; i < n; i++) array[i] = f(i);
  return array;
};
const floats = (n: number): TypedArray => ramp("f32", n, (i) => Math.sin(i * 1.7) * 10);

function check(entry: Func, buffers: readonly TypedArray[], params: readonly number[] = []): string {
  rig.reset();
  return expectSame(rig, moduleOf(entry), { buffers, params });
}

describe("control flow", () => {
  it("runs loops up and down, with steps, and leaves them", () => {
    const out = buffer("out", "i32", "param");
    const n = local("n", "i32");
    const b = new Builder();
    const total = b.local("total", "i32");
    const put = (k: number, value: Expr): void => b.store(out, i32(k), value);
    const sumOf = (range: { begin: Expr; end: Expr; step?: number }): void => {
      b.assign(total, i32(0));
      b.for("i", range, (i) => b.assign(total, add(mul(get(total), i32(3)), i)));
    };
    sumOf({ begin: i32(0), end: get(n) });
    put(0, get(total));
    sumOf({ begin: get(n), end: i32(0), step: -2 });
    put(1, get(total));
    sumOf({ begin: i32(2147483640), end: i32(2147483647), step: 5 });
    put(2, get(total));
    sumOf({ begin: i32(-2147483640), end: i32(-2147483648), step: -5 });
    put(3, get(total));
    b.assign(total, i32(0));
    b.for("i", { begin: i32(0), end: i32(100) }, (i, outer) => {
      b.block((next) => {
        b.if(binary("eq", binary("rem", i, i32(3)), i32(0)), () => b.exit(next));
        b.if(binary("gt", i, get(n)), () => b.exit(outer));
        b.assign(total, add(get(total), i));
      });
    });
    put(4, get(total));
    const x = b.local("x", "i32");
    b.assign(x, i32(27));
    b.assign(total, i32(0));
    b.loop((done) => {
      b.if(binary("eq", get(x), i32(1)), () => b.exit(done));
      const half = binary("shr", get(x), i32(1));
      const odd = binary("eq", and(get(x), i32(1)), i32(1));
      b.assign(x, select(odd, add(mul(get(x), i32(3)), i32(1)), half));
      b.assign(total, add(get(total), i32(1)));
    });
    put(5, get(total));
    check(func("flow", [out], [n], b.statements), [newArray("i32", 6)], [17]);
  });

  it("takes scalars of every type, and C's words as names", () => {
    const out = buffer("int", "f64", "param");
    const params = [
      local("float", "f32"),
      local("double", "f64"),
      local("for", "i32"),
      local("u32x8", "u32"),
      local("if", "bool"),
    ] as const;
    const b = new Builder();
    for (const [k, p] of params.entries()) b.store(out, i32(k), p.dtype === "f64" ? get(p) : convert("f64", get(p)));
    check(
      func("memcpy", [out], params, b.statements),
      [newArray("f64", 5)],
      [Math.fround(0.1), 0.1, -2147483648, 4294967295, 1],
    );
  });

  it("records the first fault and goes on", () => {
    const out = buffer("out", "i32", "param");
    const b = new Builder();
    b.for("i", { begin: i32(0), end: i32(10) }, (i) => {
      b.fault(binary("gt", i, i32(5)), 1);
      b.store(out, i, i);
    });
    check(func("faulty", [out], [], b.statements), [newArray("i32", 10)]);
  });
});

describe("memory", () => {
  const STORAGES: readonly StorageType[] = ["f32", "f64", "i32", "u32", "u8"];

  it.each(STORAGES)("loads and stores %s: contiguous, strided, gathered, masked", (storage) => {
    const lanes = 8;
    const x = buffer("x", storage, "param");
    const outs = Array.from({ length: 6 }, (_, k) => buffer(`out${k}`, storage, "param"));
    const out = (k: number): Buffer => outs[k] as Buffer;
    const stride = local("stride", "i32");
    const b = new Builder();
    b.for("i", { begin: i32(0), end: i32(32), step: lanes, axis: "vector" }, (i) => {
      const plain = b.let("plain", loadLanes(x, i, i32(1), lanes));
      const fixed = b.let("fixed", loadLanes(x, mul(i, i32(3)), i32(3), lanes));
      const moving = b.let("moving", loadLanes(x, mul(i, get(stride)), get(stride), lanes));
      const index = binary("xor", add(splat(i, lanes), iota(lanes)), constant("i32", 5, lanes));
      const gathered = b.let("gathered", gather(x, index));
      const some = binary(
        "eq",
        binary("rem", add(splat(i, lanes), iota(lanes)), constant("i32", 3, lanes)),
        constant("i32", 1, lanes),
      );
      for (const [k, v] of [plain, fixed, moving].entries()) b.emit(store(out(k), i, v, i32(1)));
      b.emit(store(out(3), index, gathered));
      b.emit(store(out(4), i, plain, i32(1), some));
      b.emit(store(out(5), mul(i, i32(2)), gathered, i32(2), some));
      b.emit(store(out(5), add(index, constant("i32", 64, lanes)), plain, undefined, some));
    });
    const input = ramp(storage, 160, (i) => (i * 37) % 256);
    check(
      func(`memory_${storage}`, [x, ...outs], [stride], b.statements),
      [input, ...outs.map(() => newArray(storage, 128))],
      [4],
    );
  });

  it("keeps local buffers per function and per lane", () => {
    const lanes = 16;
    const out = buffer("out", "f32", "param");
    const bytes = buffer("bytes", "u8", "param");
    const wide = buffer("wide", "f64", "param");
    const scratch = buffer("scratch", "f32", "local", 4, { lanes });
    const flags = buffer("flags", "u8", "local", 4, { lanes });
    const doubles = buffer("doubles", "f64", "local", 4, { lanes });
    const plain = buffer("plain", "f32", "local", 16);
    const b = new Builder();
    const at = (l: number, k: Expr): Expr => ({
      kind: "load",
      dtype: l === 0 ? "f32" : l === 1 ? "i32" : "f64",
      lanes,
      buffer: [scratch, flags, doubles][l]!,
      index: k,
      stride: undefined,
    });
    b.for("i", { begin: i32(0), end: i32(64), step: lanes, axis: "vector" }, (i) => {
      const lane = add(splat(i, lanes), iota(lanes));
      b.for("k", { begin: i32(0), end: i32(4) }, (k) => {
        b.emit(store(scratch, k, convert("f32", mul(lane, splat(k, lanes)))));
        b.emit(store(flags, k, add(lane, splat(k, lanes))));
        b.emit(store(doubles, k, convert("f64", add(lane, splat(k, lanes)))));
      });
      const own = b.let("own", and(lane, constant("i32", 3, lanes)));
      b.emit(
        store(scratch, own, constant("f32", -1, lanes), undefined, binary("gt", lane, constant("i32", 20, lanes))),
      );
      b.emit(store(out, i, add(at(0, i32(2)), at(0, own)), i32(1)));
      b.emit(store(bytes, i, add(at(1, own), at(1, i32(3))), i32(1)));
      b.emit(store(wide, i, mul(at(2, own), at(2, i32(1))), i32(1)));
    });
    b.emit(store(plain, i32(0), loadLanes(out, i32(0), i32(1), lanes), i32(1)));
    b.for("k", { begin: i32(0), end: i32(16) }, (k) =>
      b.store(out, add(k, i32(64)), load(plain, binary("xor", k, i32(7)))),
    );
    check(func("locals", [out, bytes, wide], [], b.statements), [
      newArray("f32", 80),
      newArray("u8", 64),
      newArray("f64", 64),
    ]);
  });

  it("refuses local buffers that do not fit a stack", () => {
    const large = buffer("large", "f64", "local", 1 << 17);
    const b = new Builder();
    b.store(large, i32(0), constant("f64", 1));
    const module = moduleOf(func("greedy", [], [], b.statements));
    expect(() => rig.bind(module, [], [])).toThrow(/local arrays of greedy take 1024 KiB, more than 512/);
  });

  it("reads tables, and keeps temp and state buffers in the arena", () => {
    const out = buffer("out", "f64", "param");
    const table = buffer("weights", "f32", "table", 4, { data: [0.1, -0, Infinity, 1e-45] });
    const small = buffer("small", "u8", "table", 3, { data: [1, 255, 7] });
    const temp = buffer("temp", "f64", "temp", 4);
    const count = buffer("count", "i32", "state", 1);
    const b = new Builder();
    b.store(count, i32(0), add(load(count, i32(0)), i32(1)));
    b.for("i", { begin: i32(0), end: i32(4) }, (i) => b.store(temp, i, convert("f64", load(table, i))));
    b.for("i", { begin: i32(0), end: i32(4) }, (i) => b.store(out, i, load(temp, i)));
    b.for("i", { begin: i32(0), end: i32(3) }, (i) => b.store(out, add(i, i32(4)), convert("f64", load(small, i))));
    b.store(out, i32(7), convert("f64", load(count, i32(0))));
    const entry = func("arena", [out], [], b.statements);
    check(entry, [newArray("f64", 8)]);
    const array = rig.place(newArray("f64", 8));
    const bound = rig.bind(moduleOf(entry), [array], []).entry;
    if (bound.convention !== "block") throw new Error("native code takes a block");
    bound.call();
    const before = array[7] as number;
    bound.call();
    expect(array[7]).toBe(before + 1);
  });
});

describe("vectors", () => {
  it("mixes masks of f32 and f64, in locals, branches and faults", () => {
    const lanes = 8;
    const x = buffer("x", "f32", "param");
    const y = buffer("y", "f64", "param");
    const out = buffer("out", "f32", "param");
    const outWide = buffer("outWide", "f64", "param");
    const b = new Builder();
    const kept = b.local("kept", "bool", lanes);
    b.for("i", { begin: i32(0), end: lengthOf(x), step: lanes, axis: "vector" }, (i) => {
      const v = b.let("v", loadLanes(x, i, i32(1), lanes));
      const w = b.let("w", loadLanes(y, i, i32(1), lanes));
      const low = b.let("low", binary("lt", v, constant("f32", 0, lanes)));
      const high = b.let("high", binary("gt", w, constant("f64", 1, lanes)));
      b.assign(kept, and(low, not(high)));
      b.if(anyLane(high), () => b.assign(kept, binary("xor", get(kept), high)));
      b.emit(store(out, i, select(get(kept), v, select(high, unary("neg", v), constant("f32", 3, lanes))), i32(1)));
      b.emit(
        store(
          outWide,
          i,
          select(low, w, select(get(kept), add(w, w), convert("f64", v))),
          i32(1),
          binary("ne", low, high),
        ),
      );
      b.fault(and(high, low), 1);
    });
    const n = 64;
    const wide = ramp("f64", n, (i) => Math.cos(i) * 2);
    check(func("masks", [x, y, out, outWide], [], b.statements), [
      floats(n),
      wide,
      newArray("f32", n),
      newArray("f64", n),
    ]);
  });

  it("splits vectors wider than a register, and ones narrower", () => {
    for (const lanes of [2, 4, 32, 64]) {
      const x = buffer("x", "f32", "param");
      const out = buffer("out", "f32", "param");
      const sum = local("sum", "f32", lanes);
      const b = new Builder();
      b.assign(sum, constant("f32", 0, lanes));
      b.for("i", { begin: i32(0), end: i32(256), step: lanes, axis: "vector" }, (i) => {
        const v = b.let("v", loadLanes(x, i, i32(1), lanes));
        b.assign(sum, add(get(sum), select(binary("gt", v, splat(load(x, i), lanes)), v, unary("floor", v))));
      });
      b.emit(store(out, i32(0), get(sum), i32(1)));
      check(func(`lanes_${lanes}`, [x, out], [], b.statements), [floats(256), newArray("f32", 64)]);
    }
  });

  it("cuts very long expressions", () => {
    const x = buffer("x", "f32", "param");
    const out = buffer("out", "f32", "param");
    const b = new Builder();
    let sum: Expr = load(x, i32(0));
    for (let k = 1; k < 600; k++) sum = add(sum, mul(load(x, i32(k % 16)), constant("f32", 1 / k)));
    b.store(out, i32(0), sum);
    check(func("long", [x, out], [], b.statements), [floats(16), newArray("f32", 1)]);
  });
});

describe("calls and launches", () => {
  /** y[i] = x[i] * factor + i for begin..end, as an outlined parallel loop sees the caller's buffers. */
  function launched(): { entry: Func; n: number } {
    const n = 100_000;
    const x = buffer("x", "f32", "param");
    const y = buffer("y", "f32", "param");
    const scale = buffer("scale", "f32", "local", 2);
    const factor = local("factor", "f32");
    const [begin, end] = [local("begin", "i32"), local("end", "i32")];
    const inner = new Builder();
    inner.for("i", { begin: get(begin), end: get(end) }, (i) => {
      const value = add(mul(load(x, i), mul(get(factor), load(scale, i32(1)))), convert("f32", i));
      inner.store(y, i, value);
      inner.fault(binary("eq", i, i32(99_999)), 1);
    });
    const piece = func("outlined.1", [], [factor, begin, end], inner.statements);
    const given = local("given", "f32");
    const b = new Builder();
    b.store(scale, i32(1), constant("f32", 0.25));
    b.emit({
      kind: "launch",
      func: piece,
      args: [mul(get(given), constant("f32", 2))],
      count: lengthOf(x),
      cost: 50,
      threaded: true,
    });
    return { entry: func("launching", [x, y], [given], b.statements), n };
  }

  it("hands buffers to called functions, by position and by identity", () => {
    const a = buffer("a", "f32", "param");
    const c = buffer("c", "f32", "param", 16);
    const temp = buffer("temp", "f32", "temp", 16);
    const k = local("k", "f32");
    const inner = new Builder();
    inner.for("i", { begin: i32(0), end: lengthOf(a) }, (i) => {
      inner.store(c, i, add(mul(load(a, i), get(k)), load(temp, i)));
      inner.store(temp, i, load(c, i));
    });
    const callee = func("callee", [a, c], [k], inner.statements);
    const x = buffer("x", "f32", "param", 16);
    const y = buffer("y", "f32", "param");
    const b = new Builder();
    b.for("i", { begin: i32(0), end: i32(16) }, (i) => b.store(temp, i, constant("f32", 1)));
    b.emit({ kind: "call", func: callee, buffers: [x, y], args: [constant("f32", 2)] });
    b.emit({ kind: "call", func: callee, buffers: [y, x], args: [constant("f32", -1)] });
    check(func("calling", [x, y], [], b.statements), [floats(16), newArray("f32", 16)]);
  });

  it("launches in pieces on one and on several threads", () => {
    const { entry, n } = launched();
    check(entry, [floats(n), newArray("f32", n)], [3]);
    const threaded = new Rig(cache.path, 4);
    const source = expectSame(threaded, moduleOf(entry), { buffers: [floats(n), newArray("f32", n)], params: [3] });
    expect(source).toContain("context->launch(");
    expect(threaded.target.counts).toEqual({ built: 1, reused: 1 });
  });
});
