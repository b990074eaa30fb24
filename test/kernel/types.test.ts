/**
 * @file Which types meet and which do not: what is said about a mix, and TypeScript's types of a declaration.
 */
import { describe, expect, expectTypeOf, test } from "vitest";
import {
  bool,
  type CallArguments,
  constant,
  type Declaration,
  type FunctionArguments,
  f32,
  f64,
  i32,
  inline,
  type KernelArray,
  struct,
  u8,
  u32,
} from "../../src/kernel/declare.ts";
import { KernelError } from "../../src/kernel/errors.ts";
import { compile, kernel, run } from "./support.ts";

type AnyFunction = (...args: never[]) => unknown;
const numbers = {
  i: i32,
  u: u32,
  x: f32,
  y: f64,
  flag: bool,
  is: i32.array(),
  us: u32.array(),
  xs: f32.array(),
  ys: f64.array(),
  bytes: u8.array(),
  flags: bool.array(),
} as const satisfies Declaration;
const NAMES = "{ i, u, x, y, flag, is, us, xs, ys, bytes, flags }, $";

function errorOf(body: string): KernelError {
  const fn = new Function(`return (${NAMES}) => { ${body} }`)() as AnyFunction;
  try {
    compile(numbers, fn);
  } catch (error) {
    if (error instanceof KernelError) return error;
    throw error;
  }
  throw new Error(`${body} compiles`);
}

describe("mixes that need a conversion", () => {
  test.each([
    ["xs[0] = x + i;", "`x` is an f32 and `i` is an i32: they do not mix", "`(x) | 0` or `Math.fround(i)`"],
    ["us[0] = u + i;", "`u` is a u32 and `i` is an i32: they do not mix", "`(u) | 0` or `(i) >>> 0`"],
    ["is[0] = i < u ? 1 : 2;", "they do not mix", "convert one of them"],
    ["xs[0] = i;", "`i` is an i32, and `xs` holds f32", "`Math.fround(i)`"],
    ["xs[0] = x * y;", "`x * y` is an f64, and `xs` holds f32", "`Math.fround(x * y)`"],
    ["is[0] = x;", "`x` is an f32, and `is` holds i32", "`(x) | 0`"],
    ["is[0] = i / 2;", "`i / 2` is an f64, and `is` holds i32", "`(i / 2) | 0`"],
    ["is[0] = 0.5;", "`0.5` is a literal with a fraction, and `is` holds i32", "(0.5) | 0"],
    ["us[0] = i;", "and `us` holds u32", "`(i) >>> 0`"],
    ["us[0] = -1;", "`-1` is the number -1, and `us` holds u32", ">>> 0"],
    ["bytes[0] = x;", "and `bytes` holds u8", "| 0"],
    ["flags[0] = i;", "`i` is an i32, and `flags` holds bool", "`(i) !== 0`"],
    ["xs[x] = 1;", "the subscript `x` is an f32", "[x | 0]"],
    ["is[0] = x & 1;", "`x` is an f32, and bit operations work on integers", "(x | 0)"],
    ["let v = i; v = x; xs[0] = v;", "`v` is an i32 elsewhere and an f32 here", "convert what is assigned"],
    ["xs[0] = flag ? x : i;", "they do not mix", "Math.fround(i)"],
    ["xs[0] = Math.max(x, i);", "they do not mix", "Math.fround(i)"],
    ["xs[0] = $.fma(y, 1, 2);", "does not take an f64", "Math.fround"],
    ["$.parallel(x, (k) => { xs[k] = 1; });", "the count of parallel, `x`, is an f32", "x | 0"],
    ["if (flag === 1) xs[0] = 1;", "`flag` is a boolean and `1` is the number 1: they do not mix", "`(1) !== 0`"],
    ["let v; xs[0] = v;", "the type of `v` cannot be told", "first value"],
  ])("%s", (body, problem, advice) => {
    const error = errorOf(body);
    expect(error.problem).toContain(problem);
    expect(error.advice).toContain(advice);
  });
});

/** What a body leaves in the arrays, given i = -7, u = 3000000000, x = 1.5, y = 0.1. */
function results(body: string): { is: number[]; us: number[]; xs: number[]; ys: number[]; bytes: number[] } {
  const fn = new Function(`return (${NAMES}) => { ${body} }`)() as AnyFunction;
  const args = {
    ...{ i: -7, u: 3000000000, x: 1.5, y: 0.1, flag: true },
    ...{ is: new Int32Array(4), us: new Uint32Array(4), xs: new Float32Array(4), ys: new Float64Array(4) },
    ...{ bytes: new Uint8Array(4), flags: new Uint8Array(4) },
  };
  run(compile(numbers, fn), numbers, args);
  const { is, us, xs, ys, bytes } = args;
  return { is: [...is], us: [...us], xs: [...xs], ys: [...ys], bytes: [...bytes] };
}

