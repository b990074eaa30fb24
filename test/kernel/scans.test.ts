/**
 * @file `scan`: recurrences give the bits of their definition on every target, whatever their length, direction and
 * values; what is no recurrence is refused; subscripts are tested before the loop and not in it.
 */
import { describe, expect, test } from "vitest";
import type { Module } from "../../src/ir/nodes.ts";
import { lower } from "../../src/ir/pipeline.ts";
import { eachStmt } from "../../src/ir/walk.ts";
import { compileKernel } from "../../src/kernel/compile.ts";
import { constant, f32, f64, i32, kernelSpec, u8 } from "../../src/kernel/declare.ts";
import { KernelError } from "../../src/kernel/errors.ts";
import { allocate, kernel } from "../../src/kernel/kernel.ts";
import { KernelFault } from "../../src/runtime/arguments.ts";
import { availability, TARGET_NAMES } from "../../src/runtime/targets.ts";

const targets = TARGET_NAMES.filter((name) => availability(name).target);
const TYPES = { f32, f64 } as const;
type TypeName = keyof typeof TYPES;
type Floats = Float32Array | Float64Array;

/** The definition in plain code: blocks of eight, then one by one. */
function recurrence(type: TypeName, a: ArrayLike<number>, b: ArrayLike<number>, start: number): number[] {
  const round = type === "f32" ? Math.fround : (x: number) => x;
  const after = (b: number, a: number, x: number): number => round(b + round(a * x));
  const at = (k: number): { a: number; b: number } => ({ a: a[k] as number, b: b[k] as number });
  const both = (second: { a: number; b: number }, first: { a: number; b: number }): { a: number; b: number } => ({
    a: round(second.a * first.a),
    b: after(second.b, second.a, first.b),
  });
  const result: number[] = [];
  let x = round(start);
  const n = a.length;
  for (let k = 0; k < n; k += k + 8 <= n ? 8 : 1) {
    if (k + 8 > n) {
      x = after(at(k).b, at(k).a, x);
      result.push(x);
      continue;
    }
    const run = (from: number): { a: number; b: number }[] => {
      const m1 = both(at(from + 1), at(from));
      return [at(from), m1, both(at(from + 2), m1), both(both(at(from + 3), at(from + 2)), m1)];
    };
    const [one, two] = [run(k), run(k + 4)];
    const whole = both(two[3] as { a: number; b: number }, one[3] as { a: number; b: number });
    for (const m of one) result.push(after(m.b, m.a, x));
    const middle = result.at(-1) as number;
    for (const m of two.slice(0, 3)) result.push(after(m.b, m.a, middle));
    x = after(whole.b, whole.a, x);
    result.push(x);
  }
  return result;
}

/** With `again` values from before the recurrence are used behind it, too. */
const recur = (type: TypeName, down: boolean, again: boolean) =>
  kernel(
    {
      a: TYPES[type].array(),
      b: TYPES[type].array(),
      x: TYPES[type].array(),
      twice: TYPES[type].array(),
      end: TYPES[type].array(1),
      start: TYPES[type],
      down: constant(down),
      again: constant(again),
    },
    ({ a, b, x, twice, end, start, down, again }, { scan }) => {
      const n = a.length;
      let sum = start;
      scan(n, (i) => {
        const at = down ? n - 1 - i : i;
        const factor = a[at]!;
        sum = b[at]! + factor * sum;
        x[at] = sum;
        twice[at] = sum + sum * (again ? factor : a[at]!);
      });
      end[0] = sum;
    },
    { name: "recur" },
  );

function arrayOf(type: TypeName, values: readonly number[]): Floats {
  const array = allocate(TYPES[type] as typeof f64, values.length);
  array.set(values);
  return array;
}
const SPECIAL = [
  0,
  -0,
  1,
  -1,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  1e-42,
  5e-324,
  1e300,
  0.5,
];
/** Mostly ordinary numbers, with a special one here and there. */
const sample = (i: number, seed: number): number => {
  const random = Math.abs(Math.sin(i * 12.9898 + seed * 78.233) * 43758.5453) % 1;
  return random < 0.12 ? (SPECIAL[(i * 7 + seed) % SPECIAL.length] as number) : 2 * random - 1;
};
const text = (values: ArrayLike<number>): string =>
  Array.from(values, (v) => (Number.isNaN(v) ? "NaN" : Object.is(v, -0) ? "-0" : String(v))).join(" ");

