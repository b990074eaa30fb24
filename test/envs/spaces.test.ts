/**
 * @file Spaces: what is sampled belongs to them and is spread evenly; flat and back is the same; types follow.
 */
import fc from "fast-check";
import { describe, expect, expectTypeOf, test } from "vitest";
import {
  box,
  contains,
  describeSpace,
  dict,
  discrete,
  flatSize,
  flattenInto,
  flattenValue,
  type MaskOf,
  multiBinary,
  multiDiscrete,
  type Space,
  SpaceError,
  sample,
  tuple,
  unflatten,
  type ValueOf,
} from "../../src/envs/spaces.ts";
import { HostStream } from "../../src/random/index.ts";
import { chiSquareBound, GAP_BOUND, largestGap, normalShare } from "./distributions.ts";

const DRAWS = 20_000;

/** Counts against equal chances, in cells that must all be met. */
function expectEven(counts: ReadonlyMap<number, number>, cells: number): void {
  expect(counts.size).toBe(cells);
  const expected = [...counts.values()].reduce((a, b) => a + b, 0) / cells;
  const statistic = [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  expect(statistic).toBeLessThan(chiSquareBound(cells - 1));
}
function countsOf(draw: () => number): Map<number, number> {
  const counts = new Map<number, number>();
  for (let k = 0; k < DRAWS; k++) {
    const x = draw();
    counts.set(x, (counts.get(x) ?? 0) + 1);
  }
  return counts;
}
function expectDistribution(draw: () => number, share: (x: number) => number): void {
  expect(largestGap(Array.from({ length: DRAWS }, draw), share)).toBeLessThan(GAP_BOUND);
}

describe("sampling", () => {
  const stream = new HostStream(12, 34);
  test("whole numbers have equal chances", () => {
    expectEven(
      countsOf(() => sample(discrete(7, -3), stream)),
      7,
    );
    const two = multiDiscrete([3, 4]);
    const pairs = countsOf(() => {
      const [a = 0, b = 0] = sample(two, stream);
      return 4 * a + b;
    });
    expectEven(pairs, 12);
    expectEven(
      countsOf(() => sample(multiBinary(3), stream).reduce((sum, bit) => 2 * sum + bit, 0)),
      8,
    );
    expectEven(
      countsOf(() => sample(box([1], { dtype: "i32", low: -2, high: 6 }), stream)[0] as number),
      9,
    );
    expectEven(
      countsOf(() => sample(box([1], { dtype: "u8" }), stream)[0] as number),
      256,
    );
    expectEven(
      countsOf(() => (sample(box([1], { dtype: "i32" }), stream)[0] as number) >> 28),
      16,
    );
  });

  test("masks leave equal chances to the rest, and none to others", () => {
    expectEven(
      countsOf(() => sample(discrete(5, 10), stream, [0, 1, 1, 0, 1])),
      3,
    );
    expect(countsOf(() => sample(discrete(5, 10), stream, [0, 0, 1, 0, 0]))).toEqual(new Map([[12, DRAWS]]));
    const pairs = countsOf(() => {
      const [a = 0, b = 0] = sample(multiDiscrete([3, 4]), stream, [
        [1, 0, 1],
        [0, 1, 1, 1],
      ]);
      return 4 * a + b;
    });
    expectEven(pairs, 6);
    expect([...pairs.keys()].every((pair) => pair < 4 || pair >= 8)).toBe(true);
    expectEven(
      countsOf(() => sample(multiBinary(3), stream, [1, 0, 1]).reduce((sum, bit) => 2 * sum + bit, 0)),
      4,
    );
    const space = dict({ arm: discrete(3), deep: tuple(discrete(2), discrete(4)) });
    expectEven(
      countsOf(() => {
        const value = sample(space, stream, { arm: [1, 0, 1], deep: [undefined, [1, 1, 0, 0]] });
        return value.arm * 8 + value.deep[0] * 4 + value.deep[1];
      }),
      8,
    );
  });

  test("numbers between limits, and without", () => {
    const draw = (low: number, high: number) => (): number => sample(box([1], { low, high }), stream)[0] as number;
    expectDistribution(draw(-2, 5), (x) => (x + 2) / 7);
    expectDistribution(draw(-3e38, 3e38), (x) => (x / 3e38 + 1) / 2);
    expectDistribution(draw(2, Infinity), (x) => 1 - Math.exp(2 - x));
    expectDistribution(draw(-Infinity, 2), (x) => Math.exp(x - 2));
    expectDistribution(draw(-Infinity, Infinity), normalShare);
  });

  test("masks that do not fit are refused", () => {
    expect(() => sample(discrete(3), stream, [1, 1])).toThrow(/2 elements for 3 values/);
    expect(() => sample(discrete(3), stream, [0, 0, 0])).toThrow(/at least one/);
    expect(() => sample(multiDiscrete([2, 2]), stream, [[1, 1]])).toThrow(SpaceError);
    expect(() => sample(multiBinary(3), stream, [1])).toThrow(SpaceError);
    expect(() => sample(tuple(discrete(2)), stream, [[1, 1], [1]] as never)).toThrow(SpaceError);
    expect(() => sample(dict({ a: discrete(2) }), stream, { b: [1] } as never)).toThrow(/"b"/);
  });
});

/** Any space. */
const anySpace = fc.letrec<{ space: Space; leaf: Space }>((tie) => {
  const count = fc.integer({ min: 1, max: 5 });
  const limits = fc.tuple(fc.float({ noNaN: true }), fc.float({ noNaN: true }));
  const shape = fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 3 });
  const wholes = fc.tuple(fc.maxSafeInteger(), fc.maxSafeInteger()).map(([a, b]) => [a | 0, b | 0] as const);
  return {
    leaf: fc.oneof(
      fc.tuple(shape, limits).map(([of, [a, b]]) => box(of, { low: Math.min(a, b), high: Math.max(a, b) })),
      shape.map((of) => box(of, { dtype: "u8" })),
      fc
        .tuple(shape, wholes)
        .map(([of, [a, b]]) => box(of, { dtype: "i32", low: Math.min(a, b), high: Math.max(a, b) })),
      fc.tuple(count, fc.integer({ min: -9, max: 9 })).map(([n, start]) => discrete(n, start)),
      fc.array(count, { minLength: 1, maxLength: 4 }).map(multiDiscrete),
      count.map(multiBinary),
    ),
    space: fc.oneof(
      { maxDepth: 3 },
      tie("leaf"),
      fc
        .dictionary(fc.string({ minLength: 1, maxLength: 3 }), tie("space"), { maxKeys: 3, noNullPrototype: true })
        .map(dict),
      fc.array(tie("space"), { maxLength: 3 }).map((elements) => tuple(...elements)),
    ),
  };
}).space;

