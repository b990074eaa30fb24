/**
 * @file Gradients of random smooth expressions against finite differences, in f64.
 */
import fc from "fast-check";
import { test } from "vitest";
import {
  concat,
  constant,
  fold,
  gradients,
  type Shape,
  scan,
  stack,
  type Tensor,
  table,
  where,
  windows,
} from "../../src/tensor/index.ts";
import { broadcastShapes, elementsOf } from "../../src/tensor/shape.ts";
import { checkGradients } from "./support.ts";

interface Instruction {
  readonly op: string;
  readonly n: readonly number[];
}
type Rule = (x: Tensor, y: Tensor, n: readonly [number, number, number]) => Tensor | undefined;

const axisOf = (x: Tensor, n: number): number => n % x.shape.length;
/** As many elements as are wanted, by repeating or leaving out. */
function shaped(t: Tensor, shape: Shape): Tensor {
  const count = elementsOf(shape);
  const flat = t.reshape([-1]);
  const index = table(
    Array.from({ length: count }, (_, k) => (k * 3 + 1) % flat.size(0)),
    "i32",
  );
  return flat.gather(index).reshape(shape);
}
const beside = (x: Tensor, y: Tensor): Tensor => (broadcastShapes(x.shape, y.shape) ? y : shaped(y, x.shape));
const indexOf = (count: number, rows: number, seed: number): Tensor =>
  table(
    Array.from({ length: count }, (_, k) => (k * seed + 1) % rows),
    "i32",
  );

/** Two tensors, one of them at least 1 larger at every place: which of them is the data's business. */
function apart(x: Tensor, y: Tensor, of: (a: Tensor, b: Tensor) => Tensor): Tensor {
  const moved = x.tanh().add(where(y.gt(0), constant(2, "f64"), -2));
  return of(moved, y.tanh().mul(0.5));
}
/** Moved by a tenth where a number is too close to one of these for finite differences. */
const awayFrom = (x: Tensor, corners: readonly number[]): Tensor =>
  corners.reduce((moved, c) => moved.add(where(moved.sub(c).abs().lt(0.05), constant(0.1, "f64"), 0)), x);
/** All elements apart from each other. */
function distinct(x: Tensor): Tensor {
  const count = elementsOf(x.shape);
  const steps = Array.from({ length: count }, (_, k) => 3 * ((k * 7) % count) + 0.01 * k);
  return x.tanh().add(table(steps, "f64", x.shape));
}

