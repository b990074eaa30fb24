/**
 * @file A small program with a launch, used where it matters how programs run and not what they compute.
 */
import {
  add,
  Builder,
  binary,
  buffer,
  convert,
  func,
  get,
  i32,
  iota,
  lengthOf,
  load,
  loadLanes,
  local,
  mul,
  splat,
  store,
  sub,
} from "../../src/ir/build.ts";
import type { Module } from "../../src/ir/nodes.ts";

/** y[i] = x[i] * factor + i, eight at a time, in pieces. */
export function scaledSum(): Module {
  const lanes = 8;
  const x = buffer("x", "f32", "param");
  const y = buffer("y", "f32", "param");
  const factor = local("factor", "f32");
  const [begin, end] = [local("begin", "i32"), local("end", "i32")];
  const b = new Builder();
  const n = sub(get(end), get(begin));
  const middle = b.let("middle", add(get(begin), binary("and", n, i32(-lanes))));
  b.for("i", { begin: get(begin), end: middle, step: lanes, axis: "vector" }, (i) => {
    const index = convert("f32", add(splat(i, lanes), iota(lanes)));
    b.emit(store(y, i, add(mul(loadLanes(x, i, i32(1), lanes), splat(get(factor), lanes)), index), i32(1)));
  });
  b.for("i", { begin: middle, end: get(end) }, (i) =>
    b.store(y, i, add(mul(load(x, i), get(factor)), convert("f32", i))),
  );
  const piece = func("scaledSum.1", [], [factor, begin, end], b.statements);
  const given = local("factor", "f32");
  const launch = {
    kind: "launch",
    func: piece,
    args: [get(given)],
    count: lengthOf(x),
    cost: 100,
    threaded: true,
  } as const;
  return { name: "scaledSum", entry: func("scaledSum", [x, y], [given], [launch]), sites: [] };
}
