/**
 * @file Random tensor programs: lists of instructions that mean something whatever stands before them, so that any part
 * of a list is a program too and a failing one shrinks.
 */
import fc from "fast-check";
import {
  concat,
  constant,
  flip,
  fold,
  input,
  iota,
  type Outputs,
  repeat,
  type Shape,
  type State,
  scatterAddAlong,
  scatterAlong,
  stack,
  state,
  type Tensor,
  table,
  takeAlong,
  where,
  windows,
} from "../../src/tensor/index.ts";
import { broadcastShapes, elementsOf } from "../../src/tensor/shape.ts";
import { numbers } from "./support.ts";

/** One instruction; numbers choose operands, axes and sizes, each as far as there is a choice. */
export interface Instruction {
  readonly op: string;
  readonly n: readonly number[];
  readonly body?: readonly Instruction[];
}
export interface Recipe {
  readonly shapes: readonly Shape[];
  readonly instructions: readonly Instruction[];
}

const MOST = 6000;

const at = <T>(list: readonly T[], k: number): T => list[k % list.length] as T;

/** What a recipe makes its program of. */
class Kitchen {
  readonly states: readonly State[];
  readonly outputs: { [name: string]: Tensor } = {};
  floats: Tensor[] = [];
  integers: Tensor[] = [];
  bools: Tensor[] = [];

  constructor(states: readonly State[]) {
    this.states = states;
  }
  add(...made: readonly Tensor[]): void {
    for (const t of made) {
      if (elementsOf(t.shape) > MOST || t.shape.length > 4) continue;
      (t.dtype === "bool" ? this.bools : t.dtype === "i32" ? this.integers : this.floats).push(t);
    }
  }
  /** The tensor as another shape, elements repeated or left out as need be. */
  fit(t: Tensor, shape: Shape): Tensor {
    if (elementsOf(t.shape) === elementsOf(shape)) return t.reshape(shape);
    const flat = t.reshape([-1]);
    const count = elementsOf(shape);
    if (count <= flat.size(0)) return flat.slice(0, 0, count).reshape(shape);
    return flat.gather(iota(count).rem(flat.size(0))).reshape(shape);
  }
  /** An operand that fits another by broadcasting. */
  beside(t: Tensor, other: Tensor): Tensor {
    return broadcastShapes(t.shape, other.shape) ? other : this.fit(other, t.shape);
  }
}

type Cook = (k: Kitchen, n: readonly [number, number, number, number], x: Tensor) => readonly Tensor[];

const UNARY = ["neg", "abs", "floor", "ceil", "sign", "relu", "square", "stopGradient"] as const;
const DEEP = ["exp", "tanh", "sigmoid", "sin", "cos", "atan", "softplus", "expm1", "sinh", "cosh"] as const;
const BINARY = ["add", "sub", "mul", "minimum", "maximum"] as const;
const COMPARED = ["eq", "ne", "lt", "le", "gt", "ge"] as const;
const REDUCED = ["sum", "max", "min", "mean"] as const;

/** Axes chosen by the bits of a number. */
const axesFrom = (shape: Shape, bits: number): number[] =>
  shape.flatMap((_, axis) => ((bits >> axis) & 1 ? [axis] : []));
function shuffled(rank: number, seed: number): number[] {
  const order = Array.from({ length: rank }, (_, k) => k);
  for (let k = rank - 1, s = seed; k > 0; k--, s = Math.floor(s / 3)) {
    const other = s % (k + 1);
    [order[k], order[other]] = [order[other] as number, order[k] as number];
  }
  return order;
}
/** Some shape of as many elements. */
function regrouped(count: number, seed: number): Shape {
  const divisors = Array.from({ length: count }, (_, k) => k + 1).filter((d) => count % d === 0);
  const first = at(divisors, seed);
  const rest = count / first;
  const more = Array.from({ length: rest }, (_, k) => k + 1).filter((d) => rest % d === 0);
  const second = at(more, seed >> 3);
  return seed % 4 === 0 ? [first, rest] : [first, second, rest / second];
}

