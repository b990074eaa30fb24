/**
 * @file A program that learns: a small convolutional network, its gradients and its steps in one run.
 */
import { expect, test } from "vitest";
import { concat, conv2d, gradients, input, program, repeat, state, type Tensor } from "../../src/tensor/index.ts";
import { elementsOf, type Shape } from "../../src/tensor/shape.ts";
import { numbers } from "./support.ts";

/** Tensors of given shapes in one flat tensor. */
function split(flat: Tensor, shapes: readonly Shape[]): Tensor[] {
  let at = 0;
  return shapes.map((shape) => {
    const begin = at;
    at += elementsOf(shape);
    return flat.slice(0, begin, at).reshape(shape);
  });
}
const sizeOf = (shapes: readonly Shape[]): number => shapes.reduce((sum, shape) => sum + elementsOf(shape), 0);
const flatGradients = (loss: Tensor, of: readonly Tensor[]): Tensor =>
  concat(gradients(loss, of).map((g) => g.reshape([-1])));

test("a convolutional network learns to tell upright bars from lying ones", () => {
  const [count, size] = [32, 7];
  const shapes: Shape[] = [[3, 3, 1, 4], [4], [4, 1], [1]];
  const flat = state("f32", [sizeOf(shapes)], { from: numbers(sizeOf(shapes), 3, 0.5) });
  const images = new Float32Array(count * size * size);
  const upright = new Float32Array(count);
  for (let n = 0; n < count; n++) {
    upright[n] = n % 2;
    const line = (n >> 1) % size;
    for (let k = 0; k < size; k++) images[n * size * size + (n % 2 ? k * size + line : line * size + k)] = 1;
  }
  const made = program("bars", () => {
    const x = input("images", "f32", [count, size, size, 1]);
    const y = input("upright", "f32", [count]);
    const logits = (): Tensor => {
      const [w, b, head, bias] = split(flat.value, shapes) as [Tensor, Tensor, Tensor, Tensor];
      const seen = conv2d(x, w, { padding: "same" }).add(b).relu().mean([1, 2]);
      return seen.matmul(head).add(bias).reshape([count]);
    };
    repeat(300, () => {
      const z = logits();
      const loss = z.softplus().sub(z.mul(y)).mean();
      flat.assign(flat.value.sub(flatGradients(loss, split(flat.value, shapes)).mul(2)));
    });
    return { correct: logits().gt(0).eq(y.gt(0)).to("f32").mean() };
  });
  expect(made.run({ images, upright }).correct[0]).toBe(1);
  made.dispose();
  flat.dispose();
});
