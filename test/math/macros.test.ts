/**
 * How the macros behave as code: operands, sharing, constants and refusals.
 */
import { describe, expect, it } from "vitest";
import { add, Builder, buffer, constant, func, get, IrError, i32, local } from "../../src/ir/build.ts";
import { interpret } from "../../src/ir/interpret.ts";
import type { Expr, Stmt } from "../../src/ir/nodes.ts";
import { eachStmt } from "../../src/ir/walk.ts";
import { BOUNDS, MATH, type MathName } from "../../src/math/index.ts";
import { edges } from "./samples.ts";
import { evaluate } from "./support.ts";

/** Runs code that stores one f32. */
function resultOf(write: (b: Builder) => Expr): number {
  const out = buffer("out", "f32", "param", 1);
  const b = new Builder();
  b.store(out, i32(0), write(b));
  const result = new Float32Array(1);
  interpret(
    { name: "value", entry: func("value", [out], [], b.statements), sites: [] },
    { buffers: [result], params: [] },
  );
  return result[0] as number;
}

function statementCount(write: (b: Builder) => void): number {
  const b = new Builder();
  write(b);
  let count = 0;
  eachStmt(b.statements as readonly Stmt[], () => count++);
  return count;
}

const f32 = (x: number): Expr => constant("f32", x);
const names = Object.keys(MATH) as MathName[];

describe("macros", () => {
  it("have a bound each", () => expect(Object.keys(BOUNDS).sort()).toEqual([...names].sort()));

  it.each(names)("%s is computed before its operand changes", (name) => {
    const operands = name === "atan2" || name === "pow" || name === "hypot" ? 2 : 1;
    const run = (change: boolean): number =>
      resultOf((b) => {
        const x = b.local("x", "f32");
        b.assign(x, f32(0.75));
        const y = MATH[name](b, ...Array.from({ length: operands }, () => get(x)));
        if (change) b.assign(x, f32(-3));
        return add(y, y);
      });
    expect(run(true)).toBe(run(false));
  });

  it.each(names)("%s gives the same for a constant", (name) => {
    if (name === "atan2" || name === "pow" || name === "hypot") return;
    const held = (b: Builder): Expr => {
      const x = b.local("x", "f32");
      b.assign(x, f32(0.75));
      return MATH[name](b, get(x));
    };
    expect(resultOf((b) => MATH[name](b, f32(0.75)))).toBe(resultOf(held));
  });

  it("sin and cos of one variable share their reduction, until it is assigned", () => {
    const x = local("x", "f32");
    const sine = statementCount((b) => void MATH.sin(b, get(x)));
    const both = statementCount((b) => {
      MATH.sin(b, get(x));
      MATH.cos(b, get(x));
    });
    const apart = statementCount((b) => {
      MATH.sin(b, get(x));
      b.assign(x, f32(1));
      MATH.cos(b, get(x));
    });
    expect(both).toBeLessThan(sine + 4);
    expect(apart).toBeGreaterThan(2 * sine - 2);
  });

  it("refuses wrong operands", () => {
    const b = new Builder();
    expect(() => MATH.sin(b, i32(1))).toThrow(IrError);
    expect(() => MATH.sin(b)).toThrow(/takes 1 operands, not 0/);
    expect(() => MATH.atan2(b, f32(1))).toThrow(/takes 2 operands, not 1/);
    expect(() => MATH.pow(b, f32(1), constant("f64", 1))).toThrow(/f32 and f64/);
  });

  it("hypot takes any number of operands", () => {
    expect(resultOf((b) => MATH.hypot(b, f32(-3)))).toBe(3);
    expect(resultOf((b) => MATH.hypot(b, f32(2), f32(3), f32(6)))).toBe(7);
    expect(resultOf((b) => MATH.hypot(b, f32(Number.NaN), f32(-Infinity), f32(1)))).toBe(Infinity);
    expect(() => MATH.hypot(new Builder())).toThrow(IrError);
  });

  it.each([0, 1, 2, -1, 0.5])("x ** %d with a constant exponent is JavaScript's", (exponent) => {
    for (const dtype of ["f32", "f64"] as const) {
      const xs = (dtype === "f32" ? Float32Array : Float64Array).from(edges(dtype));
      const macro = (b: Builder, ...[x]: Expr[]): Expr => MATH.pow(b, x as Expr, constant(dtype, exponent));
      const got = evaluate({ power: macro }, dtype, [xs]).power;
      const want = dtype === "f32" ? xs.map((x) => x ** exponent) : xs.map((x) => x ** exponent);
      expect(got).toEqual(want);
    }
  });
});