/** Instructions that work on a float tensor. */
const ON_FLOATS: { readonly [op: string]: Cook } = {
  unary: (_, [, p], x) => [x[at(UNARY, p)]()],
  deep: (_, [, p], x) => [x.clamp(-9, 9)[at(DEEP, p)]()],
  root: (_, [, p], x) => [p % 2 ? x.abs().sqrt() : x.abs().add(1).log()],
  binary: (k, [, p, q], x) => [x[at(BINARY, p)](k.beside(x, at(k.floats, q)))],
  angle: (k, [, , q], x) => [x.atan2(k.beside(x, at(k.floats, q)))],
  divide: (k, [, , q], x) => [x.div(k.beside(x, at(k.floats, q)).abs().add(1))],
  number: (_, [, p, q], x) => [x[at(BINARY, p)]((q % 7) - 3)],
  compare: (k, [, p, q], x) => [x[at(COMPARED, p)](k.beside(x, at(k.floats, q)))],
  where: (k, [, p, q], x) => {
    const c = at(k.bools, p);
    return c ? [where(k.fit(c, x.shape), x, k.beside(x, at(k.floats, q)))] : [];
  },
  toWhole: (_, [,], x) => [x.clamp(-99, 99).to("i32")],
  limit: (_, [, p], x) => [x.clamp(-1 - (p % 9), 1 + (p % 5))],
  transpose: (_, [, p], x) => [x.transpose(shuffled(x.shape.length, p))],
  reshape: (_, [, p], x) => [x.reshape(regrouped(elementsOf(x.shape), p))],
  slice: (_, [, p, q, r], x) => {
    if (!x.shape.length) return [];
    const axis = p % x.shape.length;
    const size = x.size(axis);
    const begin = q % size;
    return [x.slice(axis, begin, begin + 1 + (r % (size - begin)), 1 + (r % 3))];
  },
  rows: (_, [, p, q], x) => {
    if (!x.shape.length) return [];
    const begin = p % x.size(0);
    return [x.slice(0, begin, begin + 1 + (q % (x.size(0) - begin)))];
  },
  at: (_, [, p, q], x) => (x.shape.length ? [x.at(p % x.shape.length, q % x.size(p % x.shape.length))] : []),
  unsqueeze: (_, [, p], x) => [x.unsqueeze(p % (x.shape.length + 1))],
  expand: (_, [, p], x) => [x.unsqueeze(0).expand([2 + (p % 9), ...x.shape])],
  spread: (_, [, p, q], x) => {
    const axis = p % (x.shape.length + 1);
    const one = x.unsqueeze(axis);
    return [one.expand(one.shape.map((size, k) => (k === axis ? 2 + (q % 9) : size)))];
  },
  pad: (_, [, p, q], x) => [
    x.pad(
      x.shape.map((_, axis) => (p >> axis) % 3),
      x.shape.map((_, axis) => (q >> axis) % 3),
      p % 2,
    ),
  ],
  reduce: (_, [, p, q, r], x) => [x[at(REDUCED, p)](axesFrom(x.shape, q), r % 2 === 1)],
  reduceAll: (_, [, p], x) => [x[at(REDUCED, p)]()],
  product: (_, [, p], x) =>
    x.shape.length
      ? [
          x
            .clamp(-2, 2)
            .product(p % x.shape.length)
            .clamp(-99, 99),
        ]
      : [],
  argmax: (_, [, p], x) => (x.shape.length ? [x.argmax(p % x.shape.length)] : []),
  softmax: (_, [, p, q], x) => {
    if (!x.shape.length) return [];
    const axis = p % x.shape.length;
    return [q % 3 === 0 ? x.softmax(axis) : q % 3 === 1 ? x.logSoftmax(axis) : x.logSumExp(axis, q % 2 === 0)];
  },
  cumsum: (_, [, p, q], x) => (x.shape.length ? [x.cumsum(p % x.shape.length, { fromEnd: q % 2 === 0 })] : []),
  matmul: (k, [, p, q, r], x) => {
    if (!x.shape.length) return [];
    const left = x.shape.length === 1 ? x.reshape([1, -1]) : x;
    const turned = left.shape.length === 2 && q % 2 ? left.transpose() : left;
    const inner = turned.size(-1);
    const columns = 1 + (r % 19);
    const other = at(k.floats, p);
    const right = q % 3 ? k.fit(other, [inner, columns]) : k.fit(other, [columns, inner]).transpose();
    return [turned.matmul(right).clamp(-999, 999)];
  },
  gather: (k, [, p], x) => {
    const index = at(k.integers, p);
    return index && x.shape.length ? [x.gather(index.clamp(0, x.size(0) - 1))] : [];
  },
  scatter: (k, [, p, q], x) => {
    const index = at(k.integers, p);
    if (!index || !x.shape.length) return [];
    const rank = 1 + (q % x.shape.length);
    const rows = 1 + (q % 7);
    return [x.scatterAdd(k.fit(index, x.shape.slice(0, rank)).clamp(0, rows - 1), rows)];
  },
  pick: (k, [, p], x) => {
    const index = at(k.integers, p);
    return index && x.shape.length ? [x.pick(k.fit(index, x.shape.slice(0, -1)).clamp(0, x.size(-1) - 1))] : [];
  },
  along: (k, [, p, q, r], x) => {
    const index = at(k.integers, p);
    if (!index || !x.shape.length) return [];
    const axis = q % x.shape.length;
    const shape = x.shape.map((size, d) => (d === axis ? 1 + (r % 5) : size));
    const places = k.fit(index, shape).clamp(0, x.size(axis) - 1);
    const source = k.fit(at(k.floats, r), shape);
    const ways = [
      () => takeAlong(x, places, axis),
      () => scatterAddAlong(x, places, source, axis),
      () => scatterAlong(x, places, source, axis),
    ];
    return [at(ways, p + q + r)()];
  },
  flip: (_, [, p], x) => [flip(x, axesFrom(x.shape, p))],
  concat: (k, [, p, q], x) => {
    if (!x.shape.length) return [];
    const axis = q % x.shape.length;
    const size = 1 + (p % 4);
    const other = k.fit(
      at(k.floats, p),
      x.shape.map((s, d) => (d === axis ? size : s)),
    );
    return [concat(p % 2 ? [x, other] : [other, x, x], axis)];
  },
  stack: (k, [, p, q], x) => [stack([x, k.fit(at(k.floats, p), x.shape), x], q % (x.shape.length + 1))],
  iota: (_, [, p], x) => [iota(1 + (p % 12)), ...(x.shape.length ? [iota(x.size(0))] : [])],
  oneHot: (k, [, p], x) => {
    const index = at(k.integers, p);
    return index ? [index.oneHot(1 + (p % 6)), x] : [];
  },
  whole: (k, [, p, q], x) => {
    const [a, b] = [at(k.integers, p), at(k.integers, q)];
    return a && b ? [a.add(k.beside(a, b)).clamp(-99, 99), a.to("f32"), a.lt(2), x] : [];
  },
  logic: (k, [, p, q], x) => {
    const [a, b] = [at(k.bools, p), at(k.bools, q)];
    return a && b ? [a.and(k.fit(b, a.shape)), a.not(), a.or(k.fit(b, a.shape)).to("f32"), x] : [];
  },
  table: (_, [, p], x) => [table(Array.from({ length: 1 + (p % 8) }, (_, j) => ((j * p) % 7) - 3)), x],
  output: (k, [, p], x) => {
    k.outputs[`o${p % 10}`] = x;
    return [];
  },
  read: (k, [, p], x) => (k.states.length ? [at(k.states, p).value, x] : []),
  assign: (k, [, p], x) => {
    const s = at(k.states, p);
    s?.assign(k.fit(x, s.shape));
    return [];
  },
  assignRow: (k, [, p, q], x) => {
    const s = at(k.states, p);
    const row = at(k.integers, q);
    if (!s?.shape.length) return [];
    const number = row
      ? row
          .reshape([-1])
          .at(0, 0)
          .clamp(0, s.value.size(0) - 1)
      : q % s.value.size(0);
    s.assignRow(number, k.fit(x, s.shape.slice(1)));
    return [];
  },
  matmulEach: (k, [, p, q], x) => {
    if (x.shape.length < 2) return [];
    const right = k.fit(at(k.floats, p), [...x.shape.slice(0, -2), x.size(-1), 1 + (q % 9)]);
    return [x.matmul(right).clamp(-99, 99)];
  },
  windows: (_, [, p, q], x) => {
    const [a = 1, b = 1, c = 1, d = 1] = x.shape;
    const size = [1 + (p % b), 1 + (q % c)] as const;
    const seen = windows(x.reshape([a, b, c, d]), size, { stride: [1 + (q % 2), 1 + (p % 2)], padding: p % 2 });
    return [seen.sum([3, 4]), seen.reshape([-1])];
  },
  /** A state's own elements in other places. */
  shift: (k, [, p, q], x) => {
    const s = at(k.states, p);
    if (!s) return [];
    const old = s.value.reshape([-1]);
    const from = q % old.size(0);
    s.assign(concat([old.slice(0, from, old.size(0)), ...(from ? [old.slice(0, 0, from)] : [])]).reshape(s.shape));
    return [x];
  },
};
export const OPERATIONS: readonly string[] = Object.keys(ON_FLOATS);

