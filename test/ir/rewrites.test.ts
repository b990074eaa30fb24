/** Every rewrite rule holds for every value: fast-check draws operands, the interpreter's tables decide. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { binary, constant, convert, get, local, select, unary } from "../../src/ir/build.ts";
import type { Expr, Local } from "../../src/ir/nodes.ts";
import { BINARY_RULES, CONVERT_RULES, SELECT_RULES, simplifyNode, UNARY_RULES } from "../../src/ir/rewrites.ts";
import { binaryValue, convertValue, roundTo, unaryValue } from "../../src/ir/scalar.ts";
import { BINARY_OPS, type BinaryOp, type DType, type OpSignature } from "../../src/ir/types.ts";
import { mapExpr } from "../../src/ir/walk.ts";

const SPECIAL = [
  0,
  -0,
  1,
  -1,
  2,
  0.5,
  4,
  1e-45,
  5e-324,
  2 ** 31,
  -(2 ** 31),
  2 ** 32 - 1,
  Number.NaN,
  Infinity,
  -Infinity,
];
const number = fc.oneof(fc.constantFrom(...SPECIAL), fc.double(), fc.integer());
const x = (dtype: DType): Local => local("x", dtype);

function evaluate(e: Expr, values: ReadonlyMap<Local, number>): number {
  const sub = (o: Expr): number => evaluate(o, values);
  switch (e.kind) {
    case "const":
      return e.value;
    case "get":
      return values.get(e.local) as number;
    case "unary":
      return unaryValue(e.op, e.x.dtype, sub(e.x));
    case "binary":
      return binaryValue(e.op, e.a.dtype, sub(e.a), sub(e.b));
    case "select":
      return sub(e.condition) ? sub(e.a) : sub(e.b);
    case "convert":
      return convertValue(e.x.dtype, e.dtype, sub(e.x));
    default:
      throw new Error(`unexpected ${e.kind}`);
  }
}

/** Simplifies, checks that something changed where it should, and compares on a value of the variable. */
function holds(e: Expr, variable: Local, value: number): void {
  const values = new Map([[variable, roundTo(variable.dtype, value)]]);
  const simpler = mapExpr(e, simplifyNode);
  expect(evaluate(simpler, values)).toBe(evaluate(e, values));
}

describe("binary rules", () => {
  for (const op of Object.keys(BINARY_RULES) as BinaryOp[]) {
    it(`${op} against constants, on either side`, () => {
      const { operands }: OpSignature = BINARY_OPS[op];
      fc.assert(
        fc.property(fc.constantFrom(...operands), number, number, fc.boolean(), (dtype, c, value, left) => {
          const v = x(dtype);
          const k = constant(dtype, c);
          holds(left ? binary(op, k, get(v)) : binary(op, get(v), k), v, value);
        }),
        { numRuns: 2000 },
      );
    });
  }

  it("fire: each rule simplifies its own example", () => {
    const f = x("f32");
    const n = x("i32");
    const u = x("u32");
    const examples: readonly [Expr, string][] = [
      [binary("sub", get(f), constant("f32", 0)), "get"],
      [binary("mul", constant("f32", 1), get(f)), "get"],
      [binary("div", get(f), constant("f32", 8)), "binary"],
      [binary("max", get(f), constant("f32", 0)), "select"],
      [binary("add", get(n), constant("i32", 0)), "get"],
      [binary("mul", get(n), constant("i32", 0)), "const"],
      [binary("rem", get(u), constant("u32", 16)), "binary"],
      [binary("add", get(f), constant("f32", 0)), "binary"],
    ];
    for (const [e, kind] of examples) expect(simplifyNode(e).kind).toBe(kind);
    const quotient = simplifyNode(examples[2]?.[0] as Expr);
    expect(quotient.kind === "binary" && quotient.op).toBe("mul");
    expect(simplifyNode(examples[7]?.[0] as Expr)).toBe(examples[7]?.[0]);
  });
});

describe("other rules", () => {
  it("negations of comparisons, of negations, and of signs", () => {
    expect(Object.keys(UNARY_RULES).sort()).toEqual(["abs", "neg", "not"]);
    const compare = fc.constantFrom<BinaryOp>("eq", "ne", "lt", "le", "gt", "ge");
    fc.assert(
      fc.property(
        fc.constantFrom<DType>("f32", "f64", "i32", "u32"),
        compare,
        number,
        number,
        (dtype, op, c, value) => {
          const v = x(dtype);
          holds(unary("not", binary(op, get(v), constant(dtype, c))), v, value);
          holds(unary("neg", unary("neg", get(v))), v, value);
          if (dtype !== "u32") holds(unary("abs", unary("neg", get(v))), v, value);
        },
      ),
    );
  });

  it("selects and conversions there and back", () => {
    expect(SELECT_RULES).toHaveLength(2);
    expect(CONVERT_RULES).toHaveLength(2);
    const pairs = fc.constantFrom<[DType, DType]>(
      ["f32", "f64"],
      ["f64", "f32"],
      ["i32", "u32"],
      ["u32", "i32"],
      ["i32", "f64"],
      ["i32", "f32"],
      ["u32", "f64"],
      ["f64", "i32"],
      ["bool", "i32"],
    );
    fc.assert(
      fc.property(pairs, number, ([from, to], value) => {
        const v = x(from);
        const there = convert(to, get(v));
        holds(from === "bool" ? convert("u32", there) : convert(from, there), v, value);
        const c = binary("eq", get(v), get(v));
        holds(select(unary("not", c), get(v), constant(from, 1)), v, value);
      }),
    );
  });
});
