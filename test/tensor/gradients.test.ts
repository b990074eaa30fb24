/**
 * @file Every gradient rule against finite differences in f64, on expressions that use them.
 */
import { describe, expect, test } from "vitest";
import { erf, gelu, linear } from "../../src/nn/index.ts";
import {
  concat,
  constant,
  flip,
  fold,
  gradients,
  input,
  repeat,
  scatterAddAlong,
  scatterAlong,
  state,
  type Tensor,
  table,
  takeAlong,
  tile,
  where,
} from "../../src/tensor/index.ts";
import { program } from "../../src/tensor/program.ts";
import { elementsOf, type Shape } from "../../src/tensor/shape.ts";
import { checkGradients, numbers } from "./support.ts";

interface Case {
  readonly shapes: readonly Shape[];
  readonly of: (...xs: Tensor[]) => Tensor;
  /** Maps numbers between -1 and 1 to where the function is smooth. */
  readonly domain?: (x: number) => number;
}
const positive = (x: number): number => 1.5 + x;

const CASES: { readonly [name: string]: Case } = {
  add: { shapes: [[3, 4], [4]], of: (a, b) => a.add(b) },
  sub: {
    shapes: [
      [3, 4],
      [3, 1],
    ],
    of: (a, b) => a.sub(b),
  },
  mul: { shapes: [[3, 4], []], of: (a, b) => a.mul(b) },
  div: { shapes: [[5], [5]], of: (a, b) => a.div(b), domain: positive },
  "one tensor twice": { shapes: [[4]], of: (a) => a.mul(a).add(a) },
  neg: { shapes: [[4]], of: (a) => a.neg() },
  abs: { shapes: [[4]], of: (a) => a.abs(), domain: positive },
  sqrt: { shapes: [[4]], of: (a) => a.sqrt(), domain: positive },
  rsqrt: { shapes: [[4]], of: (a) => a.rsqrt(), domain: positive },
  exp: { shapes: [[4]], of: (a) => a.exp() },
  expm1: { shapes: [[4]], of: (a) => a.expm1() },
  log: { shapes: [[4]], of: (a) => a.log(), domain: positive },
  log1p: { shapes: [[4]], of: (a) => a.log1p(), domain: positive },
  tanh: { shapes: [[4]], of: (a) => a.tanh() },
  sigmoid: { shapes: [[4]], of: (a) => a.sigmoid() },
  sin: { shapes: [[4]], of: (a) => a.sin() },
  cos: { shapes: [[4]], of: (a) => a.cos() },
  atan: { shapes: [[4]], of: (a) => a.atan() },
  pow: { shapes: [[4], [4]], of: (a, b) => a.pow(b), domain: positive },
  "pow of a constant": { shapes: [[4]], of: (a) => a.pow(3) },
  rem: { shapes: [[4]], of: (a) => a.rem(0.7), domain: positive },
  "rem of either sign by either sign": { shapes: [[16], [16]], of: (a, b) => a.mul(5).rem(b) },
  softplus: { shapes: [[6]], of: (a) => a.softplus() },
  sinh: { shapes: [[8]], of: (a) => a.sinh() },
  cosh: { shapes: [[8]], of: (a) => a.cosh() },
  atan2: { shapes: [[8], [8]], of: (a, b) => a.atan2(b) },
  reciprocal: { shapes: [[8]], of: (a) => a.reciprocal(), domain: positive },
  deviation: { shapes: [[3, 4]], of: (a) => a.deviation(0).mul(weights([4])) },
  norm: { shapes: [[3, 4]], of: (a) => a.norm(1).mul(weights([3])) },
  relu: { shapes: [[8]], of: (a) => a.relu() },
  clamp: { shapes: [[8]], of: (a) => a.clamp(-0.4, 0.4) },
  minimum: { shapes: [[8], [8]], of: (a, b) => a.minimum(b) },
  maximum: { shapes: [[8], [8]], of: (a, b) => a.maximum(b) },
  where: { shapes: [[8], [8]], of: (a, b) => where(a.gt(b), a.mul(2), b.mul(b)) },
  transpose: { shapes: [[3, 4]], of: (a) => a.transpose().mul(weights([4, 3])) },
  "transpose of three axes": { shapes: [[2, 3, 4]], of: (a) => a.transpose([2, 0, 1]).mul(weights([4, 2, 3])) },
  reshape: { shapes: [[3, 4]], of: (a) => a.reshape([2, 6]).mul(weights([2, 6])) },
  slice: { shapes: [[6, 2]], of: (a) => a.slice(0, 1, 4).mul(weights([3, 2])) },
  "slice with a step": { shapes: [[7]], of: (a) => a.slice(0, 1, 7, 2).mul(weights([3])) },
  expand: { shapes: [[1, 3]], of: (a) => a.expand([4, 3]).mul(weights([4, 3])) },
  pad: { shapes: [[2, 3]], of: (a) => a.pad([1, 0], [0, 2]).mul(weights([3, 5])) },
  concat: {
    shapes: [
      [2, 3],
      [1, 3],
    ],
    of: (a, b) => concat([a, b]).mul(weights([3, 3])),
  },
  "concat along the last axis": {
    shapes: [
      [2, 3],
      [2, 2],
    ],
    of: (a, b) => concat([a, b], 1).mul(weights([2, 5])),
  },
  sum: { shapes: [[3, 4]], of: (a) => a.sum(0).mul(weights([4])) },
  "sum of the last axis": { shapes: [[3, 40]], of: (a) => a.sum(-1).mul(weights([3])) },
  mean: { shapes: [[3, 4]], of: (a) => a.mean(1, true).mul(a) },
  variance: { shapes: [[3, 4]], of: (a) => a.variance(-1, false, 1) },
  max: { shapes: [[3, 4]], of: (a) => a.max(1) },
  min: { shapes: [[3, 4]], of: (a) => a.min() },
  product: { shapes: [[2, 3]], of: (a) => a.product(1), domain: positive },
  logSumExp: { shapes: [[3, 4]], of: (a) => a.logSumExp() },
  softmax: { shapes: [[3, 4]], of: (a) => a.softmax().mul(weights([3, 4])) },
  logSoftmax: { shapes: [[3, 4]], of: (a) => a.logSoftmax(0).mul(weights([3, 4])) },
  cumsum: { shapes: [[2, 9]], of: (a) => a.cumsum().mul(weights([2, 9])) },
  "cumsum from the end": { shapes: [[5, 3]], of: (a) => a.cumsum(0, { fromEnd: true }).mul(weights([5, 3])) },
  matmul: {
    shapes: [
      [3, 5],
      [5, 4],
    ],
    of: (a, b) => a.matmul(b).mul(weights([3, 4])),
  },
  "matmul of transposed ones": {
    shapes: [
      [5, 3],
      [4, 5],
    ],
    of: (a, b) => a.transpose().matmul(b.transpose()).tanh(),
  },
  "matmul of three axes": {
    shapes: [
      [2, 3, 5],
      [5, 2],
    ],
    of: (a, b) => a.matmul(b).square(),
  },
  gather: { shapes: [[4, 3]], of: (a) => a.gather(index([0, 2, 2])).mul(weights([3, 3])) },
  scatterAdd: { shapes: [[3, 2]], of: (a) => a.scatterAdd(index([1, 3, 1]), 4).mul(weights([4, 2])) },
  takeAlong: {
    shapes: [[3, 4]],
    of: (a) => takeAlong(a, table([2, 0, 1, 2, 0, 0, 1, 2], "i32", [2, 4]), 0).mul(weights([2, 4])),
  },
  scatterAddAlong: {
    shapes: [
      [2, 4],
      [2, 3],
    ],
    of: (a, b) => scatterAddAlong(a, table([3, 0, 3, 1, 1, 2], "i32", [2, 3]), b, 1).mul(weights([2, 4])),
  },
  scatterAlong: {
    shapes: [
      [2, 4],
      [2, 3],
    ],
    of: (a, b) => scatterAlong(a, table([3, 0, 3, 1, 1, 2], "i32", [2, 3]), b, 1).mul(weights([2, 4])),
  },
  flip: { shapes: [[3, 4]], of: (a) => flip(a, [1]).mul(weights([3, 4])) },
  tile: { shapes: [[2, 3]], of: (a) => tile(a, [2, 2]).mul(weights([4, 6])) },
  "a matrix times a vector": { shapes: [[3, 4], [4]], of: (a, b) => a.matmul(b).mul(weights([3])) },
  pick: { shapes: [[3, 4]], of: (a) => a.pick(index([3, 0, 1])).mul(weights([3])) },
};