function cook(k: Kitchen, instructions: readonly Instruction[]): void {
  for (const { op, n, body } of instructions) {
    if (op === "fold") {
      k.add(folded(k, n, body ?? []));
      continue;
    }
    if (body) {
      const kept = [k.floats, k.integers, k.bools] as const;
      repeat((n[0] as number) % 4, (i) => {
        [k.floats, k.integers, k.bools] = kept.map((list) => [...list]) as [Tensor[], Tensor[], Tensor[]];
        k.integers.push(i);
        const outputs = { ...k.outputs };
        cook(k, body);
        for (const key of Object.keys(k.outputs)) delete k.outputs[key];
        Object.assign(k.outputs, outputs);
      });
      [k.floats, k.integers, k.bools] = kept.map((list) => [...list]) as [Tensor[], Tensor[], Tensor[]];
      continue;
    }
    const x = at(k.floats, n[0] as number);
    k.add(...(ON_FLOATS[op] as Cook)(k, n as [number, number, number, number], x));
  }
}

/** What a loop that only computes makes of a tensor. */
function folded(k: Kitchen, n: readonly number[], body: readonly Instruction[]): Tensor {
  const kept = [k.floats, k.integers, k.bools] as const;
  const back = (): void => {
    [k.floats, k.integers, k.bools] = kept.map((list) => [...list]) as [Tensor[], Tensor[], Tensor[]];
  };
  const x = at(k.floats, n[0] as number);
  const made = fold(1 + ((n[1] as number) % 3), x, (i, carry) => {
    back();
    k.integers.push(i);
    k.floats.push(carry);
    cook(k, body);
    return k.fit(k.floats.at(-1) as Tensor, carry.shape).clamp(-99, 99);
  });
  back();
  return made;
}

