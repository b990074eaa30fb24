/**
 * @file Every operation on every type, scalar and in vectors of several widths, against the interpreter.
 *
 * All cases of one operand type are functions of one module, so that the compiler runs a few times only.
 */
import { afterAll, describe, expect, it } from "vitest";
import { everyOperation, NUMBERS, type Variant } from "./cases.ts";
import { expectSame, newArray, Rig, temporaryFolder } from "./rig.ts";
import { EDGES, type NumberType, pairs } from "./values.ts";

const VARIANTS: readonly Variant[] = [
  [1, false],
  [8, false],
  [16, true],
];

const cache = temporaryFolder();
afterAll(() => cache.remove());

function check(rig: Rig, t: NumberType): void {
  const [first, second] = pairs(t);
  const { module, outputs } = everyOperation(t, VARIANTS);
  rig.reset();
  expectSame(rig, module, { buffers: [first, second, ...outputs.map((o) => newArray(o.storage, first.length))] });
}

describe("operations", () => {
  const rig = new Rig(cache.path);
  it.each(NUMBERS)("of %s", (t) => check(rig, t), 120_000);

  it("covers every edge value on both sides", () => {
    const [a, b] = pairs("i32");
    expect(new Set(a)).toEqual(new Set(EDGES.i32));
    expect(a[EDGES.i32.length]).toBe(EDGES.i32[1]);
    expect(b[EDGES.i32.length]).toBe(EDGES.i32[0]);
  });
});
