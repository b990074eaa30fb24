/**
 * @file Every operation on every type it takes, scalar and in vectors of all sizes, on values at the edges.
 */
import { describe, expect, test } from "vitest";
import {
  Builder,
  binary,
  constant,
  convert,
  fma,
  get,
  i32,
  lengthOf,
  load,
  loadLanes,
  local,
  select,
  splat,
  store,
  unary,
} from "../../src/ir/build.ts";
import type { TypedArray } from "../../src/ir/interpret.ts";
import type { Buffer, Expr, Local, Module } from "../../src/ir/nodes.ts";
import {
  BINARY_OPS,
  type BinaryOp,
  CONVERSIONS,
  type DType,
  STORED_TYPE,
  UNARY_OPS,
  type UnaryOp,
} from "../../src/ir/types.ts";
import { array, moduleOf, newArray, onInterpreter, onWasm, VARIANTS } from "./harness.ts";

const FLOATS = [
  0,
  -0,
  1,
  -1,
  0.5,
  -0.5,
  1.5,
  -1.5,
  2.5,
  3,
  -7,
  0.1,
  1e-45,
  -1e-45,
  1.1754943508222875e-38,
  3.4028234663852886e38,
  -3.4028234663852886e38,
  2147483647,
  2147483648,
  -2147483648,
  -2147483649,
  4294967295,
  4294967296,
  16777217,
  1e10,
  1e300,
  5e-324,
  1.7976931348623157e308,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
];
const INTEGERS = [
  0, 1, -1, 2, -2, 3, 7, -7, 10, 31, 32, 33, 100, -100, 255, 256, 65535, 65536, 16777217, 1431655765, -1431655766,
  2147483647, -2147483648, -2147483647, 123456789, -987654321,
];
const VALUES: { readonly [D in DType]: readonly number[] } = {
  f32: FLOATS,
  f64: [...FLOATS, 2 ** 52 + 2, -(2 ** 51) - 0.5, 2 ** 53 + 2],
  i32: INTEGERS,
  u32: INTEGERS.map((x) => x >>> 0),
  bool: [0, 1],
};
/** Lanes to test: 1 is scalar code; 2 leaves half a register of 32-bit lanes empty. */
const LANES = [1, 2, 4, 8, 16];

/** Bools stand in memory as bytes. */
const reading = (dtype: DType, value: Expr): Expr =>
  dtype === "bool" ? binary("ne", value, constant("i32", 0, value.lanes)) : value;
const writing = (value: Expr): Expr => (value.dtype === "bool" ? convert("i32", value) : value);

type Operands = readonly Buffer[];
/** out[i] = f(a[i], b[i], ...) over all i, `lanes` at a time. */
function elementwise(
  types: readonly DType[],
  lanes: number,
  f: (...operands: Expr[]) => Expr,
  params: readonly Local[] = [],
): Module {
  const b = new Builder();
  const inputs: Operands = types.map((t, k) => array(`in${k}`, STORED_TYPE[t]));
  const placeholder = f(...types.map((t) => get(local("x", t, lanes))));
  const out = array("out", STORED_TYPE[placeholder.dtype]);
  b.for("i", { begin: i32(0), end: lengthOf(out), step: lanes, axis: lanes > 1 ? "vector" : "serial" }, (i) => {
    const operands = inputs.map((buffer, k) => {
      const loaded = lanes > 1 ? loadLanes(buffer, i, i32(1), lanes) : load(buffer, i);
      return reading(types[k] as DType, loaded);
    });
    b.emit(store(out, i, writing(f(...operands)), lanes > 1 ? i32(1) : undefined));
  });
  return moduleOf("operation", [...inputs, out], params, b.statements);
}

/** All combinations of values, filled up to a multiple of 16. */
function combinations(types: readonly DType[], limit = 4096): TypedArray[] {
  const lists = types.map((t) => VALUES[t]);
  const total = lists.reduce((n, list) => n * list.length, 1);
  const step = Math.max(1, Math.ceil(total / limit));
  const rows: number[][] = [];
  for (let k = 0; k < total; k += step) {
    let rest = k;
    rows.push(
      lists.map((list) => {
        const value = list[rest % list.length] as number;
        rest = Math.floor(rest / list.length);
        return value;
      }),
    );
  }
  while (rows.length % 16) rows.push(rows[0] as number[]);
  return types.map((t, k) => {
    const column = newArray(STORED_TYPE[t], rows.length);
    rows.forEach((row, n) => {
      column[n] = row[k] as number;
    });
    return column;
  });
}

function check(types: readonly DType[], f: (...operands: Expr[]) => Expr, limit?: number): void {
  const inputs = combinations(types, limit);
  const length = (inputs[0] as TypedArray).length;
  const result = f(...types.map((t) => get(local("x", t)))).dtype;
  const arrays = [...inputs, newArray(STORED_TYPE[result], length)];
  const expected = onInterpreter(elementwise(types, 1, f), arrays).arrays.at(-1);
  for (const lanes of LANES) {
    for (const [variant, features] of Object.entries(VARIANTS)) {
      if (variant !== "as found" && lanes !== 1 && lanes !== 8) continue;
      const found = onWasm(elementwise(types, lanes, f), arrays, [], { features }).arrays.at(-1);
      expect(found, `${lanes} lanes, ${variant}`).toEqual(expected);
    }
  }
}

