/**
 * @file The outline pass: which parallel loops may be split among threads, and which keep their own range.
 */
import { expect, test } from "vitest";
import { add, Builder, buffer, func, i32, load } from "../../src/ir/build.ts";
import type { Expr, For, Launch, Module, Stmt } from "../../src/ir/nodes.ts";
import { outlineParallel } from "../../src/ir/passes/outline.ts";

/** y[i] = x[i] + x[i], from 0 to `end`. */
function doubled(end: (x: ReturnType<typeof buffer>) => Expr): Module {
  const [x, y] = [buffer("x", "f32", "param"), buffer("y", "f32", "param")];
  const b = new Builder();
  const body = b.body(() => {
    b.for("i", { begin: i32(0), end: end(x), axis: "parallel" }, (i) => b.store(y, i, add(load(x, i), load(x, i))));
  });
  return { name: "doubled", entry: func("doubled", [x, y], [], body), sites: [] };
}
function launchOf(module: Module, threads?: number): Launch & { readonly loop: For } {
  const launch = outlineParallel(module, threads).entry.body.find((s: Stmt) => s.kind === "launch") as Launch;
  return { ...launch, loop: launch.func.body[0] as For };
}
const isConstant = ({ loop }: { readonly loop: For }): boolean =>
  loop.begin.kind === "const" && loop.end.kind === "const";

test("a short loop of a known length keeps its range and is not split", () => {
  const launch = launchOf(doubled(() => i32(64)));
  expect(isConstant(launch)).toBe(true);
  expect(launch.threaded).toBe(false);
});

test("a long one can be split, unless there is only one thread", () => {
  const long = doubled(() => i32(1_000_000));
  expect(launchOf(long)).toMatchObject({ threaded: true });
  expect(isConstant(launchOf(long, 2))).toBe(false);
  expect(launchOf(long, 1)).toMatchObject({ threaded: false });
  expect(isConstant(launchOf(long, 1))).toBe(true);
});

test("a loop whose length is not known can be split", () => {
  const open = doubled((x) => ({ kind: "length", buffer: x, dtype: "i32", lanes: 1 }));
  expect(launchOf(open, 1).threaded).toBe(true);
});
