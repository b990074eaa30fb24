/** Kernels and programs as a user calls them: arguments, memory, crossings, on every target there is. */
import { describe, expect, it } from "vitest";
import { f32, f64, i32, struct, u8 } from "../../src/kernel/declare.ts";
import { allocate, allocateFrom, free, kernel } from "../../src/kernel/kernel.ts";
import { program } from "../../src/kernel/program.ts";
import { planArena } from "../../src/runtime/plan.ts";
import { availability, TARGET_NAMES } from "../../src/runtime/targets.ts";
import { findSpoiled } from "../runtime/overlap.ts";

const targets = TARGET_NAMES.filter((name) => availability(name).target);

const scale = kernel(
  { x: f32.array(), out: f32.array(), factor: f32 },
  ({ x, out, factor }, { parallel }) => {
    parallel(x.length, (i) => {
      out[i] = x[i] * factor;
    });
  },
  { name: "scale" },
);
const addTo = kernel(
  { x: f32.array(), total: f32.array(), weight: i32 },
  ({ x, total, weight }, { parallel }) => {
    let sum = 0;
    parallel(x.length, (i) => {
      sum += x[i];
    });
    total[0] = total[0] + sum * Math.fround(weight);
  },
  { name: "addTo" },
);

describe.each(targets)("a call on %s", (target) => {
  const run = scale.on(target);

  it("works in place on arrays of the heap, and by copy on others", () => {
    const x = allocateFrom(f32, [1, 2, 3]);
    const out = allocate(f32, 3);
    run({ x, out, factor: 2 });
    expect([...out]).toEqual([2, 4, 6]);
    const foreign = new Float32Array(3);
    run({ x: Float32Array.of(5, 6, 7), out: foreign, factor: 0.5 });
    expect([...foreign]).toEqual([2.5, 3, 3.5]);
    run({ x: x.subarray(1), out: foreign.subarray(0, 2), factor: 10 });
    expect([...foreign]).toEqual([20, 30, 3.5]);
  });

  it("refuses wrong arguments and writes nothing", () => {
    const x = allocateFrom(f32, [1, 2]);
    const out = allocate(f32, 2);
    const wrong = (args: object): (() => void) => {
      return () => run(args as never);
    };
    expect(wrong({ x, out })).toThrow(/"factor" must be a number \(f32\), it is missing/);
    expect(wrong({ x, factor: 1 })).toThrow(/"out" must be a Float32Array/);
    expect(wrong({ x: [1, 2], out, factor: 1 })).toThrow(/convert it with Float32Array.from/);
    expect(wrong({ x: new Float64Array(2), out, factor: 1 })).toThrow(/it is a Float64Array/);
    expect(wrong({ x, out: x, factor: 1 })).toThrow(/share memory/);
    expect(wrong({ x: x.subarray(0, 1), out: x, factor: 1 })).toThrow(/share memory/);
    expect(() => run(undefined as never)).toThrow(/one object with the arguments/);
    expect(wrong({ x, out: allocate(f32, 1), factor: 1 })).toThrow(/out\[i\] is out of range/);
    expect([...x, ...out]).toEqual([1, 2, 0, 0]);
  });

  it("takes bytes for u8", () => {
    const setAll = kernel({ out: u8.array(), value: u8 }, ({ out, value }) => {
      out.fill(value);
    }).on(target);
    const out = allocate(u8, 2);
    setAll({ out, value: 255 });
    for (const value of [256, -1, 1.5, Number.NaN])
      expect(() => setAll({ out, value })).toThrow(/whole number from 0 to 255 \(u8\)/);
    expect([...out]).toEqual([255, 255]);
  });

  it("takes whole numbers for i32, and empty arrays for any", () => {
    const total = allocate(f32, 1);
    expect(() => addTo.on(target)({ x: allocate(f32, 1), total, weight: 1.5 })).toThrow(/whole number/);
    addTo.on(target)({ x: allocate(f32, 0), total, weight: 3 });
    expect(total[0]).toBe(0);
    run({ x: allocate(f32, 0), out: allocate(f32, 0), factor: 1 });
    expect(() => addTo.on(target)({ x: total.subarray(0, 1), total: allocate(f32, 0), weight: 1 })).toThrow(
      /out of range/,
    );
  });

  it("counts crossings, bound or not", () => {
    const x = allocateFrom(f32, [1, 2, 3]);
    const out = allocate(f32, 3);
    const before = run.program.crossings;
    const bound = run.bind({ x, out, factor: 3 });
    bound();
    bound();
    run({ x, out, factor: 3 });
    expect(run.program.crossings - before).toBe(3);
    expect([...out]).toEqual([3, 6, 9]);
    if (target !== "js") expect(() => run.bind({ x, out: new Float32Array(3), factor: 1 })).toThrow(/allocate/);
  });

  it("checks the columns of a struct and the rows of an array", () => {
    const columns = kernel(
      { state: struct({ x: f32, v: f32 }).array(), rows: f32.array(2).array() },
      ({ state, rows }, { parallel }) => {
        parallel(state.length, (i) => {
          const s = state[i];
          s.x = s.x + s.v;
          rows[i][0] = s.x;
          rows[i][1] = s.v;
        });
      },
      { name: "columns" },
    ).on(target);
    const state = { x: allocateFrom(f32, [1, 2]), v: allocateFrom(f32, [10, 20]) };
    const rows = allocate(f32, 4);
    columns({ state, rows });
    expect([...rows]).toEqual([11, 10, 22, 20]);
    expect(() => columns({ state: { ...state, v: allocate(f32, 3) }, rows })).toThrow(/belong together/);
    expect(() => columns({ state, rows: allocate(f32, 3) })).toThrow(/rows of 2 elements/);
  });
});

