/**
 * @file Tensor: a value of a fixed shape in a program that is being recorded, with the operations on it.
 *
 * A method records a node and returns at once; nothing is computed before the program runs. Numbers stand for tensors of
 * one element. Axes may be counted from the end with negative numbers.
 */
import {
  atOf,
  axisIn,
  checkCount,
  checkPick,
  constantOf,
  cumulateOf,
  expandOf,
  gatherOf,
  inferredShape,
  iotaOf,
  kindOf,
  knownOf,
  mapOf,
  matmulOf,
  named,
  padOf,
  pickedOf,
  publicName,
  reduceOf,
  refuse,
  reshapeOf,
  scatterOf,
  sliceOf,
  transposeOf,
  unsqueezeOf,
} from "./build.ts";
import type { Node, ReduceKind, TensorType } from "./nodes.ts";
import { isFloat, type MapOp } from "./operations.ts";
import { broadcastShapes, describeShape, elementsOf, type Shape } from "./shape.ts";

/** A tensor, or a number that becomes one of the other operand's type. */
export type Operand = Tensor | number;
export type Axes = number | readonly number[];

export class Tensor {
  readonly node: Node;

  constructor(node: Node) {
    this.node = node;
  }
  get shape(): Shape {
    return this.node.shape;
  }
  get dtype(): TensorType {
    return this.node.dtype;
  }
  /** The size of an axis. */
  size(axis: number): number {
    return this.shape[this.#axis("size", axis)] as number;
  }

  #map(op: MapOp, ...others: readonly Operand[]): Tensor {
    return new Tensor(mapOf(op, [this.node, ...others.map((x) => nodeOf(x, this.dtype, publicName(op)))]));
  }
  #axis(name: string, axis: number): number {
    return axisIn(name, this.shape, axis);
  }
  #axes(name: string, axes: Axes | undefined): number[] {
    if (axes === undefined) return this.shape.map((_, axis) => axis);
    return (typeof axes === "number" ? [axes] : axes).map((axis) => this.#axis(name, axis));
  }

  // Elementwise

  add(x: Operand): Tensor {
    return this.#map("add", x);
  }
  sub(x: Operand): Tensor {
    return this.#map("sub", x);
  }
  mul(x: Operand): Tensor {
    return this.#map("mul", x);
  }
  div(x: Operand): Tensor {
    return this.#map("div", x);
  }
  rem(x: Operand): Tensor {
    return this.#map("rem", x);
  }
  pow(x: Operand): Tensor {
    return this.#map("pow", x);
  }
  minimum(x: Operand): Tensor {
    return this.#map("min", x);
  }
  maximum(x: Operand): Tensor {
    return this.#map("max", x);
  }
  /** Between two bounds. Nothing flows from the bounds on when they are numbers; tensors share as in `minimum`. */
  clamp(low: Operand, high: Operand): Tensor {
    return named("clamp", () => {
      const clamped = this.maximum(low).minimum(high);
      if (typeof low !== "number" || typeof high !== "number") return clamped;
      return where(this.gt(low).and(this.lt(high)), this, clamped.stopGradient());
    });
  }
  neg(): Tensor {
    return this.#map("neg");
  }
  abs(): Tensor {
    return this.#map("abs");
  }
  sqrt(): Tensor {
    return this.#map("sqrt");
  }
  rsqrt(): Tensor {
    return this.#map("rsqrt");
  }
  square(): Tensor {
    return named("square", () => this.mul(this));
  }
  floor(): Tensor {
    return this.#map("floor");
  }
  ceil(): Tensor {
    return this.#map("ceil");
  }
  sign(): Tensor {
    return this.#map("sign");
  }
  /** One over this: of floats. */
  reciprocal(): Tensor {
    if (!isFloat(this)) refuse("reciprocal", `it does not take ${this.dtype}`);
    return named("reciprocal", () => new Tensor(constantOf(1, this.dtype)).div(this));
  }
  exp(): Tensor {
    return this.#map("exp");
  }
  expm1(): Tensor {
    return this.#map("expm1");
  }
  log(): Tensor {
    return this.#map("log");
  }
  log1p(): Tensor {
    return this.#map("log1p");
  }
  tanh(): Tensor {
    return this.#map("tanh");
  }
  sigmoid(): Tensor {
    return this.#map("sigmoid");
  }
  sin(): Tensor {
    return this.#map("sin");
  }
  cos(): Tensor {
    return this.#map("cos");
  }
  atan(): Tensor {
    return this.#map("atan");
  }
  /** The angle of the point (x, this), from -pi to pi. */
  atan2(x: Operand): Tensor {
    return this.#map("atan2", x);
  }
  sinh(): Tensor {
    return this.#map("sinh");
  }
  cosh(): Tensor {
    return this.#map("cosh");
  }
  /** The larger of this and 0; nothing flows where it is 0. */
  relu(): Tensor {
    return named("relu", () => where(this.le(0), 0, this));
  }
  /** log(1 + exp(x)), without overflow. */
  softplus(): Tensor {
    return named("softplus", () => {
      const value = this.maximum(0).add(this.abs().neg().exp().log1p());
      return new Tensor(knownOf("softplus", this.node, value.stopGradient().node));
    });
  }
  eq(x: Operand): Tensor {
    return this.#map("eq", x);
  }
  ne(x: Operand): Tensor {
    return this.#map("ne", x);
  }
  lt(x: Operand): Tensor {
    return this.#map("lt", x);
  }
  le(x: Operand): Tensor {
    return this.#map("le", x);
  }
  gt(x: Operand): Tensor {
    return this.#map("gt", x);
  }
  ge(x: Operand): Tensor {
    return this.#map("ge", x);
  }
  and(x: Tensor): Tensor {
    return this.#map("and", x);
  }
  or(x: Tensor): Tensor {
    return this.#map("or", x);
  }
  not(): Tensor {
    return this.#map("not");
  }
  /** The same numbers as another type: floats become whole numbers towards zero; not 0 becomes true. */
  to(dtype: TensorType): Tensor {
    if (dtype === "bool" && this.dtype !== "bool") return this.ne(0);
    return new Tensor(mapOf("convert", [this.node], dtype));
  }
  /** The same value, through which no gradient flows. */
  stopGradient(): Tensor {
    return this.#map("detach");
  }

  // Shapes

  reshape(shape: Shape): Tensor {
    return new Tensor(reshapeOf(this.node, inferredShape(this.shape, shape)));
  }
  /** Axes in another order; without one, the last two change places. */
  transpose(order?: readonly number[]): Tensor {
    const rank = this.shape.length;
    const swapped = this.shape.map((_, k) => (k < rank - 2 ? k : 2 * rank - 3 - k));
    return new Tensor(transposeOf(this.node, order ?? swapped));
  }
  /** Elements begin .. end-1 along an axis. */
  slice(axis: number, begin: number, end: number, step = 1): Tensor {
    return new Tensor(sliceOf(this.node, this.#axis("slice", axis), begin, end, step));
  }
  /** One element along an axis, which is gone. */
  at(axis: number, index: number): Tensor {
    return new Tensor(atOf(this.node, this.#axis("at", axis), index));
  }
  expand(shape: Shape): Tensor {
    return new Tensor(expandOf(this.node, shape));
  }
  /** An axis of size 1 more. */
  unsqueeze(axis: number): Tensor {
    return new Tensor(unsqueezeOf(this.node, axis));
  }
  pad(before: readonly number[], after: readonly number[], value = 0): Tensor {
    return new Tensor(padOf(this.node, before, after, value));
  }

  // Along axes

  #reduce(name: string, op: ReduceKind, axes: Axes | undefined, keep: boolean): Tensor {
    const chosen = this.#axes(name, axes);
    const reduced = reduceOf(op, this.node, chosen);
    if (!keep) return new Tensor(reduced);
    return new Tensor(
      reshapeOf(
        reduced,
        this.shape.map((size, axis) => (chosen.includes(axis) ? 1 : size)),
      ),
    );
  }
  sum(axes?: Axes, keep = false): Tensor {
    return this.#reduce("sum", "add", axes, keep);
  }
  mean(axes?: Axes, keep = false): Tensor {
    const count = this.#axes("mean", axes).reduce((n, axis) => n * (this.shape[axis] as number), 1);
    return named("mean", () => this.sum(axes, keep).div(count));
  }
  /** The mean squared distance from the mean, or, with 1, the unbiased estimate. */
  variance(axes?: Axes, keep = false, ddof = 0): Tensor {
    const count = this.#axes("variance", axes).reduce((n, axis) => n * (this.shape[axis] as number), 1);
    return named("variance", () => {
      const squares = this.sub(this.mean(axes, true)).square();
      return squares.sum(axes, keep).div(count - ddof);
    });
  }
  /** The root of the variance; nothing flows where it is 0. */
  deviation(axes?: Axes, keep = false, ddof = 0): Tensor {
    return named("deviation", () => rootOf(this.variance(axes, keep, ddof)));
  }
  /** The root of the sum of squares; nothing flows where it is 0. */
  norm(axes?: Axes, keep = false): Tensor {
    return named("norm", () => rootOf(this.square().sum(axes, keep)));
  }
  max(axes?: Axes, keep = false): Tensor {
    return this.#reduce("max", "max", axes, keep);
  }
  min(axes?: Axes, keep = false): Tensor {
    return this.#reduce("min", "min", axes, keep);
  }
  product(axes?: Axes, keep = false): Tensor {
    return this.#reduce("product", "mul", axes, keep);
  }
  /** Where the largest element along an axis is; the first of equal ones. What is not a number counts as larger. */
  argmax(axis = -1): Tensor {
    const at = this.#axis("argmax", axis);
    const size = this.shape[at] as number;
    return named("argmax", () => {
      const largest = this.eq(this.max(at, true));
      const found = isFloat(this) ? largest.or(this.ne(this)) : largest;
      return where(found, new Tensor(iotaOf(this.shape, at)), size).min(at);
    });
  }
  logSumExp(axes: Axes = -1, keep = false): Tensor {
    const chosen = this.#axes("logSumExp", axes);
    return named("logSumExp", () => {
      const top = this.max(chosen, true).stopGradient();
      const sum = this.sub(top).exp().sum(chosen, true).log().add(top);
      return keep ? sum : sum.reshape(this.shape.filter((_, k) => !chosen.includes(k)));
    });
  }
  logSoftmax(axis = -1): Tensor {
    return named("logSoftmax", () => {
      const shifted = this.sub(this.max(axis, true).stopGradient());
      return shifted.sub(shifted.exp().sum(axis, true).log());
    });
  }
  softmax(axis = -1): Tensor {
    return named("softmax", () => {
      const powers = this.sub(this.max(axis, true).stopGradient()).exp();
      return powers.div(powers.sum(axis, true));
    });
  }
  cumsum(axis = -1, { fromEnd = false } = {}): Tensor {
    return new Tensor(cumulateOf(this.node, axis, fromEnd));
  }

  // Rows and matrices

  /**
   * [..., m, k] times [k, n]; leading axes of the first are kept. Or times [..., k, n]: a product for each of a batch. Or
   * times [k], which is [..., m].
   */
  matmul(other: Tensor): Tensor {
    const rank = this.shape.length;
    const factor = tensorOf("matmul", other);
    if (other.shape.length > 2) return this.#matmulEach(other);
    if (other.shape.length === 1 && rank > 1) {
      if (this.size(-1) !== other.size(0)) this.#refuseFactor(other, "[..., m, k] times [k]");
      return this.matmul(other.unsqueeze(-1)).reshape(this.shape.slice(0, -1));
    }
    if (rank <= 2) return new Tensor(matmulOf(this.node, factor));
    const rows = elementsOf(this.shape.slice(0, -1));
    const flat = this.reshape([rows, this.size(-1)]).matmul(other);
    return flat.reshape([...this.shape.slice(0, -1), other.size(-1)]);
  }
  #refuseFactor(other: Tensor, wanted: string): never {
    const shapes = [this, other].map(({ shape }) => describeShape(shape)).join(" and ");
    return refuse("matmul", `shapes ${shapes} do not fit: ${wanted}`);
  }
  #matmulEach(other: Tensor): Tensor {
    const [batch, others] = [this.shape.slice(0, -2), other.shape.slice(0, -2)];
    const fits = this.shape.length >= 2 && this.size(-1) === other.size(-2) && broadcastShapes(batch, others);
    if (!fits) this.#refuseFactor(other, "[..., m, k] times [..., k, n]");
    // Lanes are columns, and products are added in the order of k, as in the product of two matrices.
    return this.unsqueeze(-1).mul(other.unsqueeze(-3)).sum(-2);
  }
  /** Rows of this tensor, as an i32 index says. */
  gather(index: Tensor): Tensor {
    return new Tensor(gatherOf(this.node, tensorOf("gather", index)));
  }
  /** These rows added to those rows of zeros that the index says. */
  scatterAdd(index: Tensor, rows: number): Tensor {
    return new Tensor(scatterOf(this.node, tensorOf("scatterAdd", index), rows));
  }
  /** One element of each row along the last axis: result[...] = this[..., index[...]]. */
  pick(index: Tensor): Tensor {
    const node = tensorOf("pick", index);
    checkPick(this.shape, node);
    return named("pick", () => {
      const chosen = index.unsqueeze(-1).eq(new Tensor(iotaOf(this.shape, this.shape.length - 1)));
      return new Tensor(pickedOf(where(chosen, this, 0).sum(-1).node, node, this.size(-1)));
    });
  }
  /** 1 at the index along a new last axis, 0 elsewhere. */
  oneHot(count: number, dtype: TensorType = "f32"): Tensor {
    checkCount("oneHot", count, 1);
    const places = new Tensor(iotaOf([...this.shape, count], this.shape.length));
    return named("oneHot", () => this.unsqueeze(-1).eq(places).to(dtype));
  }
}

/** A root through which nothing flows where it is 0, rather than what is not a number. */
function rootOf(x: Tensor): Tensor {
  const isZero = x.eq(0);
  return where(isZero, 0, where(isZero, 1, x).sqrt());
}

/** The node of an operand that has to be a tensor. */
export function tensorOf(operationName: string, x: Tensor): Node {
  return x instanceof Tensor ? x.node : refuse(operationName, `it takes a tensor, and what was given is ${kindOf(x)}`);
}
export function nodeOf(x: Operand, dtype: TensorType, operationName = "operand"): Node {
  if (typeof x === "number") return constantOf(x, dtype);
  if (x instanceof Tensor) return x.node;
  return refuse(operationName, `it takes tensors and numbers, and what was given is ${kindOf(x)}`);
}

/** Elements of one or the other. */
export function where(condition: Tensor, then: Operand, otherwise: Operand): Tensor {
  const dtype = then instanceof Tensor ? then.dtype : otherwise instanceof Tensor ? otherwise.dtype : "f32";
  const values = [then, otherwise].map((x) => nodeOf(x, dtype, "where"));
  return new Tensor(mapOf("select", [tensorOf("where", condition), ...values]));
}
