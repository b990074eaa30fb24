/**
 * @file Operations made of others: convolutions, products of batches, loops with gradients, rows of states; against plain
 * loops, and against finite differences.
 */
import { describe, expect, test } from "vitest";
import {
  concat,
  conv2d,
  flip,
  fold,
  gradients,
  input,
  program,
  repeat,
  scan,
  scatterAddAlong,
  scatterAlong,
  state,
  type Tensor,
  table,
  takeAlong,
} from "../../src/tensor/index.ts";
import { elementsOf, type Shape } from "../../src/tensor/shape.ts";
import { checkGradients, numbers, QUICK_MODES, results } from "./support.ts";

const rounded = (values: Float64Array): number[] => Array.from(values, (x) => Math.round(4 * x));

/** A convolution by its definition. */
function convolved(
  x: readonly number[],
  shape: Shape,
  w: readonly number[],
  kernel: Shape,
  stride: number,
  pad: number,
) {
  const [n = 0, height = 0, width = 0, channels = 0] = shape;
  const [kh = 0, kw = 0, , features = 0] = kernel;
  const rows = Math.floor((height + 2 * pad - kh) / stride) + 1;
  const columns = Math.floor((width + 2 * pad - kw) / stride) + 1;
  const out: number[] = [];
  for (let b = 0; b < n; b++)
    for (let r = 0; r < rows; r++)
      for (let c = 0; c < columns; c++)
        for (let f = 0; f < features; f++) {
          let sum = 0;
          for (let i = 0; i < kh; i++)
            for (let j = 0; j < kw; j++)
              for (let k = 0; k < channels; k++) {
                const [y, z] = [r * stride + i - pad, c * stride + j - pad];
                if (y < 0 || z < 0 || y >= height || z >= width) continue;
                const pixel = x[((b * height + y) * width + z) * channels + k] as number;
                sum += pixel * (w[((i * kw + j) * channels + k) * features + f] as number);
              }
          out.push(sum);
        }
  return out;
}

describe("conv2d", () => {
  const cases: [string, Shape, Shape, number, number][] = [
    ["10 x 10 like MinAtar", [2, 10, 10, 4], [3, 3, 4, 16], 1, 0],
    ["with a stride and padding", [2, 9, 7, 3], [3, 2, 3, 5], 2, 1],
    ["84 x 84 like Atari", [1, 84, 84, 4], [8, 8, 4, 8], 4, 0],
  ];
  for (const [name, shape, kernel, stride, padding] of cases) {
    const x = rounded(numbers(elementsOf(shape), 1));
    const w = rounded(numbers(elementsOf(kernel), 2));
    const build = () => ({ y: conv2d(input("x", "f32", shape), input("w", "f32", kernel), { stride, padding }) });
    const wanted = convolved(x, shape, w, kernel, stride, padding);
    for (const mode of QUICK_MODES)
      test(`${name}: ${JSON.stringify(mode)}`, () => expect(results(build, { x, w }, mode).y).toEqual(wanted));
  }
  test("keeps the size", () => {
    const made = program("same", () => ({
      y: conv2d(input("x", "f32", [1, 5, 6, 1]), input("w", "f32", [3, 4, 1, 2]), { padding: "same" }),
    }));
    expect(made.outputs.y).toHaveLength(5 * 6 * 2);
  });
  test("has the gradients that finite differences say", () =>
    checkGradients(
      [
        [2, 5, 4, 2],
        [3, 2, 2, 3],
      ],
      ([x, w]) =>
        conv2d(x as Tensor, w as Tensor, { stride: [2, 1], padding: 1 })
          .tanh()
          .sum(),
    ));
});

