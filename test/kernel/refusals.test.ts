/**
 * @file Every row of the table of refused constructs: its example gives its message, with the source and the advice.
 */
import { describe, expect, test } from "vitest";
import { compileKernel } from "../../src/kernel/compile.ts";
import { f32, i32, kernelSpec, struct } from "../../src/kernel/declare.ts";
import { KernelError } from "../../src/kernel/errors.ts";
import { REFUSED, type RefusedConstruct } from "../../src/kernel/refusals.ts";
import { kernel } from "./support.ts";

type AnyFunction = (...args: never[]) => unknown;

const copy = kernel({ from: f32.array(), to: f32.array() }, ({ from, to }) => {
  for (let k = 0; k < to.length; k++) to[k] = from[k];
});
const declaration = { x: f32.array(), n: i32, s: struct({ a: f32 }).array(), copy };

/** The error that compiling a function's text gives. */
function errorOf(text: string): KernelError {
  const fn = new Function(`return ${text}`)() as AnyFunction;
  try {
    compileKernel(kernelSpec(declaration, fn, { name: "tried" }, errorOf as AnyFunction));
  } catch (error) {
    if (error instanceof KernelError) return error;
    throw error;
  }
  throw new Error(`${text} compiles`);
}

describe("every refused construct", () => {
  const rows = Object.entries(REFUSED) as [string, RefusedConstruct][];
  test.each(rows)("%s", (name, row) => {
    const error = errorOf(row.example);
    expect(error.construct, error.message).toBe(name);
    expect(error.message).toContain("kernel tried: ");
    expect(error.message).toMatch(/^ +\d+ \| .*\n +\| +\^+$/m);
    expect(error.message).toContain(`what to write: ${error.advice}`);
    expect(error.message).toMatch(/kernel\(\) is called at .*refusals\.test\.ts:\d+:\d+/);
    expect(error.problem + error.advice).not.toMatch(/\{\}|\{kind\}/);
  });
});
