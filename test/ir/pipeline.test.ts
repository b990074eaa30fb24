/**
 * Every pass keeps the meaning: hand-written modules give the same bits under the interpreter before and after
 * lowering, for scalar and vector machines.
 */
import { describe, expect, it } from "vitest";
import {
  add,
  and,
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
  select,
  sub,
} from "../../src/ir/build.ts";
import { interpret, newArray, RaceError, type TypedArray } from "../../src/ir/interpret.ts";
import type { Buffer, Local, Module } from "../../src/ir/nodes.ts";
import { lower } from "../../src/ir/pipeline.ts";
import { verify } from "../../src/ir/verify.ts";

interface Case {
  readonly module: Module;
  readonly buffers: readonly Buffer[];
}

function build(buffers: readonly Buffer[], params: readonly Local[], write: (b: Builder) => void): Case {
  const b = new Builder();
  write(b);
  return { module: { name: "case", entry: func("case", buffers, params, b.statements), sites: [] }, buffers };
}

const param = (name: string, storage: "f32" | "f64" | "i32" | "u8" = "f32"): Buffer => buffer(name, storage, "param");
const x = param("x");
const y = param("y");
const k = param("k", "i32");
const flags = param("flags", "u8");

const cases: { readonly [name: string]: Case } = {
  saxpy: build([x, y], [], (b) => {
    b.for("i", { begin: i32(0), end: lengthOf(x), axis: "parallel" }, (i) => {
      b.store(y, i, add(mul(constant("f32", 1.5), load(x, i)), load(y, i)));
    });
  }),
  sum: build([x, y], [], (b) => {
    const total = b.local("total", "f32");
    b.assign(total, constant("f32", 10));
    b.for(
      "i",
      { begin: i32(0), end: lengthOf(x), axis: "parallel", reductions: [{ local: total, op: "add" }] },
      (i) => {
        b.assign(total, add(get(total), load(x, i)));
      },
    );
    b.store(y, i32(0), get(total));
  }),
  "conditional maximum of i32 and f64 sum": build([x, k, y], [], (b) => {
    const most = b.local("most", "i32");
    const sum = b.local("sum", "f64");
    b.assign(most, i32(-5));
    b.assign(sum, constant("f64", 0));
    const reductions = [
      { local: most, op: "max" },
      { local: sum, op: "add" },
    ] as const;
    b.for("i", { begin: i32(0), end: lengthOf(k), axis: "parallel", reductions }, (i) => {
      b.if(binary("gt", load(x, i), constant("f32", 0)), () => b.assign(most, binary("max", get(most), load(k, i))));
      b.assign(sum, add(get(sum), convert("f64", load(x, i))));
    });
    b.store(y, i32(0), convert("f32", get(most)));
    b.store(y, i32(1), convert("f32", get(sum)));
  }),
  "branches, private locals": build([x, y], [], (b) => {
    b.for("i", { begin: i32(0), end: lengthOf(x), axis: "parallel" }, (i) => {
      const r = b.local("r", "f32");
      const v = b.let("v", load(x, i));
      b.if(
        binary("lt", v, constant("f32", 0)),
        () => {
          const t = b.let("t", mul(v, v));
          b.assign(r, add(t, constant("f32", 1)));
        },
        () => b.assign(r, binary("sub", v, constant("f32", 3))),
      );
      b.if(binary("gt", get(r), constant("f32", 2)), () => b.store(y, i, get(r)));
    });
  }),
  "collatz: divergent loop with an early way out": build([k], [], (b) => {
    b.for("i", { begin: i32(0), end: lengthOf(k), axis: "parallel" }, (i) => {
      const n = b.local("n", "i32");
      const steps = b.local("steps", "i32");
      b.assign(n, load(k, i));
      b.assign(steps, i32(0));
      b.loop((done) => {
        b.if(binary("le", get(n), i32(1)), () => b.exit(done));
        b.if(binary("gt", get(steps), i32(40)), () => b.exit(done));
        const half = binary("div", get(n), i32(2));
        b.assign(n, select(binary("eq", and(get(n), i32(1)), i32(0)), half, add(mul(get(n), i32(3)), i32(1))));
        b.assign(steps, add(get(steps), i32(1)));
      });
      b.store(k, i, get(steps));
    });
  }),
  "search: value found in a loop, used after it; nested blocks": build([x, k, y], [], (b) => {
    b.for("i", { begin: i32(0), end: lengthOf(k), axis: "parallel" }, (i) => {
      const found = b.local("found", "f32");
      b.assign(found, constant("f32", -1));
      b.block((out) => {
        b.for("j", { begin: i32(0), end: i32(7) }, (j) => {
          const v = b.let("v", load(x, j));
          b.block((next) => {
            b.if(binary("lt", v, constant("f32", 0)), () => b.exit(next));
            b.if(binary("eq", binary("and", load(k, i), i32(7)), j), () => {
              b.assign(found, v);
              b.exit(out);
            });
            b.assign(found, add(get(found), constant("f32", 1)));
          });
        });
        b.assign(found, mul(get(found), constant("f32", 100)));
      });
      b.store(y, i, get(found));
    });
  }),
  "ragged inner loop": build([x, k, y], [], (b) => {
    b.for("i", { begin: i32(0), end: lengthOf(k), axis: "parallel" }, (i) => {
      const s = b.local("s", "f32");
      b.assign(s, constant("f32", 0));
      const n = b.let("n", binary("and", load(k, i), i32(3)));
      b.for("j", { begin: i32(0), end: n }, (j) => b.assign(s, add(get(s), load(x, j))));
      b.store(y, i, get(s));
    });
  }),
  "local array with varying subscript": build([x, k, y], [], (b) => {
    const scratch = buffer("scratch", "f32", "local", 4);
    b.for("i", { begin: i32(0), end: lengthOf(k), axis: "parallel" }, (i) => {
      b.for("j", { begin: i32(0), end: i32(4) }, (j) => b.store(scratch, j, mul(load(x, i), convert("f32", j))));
      const at = b.let("at", binary("and", load(k, i), i32(3)));
      b.store(scratch, at, constant("f32", 5));
      b.store(y, i, add(load(scratch, i32(2)), load(scratch, at)));
    });
  }),
  "local array filled before the loop, read inside": build([x, k, y], [], (b) => {
    const table = buffer("table", "f32", "local", 4);
    b.for("j", { begin: i32(0), end: i32(4) }, (j) => b.store(table, j, convert("f32", mul(j, j))));
    b.for("i", { begin: i32(0), end: lengthOf(k), axis: "parallel" }, (i) => {
      b.store(y, i, add(load(table, binary("and", load(k, i), i32(3))), load(table, i32(2))));
    });
    b.store(y, i32(0), load(table, i32(3)));
  }),
  "gather, scatter and strided": build([x, k, y, flags], [], (b) => {
    b.for("i", { begin: i32(0), end: i32(8), axis: "parallel" }, (i) => {
      b.store(y, binary("xor", i, i32(5)), load(x, binary("and", load(k, i), i32(15))));
      b.store(flags, mul(i, i32(2)), convert("i32", binary("gt", load(x, i), constant("f32", 0))));
    });
  }),
  "subscripts out of range": build([x, k, y], [], (b) => {
    b.for("i", { begin: i32(0), end: add(lengthOf(x), i32(3)), axis: "parallel" }, (i) => {
      b.if(binary("gt", i, i32(0)), () => b.store(y, i, add(load(x, sub(i, i32(1))), constant("f32", 1))));
    });
    b.for("i", { begin: i32(0), end: lengthOf(k) }, (i) => b.store(y, i32(1), load(x, load(k, i))));
  }),
};