describe("products of a batch", () => {
  const build = () => {
    const x = input("x", "f32", [3, 4, 5]);
    const y = input("y", "f32", [3, 5, 9]);
    const product = x.matmul(y);
    const single = concat([0, 1, 2].map((k) => x.at(0, k).matmul(y.at(0, k)).unsqueeze(0)));
    return { product, single };
  };
  for (const mode of QUICK_MODES)
    test(`are those of its matrices: ${JSON.stringify(mode)}`, () => {
      const { product, single } = results(build, { x: numbers(60, 1), y: numbers(135, 2) }, mode);
      expect(product).toEqual(single);
    });
  test("have the gradients that finite differences say", () =>
    checkGradients(
      [
        [2, 3, 4],
        [2, 4, 3],
      ],
      ([x, y]) =>
        (x as Tensor)
          .matmul(y as Tensor)
          .tanh()
          .sum(),
    ));
});

describe("elements by an index along an axis", () => {
  const index = [3, 0, 3, 1, 1, 2];
  const build = () => {
    const [x, y, at] = [input("x", "f32", [2, 4]), input("y", "f32", [2, 3]), input("at", "i32", [2, 3])];
    const [columns, rows] = [x.transpose(), y.transpose()];
    return {
      taken: takeAlong(x, at, 1),
      added: scatterAddAlong(x, at, y, -1),
      written: scatterAlong(x, at, y, 1),
      down: scatterAlong(columns, at.transpose(), rows, 0).transpose(),
      turned: flip(x, [1]),
      upside: flip(x),
    };
  };
  const given = { x: [1, 2, 3, 4, 5, 6, 7, 8], y: [10, 20, 30, 40, 50, 60], at: index };
  for (const mode of QUICK_MODES)
    test(`is what plain loops do: ${JSON.stringify(mode)}`, () => {
      const got = results(build, given, mode);
      expect(got.taken).toEqual([4, 1, 4, 6, 6, 7]);
      expect(got.added).toEqual([21, 2, 3, 44, 5, 96, 67, 8]);
      // Of two for one place the later one counts.
      expect(got.written).toEqual([20, 2, 3, 30, 5, 50, 60, 8]);
      expect(got.down).toEqual(got.written);
      expect(got.turned).toEqual([4, 3, 2, 1, 8, 7, 6, 5]);
      expect(got.upside).toEqual([8, 7, 6, 5, 4, 3, 2, 1]);
    });
  for (const mode of QUICK_MODES)
    test(`of whole numbers and of yes and no: ${JSON.stringify(mode)}`, () => {
      const kinds = () => {
        const [x, y, at] = [input("x", "f32", [2, 4]), input("y", "f32", [2, 3]), input("at", "i32", [2, 3])];
        const [whole, more, yes] = [x.to("i32"), y.to("i32"), x.gt(4)];
        return {
          taken: takeAlong(whole, at, 1),
          written: scatterAlong(whole, at, more, 1),
          added: scatterAddAlong(whole, at, more, 1),
          yes: takeAlong(yes, at, 1),
          none: takeAlong(x, at.slice(1, 1, 1), 1),
          same: scatterAddAlong(x, at.slice(1, 1, 1), y.slice(1, 1, 1), 1),
        };
      };
      const got = results(kinds, given, mode);
      expect(got.taken).toEqual([4, 1, 4, 6, 6, 7]);
      expect(got.written).toEqual([20, 2, 3, 30, 5, 50, 60, 8]);
      expect(got.added).toEqual([21, 2, 3, 44, 5, 96, 67, 8]);
      expect(got.yes).toEqual([0, 0, 0, 1, 1, 1]);
      expect(got.none).toEqual([]);
      expect(got.same).toEqual(given.x);
    });
  test.each(["takeAlong", "scatterAddAlong", "scatterAlong"] as const)("%s faults where an index is none", (name) => {
    const made = program("wrong", () => {
      const [x, y, at] = [input("x", "f32", [2, 4]), input("y", "f32", [2, 3]), input("at", "i32", [2, 3])];
      const ways = {
        takeAlong: () => takeAlong(x, at, 1),
        scatterAddAlong: () => scatterAddAlong(x, at, y, 1),
        scatterAlong: () => scatterAlong(x, at, y, 1),
      };
      return { out: ways[name]() };
    });
    expect(() => made.run(given)).not.toThrow();
    for (const wrong of [-1, 4])
      expect(() => made.run({ ...given, at: [0, 1, 2, 3, wrong, 0] })).toThrow(`${name}: an index is not in 0 to 3`);
    made.dispose();
  });
});