describe.each(targets)("%s", (target) => {
  test.each(["f32", "f64"] as const)("%s gives the definition's bits in both directions", (type) => {
    for (const [down, again] of [
      [false, false],
      [false, true],
      [true, false],
      [true, true],
    ] as const) {
      const run = recur(type, down, again).on(target);
      for (let n = 0; n <= 80; n++) {
        const numbers = (seed: number): number[] => Array.from({ length: n }, (_, i) => sample(i, seed + 50 * n));
        const [a, b] = [arrayOf(type, numbers(1)), arrayOf(type, numbers(2))];
        const [x, twice, end] = [arrayOf(type, numbers(3)), arrayOf(type, numbers(4)), arrayOf(type, [7])];
        const start = n % 3 === 0 ? -0 : 1.25;
        run({ a, b, x, twice, end, start } as never);
        const ordered = (values: Floats): number[] => (down ? [...values].reverse() : [...values]);
        const wanted = recurrence(type, ordered(a), ordered(b), start);
        const round = type === "f32" ? Math.fround : (v: number) => v;
        const label = `${n} iterations ${down ? "down" : "up"}`;
        expect(text(ordered(x)), label).toBe(text(wanted));
        expect(text(end), label).toBe(text([wanted.at(-1) ?? start]));
        const doubled = wanted.map((v, k) => round(v + round(v * (ordered(a)[k] as number))));
        expect(text(ordered(twice)), label).toBe(text(doubled));
      }
    }
  });

  test("several recurrences, one made of another", () => {
    const both = kernel(
      { a: f64.array(), first: f64.array(), second: f64.array() },
      ({ a, first, second }, { scan }) => {
        let x = 0.5;
        let y = 0.25;
        scan(a.length, (i) => {
          x = a[i]! * x + a[i]!;
          const half = 0.5 * x;
          y = y * a[i]! + half;
          first[i] = x;
          second[i] = x + y;
        });
      },
    );
    const a = arrayOf(
      "f64",
      Array.from({ length: 29 }, (_, i) => Math.sin(i)),
    );
    const [first, second] = [arrayOf("f64", new Array(29).fill(0)), arrayOf("f64", new Array(29).fill(0))];
    both.on(target)({ a, first, second } as never);
    const x = recurrence("f64", a, a, 0.5);
    const y = recurrence(
      "f64",
      a,
      x.map((v) => 0.5 * v),
      0.25,
    );
    expect(text(first)).toBe(text(x));
    expect(text(second)).toBe(text(x.map((v, k) => v + (y[k] as number))));
  });

  test.each(target === "js" ? [1] : [1, 2])("in the iterations of a parallel loop, with %i threads", (threads) => {
    const rows = kernel({ a: f32.array(), x: f32.array(), n: i32 }, ({ a, x, n }, { parallel, scan }) => {
      parallel((a.length / n) | 0, (row) => {
        const scratch = new Float32Array(2);
        scratch[1] = Math.fround(row);
        let sum = scratch[1];
        scan(n, (i) => {
          const own = new Float32Array(2);
          own[0] = a[row * n + i]!;
          const short = own[0] < 0 ? 0.5 : scratch[0];
          sum = own[0] + short * sum;
          own[1] = sum;
          x[row * n + i] = own[1];
        });
      });
    });
    const [n, count] = [37, 9];
    const a = arrayOf(
      "f32",
      Array.from({ length: n * count }, (_, i) => Math.sin(i)),
    );
    const x = arrayOf("f32", new Array(n * count).fill(0));
    rows.on(target, { threads })({ a, x, n } as never);
    for (let row = 0; row < count; row++) {
      const part = a.slice(row * n, (row + 1) * n);
      const factors = Array.from(part, (v) => (v < 0 ? 0.5 : 0));
      expect(text(x.slice(row * n, (row + 1) * n))).toBe(text(recurrence("f32", factors, part, row)));
    }
  });

  test("arrays of an iteration, and arrays from before the loop", () => {
    const weighted = kernel({ a: f64.array(), x: f64.array() }, ({ a, x }, { scan }) => {
      const weights = new Float64Array(4);
      for (let k = 0; k < 4; k++) weights[k] = a[k]! + 0.25;
      let sum = 0.5;
      scan(a.length, (i) => {
        const own = new Float64Array(2);
        own[i & 1] = a[i]!;
        sum = weights[i & 3]! + 0.5 * sum;
        x[i] = sum + own[i & 1]!;
      });
    });
    const a = arrayOf(
      "f64",
      Array.from({ length: 27 }, (_, i) => Math.cos(i)),
    );
    const x = arrayOf("f64", new Array(27).fill(0));
    weighted.on(target)({ a, x } as never);
    const terms = Array.from(a, (_, i) => (a[i & 3] as number) + 0.25);
    const sums = recurrence("f64", new Array(27).fill(0.5), terms, 0.5);
    expect(text(x)).toBe(text(sums.map((v, i) => v + (a[i] as number))));
  });

  test("stores through computed subscripts happen in order", () => {
    const last = kernel({ at: i32.array(), x: f64.array(), done: u8.array() }, ({ at, x, done }, { scan }) => {
      let sum = 1;
      scan(at.length, (i) => {
        const k = at.length - 1 - i;
        sum = Number(at[k]!) + 0.5 * sum;
        x[at[k]!] = sum;
        done[k] = 1;
      });
    });
    const at = allocate(i32, 21);
    for (let i = 0; i < 21; i++) at[i] = i % 2;
    const [x, done] = [arrayOf("f64", [0, 0]), allocate(u8, 21)];
    last.on(target)({ at, x, done } as never);
    const sums = recurrence("f64", new Array(21).fill(0.5), [...at].reverse(), 1);
    expect(text(x)).toBe(text([sums[20] as number, sums[19] as number]));
    expect(done.every((v) => v === 1)).toBe(true);
  });

  test("subscripts out of range are reported, and nothing is written", () => {
    const run = recur("f64", true, false).on(target);
    const numbers = (n: number): Floats => arrayOf("f64", new Array(n).fill(0.5));
    const x = numbers(20);
    const call = (): void =>
      run({ a: numbers(20), b: numbers(19), x, twice: numbers(20), end: numbers(1), start: 1 } as never);
    expect(call).toThrow(KernelFault);
    expect(call).toThrow(/b\[/);
    expect(text(x)).toBe(text(numbers(20)));
  });
});

const declaration = { x: f64.array(), y: f64.array(), n: i32, start: f64 };
type Body = Parameters<typeof kernel<typeof declaration>>[1];
const compiled = (fn: Body): Module => compileKernel(kernelSpec(declaration, fn as never, {}, compiled as never));

describe("what is refused", () => {
  const construct = (fn: Body): string | undefined => {
    try {
      compiled(fn);
    } catch (error) {
      if (error instanceof KernelError) return error.construct;
      throw error;
    }
    return undefined;
  };
  test.each<[string, Body, string]>([
    [
      "a recurrence under a condition",
      ({ x, n, start }, { scan }) => {
        let s = start;
        scan(n, (i) => {
          if (x[i]! > 0) s = x[i]! + 0.5 * s;
        });
        x[0] = s;
      },
      "scanAssignment",
    ],
    [
      "two of one variable",
      ({ x, n, start }, { scan }) => {
        let s = start;
        scan(n, (i) => {
          s = x[i]! + 0.5 * s;
          s = 1 + 0.5 * s;
        });
        x[0] = s;
      },
      "scanAssignment",
    ],
    [
      "a factor that reads it",
      ({ x, n, start }, { scan }) => {
        let s = start;
        scan(n, (i) => {
          s = x[i]! + s * s;
        });
        x[0] = s;
      },
      "scanAssignment",
    ],
    [
      "whole numbers",
      ({ x, n }, { scan }) => {
        let s = 1;
        scan(n, () => {
          s = (1 + 3 * s) | 0;
        });
        x[0] = s;
      },
      "scanAssignment",
    ],
    [
      "the value of the iteration before",
      ({ x, y, n, start }, { scan }) => {
        let s = start;
        scan(n, (i) => {
          y[i] = s;
          s = x[i]! + 0.5 * s;
        });
      },
      "scanRead",
    ],
    [
      "a variable from outside of the parallel loop around",
      ({ x, n, start }, { parallel, scan }) => {
        let s = start;
        parallel(n, () => {
          scan(n, (i) => {
            s = x[i]! + 0.5 * s;
          });
        });
        x[0] = s;
      },
      "scanAssignment",
    ],
    [
      "iterations that meet in memory",
      ({ x, n, start }, { scan }) => {
        let s = start;
        scan(n - 1, (i) => {
          s = x[i]! + 0.5 * s;
          x[i + 1] = s;
        });
      },
      "sharedElement",
    ],
  ])("%s", (_what, fn, name) => {
    expect(construct(fn)).toBe(name);
  });
});

describe("what it becomes", () => {
  const module = compiled(({ x, y, n, start }, { scan }) => {
    let s = start;
    scan(n, (i) => {
      const at = n - 1 - i;
      s = x[at]! + 0.5 * s;
      y[at] = s;
    });
  });
  test.each([
    [0, 2],
    [16, 2],
    [32, 3],
  ])("loops without a test in them: with vectors of %i bytes %i", (vectorBytes, wanted) => {
    let loops = 0;
    eachStmt(lower(module, { vectorBytes, launches: false }).entry.body, (s) => {
      if (s.kind !== "for") return;
      loops++;
      eachStmt(s.body, (inner) => expect(["assign", "store"]).toContain(inner.kind));
    });
    expect(loops).toBe(wanted);
  });
  test("contiguous loads and stores, though subscripts count down", () => {
    let accesses = 0;
    eachStmt(lower(module, { vectorBytes: 32, launches: false }).entry.body, (s) => {
      if (s.kind !== "store" || s.value.lanes === 1) return;
      accesses++;
      expect(s.stride).toMatchObject({ kind: "const", value: 1 });
    });
    expect(accesses).toBeGreaterThan(0);
  });
});