const RULES: { readonly [op: string]: Rule } = {
  add: (x, y) => x.add(beside(x, y)),
  sub: (x, y) => x.sub(beside(x, y)),
  mul: (x, y) => x.mul(beside(x, y)),
  div: (x, y) => x.div(beside(x, y).square().add(1)),
  power: (x, y) => x.square().add(1).pow(beside(x, y).tanh()),
  tanh: (x) => x.tanh(),
  sigmoid: (x) => x.sigmoid(),
  sin: (x) => x.sin(),
  atan: (x) => x.atan(),
  exp: (x) => x.tanh().exp(),
  log: (x) => x.square().add(1).log(),
  root: (x) => x.square().add(1).sqrt().add(x.square().add(2).rsqrt()),
  softplus: (x) => x.softplus(),
  expm1: (x) => x.tanh().expm1(),
  cos: (x) => x.cos(),
  // Quotients end in .35 to .65, so that finite differences do not reach over a jump; of both signs, by both signs.
  rem: (x, y, [p, q]) => {
    const divisor = beside(x, y)
      .square()
      .add(0.5)
      .mul(p % 2 ? -1 : 1);
    const quotient = x
      .sin()
      .mul(0.15)
      .add(0.5 + (p % 3));
    return divisor.mul(quotient.mul(q % 2 ? -1 : 1)).rem(divisor);
  },
  // Operands that are apart by 1 at least, in the order that the data decides.
  minimum: (x, y) => apart(x, beside(x, y), (a, b) => a.minimum(b)),
  maximum: (x, y) => apart(x, beside(x, y), (a, b) => a.maximum(b)),
  where: (x, y) => where(beside(x, y).floor().gt(x.floor()), x.sin(), beside(x, y).mul(2)),
  clamp: (x, _, [p]) => awayFrom(x, [-0.5, 1]).clamp(-0.5, p % 2 ? 1 : constant(1, "f64")),
  relu: (x) => awayFrom(x, [0]).relu(),
  max: (x, _, [p, q]) => distinct(x).max(axisOf(x, p), q % 2 === 0),
  min: (x, _, [p, q]) => distinct(x).min(axisOf(x, p), q % 2 === 0),
  transpose: (x) => x.transpose(x.shape.map((_, k) => x.shape.length - 1 - k)),
  reshape: (x, _, [p]) => {
    const first = [1, 2, 3, 4].filter((d) => elementsOf(x.shape) % d === 0)[p % 2] ?? 1;
    return x.reshape([first, -1]);
  },
  slice: (x, _, [p, q, r]) => {
    const axis = axisOf(x, p);
    const begin = q % x.size(axis);
    return x.slice(axis, begin, x.size(axis), 1 + (r % 2));
  },
  expand: (x, _, [p]) =>
    x.shape.length < 3
      ? x.unsqueeze(p % 2).expand(p % 2 ? [x.size(0), 2, ...x.shape.slice(1)] : [2, ...x.shape])
      : undefined,
  pad: (x, _, [p, q]) =>
    x.pad(
      x.shape.map(() => p % 2),
      x.shape.map(() => q % 2),
    ),
  sum: (x, _, [p]) => x.sum(axisOf(x, p), true),
  mean: (x, _, [p]) => x.sub(x.mean(axisOf(x, p), true)),
  variance: (x, _, [p]) => x.variance(axisOf(x, p), true),
  product: (x, _, [p]) => x.tanh().add(2).product(axisOf(x, p), true),
  softmax: (x, _, [p]) => x.softmax(axisOf(x, p)),
  logSumExp: (x, _, [p]) => x.logSumExp(axisOf(x, p), true),
  cumsum: (x, _, [p, q]) => x.cumsum(axisOf(x, p), { fromEnd: q % 2 === 0 }),
  matmul: (x, y, [p]) => {
    const left = x.reshape([-1, x.size(-1)]);
    return left.matmul(shaped(y, [left.size(-1), 1 + (p % 3)]));
  },
  matmulEach: (x, y, [p]) =>
    x.shape.length === 3 ? x.matmul(shaped(y, [x.size(0), x.size(2), 1 + (p % 2)])) : undefined,
  gather: (x, _, [p, q]) => x.gather(indexOf(1 + (p % 4), x.size(0), q)),
  scatter: (x, _, [p, q]) => x.scatterAdd(indexOf(x.size(0), 1 + (q % 3), p), 1 + (q % 3)),
  concat: (x, y, [p]) => concat([x, shaped(y, x.shape), x.mul(2)], axisOf(x, p)),
  stack: (x, y) => (x.shape.length < 3 ? stack([x, shaped(y, x.shape)], 1) : undefined),
  windows: (x, _, [p]) => {
    const [a = 1, b = 1, c = 1] = x.shape;
    return windows(x.reshape([1, a, b, c]), [Math.min(2, a), Math.min(2, b)], { stride: 1 + (p % 2) }).reshape([-1]);
  },
  fold: (x, y, [p]) =>
    fold(2, x, (i, c) =>
      c
        .mul(shaped(y, c.shape))
        .tanh()
        .add(i.to("f64").mul(0.1 * p))
        .mul(0.5),
    ),
  scan: (x, y) => {
    const { carry, outputs } = scan(3, x, (_, c) => ({ carry: c.add(shaped(y, c.shape)).sin(), output: c.sum() }));
    return carry.mul(outputs.mean());
  },
  detach: (x, y) => x.mul(beside(x, y)).add(x.mul(0).stopGradient()),
};

/** The sum of what some instructions make of tensors. */
function made(instructions: readonly Instruction[], given: readonly Tensor[]): Tensor {
  const known = [...given];
  for (const { op, n } of instructions) {
    const pick = (k: number): Tensor => known[(n[k] as number) % known.length] as Tensor;
    const x = pick(0).shape.length ? pick(0) : pick(0).reshape([1]);
    const next = RULES[op]?.(x, pick(1), n.slice(2) as [number, number, number]);
    if (next && elementsOf(next.shape) <= 60 && next.shape.length <= 3 && elementsOf(next.shape) > 0) known.push(next);
  }
  return known.slice(-3).reduce<Tensor>((sum, t) => sum.add(t.sin().mean()), (known[0] as Tensor).sum());
}

const shape = fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 3 });
const instructionOf = (names: readonly string[]) =>
  fc.record({ op: fc.constantFrom(...names), n: fc.array(fc.nat(11), { minLength: 5, maxLength: 5 }) });
const runs = (n: number): number => Number(globalThis.process?.env?.RANDOM_RUNS ?? n);

test("gradients of random expressions are what finite differences say", () => {
  fc.assert(
    fc.property(
      fc.array(shape, { minLength: 1, maxLength: 2 }),
      fc.array(instructionOf(Object.keys(RULES)), { minLength: 1, maxLength: 10, size: "max" }),
      (shapes, instructions) => checkGradients(shapes, (xs) => made(instructions, xs), { tolerance: 2e-6 }),
    ),
    { numRuns: runs(60) },
  );
}, 60_000);

test("so are gradients of gradients, but through loops", () => {
  const without = ["fold", "scan"];
  const names = Object.keys(RULES).filter((name) => !without.includes(name));
  fc.assert(
    fc.property(
      fc.array(shape, { minLength: 1, maxLength: 2 }),
      fc.array(instructionOf(names), { minLength: 1, maxLength: 5, size: "max" }),
      (shapes, instructions) =>
        checkGradients(
          shapes,
          (xs) =>
            gradients(made(instructions, xs), xs).reduce((sum, g) => sum.add(g.sin().sum()), (xs[0] as Tensor).sum()),
          { tolerance: 5e-6 },
        ),
    ),
    { numRuns: runs(25) },
  );
}, 60_000);
