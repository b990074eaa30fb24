/**
 * @file What plain JavaScript does not have: random streams, assertions, bits, kernels inside kernels, checked views;
 * and the shape of the IR where speed depends on it.
 */
import { describe, expect, test } from "vitest";
import { Builder, buffer, func, i32 as int } from "../../src/ir/build.ts";
import { interpret } from "../../src/ir/interpret.ts";
import type { For, Module, Stmt } from "../../src/ir/nodes.ts";
import { eachStmt } from "../../src/ir/walk.ts";
import { bool, constant, f32, i32, inline, type RandomStream, struct, u8, u32 } from "../../src/kernel/declare.ts";
import { createStream, HostStream } from "../../src/random/index.ts";
import { compile, kernel, run, specOf } from "./support.ts";

const statementsOf = (module: Module): Stmt[] => {
  const found: Stmt[] = [];
  eachStmt(module.entry.body, (s) => found.push(s));
  return found;
};
const loopsOf = (module: Module): For[] => statementsOf(module).filter((s) => s.kind === "for");
const kindsOf = (module: Module): string[] => statementsOf(module).map((s) => s.kind);
/** Compiles a kernel of the tests' own helper. */
const module = (made: Parameters<typeof specOf>[0]): Module => {
  const { declaration, fn, options } = specOf(made);
  return compile(declaration, fn, options);
};

describe("random streams", () => {
  test("draw what src/random draws", () => {
    const made = kernel({ words: u32.array(), n: i32 }, ({ words, n }, { rng }) => {
      const g = rng(7, 9);
      for (let k = 0; k < n; k++) words[k] = g.bits();
      words[n] = g.fold(3).bits();
      words[n + 1] = g.split().bits();
    });
    const words = new Uint32Array(6);
    run(module(made), specOf(made).declaration, { words, n: 4 });

    const b = new Builder();
    const out = buffer("out", "u32", "param");
    const g = createStream(b, int(7), int(9));
    for (let k = 0; k < 4; k++) b.store(out, int(k), g.bits());
    b.store(out, int(4), g.fold(int(3)).bits());
    b.store(out, int(5), g.split().bits());
    const wanted = new Uint32Array(6);
    const direct: Module = { name: "direct", entry: func("direct", [out], [], b.statements), sites: [] };
    interpret(direct, { buffers: [wanted], params: [] });
    expect(words).toEqual(wanted);
    expect(new Set(words).size).toBe(6);
  });
  test("give each iteration its own numbers, in range and by type", () => {
    const made = kernel(
      { x: f32.array(), k: i32.array(), flag: bool.array(), weights: f32.array(), seed: u32 },
      ({ x, k, flag, weights, seed }, { parallel, rng }) => {
        const base = rng(seed, 1);
        parallel(k.length, (i) => {
          const g = base.fold(i);
          x[4 * i] = g.uniform(-2, 3);
          x[4 * i + 1] = g.normal();
          x[4 * i + 2] = g.exponential();
          x[4 * i + 3] = g.uniform();
          k[i] = g.int(10) * 10 + g.categorical(weights);
          flag[i] = g.bernoulli(0.25);
        });
      },
    );
    const args = {
      x: new Float32Array(800),
      k: new Int32Array(200),
      flag: new Uint8Array(200),
      weights: Float32Array.from([0, 1, 0, 3]),
      seed: 4000000000,
    };
    expect(run(module(made), specOf(made).declaration, args)).toBe(0);
    const column = (c: number): number[] => [...args.x].filter((_, k) => k % 4 === c);
    expect(column(0).every((v) => v >= -2 && v <= 3)).toBe(true);
    expect(Math.abs(column(1).reduce((a, v) => a + v, 0) / 200)).toBeLessThan(0.3);
    expect(column(2).every((v) => v >= 0)).toBe(true);
    expect(new Set(column(3)).size).toBeGreaterThan(190);
    expect([...args.k].every((v) => v >= 0 && v < 100 && [1, 3].includes(v % 10))).toBe(true);
    const trues = args.flag.reduce((a, v) => a + v, 0);
    expect(trues).toBeGreaterThan(25);
    expect(trues).toBeLessThan(80);
  });
  test("permuted gives every element once, as the host's permutation does", () => {
    const made = kernel({ order: i32.array(), seed: u32 }, ({ order, seed }, { parallel, permuted }) => {
      parallel(order.length, (i) => {
        order[i] = permuted(seed, 8, i, order.length);
      });
    });
    const order = new Int32Array(77);
    run(module(made), specOf(made).declaration, { order, seed: 4000000001 });
    const host = new HostStream(4000000001, 8).permutation(77);
    expect([...order]).toEqual(Array.from({ length: 77 }, (_, i) => host.at(i)));
    expect(new Set(order).size).toBe(77);
  });
  test("can be handed to helpers", () => {
    const jitter = inline((g: RandomStream, around: number) => around + g.uniform(-1, 1));
    const made = kernel({ x: f32.array(), jitter }, ({ x, jitter }, { rng }) => {
      const g = rng(1, 2);
      x[0] = jitter(g, 10);
      x[1] = jitter(g, 10);
    });
    const x = new Float32Array(2);
    run(module(made), specOf(made).declaration, { x });
    expect([...x].every((v) => v >= 9 && v <= 11)).toBe(true);
    expect(x[0]).not.toBe(x[1]);
  });
});

