/**
 * @file Listings as vector code: every element of the list has the bits of the plain loop, those behind the last
 * listed one included, however many are listed and wherever the count wraps.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { interpret } from "../../src/ir/interpret.ts";
import type { Stmt } from "../../src/ir/nodes.ts";
import { lower, type PassOptions } from "../../src/ir/pipeline.ts";
import { eachStmt, functionsOf } from "../../src/ir/walk.ts";
import { bool, i32 } from "../../src/kernel/declare.ts";
import { kernel } from "../../src/kernel/kernel.ts";
import { availability } from "../../src/runtime/targets.ts";

const ROOM = 64;
/** Lists the places of true flags from `first` on in row 1, counting from `start`. */
const listing = kernel(
  { flags: bool.array(), list: i32.array(ROOM).array(2), first: i32, start: i32, count: i32.array(1) },
  ({ flags, list, first, start, count }) => {
    let found = start;
    for (let k = 0; k < flags.length; k++) {
      list[1]![found & 63] = first + k;
      found += flags[k] ? 1 : 0;
    }
    count[0] = found;
  },
  { name: "listing" },
);
const VECTORS: PassOptions = { vectorBytes: 64, vectorRegisters: 32, launches: true, packs: true };

interface Case {
  readonly flags: readonly boolean[];
  readonly first: number;
  readonly start: number;
}
const CASES: fc.Arbitrary<Case> = fc.record({
  flags: fc.oneof(
    fc.array(fc.boolean(), { maxLength: 150 }),
    fc.nat({ max: 150 }).map((n) => new Array<boolean>(n).fill(true)),
    fc.nat({ max: 150 }).map((n) => new Array<boolean>(n).fill(false)),
  ),
  first: fc.integer({ min: -1000, max: 1000 }),
  start: fc.integer({ min: 0, max: 200 }),
});

/** The list and the count afterwards, from an interpreter of lowered code. */
function interpreted(options: PassOptions, { flags, first, start }: Case): number[] {
  const list = new Int32Array(2 * ROOM).fill(-7);
  const count = new Int32Array(1);
  const buffers = [Uint8Array.from(flags, Number), list, count];
  interpret(lower(listing.ir(), options), { buffers, params: [first, start] });
  return [...list, ...count];
}

test("lists as the plain loop does", () => {
  fc.assert(
    fc.property(CASES, (c) => {
      expect(interpreted(VECTORS, c)).toEqual(interpreted({ vectorBytes: 0, launches: true }, c));
    }),
    { numRuns: 150 },
  );
});

test("the loop became a listing of vectors", () => {
  const packs: Stmt[] = [];
  for (const f of functionsOf(lower(listing.ir(), VECTORS)))
    eachStmt(f.body, (s) => {
      if (s.kind === "pack") packs.push(s);
    });
  expect(packs).toHaveLength(1);
});

test.runIf(availability("native").target)("native code lists as JavaScript does", () => {
  const run = (target: "js" | "native", { flags, first, start }: Case): number[] => {
    const list = new Int32Array(2 * ROOM).fill(-7);
    const count = new Int32Array(1);
    listing.on(target)({ flags: Uint8Array.from(flags, Number), list, first, start, count });
    return [...list, ...count];
  };
  fc.assert(
    fc.property(CASES, (c) => {
      expect(run("native", c)).toEqual(run("js", c));
    }),
    { numRuns: 300 },
  );
});