describe("unary", () => {
  for (const name of Object.keys(UNARY_OPS) as UnaryOp[]) {
    for (const dtype of UNARY_OPS[name].operands) {
      test(`${name} of ${dtype}`, () => {
        // The payload of a NaN is not defined, so its bits are not looked at.
        const clean = (x: Expr): Expr =>
          name === "bits" || name === "highWord" || name === "lowWord"
            ? select(binary("eq", x, x), x, constant(dtype, 0, x.lanes))
            : x;
        check([dtype], (x) => unary(name, clean(x as Expr)));
      });
    }
  }
});

describe("binary", () => {
  for (const name of Object.keys(BINARY_OPS) as BinaryOp[]) {
    for (const dtype of BINARY_OPS[name].operands) {
      test(`${name} of ${dtype}`, () => check([dtype, dtype], (a, b) => binary(name, a as Expr, b as Expr)));
    }
  }
});

describe("binary with a constant", () => {
  const constants: { readonly [D in DType]: readonly number[] } = {
    f32: [0, -0, 1, Number.NaN, Number.NEGATIVE_INFINITY],
    f64: [0, -0, -2.5, Number.NaN, Number.POSITIVE_INFINITY],
    i32: [0, -1, 1, 7, 35, -2147483648],
    u32: [0, 1, 7, 35, 4294967295],
    bool: [0, 1],
  };
  const names: readonly BinaryOp[] = ["div", "rem", "min", "max", "shl", "shr", "and", "xor", "eq"];
  for (const name of names) {
    for (const dtype of BINARY_OPS[name].operands) {
      test(`${name} of ${dtype}`, () => {
        for (const value of constants[dtype]) {
          check([dtype], (x) => binary(name, x as Expr, constant(dtype, value, (x as Expr).lanes)));
          check([dtype], (x) => binary(name, constant(dtype, value, (x as Expr).lanes), x as Expr));
        }
      });
    }
  }
});

describe("conversions", () => {
  for (const name of CONVERSIONS) {
    const [from, to] = name.split("-") as [DType, DType];
    test(name, () => check([from], (x) => convert(to, x as Expr)));
  }
});

describe("select", () => {
  for (const dtype of Object.keys(VALUES) as DType[]) {
    test(`of ${dtype} by bool`, () =>
      check(["bool", dtype, dtype], (c, a, b) => select(c as Expr, a as Expr, b as Expr)));
    test(`of ${dtype} by a comparison of f64`, () =>
      check(["f64", dtype, dtype], (c, a, b) =>
        select(binary("lt", c as Expr, constant("f64", 1, (c as Expr).lanes)), a as Expr, b as Expr),
      ));
    test(`of ${dtype} and zero`, () =>
      check(["bool", dtype], (c, a) => {
        const zero = constant(dtype, 0, (a as Expr).lanes);
        const one = select(c as Expr, a as Expr, zero);
        return select(unary("not", c as Expr), zero, one);
      }));
  }
});

describe("the lesser or greater of two by a comparison", () => {
  for (const dtype of ["f32", "f64"] as const) {
    for (const name of ["lt", "gt", "le", "ge"] as const) {
      test(`${name} of ${dtype}`, () => {
        check([dtype, dtype], (a, b) => select(binary(name, a as Expr, b as Expr), a as Expr, b as Expr));
        check([dtype, dtype], (a, b) => select(binary(name, a as Expr, b as Expr), b as Expr, a as Expr));
      });
    }
  }
});

test("masks of different widths meet", () => {
  check(["f64", "f32", "bool"], (d, f, c) => {
    const a = binary("lt", d as Expr, constant("f64", 1, (d as Expr).lanes));
    const b = binary("lt", f as Expr, constant("f32", 1, (f as Expr).lanes));
    return binary("xor", binary("and", binary("or", a, b), c as Expr), binary("eq", a, unary("not", b)));
  });
});

describe("a shift by one count that is not a constant", () => {
  const count = local("count", "i32");
  for (const name of ["shl", "shr"] as const) {
    for (const dtype of ["i32", "u32"] as const) {
      test(`${name} of ${dtype}`, () => {
        const arrays = [...combinations([dtype]), newArray(dtype, 32)];
        for (const lanes of LANES) {
          const f = (x: Expr): Expr => binary(name, x, splat(convert(dtype, get(count)), lanes));
          const module = elementwise([dtype], lanes, (x) => f(x as Expr), [count]);
          for (const by of [0, 5, 31, 32, 37, -1])
            expect(onWasm(module, arrays, [by])).toEqual(onInterpreter(module, arrays, [by]));
        }
      });
    }
  }
});

test("fma rounds once", () => {
  check(["f32", "f32", "f32"], (a, b, c) => fma(a as Expr, b as Expr, c as Expr), 40_000);
});