const machines = [
  { vectorBytes: 0, launches: false },
  { vectorBytes: 0, launches: true },
  { vectorBytes: 16, launches: true },
  { vectorBytes: 32, launches: true },
  { vectorBytes: 64, launches: false },
];

function inputs(buffers: readonly Buffer[], n: number): TypedArray[] {
  return buffers.map((b) => {
    const a = newArray(b.storage, n);
    for (let i = 0; i < n; i++) a[i] = b.storage === "i32" ? (i * 7 + 3) % 29 : Math.sin(i * 1.7 + b.name.length) * 4;
    return a;
  });
}

describe("lowering keeps the meaning", () => {
  for (const [name, { module, buffers }] of Object.entries(cases)) {
    it(name, () => {
      for (const n of [16, 37, 100]) {
        const expected = inputs(buffers, n);
        const reference = lower(module, { vectorBytes: 0, launches: false });
        const fault = interpret(reference, { buffers: expected, params: [] });
        expect(fault !== 0).toBe(name === "subscripts out of range");
        for (const machine of machines) {
          const got = inputs(buffers, n);
          const lowered = lower(module, machine);
          expect(interpret(lowered, { buffers: got, params: [] }) !== 0).toBe(fault !== 0);
          if (fault === 0) expect(got, `${JSON.stringify(machine)} n=${n}`).toEqual(expected);
        }
      }
    });
  }
});

describe("reductions", () => {
  it("follow the front-end definition across shards", () => {
    const n = 20_000;
    const [front, lowered] = [inputs([x, y], n), inputs([x, y], n)];
    const sum = cases.sum as Case;
    interpret(sum.module, { buffers: front, params: [] });
    interpret(lower(sum.module, { vectorBytes: 32, launches: true }), { buffers: lowered, params: [] });
    expect(lowered[1]?.[0]).toBe(front[1]?.[0]);
    const exact = (front[0] as Float32Array).reduce((s, v) => s + v, 10);
    expect(Math.abs((front[1]?.[0] as number) - exact)).toBeLessThan(1e-2);
  });
});

describe("the interpreter", () => {
  it("finds iterations that meet", () => {
    const race = build([x], [], (b) => {
      b.for("i", { begin: i32(0), end: i32(4), axis: "parallel" }, (i) =>
        b.store(x, binary("shr", i, i32(1)), constant("f32", 1)),
      );
    });
    expect(() => interpret(race.module, { buffers: inputs([x], 8), params: [] })).toThrow(RaceError);
  });
});

describe("the verifier", () => {
  it("refuses an exit from a parallel loop, and vectors before their stage", () => {
    const bad = build([x], [], (b) => {
      b.for("i", { begin: i32(0), end: i32(4), axis: "parallel" }, (_, label) => b.exit(label));
    });
    expect(() => verify(bad.module, "front")).toThrow(/exit/);
    const v = local("v", "f32", 4);
    const early = build([x], [], (b) => b.assign(v, constant("f32", 0, 4)));
    expect(() => verify(early.module, "front")).toThrow(/vector/);
    expect(() => verify(early.module, "vector")).not.toThrow();
  });
});
