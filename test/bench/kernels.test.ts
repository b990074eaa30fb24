/**
 * @file The baselines of the suite `kernels` agree with each other on every workload.
 */
import { describe, expect, test } from "vitest";
import { gate } from "../../src/bench/gate.ts";
import { type CLibrary, loadC } from "../../src/bench/suites/c-library.ts";
import { C_BASELINES } from "../../src/bench/suites/kernels-c.ts";
import { CASES, makeArrays, plainArray } from "../../src/bench/suites/kernels-cases.ts";
import { IN_F32, loopsInDoubles } from "../../src/bench/suites/kernels-js.ts";

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
    one.js(IN_F32, arrays, one.scalars)();
    const changed = one.outputs.filter((name) => arrays[name]?.some((x, i) => x !== before[name]?.[i]));
    expect(changed.length).toBeGreaterThan(0);
    for (const name of one.outputs) expect(arrays[name]?.every(Number.isFinite)).toBe(true);
  });

  test.each(CASES)("rounding less changes $name only a little", (one) => {
    const [loose, strict] = [makeArrays(one, plainArray), makeArrays(one, plainArray)];
    one.js(loopsInDoubles(), loose, one.scalars)();
    one.js(IN_F32, strict, one.scalars)();
    for (const name of one.outputs) gate(`${one.name}.${name}`, loose[name] ?? [], strict[name] ?? [], one.tolerance);
  });

  test("loops in doubles do not round in between", () => {
    const total = new Float32Array(1);
    loopsInDoubles().sum(Float32Array.of(2 ** 24, 1, 1), total);
    expect(total[0]).toBe(2 ** 24 + 2);
    IN_F32.sum(Float32Array.of(2 ** 24, 1, 1), total);
    expect(total[0]).toBe(2 ** 24);
  });

  test.skipIf(library === undefined).each(CASES)("C and JavaScript agree on $name", (one) => {
    if (library === undefined) return;
    const loop = makeArrays(one, plainArray);
    const c = makeArrays(one, (storage, length) => library.array(storage, length));
    const word = (name: string | number) =>
      typeof name === "number" ? name : (c[name] ?? one.scalars[name] ?? Number.NaN);
    expect(library.bind(one.c.symbol, one.c.block.map(word))()).toBe(0);
    one.js(IN_F32, loop, one.scalars)();
    for (const name of one.outputs) gate(`${one.name}.${name}`, c[name] ?? [], loop[name] ?? [], one.tolerance);
  });

  test.skipIf(library === undefined)("C that does not compile is an error of ours", () => {
    const broken = { source: "int f( {", symbols: [], flags: ["-O0"] };
    expect(() => loadC(broken)).toThrow("did not build the baseline");
    expect(() => loadC(broken, "no-such-compiler")).toThrow('the C compiler "no-such-compiler"');
  });
});