/** The states of some recipes, and a function that records them all as one program. */
export function prepared(recipes: readonly Recipe[]): {
  readonly states: readonly State[];
  readonly inputs: { readonly [name: string]: readonly number[] };
  readonly build: () => Outputs;
  readonly reset: () => void;
  readonly dispose: () => void;
} {
  const states = recipes.map(({ shapes }, r) => shapes.map((shape, k) => state("f32", shape, { name: `s${r}.${k}` })));
  const reset = (): void => {
    for (const [k, s] of states.flat().entries()) s.array.set(whole(elementsOf(s.shape), k + 50));
  };
  const build = (): Outputs => {
    const outputs: { [name: string]: Tensor } = {};
    for (const [r, { shapes, instructions }] of recipes.entries()) {
      const k = new Kitchen(states[r] as State[]);
      for (const [j, shape] of shapes.entries()) k.add(input(`x${r}.${j}`, "f32", shape));
      k.add(constant(2));
      cook(k, instructions);
      const last = [...k.floats.slice(-3), ...k.integers.slice(-1), ...k.bools.slice(-1)];
      for (const [j, t] of last.entries()) outputs[`r${r}.last${j}`] = t;
      for (const [name, t] of Object.entries(k.outputs)) outputs[`r${r}.${name}`] = t;
      for (const [j, s] of (states[r] as State[]).entries()) outputs[`r${r}.s${j}`] = s.value;
    }
    return outputs;
  };
  const inputs = Object.fromEntries(
    recipes.flatMap(({ shapes }, r) =>
      shapes.map((shape, j) => [`x${r}.${j}`, whole(elementsOf(shape), r * 7 + j + 1)] as const),
    ),
  );
  const dispose = (): void => {
    for (const s of states.flat()) s.dispose();
  };
  return { states: states.flat(), inputs, build, reset, dispose };
}
const whole = (count: number, seed: number): number[] => Array.from(numbers(count, seed, 4), Math.round);