describe("memory", () => {
  it("is one for all targets and programs: each sees what the others wrote", () => {
    const x = allocateFrom(f32, [1, 1, 1, 1]);
    const y = allocate(f32, 4);
    for (const target of targets) {
      scale.on(target)({ x, out: y, factor: 2 });
      scale.on(target)({ x: y, out: x, factor: 1 });
    }
    expect(x[0]).toBe(2 ** targets.length);
    free(y);
    expect(() => free(y)).toThrow(/freed before/);
    expect(() => free(new Float32Array(1))).toThrow(/not made by allocate/);
  });
});

describe.each(targets)("a program on %s", (target) => {
  it("runs kernels and loops over them in one crossing, with temps and state", () => {
    const count = { state: undefined as unknown };
    const steps = program(
      { x: f32.array(8), total: f32.array(1), rounds: i32 },
      ({ x, total, rounds }, { call, repeat, temp, state }) => {
        const doubled = temp(f32, 8);
        const tripled = temp(f32, 8);
        const seen = state(f32, 1);
        count.state = seen;
        call(scale, { x, out: doubled, factor: 2 });
        call(addTo, { x: doubled, total, weight: 1 });
        repeat(rounds, (i) => {
          call(scale, { x, out: tripled, factor: 3 });
          call(addTo, { x: tripled, total, weight: i });
        });
        call(addTo, { x, total: seen, weight: 1 });
      },
      { name: "steps" },
    );
    const x = allocate(f32, 8).fill(1);
    const total = allocate(f32, 1);
    const on = steps.on(target);
    on.run({ x, total, rounds: 3 });
    // 8 * 2 + 8 * 3 * (0 + 1 + 2)
    expect(total[0]).toBe(88);
    on.run({ x, total, rounds: 0 });
    expect(total[0]).toBe(104);
    expect(on.crossings).toBe(2);
    expect(steps.read(count.state as never, on)[0]).toBe(16);
    expect(findSpoiled(steps.ir(), planArena(steps.ir()), [x, total], [3])).toBeUndefined();
    const bound = on.bind({ x, total, rounds: 1 });
    const { run } = on;
    on.dispose();
    for (const call of [bound, () => run({ x, total, rounds: 1 }), () => on.run({ x, total, rounds: 1 })])
      expect(call).toThrow(/disposed/);
    expect(steps.on(target)).not.toBe(on);
  });
});

describe("building a program", () => {
  it("refuses arguments that do not fit, by name", () => {
    const build = (args: object): (() => unknown) => {
      return () =>
        program(
          { x: f32.array(), d: f64.array(), flag: u8.array() },
          (given, { call }) => {
            call(scale, { ...given, ...args } as never);
          },
          { name: "wrong" },
        );
    };
    expect(build({})).toThrow(/wrong: scale needs an array for "out"/);
    expect(() =>
      program(
        { x: f32.array(), d: f64.array() },
        ({ x, d }, { call }) => call(scale, { x, out: d as never, factor: 1 }),
        { name: "p" },
      ),
    ).toThrow(/takes f32 for "out", not f64/);
    expect(() =>
      program({ x: f32.array(4) }, ({ x }, { call }) => call(scale, { x, out: x, factor: 1 }), { name: "p" }),
    ).toThrow(/writes "out", which is the same array as "x"/);
    expect(() =>
      program({ x: f32.array(), t: f32.array() }, ({ x, t }, { call }) => call(addTo, { x, total: t, weight: 1.5 }), {
        name: "p",
      }),
    ).toThrow(/takes i32 for "weight", not 1.5/);
    const fused = kernel(
      { x: f32.array() },
      ({ x }) => {
        x[0] = x[0] * x[1] + x[2];
      },
      {
        name: "fused",
        numerics: "fused",
      },
    );
    const mixed = (numerics?: "fused"): (() => unknown) => {
      return () => program({ x: f32.array() }, ({ x }, { call }) => call(fused, { x }), numerics ? { numerics } : {});
    };
    expect(mixed()).toThrow(/asks for fused numerics/);
    expect(mixed("fused")).not.toThrow();
    expect(() => scale.on("js", { threads: 0 })).toThrow(/threads must be/);
    expect(() => program({ x: f32.array() }, (_, { temp }) => void temp(f32, 0), { name: "p" })).toThrow(/from 1 on/);
    expect(() => program({ x: f32.array() }, (_, { repeat }) => repeat(-1, () => {}), { name: "p" })).toThrow(/repeat/);
  });
});

