/**
 * @file The baselines of the suite `kernels` agree with each other on every workload.
 */
import { describe, expect, test } from "vitest";
import { gate } from "../../src/bench/gate.ts";
import { loadC } from "../../src/bench/suites/c-library.ts";
import { C_FLAGS, C_SOURCE } from "../../src/bench/suites/kernels-c.ts";
import { CASES, makeArrays, plainArray } from "../../src/bench/suites/kernels-cases.ts";

const library = await loadC(C_SOURCE, C_FLAGS).catch(() => undefined);

describe("baselines", () => {
  test.each(CASES)("the loop of $name writes something finite", (one) => {
    const arrays = makeArrays(one, plainArray);
    const before = makeArrays(one, plainArray);
    one.js(arrays, one.scalars)();
    const changed = one.outputs.filter((name) => arrays[name]?.some((x, i) => x !== before[name]?.[i]));
    expect(changed.length).toBeGreaterThan(0);
    for (const name of one.outputs) expect(arrays[name]?.every(Number.isFinite)).toBe(true);
  });

  test.skipIf(library === undefined).each(CASES)("C and JavaScript agree on $name", (one) => {
    if (library === undefined) return;
    const loop = makeArrays(one, plainArray);
    const c = makeArrays(one, library.array);
    const word = (name: string | number) =>
      typeof name === "number" ? name : (c[name] ?? one.scalars[name] ?? Number.NaN);
    expect(library.bind(one.c.symbol, one.c.block.map(word))()).toBe(0);
    one.js(loop, one.scalars)();
    for (const name of one.outputs) gate(`${one.name}.${name}`, c[name] ?? [], loop[name] ?? [], one.tolerance);
  });

  test("C that does not compile is an error of ours", async () => {
    await expect(loadC("int f( {", ["-O0"])).rejects.toThrow("did not build the baseline");
    await expect(loadC("", [], "no-such-compiler")).rejects.toThrow('the C compiler "no-such-compiler"');
  });
});