const size = fc.oneof({ weight: 5, arbitrary: fc.integer({ min: 1, max: 7 }) }, fc.integer({ min: 8, max: 40 }));
const shape: fc.Arbitrary<Shape> = fc.array(size, { maxLength: 3 }).filter((sizes) => elementsOf(sizes) <= 1500);
const n = fc.array(fc.nat(63), { minLength: 4, maxLength: 4 });
const plain: fc.Arbitrary<Instruction> = fc.record({ op: fc.constantFrom(...OPERATIONS), n });
/** More of what goes wrong most: states. */
const stately: fc.Arbitrary<Instruction> = fc.record({
  op: fc.constantFrom("read", "assign", "assign", "assignRow", "shift", "output"),
  n,
});
const single = fc.oneof({ weight: 3, arbitrary: plain }, { weight: 1, arbitrary: stately });
const inner: fc.Arbitrary<Instruction> = fc.record({
  op: fc.constant("repeat"),
  n,
  body: fc.array(single, { maxLength: 8, size: "max" }),
});
const CHANGING = ["assign", "assignRow", "shift", "output"];
const folding: fc.Arbitrary<Instruction> = fc.record({
  op: fc.constant("fold"),
  n,
  body: fc.array(
    plain.filter(({ op }) => !CHANGING.includes(op)),
    { maxLength: 6, size: "max" },
  ),
});
const outer: fc.Arbitrary<Instruction> = fc.record({
  op: fc.constant("repeat"),
  n,
  body: fc.array(
    fc.oneof({ weight: 6, arbitrary: single }, { weight: 1, arbitrary: inner }, { weight: 1, arbitrary: folding }),
    {
      maxLength: 10,
      size: "max",
    },
  ),
});
export const recipe: fc.Arbitrary<Recipe> = fc.record({
  shapes: fc.array(shape, { minLength: 1, maxLength: 3 }),
  instructions: fc.array(
    fc.oneof({ weight: 9, arbitrary: single }, { weight: 1, arbitrary: outer }, { weight: 1, arbitrary: folding }),
    {
      maxLength: 24,
      size: "max",
    },
  ),
});

/** Batches of so many rows that steps go through them in groups; mostly what goes row by row, and some that does not. */
const ROWS = 256;
const rowwise: fc.Arbitrary<Instruction> = fc.record({
  op: fc.constantFrom(
    "matmul",
    "matmul",
    "deep",
    "binary",
    "number",
    "softmax",
    "reduce",
    "gather",
    "assign",
    "concat",
  ),
  n,
});
export const batchRecipe: fc.Arbitrary<Recipe> = fc.record({
  shapes: fc.array(
    fc.integer({ min: 1, max: 5 }).map((columns): Shape => [ROWS, columns]),
    { minLength: 1, maxLength: 3 },
  ),
  instructions: fc.array(
    fc.oneof({ weight: 8, arbitrary: rowwise }, { weight: 2, arbitrary: single }, { weight: 1, arbitrary: inner }),
    { maxLength: 20, size: "max" },
  ),
});