describe.each(targets)("faults in programs on %s", (target) => {
  it("name the program and the kernel", () => {
    const positive = kernel({ x: f32.array() }, ({ x }, { assert }) => assert(x[0] > 0, "x must be positive"), {
      name: "positive",
    });
    const check = program(
      { x: f32.array(), y: f32.array() },
      ({ x, y }, { call }) => {
        call(positive, { x });
        call(scale, { x, out: y, factor: 1 });
      },
      { name: "check" },
    ).on(target);
    const y = allocate(f32, 1);
    expect(() => check.run({ x: allocateFrom(f32, [1, 2]), y })).toThrow(/^check: scale: out\[i\] is out of range/);
    expect(() => check.run({ x: allocateFrom(f32, [-1]), y })).toThrow(/^check: positive: x must be positive/);
  });
});

describe.each(targets)("loops on %s", (target) => {
  it("that count up to the last i32 are a fault, not nothing", () => {
    const upTo = kernel(
      { x: f32.array(), n: i32 },
      ({ x, n }) => {
        for (let i = 0; i <= n; i++) {
          if (i >= 3) break;
          x[i] = x[i] + 1;
        }
      },
      { name: "upTo" },
    ).on(target);
    const x = allocate(f32, 4);
    upTo({ x, n: 1 });
    upTo({ x, n: 2147483646 });
    expect([...x]).toEqual([2, 2, 1, 0]);
    expect(() => upTo({ x, n: 2147483647 })).toThrow(/a loop over `i` cannot count beyond 2147483647/);
  });

  it("that may be left early are not taken for certain to go out of range", () => {
    const early = kernel(
      { x: f32.array(), n: i32 },
      ({ x, n }) => {
        for (let i = 0; i < n; i++) {
          for (let j = 0; j < 1; j++) if (i >= x.length) return;
          x[i] = 1;
        }
      },
      { name: "early" },
    );
    const x = allocate(f32, 5);
    early.on(target)({ x, n: 100 });
    expect([...x]).toEqual([1, 1, 1, 1, 1]);
  });

  it("without an end stop with an error when a subscript runs away", () => {
    const search = kernel(
      { x: f32.array(), y: f32.array() },
      ({ x, y }) => {
        let i = 0;
        while (x[i] > 0) i++;
        y[0] = Math.fround(i);
      },
      { name: "search" },
    );
    const y = allocate(f32, 1);
    search.on(target)({ x: allocateFrom(f32, [1, 2, 0]), y });
    expect(y[0]).toBe(2);
    expect(() => search.on(target)({ x: allocateFrom(f32, [1, 2, 3]), y })).toThrow(/x\[i\] is out of range/);
  });

  it("with long steps end at the last i32, in every lane", () => {
    const steps = kernel(
      { from: i32.array(), y: i32.array() },
      ({ from, y }, { parallel }) => {
        parallel(y.length, (i) => {
          let count = 0;
          for (let k = from[i]; k < 2147483600; k += 100) {
            count++;
            if (count > 5) break;
          }
          y[i] = count;
        });
        let long = 0;
        for (let k = 0; k < 2147483647; k += 1000000000) long++;
        y[0] = long;
      },
      { name: "steps" },
    );
    const y = allocate(i32, 9);
    steps.on(target)({ from: allocate(i32, 9).fill(2147483590), y });
    expect([...y]).toEqual([3, 1, 1, 1, 1, 1, 1, 1, 1]);
  });

  it("take -0 for a whole number, and subscripts of lanes that are off may be anything", () => {
    const pick = kernel(
      { x: f32.array(), at: i32.array(), y: f32.array(), n: i32 },
      ({ x, at, y, n }, { parallel }) => {
        parallel(y.length, (i) => {
          const j = at[i];
          y[i] = j >= 0 ? x[j] : Math.fround(1 / n);
        });
      },
      { name: "pick" },
    );
    const y = allocate(f32, 9);
    const at = allocateFrom(i32, [0, -2000000000, 1, -1, 2, 0, -5, 1, -2147483648]);
    for (const unchecked of [false, true]) {
      pick.on(target, { unchecked })({ x: allocateFrom(f32, [5, 6, 7]), at, y, n: -0 });
      expect([...y]).toEqual([5, Infinity, 6, Infinity, 7, 5, Infinity, 6, Infinity]);
    }
  });
});

describe("parallel loops", () => {
  it("are refused when iterations certainly meet", () => {
    const meets = kernel(
      { x: f32.array() },
      ({ x }, { parallel }) => {
        parallel(10, (i) => {
          x[i] = x[i + 1] * 2;
        });
      },
      { name: "meets" },
    );
    expect(() => meets({ x: allocate(f32, 11) })).toThrow(/two iterations of `parallel` reach the same element of `x`/);
  });
});
