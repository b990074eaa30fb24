/**
 * @file The baselines of the suite `kernels` agree with each other on every workload.
 */
import { describe, expect, test } from "vitest";
import { gate } from "../../src/bench/gate.ts";
import { type CLibrary, loadC } from "../../src/bench/suites/c-library.ts";
import { C_BASELINES } from "../../src/bench/suites/kernels-c.ts";
import { CASES, makeArrays, plainArray } from "../../src/bench/suites/kernels-cases.ts";

function load(): CLibrary | undefined {
  try {
    return loadC(C_BASELINES);
  } catch {
    return undefined;
  }
}
const library = load();

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
    const c = makeArrays(one, (storage, length) => library.array(storage, length));
    const word = (name: string | number) =>
      typeof name === "number" ? name : (c[name] ?? one.scalars[name] ?? Number.NaN);
    expect(library.bind(one.c.symbol, one.c.block.map(word))()).toBe(0);
    one.js(loop, one.scalars)();
    for (const name of one.outputs) gate(`${one.name}.${name}`, c[name] ?? [], loop[name] ?? [], one.tolerance);
  });

  test.skipIf(library === undefined)("C that does not compile is an error of ours", () => {
    const broken = { source: "int f( {", symbols: [], flags: ["-O0"] };
    expect(() => loadC(broken)).toThrow("did not build the baseline");
    expect(() => loadC(broken, "no-such-compiler")).toThrow('the C compiler "no-such-compiler"');
  });
});
