/**
 * What the bounds pass proves, and what it tests: loops over a buffer's own length need no test, an element that both
 * arms of a branch touch counts as certain, and whatever is out of range is still reported.
 */
import { describe, expect, it } from "vitest";
import { add, Builder, binary, buffer, constant, func, i32, lengthOf, load, mul, sub } from "../../src/ir/build.ts";
import { interpret } from "../../src/ir/interpret.ts";
import type { Expr, Module, Stmt } from "../../src/ir/nodes.ts";
import { checkBounds } from "../../src/ir/passes/bounds.ts";
import { eachStmt } from "../../src/ir/walk.ts";

const x = buffer("x", "f32", "param");
const y = buffer("y", "f32", "param");
const c = buffer("c", "f32", "param");

function moduleOf(write: (b: Builder) => void): Module {
  const b = new Builder();
  write(b);
  return { name: "case", entry: func("case", [x, y, c], [], b.statements), sites: [] };
}
const overX = (body: (b: Builder, i: Expr) => void): Module =>
  moduleOf((b) => {
    b.for("i", { begin: i32(0), end: lengthOf(x), axis: "parallel" }, (i) => body(b, i));
  });
const positive = (i: Expr): Expr => binary("gt", load(x, i), constant("f32", 0));

function kinds(module: Module): { loops: number; tests: number; faults: number } {
  const found: Stmt["kind"][] = [];
  let tests = 0;
  eachStmt(module.entry.body, (s) => {
    found.push(s.kind);
    if (s.kind === "assign" && s.local.name === "fits") tests++;
  });
  return { loops: found.filter((k) => k === "for").length, tests, faults: found.filter((k) => k === "fault").length };
}

function faultOf(module: Module, lengths: readonly [number, number, number]): number {
  const arrays = lengths.map((n) => new Float32Array(n).fill(1));
  return interpret(module, { buffers: arrays, params: [] });
}

describe("the bounds pass", () => {
  it("needs no test for a loop over the buffer's own length", () => {
    const module = checkBounds(
      overX((b, i) => b.store(x, i, mul(load(x, i), constant("f32", 2)))),
      false,
    );
    expect(kinds(module)).toEqual({ loops: 1, tests: 0, faults: 0 });
  });

  it("tests one element beyond that length", () => {
    const module = checkBounds(
      overX((b, i) => b.store(x, i, load(x, add(i, i32(1))))),
      false,
    );
    expect(kinds(module).tests).toBe(1);
    expect(faultOf(module, [4, 4, 4])).not.toBe(0);
  });

  it.each([
    [16, 4, 3, 0],
    [13, 4, 3, 1],
    [13, 4, 0, 0],
    [15, -4, 0, 0],
    [14, -4, -3, 1],
  ])("knows the last index of %i elements in steps of %i (plus %i)", (n, step, more, fault) => {
    const module = moduleOf((b) => {
      const range = step > 0 ? { begin: i32(0), end: lengthOf(x) } : { begin: sub(lengthOf(x), i32(1)), end: i32(-1) };
      b.for("i", { ...range, step }, (i) => b.store(x, add(i, i32(more)), load(x, i)));
    });
    const checked = checkBounds(module, false);
    // One copy of the loop: what the guard says is certain.
    expect(kinds(checked).loops).toBe(1);
    expect(Math.sign(faultOf(checked, [n, 0, 0]))).toBe(fault);
    expect(faultOf(checked, [0, 0, 0])).toBe(0);
  });

  it("raises one fault for accesses with the same test", () => {
    const module = checkBounds(
      overX((b, i) => b.store(y, i, add(load(y, i), load(c, i)))),
      false,
    );
    expect(kinds(module)).toEqual({ loops: 1, tests: 2, faults: 2 });
    expect(faultOf(module, [4, 4, 4])).toBe(0);
    expect(faultOf(module, [4, 3, 4])).toBe(1);
    expect(faultOf(module, [4, 4, 3])).toBe(2);
  });

  it("makes no second copy of a loop whose branches touch the same element", () => {
    const both = overX((b, i) => {
      b.if(
        positive(i),
        () => b.store(y, i, load(c, i)),
        () => b.store(y, i, mul(load(c, i), constant("f32", 2))),
      );
    });
    const module = checkBounds(both, false);
    expect(kinds(module).loops).toBe(1);
    expect(faultOf(module, [4, 4, 4])).toBe(0);
    expect(faultOf(module, [4, 4, 3])).not.toBe(0);
    expect(faultOf(module, [0, 0, 0])).toBe(0);
  });

  it("keeps the copy with checks where only one branch touches it", () => {
    const one = overX((b, i) => b.if(positive(i), () => b.store(y, i, load(x, i))));
    const module = checkBounds(one, false);
    expect(kinds(module).loops).toBe(2);
    const arrays = [new Float32Array([1, -1, -1]), new Float32Array(1), new Float32Array(0)];
    expect(interpret(module, { buffers: arrays, params: [] })).toBe(0);
    expect(arrays[1]?.[0]).toBe(1);
    expect(faultOf(module, [3, 1, 0])).not.toBe(0);
  });
});