describe("fold", () => {
  test("applies a function several times: all modes", () => {
    const build = () => {
      const x = input("x", "f32", [6]);
      const w = input("w", "f32", []);
      const power = fold(5, x, (_, carry) => carry.mul(w));
      const both = fold(3, { a: x, n: table([0], "i32") }, (i, { a, n }) => ({ a: a.add(i.to("f32")), n: n.add(2) }));
      const { carry, outputs } = scan(4, x, (i, h) => {
        const next = h.add(w).add(i.to("f32"));
        return { carry: next, output: next.sum() };
      });
      return { power, a: both.a, n: both.n, carry, outputs };
    };
    const x = [1, 2, 3, -1, 0, 5];
    for (const mode of QUICK_MODES) {
      const got = results(build, { x, w: [2] }, mode);
      expect(got.power).toEqual(x.map((v) => 32 * v));
      expect(got.a).toEqual(x.map((v) => v + 3));
      expect(got.n).toEqual([6]);
      expect(got.carry).toEqual(x.map((v) => v + 14));
      const sums = [2, 5, 9, 14].map((more) => x.reduce((sum, v) => sum + v + more, 0));
      expect(got.outputs).toEqual(sums);
    }
  });

  const recurrent = ([x, h, w, u]: readonly Tensor[]): Tensor =>
    fold(5, h as Tensor, (i, carry) =>
      (x as Tensor)
        .gather(i)
        .matmul(w as Tensor)
        .add(carry.matmul(u as Tensor))
        .tanh(),
    )
      .square()
      .sum();
  const shapes: Shape[] = [
    [5, 2, 3],
    [2, 4],
    [3, 4],
    [4, 4],
  ];
  test("has the gradients of the loop written out, and those that finite differences say", () => {
    checkGradients(shapes, recurrent);
    const build = (loop: boolean) => () => {
      const xs = shapes.map((shape, k) => input(`x${k}`, "f64", shape));
      const [x, h, w, u] = xs as [Tensor, Tensor, Tensor, Tensor];
      let last = h;
      for (let i = 0; i < 5; i++) last = x.at(0, i).matmul(w).add(last.matmul(u)).tanh();
      const loss = loop ? recurrent(xs) : last.square().sum();
      return Object.fromEntries(gradients(loss, xs).map((g, k) => [`g${k}`, g]));
    };
    const inputs = Object.fromEntries(shapes.map((shape, k) => [`x${k}`, numbers(elementsOf(shape), k + 1)]));
    for (const mode of QUICK_MODES.filter(({ threads, eager }) => threads !== 2 && !eager)) {
      const [looped, written] = [true, false].map((loop) => results(build(loop), inputs, mode));
      for (const [name, g] of Object.entries(looped ?? {}))
        for (const [k, value] of g.entries()) expect(value).toBeCloseTo(written?.[name]?.[k] as number, 12);
    }
  });
  test("has gradients of several carried values and of results of all iterations", () => {
    checkGradients([[3], [3], [4, 3]], ([a, b, w]) => {
      const { carry, outputs } = scan(4, { a: a as Tensor, b: b as Tensor }, (i, c) => {
        const next = c.a.mul((w as Tensor).gather(i)).add(c.b.sin());
        return { carry: { a: next, b: c.a.add(c.b).mul(0.5) }, output: { both: next.mul(c.b), one: next.sum() } };
      });
      return carry.b.sum().add(outputs.both.square().sum()).add(outputs.one.cos().sum());
    });
  });
  test("has gradients inside of one another, and of states", () => {
    checkGradients([[3], [3]], ([a, w]) =>
      fold(2, a as Tensor, (_, outer) => fold(3, outer, (_i, inner) => inner.mul(w as Tensor).tanh()).add(outer)).sum(),
    );
    const w = state("f32", [3], { from: [1, 2, 3] });
    const made = program("states", () => {
      const loss = fold(2, input("x", "f32", [3]), (_, carry) => carry.mul(w.value)).sum();
      const read = w.value;
      w.assign(read.mul(10));
      return { g: (gradients(loss, [read]) as [Tensor])[0] };
    });
    // x w^2, whose gradient is 2 x w, with what the state held when the loop was written.
    expect(Array.from(made.run({ x: [1, 1, 2] }).g)).toEqual([2, 4, 12]);
    made.dispose();
    w.dispose();
  });
  test("refuses what it cannot do", () => {
    const s = state("f32", [3]);
    const within = (build: () => Tensor) => () => program("wrong", () => ({ y: build() }));
    const x = () => input("x", "f32", [3]);
    const assigning = within(() =>
      fold(2, x(), (_, c) => {
        s.assign(c);
        return c;
      }),
    );
    expect(assigning).toThrow("state is changed inside fold(): its function only computes");
    expect(within(() => fold(2, x(), (_, c) => c.sum()))).toThrow("carries f32 [3], the next value is f32 []");
    expect(within(() => fold(0, x(), (_, c) => c))).toThrow("fold: 0 is not a whole number from 1 on");
    const twice = within(() => {
      const a = x();
      const [g] = gradients(fold(2, a, (_, c) => c.mul(c)).sum(), [a]) as [Tensor];
      return (gradients(g.sum(), [a]) as [Tensor])[0];
    });
    expect(twice).toThrow("of gradients through fold() are not to be had");
    s.dispose();
  });
});