describe("properties", () => {
  test("a sample is contained; flat and back is the same", () => {
    fc.assert(
      fc.property(anySpace, fc.integer(), (space, seed) => {
        const value: unknown = sample(space, new HostStream(seed, 1));
        expect(contains(space, value)).toBe(true);
        const flat = flattenValue(space, value as never);
        expect(flat.length).toBe(flatSize(space));
        expect(unflatten(space, flat)).toEqual(value);
        const row = new Float64Array(flat.length + 3).fill(9);
        expect(flattenInto(space, value as never, row, 2)).toBe(flat.length + 2);
        expect([...row]).toEqual([9, 9, ...flat, 9]);
      }),
      { numRuns: 300, seed: 8 },
    );
  });
  test("one too many or too few is not contained", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 }), fc.nat(3), (counts, at) => {
        const space = multiDiscrete(counts);
        const value = sample(space, new HostStream(at, 2));
        const place = at % counts.length;
        for (const wrong of [-1, counts[place] as number, 0.5, Number.NaN]) {
          const changed = [...value];
          changed[place] = wrong;
          expect(contains(space, changed)).toBe(false);
        }
        expect(contains(space, [...value, 0])).toBe(false);
      }),
      { seed: 9 },
    );
  });
});

describe("membership and limits", () => {
  test("limits are numbers that f32 can reach", () => {
    const space = box([2], { low: [-0.7, 0.1], high: [0.07, 0.7] });
    expect(space.low).toEqual([Math.fround(-0.7), Math.fround(0.1)]);
    expect(contains(space, Float32Array.of(0.07, 0.7))).toBe(true);
    expect(contains(space, Float32Array.of(-0.7, 0.1))).toBe(true);
    expect(contains(space, [0.07, 0.7])).toBe(true);
    expect(contains(space, [0.0701, 0.7])).toBe(false);
    expect(box([3]).low).toBe(-Infinity);
    expect(box([3], { dtype: "u8" })).toMatchObject({ low: 0, high: 255 });
    expect(box([3], { dtype: "i32" }).high).toBe(2 ** 31 - 1);
  });
  test("what belongs and what does not", () => {
    expect(contains(box([2]), [0, Number.NaN])).toBe(false);
    expect(contains(box([2]), [0, "1"])).toBe(false);
    expect(contains(box([2]), [0])).toBe(false);
    expect(contains(box([2], { dtype: "u8" }), [0, 256])).toBe(false);
    expect(contains(box([2], { dtype: "u8" }), [0, 1.5])).toBe(false);
    expect(contains(discrete(3, 2), 4)).toBe(true);
    expect(contains(discrete(3, 2), 5)).toBe(false);
    expect(contains(multiBinary(2), [0, 2])).toBe(false);
    const both = dict({ a: discrete(2), b: tuple(multiBinary(1)) });
    expect(contains(both, { a: 1, b: [[1]] })).toBe(true);
    for (const wrong of [{ a: 1 }, { a: 1, b: [[1]], c: 0 }, { a: 2, b: [[1]] }, null, 3, []])
      expect(contains(both, wrong)).toBe(false);
  });
  test("what cannot be is refused", () => {
    for (const wrong of [
      () => box([0]),
      () => box([1.5]),
      () => box([2], { low: [0] }),
      () => box([2], { low: 1, high: 0 }),
      () => box([2], { low: Number.NaN }),
      () => box([2], { low: [0, 3], high: 2 }),
      () => box([2], { dtype: "u8", low: -1 }),
      () => box([2], { dtype: "u8", high: 256 }),
      () => box([2], { dtype: "i32", low: 0.5 }),
      () => box([2], { dtype: "f16" as never }),
      () => discrete(0),
      () => discrete(2, 0.5),
      () => multiDiscrete([]),
      () => multiDiscrete([2, 0]),
      () => multiBinary(-1),
      () => flattenValue(discrete(3), 3),
      () => flattenValue(box([2]), Float32Array.of(1)),
      () => flattenInto(discrete(3), 1, new Float32Array(3), 1),
      () => flattenInto(discrete(3), 1, new Float32Array(9), -1),
      () => unflatten(discrete(3), [0, 1]),
      () => unflatten(discrete(3), [0, 0, 0]),
      () => unflatten(discrete(3), [1, 1, 0]),
      () => unflatten(discrete(3), [0.5, 0, 0]),
      () => unflatten(multiBinary(2), [2, 0]),
      () => unflatten(box([1], { dtype: "u8" }), [300]),
      () => unflatten(box([1], { high: 1 }), [2]),
    ])
      expect(wrong).toThrow(SpaceError);
  });
  test("how they are written", () => {
    const space = dict({ a: tuple(discrete(2), discrete(3, 1)), b: box([2, 3], { dtype: "u8" }) });
    expect(describeSpace(space)).toBe("Dict(a: Tuple(Discrete(2), Discrete(3 from 1)), b: Box(2x3 u8))");
    expect(describeSpace(tuple(multiDiscrete([2, 3]), multiBinary(4)))).toBe(
      "Tuple(MultiDiscrete(2, 3), MultiBinary(4))",
    );
  });
});

