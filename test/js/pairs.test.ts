/**
 * Iterations in pairs: the same results for every number of them, and left alone where their order could be told.
 */
import { describe, expect, it } from "vitest";
import {
  add,
  Builder,
  binary,
  buffer,
  constant,
  func,
  get,
  i32,
  lengthOf,
  load,
  mul,
  sub,
} from "../../src/ir/build.ts";
import { interpret } from "../../src/ir/interpret.ts";
import type { Buffer, Expr, For, Module } from "../../src/ir/nodes.ts";
import { lower } from "../../src/ir/pipeline.ts";
import { verify } from "../../src/ir/verify.ts";
import { eachStmt } from "../../src/ir/walk.ts";
import { pairIterations } from "../../src/targets/js/pairs.ts";

const f32 = (value: number): Expr => constant("f32", value);
const x = buffer("x", "f32", "param");
const at = buffer("at", "i32", "param");
const y = buffer("y", "f32", "param");

/** One parallel loop over the elements of x, lowered as for the js target. */
function module(write: (b: Builder, i: Expr) => void, unchecked = true): Module {
  const b = new Builder();
  b.for("i", { begin: i32(0), end: lengthOf(x), axis: "parallel" }, (i) => write(b, i));
  const made: Module = { name: "pairs", entry: func("pairs", [x, at, y], [], b.statements), sites: [] };
  return lower(made, { vectorBytes: 0, launches: false, unchecked });
}

function loopsOf(m: Module): For[] {
  const found: For[] = [];
  eachStmt(m.entry.body, (s) => s.kind === "for" && found.push(s));
  return found;
}
const isPaired = (m: Module): boolean => loopsOf(pairIterations(m)).some((s) => s.step === 2);

function resultOf(m: Module, count: number): readonly number[] {
  const values = Float32Array.from({ length: count }, (_, k) => Math.sin(k + 1) * 3);
  const places = Int32Array.from({ length: count }, (_, k) => k >> 1);
  const out = new Float32Array(count).fill(-1);
  interpret(m, { buffers: [values, places, out], params: [] });
  return [...out];
}

/** Locals of several types, a condition and a loop under it, and y read as well as written. */
const plain = module((b, i) => {
  const v = b.let("v", mul(load(x, i), f32(1.5)));
  const w = b.local("w", "f32");
  b.assign(w, add(v, load(y, i)));
  b.if(binary("gt", v, f32(1)), () => {
    b.for("k", { begin: i32(0), end: i32(3) }, () => b.assign(w, mul(get(w), v)));
  });
  b.store(y, i, sub(get(w), v));
});

describe("plain bodies", () => {
  it("run in pairs", () => {
    expect(isPaired(plain)).toBe(true);
    expect(() => verify(pairIterations(plain), "final")).not.toThrow();
  });

  it.each([0, 1, 2, 3, 4, 5, 64, 65])("give what they give one by one: %d iterations", (count) => {
    expect(resultOf(pairIterations(plain), count)).toEqual(resultOf(plain, count));
  });

  it("keep the order of stores through computed subscripts", () => {
    const scatter = module((b, i) => b.store(y, load(at, i), load(x, i)));
    expect(isPaired(scatter)).toBe(true);
    // Element k >> 1 is stored by iterations 2k and 2k + 1; the later one stays.
    const value = (k: number): number => Math.fround(Math.sin(k + 1) * 3);
    expect(resultOf(pairIterations(scatter), 4)).toEqual([value(1), value(3), -1, -1]);
    expect(resultOf(pairIterations(scatter), 5)).toEqual([value(1), value(3), value(4), -1, -1]);
  });

  it("begin where the loop begins", () => {
    const b = new Builder();
    b.for("i", { begin: i32(3), end: lengthOf(x), axis: "parallel" }, (i) => b.store(y, i, load(x, i)));
    const made: Module = { name: "pairs", entry: func("pairs", [x, at, y], [], b.statements), sites: [] };
    for (const count of [0, 2, 3, 4, 7, 8])
      expect(resultOf(pairIterations(made), count)).toEqual(resultOf(made, count));
  });
});

describe("reductions", () => {
  const b = new Builder();
  const total = b.local("total", "f32");
  b.assign(total, f32(0));
  const reductions = [{ local: total, op: "add" as const }];
  b.for("i", { begin: i32(0), end: lengthOf(x), axis: "parallel", reductions }, (i) => {
    b.assign(total, add(get(total), mul(load(x, i), f32(1.5))));
  });
  b.if(binary("gt", lengthOf(x), i32(0)), () => b.store(y, i32(0), get(total)));
  const made: Module = { name: "pairs", entry: func("pairs", [x, at, y], [], b.statements), sites: [] };
  const sum = lower(made, { vectorBytes: 0, launches: false, unchecked: true });

  it("run in pairs: two iterations never share a partial sum", () => {
    expect(isPaired(sum)).toBe(true);
    for (const count of [0, 1, 2, 31, 32, 33, 500, 9001]) {
      expect(resultOf(pairIterations(sum), count)).toEqual(resultOf(sum, count));
    }
  });
});

/** A serial loop with a local array. */
const serial = (write: (b: Builder, i: Expr, own: Buffer) => void): Module => {
  const b = new Builder();
  const own = buffer("own", "f32", "local", 32);
  b.for("i", { begin: i32(0), end: lengthOf(x) }, (i) => write(b, i, own));
  return { name: "pairs", entry: func("pairs", [x, at, y], [], b.statements), sites: [] };
};
const slot = (i: Expr): Expr => binary("and", sub(i, i32(0)), i32(31));

describe("left alone are", () => {
  const cases: readonly (readonly [string, Module])[] = [
    ["bodies that may fault on the way", module((b, i) => b.store(y, load(at, i), load(x, i)), false)],
    [
      "local arrays, which there is one of",
      module((b, i) => {
        const own: Buffer = buffer("own", "f32", "local", 4);
        b.store(own, i32(0), load(x, i));
        b.store(y, i, load(own, i32(0)));
      }),
    ],
    ["what is stored through computed subscripts and read", module((b, i) => b.store(y, load(at, i), load(y, i)))],
    [
      "loops inside, which would not take turns",
      module((b, i) => {
        const sum = b.local("sum", "f32");
        b.assign(sum, f32(0));
        b.for("k", { begin: i32(0), end: i32(9) }, () => b.assign(sum, add(get(sum), load(x, i))));
        b.store(y, i, get(sum));
      }),
    ],
    ["serial loops that store elsewhere", serial((b, i) => b.store(y, i, add(load(y, sub(i, i32(1))), load(x, i))))],
    [
      "partial sums that two iterations share",
      serial((b, i, own) => {
        const half = binary("shr", i, i32(1));
        b.store(own, slot(half), add(load(own, slot(half)), load(x, i)));
      }),
    ],
    [
      "partial sums read from a neighbour",
      serial((b, i, own) => b.store(own, slot(i), load(own, slot(sub(i, i32(1)))))),
    ],
    [
      "bodies that are long",
      module((b, i) => {
        let v: Expr = load(x, i);
        for (let k = 0; k < 700; k++) v = b.let("v", add(v, load(x, i)));
        b.store(y, i, v);
      }),
    ],
  ];
  it.each(cases)("%s", (_, m) => {
    expect(loopsOf(m).length).toBeGreaterThan(0);
    expect(isPaired(m)).toBe(false);
  });
});
