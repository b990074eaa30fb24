/**
 * @file The kernels of the case file give the interpreter's bits on the targets that need no compiler.
 */
import { describe, expect, test } from "vitest";
import { kernel } from "../../src/kernel/kernel.ts";
import cases from "./cases.ts";
import { arraysOf, compile, run } from "./support.ts";

describe.each(["js", "wasm"] as const)("%s", (target) => {
  test.each(cases.map((c) => [c.name, c] as const))("%s", (_name, { declaration, fn, options, args }) => {
    const [interpreted, compiled] = [args(), args()];
    expect(run(compile(declaration, fn, options), declaration, interpreted)).toBe(0);
    kernel(declaration, fn as never, options).on(target)(compiled as never);
    const wanted = new Map(arraysOf(interpreted));
    for (const [name, array] of arraysOf(compiled)) expect(array, name).toEqual(wanted.get(name));
  });
});
