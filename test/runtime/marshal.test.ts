/**
 * @file Calls with the arrays of the call before, with others, and with ones that are refused in between.
 */
import { describe, expect, it } from "vitest";
import { allocate, f32, kernel } from "../../src/index.ts";
import { TARGETS } from "../tensor/support.ts";

const shift = kernel(
  { x: f32.array(), y: f32.array(), by: f32 },
  ({ x, y, by }, { parallel }) => {
    parallel(x.length, (i) => {
      y[i] = x[i]! + by;
    });
  },
  { name: "shift" },
);

type Pair = { readonly x: Float32Array; readonly y: Float32Array };
const filled = (make: (length: number) => Float32Array, length: number, first: number): Pair => {
  const x = make(length);
  for (let i = 0; i < length; i++) x[i] = first + i;
  return { x, y: make(length) };
};
const own = (length: number, first: number): Pair => filled((n) => allocate(f32, n), length, first);
const plain = (length: number, first: number): Pair => filled((n) => new Float32Array(n), length, first);

describe.each(TARGETS)("%s", (target) => {
  const run = shift.on(target);
  const expectShift = ({ x, y }: Pair, by: number): void => {
    y.fill(-1);
    run({ x, y, by });
    expect(Array.from(y)).toEqual(Array.from(x, (value) => value + by));
  };

  it("takes arrays in turn, of its own memory and of others, of any length", () => {
    const [a, b, c, d] = [own(5, 0), own(9, 100), plain(7, 200), plain(0, 0)];
    for (const [pair, by] of [
      [a, 1],
      [a, 2],
      [b, 3],
      [a, 4],
      [c, 5],
      [c, 6],
      [a, 7],
      [d, 8],
      [{ x: c.x.subarray(2), y: c.y.subarray(1, 6) }, 9],
      [{ x: a.x.subarray(0, 3), y: a.y.subarray(1, 4) }, 10],
      [{ x: a.x, y: c.y.subarray(0, 5) }, 11],
      [b, 12],
    ] as const)
      expectShift(pair, by);
  });

  it("goes on with the arrays before after a call that was refused", () => {
    const [a, b] = [own(5, 0), own(9, 100)];
    expectShift(a, 1);
    const refused: readonly unknown[] = [
      { ...b, by: "2" },
      { x: b.x, y: undefined, by: 2 },
      { x: b.x, y: new Float64Array(9), by: 2 },
      { x: b.x, y: b.x, by: 2 },
      { x: undefined, y: undefined, by: 2 },
      undefined,
    ];
    for (const args of refused) {
      const call = run as unknown as (args: unknown) => void;
      expect(() => call(args)).toThrow();
      expectShift(a, 3);
    }
    expect(Array.from(b.y)).toEqual(new Array(9).fill(0));
  });

  it("works on its own arrays though a property calls it with others", () => {
    const [a, b] = [own(4, 0), own(4, 10)];
    run({ ...a, by: 1 });
    const args = {
      ...a,
      get by() {
        run({ ...b, by: 5 });
        return 2;
      },
    };
    run(args);
    expect([Array.from(a.y), Array.from(b.y)]).toEqual([
      [2, 3, 4, 5],
      [15, 16, 17, 18],
    ]);
  });

  it("keeps bound arrays apart from those of calls", () => {
    const [a, b] = [own(4, 0), own(4, 10)];
    const bound = run.bind({ ...a, by: 1 });
    expectShift(b, 5);
    a.y.fill(-1);
    bound();
    expect(Array.from(a.y)).toEqual([1, 2, 3, 4]);
    expectShift(b, 6);
  });
});