test("types follow from spaces", () => {
  const space = dict({
    position: box([2]),
    image: box([4, 4], { dtype: "u8" }),
    big: box([1], { dtype: "i32" }),
    pair: tuple(discrete(3), multiDiscrete([2, 2])),
    bits: multiBinary(5),
  });
  const value = sample(space, new HostStream(0, 0));
  expectTypeOf(value.position).toEqualTypeOf<Float32Array>();
  expectTypeOf(value.image).toEqualTypeOf<Uint8Array>();
  expectTypeOf(value.big).toEqualTypeOf<Int32Array>();
  expectTypeOf(value.pair[0]).toEqualTypeOf<number>();
  expectTypeOf(value.pair[1]).toEqualTypeOf<Int32Array>();
  expectTypeOf(value.pair.length).toEqualTypeOf<2>();
  expectTypeOf(value.bits).toEqualTypeOf<Uint8Array>();
  // @ts-expect-error: there is no such field.
  expect(value.other).toBeUndefined();
  expectTypeOf<ValueOf<ReturnType<typeof discrete>>>().toEqualTypeOf<number>();
  expectTypeOf<MaskOf<ReturnType<typeof discrete>>>().toEqualTypeOf<ArrayLike<number>>();
  expectTypeOf(unflatten(space, flattenValue(space, value))).toEqualTypeOf(value);
  // @ts-expect-error: a box is an array.
  expect(() => flattenValue(box([2]), 3)).toThrow(SpaceError);
  expect(Object.keys(value)).toEqual(["position", "image", "big", "pair", "bits"]);
});