describe("reductions", () => {
  test("take what a helper returns", () => {
    const square = inline((v: number) => {
      const doubled = v * 2;
      return doubled * v;
    });
    const made = kernel({ x: f32.array(), out: f32.array(), square }, ({ x, out, square }, { parallel }) => {
      let sum = 0;
      parallel(x.length, (i) => {
        sum += square(x[i]);
      });
      out[0] = sum;
    });
    const args = { x: Float32Array.from([1, 2, 3]), out: new Float32Array(1) };
    expect(run(module(made), specOf(made).declaration, args)).toBe(0);
    expect(args.out[0]).toBe(28);
  });
  test("a helper that changes what was read before it does not change that", () => {
    const made = kernel({ x: f32.array() }, ({ x }) => {
      let n = x[0] + 1;
      const bump = () => {
        n = n * 10;
        x[1] = n;
        return n;
      };
      n += bump();
      x[0] = n;
      x[1] += bump();
    });
    const x = new Float32Array(2);
    run(module(made), specOf(made).declaration, { x });
    expect([...x]).toEqual([11, 120]);
  });
});

describe("faults", () => {
  test("an assertion that fails is the fault of its site", () => {
    const made = kernel({ x: f32.array() }, ({ x }, { assert }) => {
      assert(x.length > 0, "x is empty");
      for (let k = 0; k < x.length; k++) assert(x[k] >= 0);
    });
    const compiled = module(made);
    const { declaration } = specOf(made);
    expect(compiled.sites.map((s) => [s.reason, s.message])).toEqual([
      ["assert", "x is empty"],
      ["assert", "x[k] >= 0"],
    ]);
    expect(compiled.sites[0]?.place).toMatch(/^2:\d+ {2}assert\(x\.length > 0/);
    expect(run(compiled, declaration, { x: new Float32Array(0) })).toBe(1);
    expect(run(compiled, declaration, { x: Float32Array.from([1, -1]) })).toBe(2);
    expect(run(compiled, declaration, { x: Float32Array.from([1, Number.NaN]) })).toBe(2);
    expect(run(compiled, declaration, { x: Float32Array.from([1, 1]) })).toBe(0);
  });
  test("a subscript outside a row of known length is a fault, though inside the array", () => {
    const made = kernel({ rows: f32.array(4).array(), r: i32, c: i32 }, ({ rows, r, c }) => {
      rows[r][c] = 1;
    });
    const { declaration } = specOf(made);
    const rows = (): Float32Array => new Float32Array(12);
    expect(run(module(made), declaration, { rows: rows(), r: 1, c: 3 })).toBe(0);
    expect(run(module(made), declaration, { rows: rows(), r: 1, c: 4 })).toBe(1);
    expect(run(module(made), declaration, { rows: rows(), r: 1, c: -1 })).toBe(1);
  });
  test("a subscript whose range is known needs no check", () => {
    const made = kernel({ rows: f32.array(4).array() }, ({ rows }) => {
      for (let r = 0; r < rows.length; r++) for (let c = 0; c < 4; c++) rows[r][c] = 1;
    });
    expect(module(made).sites).toEqual([]);
  });
});

test("bits, their inverse and high products", () => {
  const made = kernel({ x: f32, k: i32.array(), y: f32.array(), u: u32.array() }, ({ x, k, y, u }, $) => {
    k[0] = $.bits(x);
    y[0] = $.fromBits(k[0] + 1);
    u[0] = $.mulHigh(4000000000, u[1]);
  });
  const args = { x: 1, k: new Int32Array(1), y: new Float32Array(1), u: Uint32Array.from([0, 3000000000]) };
  run(module(made), specOf(made).declaration, args);
  expect(args.k[0]).toBe(0x3f800000);
  expect(args.y[0]).toBe(1 + 2 ** -23);
  expect(args.u[0]).toBe(Number((4000000000n * 3000000000n) >> 32n));
});

describe("kernels inside kernels", () => {
  const scale = kernel({ x: f32.array(), by: f32, half: constant(0.5) }, ({ x, by, half }, { parallel }) => {
    parallel(x.length, (i) => {
      x[i] *= by * half;
    });
  });
  const advance = kernel({ state: struct({ p: f32, v: f32 }).array(), dt: f32 }, ({ state, dt }) => {
    for (const s of state) s.p += s.v * dt;
  });
  test("take arrays, structs, views and numbers", () => {
    const outer = kernel(
      { x: f32.array(), state: struct({ p: f32, v: f32 }).array(), scale, advance },
      ({ x, state, scale, advance }) => {
        scale({ x, by: 4 });
        scale({ x: x.subarray(1, 3), by: x[0] });
        advance({ state, dt: 0.5 });
      },
    );
    const args = {
      x: Float32Array.from([1, 2, 3, 4]),
      state: { p: Float32Array.from([1, 2]), v: Float32Array.from([10, 20]) },
    };
    run(module(outer), specOf(outer).declaration, args);
    expect([...args.x]).toEqual([2, 4, 6, 8]);
    expect([...args.state.p]).toEqual([6, 12]);
  });
});

describe("the shape of the IR", () => {
  test("counted loops are counted, others are not", () => {
    const made = kernel({ x: f32.array(), n: i32 }, ({ x, n }) => {
      for (let i = 0; i < n; i++) x[i] = 0;
      for (let i = n - 1; i >= 0; i -= 2) x[i] = 1;
      let j = 0;
      while (j < n) j += 1;
    });
    const compiled = module(made);
    expect(loopsOf(compiled).map((l) => [l.axis, l.step])).toEqual([
      ["serial", 1],
      ["serial", -2],
    ]);
    expect(kindsOf(compiled).filter((k) => k === "loop")).toHaveLength(1);
  });
  test("early returns of an iteration are branches, not jumps", () => {
    const made = kernel({ x: f32.array(), out: f32.array() }, ({ x, out }, { parallel }) => {
      parallel(x.length, (i) => {
        if (x[i] < 0) return;
        if (x[i] > 5) {
          out[i] = 5;
          return;
        }
        out[i] = x[i];
      });
    });
    const kinds = kindsOf(module(made));
    expect(kinds).not.toContain("exit");
    expect(kinds).not.toContain("block");
    expect(loopsOf(module(made)).map((l) => l.axis)).toEqual(["parallel"]);
  });
  test("short branches of ?: are selects, those that may fault are not", () => {
    const made = kernel({ x: f32.array(), y: f32.array(), done: u8.array() }, ({ x, y, done }, { parallel }) => {
      parallel(x.length, (i) => {
        x[i] = x[i] > 0 ? x[i] : 0;
        y[i] = done[i] ? 0 : 1 - x[i];
      });
    });
    const guarded = kernel({ x: f32.array(), y: f32.array() }, ({ x, y }, { parallel }) => {
      parallel(y.length, (i) => {
        y[i] = i < x.length ? x[i] : 0;
      });
    });
    expect(kindsOf(module(made))).not.toContain("if");
    expect(kindsOf(module(guarded)).filter((k) => k === "if")).toHaveLength(1);
  });
  test("buffers and parameters stand in the order of the declaration", () => {
    const made = kernel(
      { b: f32.array(), n: i32, s: struct({ y: f32, x: u8 }).array(), in: { flag: bool, z: u32.array(3) } },
      (args) => {
        args.b[0] = Math.fround(args.n);
      },
    );
    const { entry } = module(made);
    expect(entry.buffers.map((b) => [b.name, b.storage, b.length])).toEqual([
      ["b", "f32", undefined],
      ["s.y", "f32", undefined],
      ["s.x", "u8", undefined],
      ["in.z", "u32", 3],
    ]);
    expect(entry.params.map((p) => [p.name, p.dtype])).toEqual([
      ["n", "i32"],
      ["in.flag", "bool"],
    ]);
  });
  test("reductions are told apart by their operation", () => {
    const made = kernel({ x: f32.array(), out: f32.array() }, ({ x, out }, { parallel }) => {
      let sum = 0;
      let most = -1;
      parallel(x.length, (i) => {
        sum += x[i];
        most = Math.max(most, x[i]);
      });
      out[0] = sum + most;
    });
    expect(loopsOf(module(made))[0]?.reductions.map((r) => [r.local.name, r.op])).toEqual([
      ["sum", "add"],
      ["most", "max"],
    ]);
  });
});