const weights = (shape: Shape): Tensor => table([...numbers(elementsOf(shape), 99)], "f64", shape);
const index = (values: readonly number[]): Tensor => table(values, "i32");

describe("gradients are what finite differences say", () => {
  for (const [name, { shapes, of, domain = (x: number) => x }] of Object.entries(CASES))
    test(name, () => checkGradients(shapes, (xs) => of(...xs).sum(), { domain }));

  test("roots of nothing have none", () => {
    const made = program("roots", () => {
      const x = input("x", "f64", [2, 3]);
      const [norms, deviations] = [x.norm(1).sum(), x.deviation(1).sum()].map((of) => gradients(of, [x])[0] as Tensor);
      return { norms: norms as Tensor, deviations: deviations as Tensor };
    });
    const { norms, deviations } = made.run({ x: [0, 0, 0, 0, 3, 4] });
    expect(Array.from(norms)).toEqual([0, 0, 0, 0, expect.closeTo(0.6, 12), expect.closeTo(0.8, 12)]);
    expect(Array.from(deviations).slice(0, 3)).toEqual([0, 0, 0]);
    expect(deviations.every(Number.isFinite)).toBe(true);
    made.dispose();
  });

  test("the exponent of 0 and of powers of 0 has none, as in other frameworks", () => {
    const made = program("powers", () => {
      const [a, b] = [input("a", "f64", [5]), input("b", "f64", [5])];
      const power = a.pow(b);
      const [ga, gb] = gradients(power.sum(), [a, b]) as [Tensor, Tensor];
      const [gaa, gbb] = [gradients(ga.sum(), [a])[0], gradients(gb.sum(), [b])[0]] as [Tensor, Tensor];
      return { ga, gb, gaa, gbb };
    });
    const found = made.run({ a: [0, 0, 0, 0, 2], b: [2, 0, 1, 3, 3] });
    expect(Array.from(found.gb)).toEqual([0, 0, 0, 0, expect.closeTo(8 * Math.LN2, 12)]);
    expect(Array.from(found.ga)).toEqual([0, 0, 1, 0, 12]);
    expect(Array.from(found.gbb)).toEqual([0, 0, 0, 0, expect.closeTo(8 * Math.LN2 ** 2, 12)]);
    expect(found.gaa[4]).toBeCloseTo(12, 12);
    made.dispose();
  });

  test("second ones of functions that are known as a whole, where their parts have corners", () => {
    const second = (of: (x: Tensor) => Tensor) => {
      const made = program("second", () => {
        const x = input("x", "f64", [4]);
        const [g] = gradients(of(x).sum(), [x]) as [Tensor];
        return { g, gg: (gradients(g.sum(), [x]) as [Tensor])[0] };
      });
      const { g, gg } = made.run({ x: [0, 0.5, -0.5, 2] });
      made.dispose();
      return { g: Array.from(g), gg: Array.from(gg) };
    };
    const near = (values: readonly number[]) => values.map((x) => expect.closeTo(x, 11));
    const xs = [0, 0.5, -0.5, 2];
    const s = (x: number) => 1 / (1 + Math.exp(-x));
    const plus = second((x) => x.softplus());
    expect(plus.g).toEqual(near(xs.map(s)));
    expect(plus.gg).toEqual(near(xs.map((x) => s(x) * (1 - s(x)))));
    const slope = (x: number) => (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x);
    const error = second(erf);
    expect(error.g).toEqual(near(xs.map(slope)));
    expect(error.gg).toEqual(near(xs.map((x) => -2 * x * slope(x))));
    const density = (x: number) => Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
    expect(second(gelu).gg).toEqual(near(xs.map((x) => density(x) * (2 - x * x))));
  });

  test("conversions hand on what they get, and whole numbers nothing", () => {
    const made = program("converted", () => {
      const x = input("x", "f64", [4]);
      const there = x.to("f32").mul(3).to("f64").mul(x).sum();
      const [g] = gradients(there, [x]) as [Tensor];
      const [whole] = gradients(x.to("i32").to("f64").mul(5).sum(), [x]) as [Tensor];
      return { g, whole };
    });
    const x = [0.5, -1.25, 3, 1e-3];
    const { g, whole } = made.run({ x });
    expect(Array.from(g)).toEqual(x.map((v) => expect.closeTo(6 * v, 6)));
    expect(Array.from(whole)).toEqual([0, 0, 0, 0]);
    made.dispose();
  });

  test("are refused where a state alone leads on, and flow through fold", () => {
    const w = state("f64", [2], { name: "w", from: [2, 3] });
    const h = state("f64", [2], { name: "h" });
    const looped = (): Tensor => {
      h.assign(1);
      repeat(3, () => h.assign(h.value.mul(w.value)));
      return h.value.sum();
    };
    const made = (of: () => Tensor[]) => () => program("looped", () => ({ g: of()[0] as Tensor }));
    expect(made(() => gradients(looped(), [w.value]))).toThrow(
      /gradients: nothing flows through states: h, which is assigned inside repeat\(\).*use fold\(\)/,
    );
    // What is left by another way is what was asked for, and what has no way at all is zero.
    expect(made(() => gradients(looped().add(w.value.sum()), [w.value]))).not.toThrow();
    expect(made(() => gradients(looped(), [constant(1, "f64").add(input("x", "f64", []))]))).not.toThrow();
    const net = linear({ inputs: 1, outputs: 1, dtype: "f64" });
    const carried = (): Tensor => {
      repeat(3, () => h.assign(net.apply(h.value.reshape([2, 1])).reshape([2])));
      return net.parameters.gradients(h.value.sum());
    };
    expect(made(() => [carried()])).toThrow("does not depend on the parameters but through the state h");
    const folded = made(() => gradients(fold(3, constant(1, "f64", [2]), (_, c) => c.mul(w.value)).sum(), [w.value]))();
    expect(Array.from(folded.run().g)).toEqual([12, 27]);
    folded.dispose();
  });

  test("nothing flows through stopGradient", () => {
    const made = program("stopped", () => {
      const x = input("x", "f64", [4]);
      return { g: (gradients(x.mul(x.stopGradient()).sum(), [x]) as [Tensor])[0] };
    });
    const x = numbers(4);
    expect(Array.from(made.run({ x }).g)).toEqual(Array.from(x));
    made.dispose();
  });
});