describe("rows of states", () => {
  for (const mode of QUICK_MODES)
    test(`are assigned by a number that is known only then: ${JSON.stringify(mode)}`, () => {
      const log = state("f32", [4, 3]);
      const build = () => {
        const before = log.value;
        repeat(4, (i) => {
          log.assignRow(i.neg().add(3), input("x", "f32", [3]).mul(i.add(1).to("f32")));
        });
        log.assignRow(1, log.value.gather(table([2], "i32").reshape([])).add(log.value.at(0, 1)));
        return { log: log.value, before };
      };
      const got = results(build, { x: [1, 2, 3] }, mode);
      expect(got.log).toEqual([4, 8, 12, 5, 10, 15, 2, 4, 6, 1, 2, 3]);
      expect(got.before).toEqual(new Array(12).fill(0));
      log.dispose();
    });
});

describe("indices out of range are faults", () => {
  for (const mode of QUICK_MODES)
    test(JSON.stringify(mode), () => {
      const flat = state("f32", [20], { from: Array.from({ length: 20 }, (_, k) => k) });
      const gathering = program(
        "gathering",
        () => ({
          y: flat.value
            .slice(0, 4, 12)
            .reshape([4, 2])
            .gather(input("i", "i32", [3])),
        }),
        mode,
      );
      expect(Array.from(gathering.run({ i: [0, 3, 1] }).y)).toEqual([4, 5, 10, 11, 6, 7]);
      expect(() => gathering.run({ i: [0, 4, 1] })).toThrow(/gather: an index is not in 0 to 3/);
      expect(() => gathering.run({ i: [-1, 0, 1] })).toThrow(/gather/);
      const scattering = program(
        "scattering",
        () => {
          const rows = input("x", "f32", [2, 2]).scatterAdd(input("i", "i32", [2]), 3);
          return { y: concat([rows, rows.mul(2)]), z: input("t", "f32", [3, 2]).gather(input("i", "i32", [2])) };
        },
        mode,
      );
      expect(Array.from(scattering.run({ x: [1, 2, 3, 4], i: [2, 2] }).y)).toEqual([
        0, 0, 0, 0, 4, 6, 0, 0, 0, 0, 8, 12,
      ]);
      expect(() => scattering.run({ i: [3, 0] })).toThrow();
      for (const made of [gathering, scattering]) made.dispose();
      flat.dispose();
    });
});