describe("numbers that meet without a conversion", () => {
  test("i32 wraps, u32 wraps, f32 rounds each operation", () => {
    const { is, us, xs } = results("is[0] = i * 1000000007; us[0] = u * 3; us[1] = u + u; xs[0] = x / 3 * 3 + 1e8;");
    expect(is[0]).toBe(Math.imul(-7, 1000000007));
    expect(us.slice(0, 2)).toEqual([9000000000 % 2 ** 32, 6000000000 % 2 ** 32]);
    expect(xs[0]).toBe(Math.fround(Math.fround(Math.fround(Math.fround(1.5 / 3) * 3) + 1e8)));
  });
  test("f64 takes i32, u32 and f32 in", () => {
    const { ys } = results("ys[0] = y + i; ys[1] = y + u; ys[2] = y * x; ys[3] = u / 7;");
    expect(ys).toEqual([0.1 - 7, 0.1 + 3000000000, 0.1 * 1.5, 3000000000 / 7]);
  });
  test("a byte is stored modulo 256, a boolean as 0 or 1", () => {
    expect(results("bytes[0] = i; bytes[1] = 300; bytes[2] = flag; bytes[3] = x > 2;").bytes).toEqual([249, 44, 1, 0]);
  });
  test("division by integer zero gives 0", () => {
    const body =
      "const z = i + 7; is[0] = (i / z) | 0; is[1] = Math.floor(i / z); is[2] = Math.ceil(i / z); is[3] = i % z;";
    expect(results(body).is).toEqual([0, 0, 0, 0]);
  });
  test("the quotient of the smallest i32 and -1 wraps", () => {
    expect(results("const m = -2147483648 + (i + 7); is[0] = (m / (i + 6)) | 0;").is[0]).toBe(-2147483648);
  });
  test("unsigned shifts of an i32 can be a subscript and an i32 again", () => {
    expect(results("let low = 1; low = (low + 6) >>> 1; is[low - 1] = low; us[0] = i >>> 0;").is[2]).toBe(3);
  });
  test("big literals are u32 where they do not fit i32", () => {
    const { us } = results("let h = 2166136261; h = ((h ^ u) >>> 0) * 16777619; us[0] = h;");
    expect(us[0]).toBe(Math.imul((2166136261 ^ 3000000000) >>> 0, 16777619) >>> 0);
  });
  test("masks and remainders of a u32 stay one where they are large", () => {
    const { us, xs } = results(
      "let h = u; h = h & 0x7fffffff; us[0] = h; us[1] = u % 1000000007; xs[0] = x * (u & 7);",
    );
    expect(us.slice(0, 2)).toEqual([3000000000 & 0x7fffffff, 3000000000 % 1000000007]);
    expect(xs[0]).toBe(1.5 * (3000000000 & 7));
  });
  test("a fused product differs from two roundings where numerics say so", () => {
    const fn = new Function("return ({ x, out }, { mulAdd }) => { out[0] = mulAdd(x, x, -1); }")() as AnyFunction;
    const declaration = { x: f32, out: f32.array() };
    const x = Math.fround(1 + 2 ** -13);
    const [fused, unfused] = (["fused", "unfused"] as const).map((numerics) => {
      const out = new Float32Array(1);
      run(compile(declaration, fn, { numerics }), declaration, { x, out });
      return out[0];
    });
    expect(fused).toBe(Math.fround(x * x - 1));
    expect(unfused).toBe(Math.fround(Math.fround(x * x) - 1));
    expect(fused).not.toBe(unfused);
  });
});

describe("TypeScript's types of a declaration", () => {
  const inner = kernel({ a: f32.array(), n: i32 }, ({ a, n }) => {
    a[0] = Math.fround(n);
  });
  const declaration = {
    x: f32.array(),
    n: i32,
    on: bool,
    flags: bool.array(8),
    rows: f32.array(4).array(),
    nested: { y: f64.array(), scale: f32 },
    state: struct({ p: f32, done: bool, cells: u8.array(3), at: { row: i32 } }).array(),
    k: constant(3),
    table: constant([1, 2]),
    params: constant({ g: 9.8, on: true }),
    square: inline((v: number) => v * v),
    inner,
  };
  type D = typeof declaration;

  test("of a call", () => {
    expectTypeOf<CallArguments<D>>().toEqualTypeOf<{
      readonly x: Float32Array;
      readonly n: number;
      readonly on: boolean;
      readonly flags: Uint8Array;
      readonly rows: Float32Array;
      readonly nested: { readonly y: Float64Array; readonly scale: number };
      readonly state: {
        readonly p: Float32Array;
        readonly done: Uint8Array;
        readonly cells: Uint8Array;
        readonly at: { readonly row: Int32Array };
      };
    }>();
  });
  test("of the function's parameter", () => {
    type F = FunctionArguments<D>;
    expectTypeOf<F["x"]>().toEqualTypeOf<KernelArray<number>>();
    expectTypeOf<F["flags"][0]>().toEqualTypeOf<boolean>();
    expectTypeOf<F["rows"][0]>().toEqualTypeOf<KernelArray<number>>();
    expectTypeOf<F["nested"]["scale"]>().toEqualTypeOf<number>();
    expectTypeOf<F["state"][0]>().toEqualTypeOf<{
      p: number;
      done: boolean;
      cells: KernelArray<number>;
      at: { row: number };
    }>();
    expectTypeOf<F["k"]>().toEqualTypeOf<number>();
    expectTypeOf<F["table"][0]>().toEqualTypeOf<number>();
    expectTypeOf<F["params"]["g"]>().toEqualTypeOf<number>();
    expectTypeOf<F["square"]>().toEqualTypeOf<(v: number) => number>();
    expectTypeOf<F["inner"]>().parameter(0).toHaveProperty("n").toEqualTypeOf<number>();
    expectTypeOf<F["inner"]>().returns.toEqualTypeOf<void>();
  });
  test("helpers with uses drop their first parameter", () => {
    const helper = inline({ half: constant(0.5) }, ({ half }, v: number) => v * half);
    expectTypeOf<FunctionArguments<{ helper: typeof helper }>["helper"]>().toEqualTypeOf<(v: number) => number>();
  });
});
