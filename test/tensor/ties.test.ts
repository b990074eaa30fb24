/**
 * @file Gradients where a function has none of its own: at kinks and bounds, and of products with zeros.
 */
import { expect, test } from "vitest";
import { gradients, input, program, type Tensor } from "../../src/tensor/index.ts";

function gradientAt(x: readonly number[], of: (x: Tensor) => Tensor): number[] {
  const made = program(
    "gradient",
    () => {
      const given = input("x", "f64", [x.length]);
      return { g: gradients(of(given).sum(), [given])[0] as Tensor };
    },
    { target: "js" },
  );
  return Array.from(made.run({ x }).g);
}

test("nothing flows through relu at 0", () => {
  expect(gradientAt([-1, 0, 2], (x) => x.relu())).toEqual([0, 0, 1]);
});
test("nothing flows through clamp at bounds that are numbers", () => {
  expect(gradientAt([-2, -1, 0, 1, 2], (x) => x.clamp(-1, 1))).toEqual([0, 0, 1, 0, 0]);
});
test("NaN stays what it is", () => {
  const made = program("nan", () => {
    const x = input("x", "f32", [1]);
    return { relu: x.relu(), clamp: x.clamp(-1, 1) };
  });
  const { relu, clamp } = made.run({ x: [Number.NaN] });
  expect([relu[0], clamp[0]]).toEqual([Number.NaN, Number.NaN]);
});
test("products: the others, whatever is 0", () => {
  expect(gradientAt([2, 3, 4], (x) => x.product())).toEqual([12, 8, 6]);
  expect(gradientAt([2, 0, 4], (x) => x.product())).toEqual([0, 8, 0]);
  expect(gradientAt([0, 0, 4], (x) => x.product())).toEqual([0, 0, 0]);
});
test("the power of 0", () => {
  expect(gradientAt([-1, 0, 2], (x) => x.pow(0))).toEqual([0, 0, 0]);
});
test("a gradient may be asked for with respect to any shape in between", () => {
  const made = program(
    "shapes",
    () => {
      const x = input("x", "f32", [12]).slice(0, 0, 6).reshape([2, 3]);
      return { g: gradients(x.reshape([3, 2]).mul(2).sum(), [x])[0] as Tensor };
    },
    { target: "js" },
  );
  expect(Array.from(made.run().g)).toEqual([2, 2, 2, 2, 2, 2]);
});
