/**
 * What simplifying drops: values that reach nothing, those that only feed each other included; and what it keeps.
 */
import { expect, it } from "vitest";
import { add, Builder, buffer, constant, func, get, i32, lengthOf, load, mul } from "../../src/ir/build.ts";
import { interpret } from "../../src/ir/interpret.ts";
import type { Local, Module } from "../../src/ir/nodes.ts";
import { simplify } from "../../src/ir/passes/simplify.ts";
import { eachStmt } from "../../src/ir/walk.ts";

const x = buffer("x", "f32", "param");
const one = constant("f32", 1);

function assignedNames(module: Module): Set<string> {
  const found = new Set<string>();
  eachStmt(module.entry.body, (s) => {
    if (s.kind === "assign") found.add(s.local.name);
  });
  return found;
}

it("drops locals that only feed themselves and each other, and keeps those that reach memory", () => {
  const b = new Builder();
  const [sum, idle, partner] = ["sum", "idle", "partner"].map((name) => b.local(name, "f32")) as [Local, Local, Local];
  for (const l of [sum, idle, partner]) b.assign(l, constant("f32", 0));
  b.for("i", { begin: i32(0), end: lengthOf(x) }, (i) => {
    b.assign(sum, add(get(sum), load(x, i)));
    b.assign(idle, add(get(idle), get(partner)));
    b.assign(partner, mul(get(idle), one));
  });
  b.store(x, i32(0), get(sum));
  const module: Module = { name: "case", entry: func("case", [x], [], b.statements), sites: [] };
  const simplified = simplify(module);
  expect(assignedNames(simplified)).toEqual(new Set(["sum"]));
  const [before, after] = [Float32Array.of(1, 2, 3), Float32Array.of(1, 2, 3)];
  interpret(module, { buffers: [before], params: [] });
  interpret(simplified, { buffers: [after], params: [] });
  expect([...after]).toEqual([...before]);
  expect(after[0]).toBe(6);
});
