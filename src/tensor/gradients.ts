/**
 * @file Reverse-mode differentiation: one rule per kind of node, one per elementwise operation.
 *
 * The gradient of a scalar is recorded as further nodes, so that it is scheduled and fused with everything else. Nothing
 * flows through comparisons, whole numbers, tables and `stopGradient`. Rules are themselves made of differentiable
 * operations, so gradients of gradients come for free, but for products of several elements (`product`) where some are
 * 0. States that are read are leaves: a gradient with respect to one is with respect to the value that was read.
 */
import {
  constantOf,
  cumulateOf,
  flipOf,
  gatherOf,
  mapOf,
  matmulOf,
  padOf,
  reduceOf,
  refuse,
  reshapeOf,
  scatterOf,
  sliceOf,
  transposeOf,
  unviewOf,
  viewOf,
} from "./build.ts";
import {
  type FoldNode,
  type MapNode,
  type Node,
  type ReduceNode,
  type Stored,
  sourcesOf,
  type ViewAxis,
  type ViewNode,
} from "./nodes.ts";
import { isFloat, type MapOp } from "./operations.ts";
import { recording } from "./recorder.ts";
import { describeShape, type Shape, sameShape } from "./shape.ts";
import { Tensor, tensorOf } from "./tensor.ts";

const add = (a: Node, b: Node): Node => mapOf("add", [a, b]);
const sub = (a: Node, b: Node): Node => mapOf("sub", [a, b]);
const mul = (a: Node, b: Node): Node => mapOf("mul", [a, b]);
const div = (a: Node, b: Node): Node => mapOf("div", [a, b]);
const neg = (a: Node): Node => mapOf("neg", [a]);
const one = (op: MapOp, x: Node): Node => mapOf(op, [x]);
const number = (value: number, like: Node): Node => constantOf(value, like.dtype, like.shape);
const select = (condition: Node, a: Node, b: Node): Node => mapOf("select", [condition, a, b]);
const zeros = (like: Node): Node => number(0, like);

/** What the result's gradient `g` says of each operand; undefined: nothing. `y` is the result. */
type MapRule = (xs: readonly Node[], g: Node, y: Node) => readonly (Node | undefined)[];
const nothing: MapRule = (xs) => xs.map(() => undefined);
const unary =
  (rule: (x: Node, g: Node, y: Node) => Node): MapRule =>
  ([x], g, y) => [rule(x as Node, g, y)];
const binary =
  (rule: (a: Node, b: Node, g: Node, y: Node) => readonly [Node | undefined, Node | undefined]): MapRule =>
  ([a, b], g, y) =>
    rule(a as Node, b as Node, g, y);
/** The operand that was chosen gets all; of two equal ones, both get half. */
const chosen = (better: MapOp): MapRule =>
  binary((a, b, g) => {
    const half = select(mapOf("eq", [a, b]), mul(g, number(0.5, g)), g);
    return [select(mapOf(better, [b, a]), zeros(g), half), select(mapOf(better, [a, b]), zeros(g), half)];
  });

/** The derivative of the error function at 0: 2 over the root of pi. */
const ERF_SLOPE = 1.1283791670955126;

const MAP_RULES: { readonly [O in MapOp]: MapRule } = {
  copy: unary((_, g) => g),
  detach: nothing,
  neg: unary((_, g) => neg(g)),
  abs: unary((x, g) => mul(g, one("sign", x))),
  sqrt: unary((_, g, y) => div(mul(g, number(0.5, g)), y)),
  floor: nothing,
  ceil: nothing,
  not: nothing,
  add: binary((_a, _b, g) => [g, g]),
  sub: binary((_a, _b, g) => [g, neg(g)]),
  mul: binary((a, b, g) => [mul(g, b), mul(g, a)]),
  div: binary((_, b, g, y) => {
    const part = div(g, b);
    return [part, neg(mul(part, y))];
  }),
  // What was taken off is a whole multiple of the divisor, counted towards zero.
  rem: binary((a, b, g, y) => [g, neg(mul(g, one("detach", div(sub(a, y), b))))]),
  min: chosen("lt"),
  max: chosen("gt"),
  and: nothing,
  or: nothing,
  eq: nothing,
  ne: nothing,
  lt: nothing,
  le: nothing,
  gt: nothing,
  ge: nothing,
  exp: unary((_, g, y) => mul(g, y)),
  expm1: unary((_, g, y) => mul(g, add(y, number(1, y)))),
  log: unary((x, g) => div(g, x)),
  log1p: unary((x, g) => div(g, add(x, number(1, x)))),
  tanh: unary((_, g, y) => mul(g, sub(number(1, y), mul(y, y)))),
  sigmoid: unary((_, g, y) => mul(g, mul(y, sub(number(1, y), y)))),
  sin: unary((x, g) => mul(g, one("cos", x))),
  cos: unary((x, g) => neg(mul(g, one("sin", x)))),
  atan: unary((x, g) => div(g, add(mul(x, x), number(1, x)))),
  atan2: binary((y, x, g) => {
    const part = div(g, add(mul(y, y), mul(x, x)));
    return [mul(part, x), neg(mul(part, y))];
  }),
  sinh: unary((x, g) => mul(g, one("cosh", x))),
  cosh: unary((x, g) => mul(g, one("sinh", x))),
  pow: binary((a, b, g, y) => {
    // The power of 0 is 1 everywhere, 0 included.
    if (b.kind === "constant")
      return [b.value === 0 ? undefined : mul(g, mul(b, mapOf("pow", [a, sub(b, number(1, b))]))), undefined];
    const isZero = mapOf("eq", [a, zeros(a)]);
    // Of 0 to the 0 nothing is left in either direction, rather than 0 times an infinity.
    const flat = mapOf("and", [isZero, mapOf("eq", [b, zeros(b)])]);
    const lower = mapOf("pow", [a, select(flat, number(1, b), sub(b, number(1, b)))]);
    const stays = mapOf("and", [isZero, mapOf("ge", [b, zeros(b)])]);
    return [mul(g, mul(b, lower)), mul(g, mul(y, one("log", select(stays, number(1, a), a))))];
  }),
  rsqrt: unary((x, g, y) => div(mul(mul(g, number(-0.5, g)), y), x)),
  sign: nothing,
  select: ([condition], g) => [
    undefined,
    select(condition as Node, g, zeros(g)),
    select(condition as Node, zeros(g), g),
  ],
  convert: unary((x, g) => mapOf("convert", [g], x.dtype)),
  erf: ([x], g) => [mul(g, mul(one("exp", neg(mul(x as Node, x as Node))), number(ERF_SLOPE, g))), undefined],
  softplus: ([x], g) => [mul(g, one("sigmoid", x as Node)), undefined],
  picked: (_, g) => [g, undefined, undefined],
  bits: nothing,
  normal: nothing,
  word0: nothing,
  word1: nothing,
  permuted: nothing,
  unit: nothing,
};

/** Whether a view goes from the end of an axis to its beginning. */
const isBackwards = (term: ViewAxis["terms"][number] | undefined): boolean => term?.step === -1;

/** A gradient of a view as sums, transpositions and paddings where it is one of these; undefined where it is not. */
function simpleUnview({ input, axes, shape }: ViewNode, g: Node): Node | undefined {
  const simple = axes.every(({ terms }) => terms.length <= 1 && Math.abs(terms[0]?.step ?? 1) === 1);
  const used = axes.flatMap(({ terms }) => terms.map((t) => t.axis));
  const backwards = axes.flatMap(({ terms }) => terms.filter(isBackwards).map((t) => t.axis));
  if (!simple || new Set(used).size !== used.length) return undefined;
  // Axes of the view that no axis of the input moves along are repetitions.
  const repeated = shape.flatMap((_, axis) => (used.includes(axis) ? [] : [axis]));
  const summed = reduceOf("add", flipOf(g, backwards), repeated);
  const kept = shape.flatMap((_, axis) => (used.includes(axis) ? [axis] : []));
  const inOrder = transposeOf(
    summed,
    used.map((axis) => kept.indexOf(axis)),
  );
  const sizes = axes.map(({ terms }) => (terms[0] ? (shape[terms[0].axis] as number) : 1));
  const before = axes.map(({ start, terms }, axis) =>
    isBackwards(terms[0]) ? start - (sizes[axis] as number) + 1 : start,
  );
  const after = input.shape.map((size, axis) => size - (before[axis] as number) - (sizes[axis] as number));
  return padOf(reshapeOf(inOrder, sizes), before, after, 0);
}

/** Rules of the other kinds: what `g`, the gradient of `node`, says of its inputs, in the order of inputsOf. */
const NODE_RULES: {
  readonly [K in Node["kind"]]: (node: Extract<Node, { kind: K }>, g: Node) => readonly (Node | undefined)[];
} = {
  constant: () => [],
  table: () => [],
  input: () => [],
  read: () => [],
  iteration: () => [],
  iota: () => [],
  map: (node: MapNode, g) => MAP_RULES[node.op](node.inputs, g, node),
  view: (node, g) => [simpleUnview(node, g) ?? unviewOf(g, node.axes, node.input.shape)],
  unview: (node, g) => [viewOf(g, node.axes, node.input.shape)],
  reshape: (node, g) => [reshapeOf(g, node.input.shape)],
  reduce: (node, g) => {
    const { op, input, axes } = node;
    const spread = (x: Node): Node => spreadOver(x, input.shape, axes);
    if (op === "add") return [spread(g)];
    if (op === "mul") return [productRule(node, g, spread)];
    const best = mapOf("convert", [mapOf("eq", [input, spread(node)])], input.dtype);
    return [mul(best, spread(div(g, reduceOf("add", best, axes))))];
  },
  matmul: ({ a, b }, g) => [matmulOf(g, transposeOf(b, [1, 0])), matmulOf(transposeOf(a, [1, 0]), g)],
  gather: ({ input, index }, g) => [scatterOf(g, index, input.shape[0] as number), undefined],
  scatter: ({ index }, g) => [gatherOf(g, index), undefined],
  cumulate: ({ axis, fromEnd }, g) => [cumulateOf(g, axis, !fromEnd)],
  concat: ({ inputs, axis }, g) => {
    let at = 0;
    return inputs.map((x) => {
      const size = x.shape[axis] as number;
      at += size;
      return sliceOf(g, axis, at - size, at);
    });
  },
  pad: ({ input, before }, g) => [
    input.shape.reduce((x, size, axis) => sliceOf(x, axis, before[axis] as number, (before[axis] as number) + size), g),
  ],
  fold: (node) => refuse("gradients", `${node.fold.sources.length} sources of a loop are not one input`),
  outcome: (node) => refuse("gradients", `${node.call.module.name} is a kernel: nothing is known of its gradient`),
};

/** The product of the others: by division, where no zeros are in the way; nothing where another element is 0. */
function productRule({ input, axes }: ReduceNode, g: Node, spread: (x: Node) => Node): Node {
  const zero = mapOf("eq", [input, zeros(input)]);
  const counted = mapOf("convert", [zero], input.dtype);
  const otherZeros = sub(spread(reduceOf("add", counted, axes)), counted);
  const divisor = select(zero, number(1, input), input);
  const others = div(spread(mul(g, reduceOf("mul", divisor, axes))), divisor);
  return select(mapOf("eq", [otherZeros, zeros(input)]), others, zeros(input));
}

/** A reduced tensor repeated along the axes that it lost. */
function spreadOver(node: Node, shape: Shape, axes: readonly number[]): Node {
  const kept = shape.flatMap((_, axis) => (axes.includes(axis) ? [] : [axis]));
  return viewOf(
    node,
    kept.map((axis): ViewAxis => ({ start: 0, terms: [{ axis, step: 1 }] })),
    shape,
  );
}

/** Nodes that lead from any of `sources` to `to`, inputs first. */
function between(to: Node, sources: ReadonlySet<Node>, beyond: boolean): Node[] {
  const leads = new Map<Node, boolean>();
  const order: Node[] = [];
  const visit = (node: Node): boolean => {
    const known = leads.get(node);
    if (known !== undefined) return known;
    leads.set(node, false);
    let found = sources.has(node);
    if (isFloat(node) && (beyond || !found)) for (const x of sourcesOf(node)) if (visit(x)) found = true;
    leads.set(node, found);
    if (found) order.push(node);
    return found;
  };
  visit(to);
  return order;
}

/**
 * The state by way of which alone a value depends on some source: one that was assigned inside of a loop. Reads of the same
 * state are taken for the same source wherever they stand.
 */
export function stateBetween(to: Node, isSource: (node: Node) => boolean): Stored | undefined {
  const seen = new Set<Node>();
  const visit = (node: Node, through: Stored | undefined): Stored | undefined => {
    if (seen.has(node) || !isFloat(node)) return undefined;
    seen.add(node);
    if (isSource(node)) return through;
    const isRead = node.kind === "read";
    const further = isRead ? recording().assignedInLoops(node.state) : sourcesOf(node);
    for (const x of further) {
      const found = visit(x, through ?? (isRead ? node.state : undefined));
      if (found) return found;
    }
    return undefined;
  };
  return visit(to, undefined);
}
/** Nothing flows through states. Where nothing at all is left because of that, silence would be a trap. */
function refuseStates(of: Node, sources: ReadonlySet<Node>): void {
  const states = new Set([...sources].flatMap((node) => (node.kind === "read" ? [node.state] : [])));
  const between = stateBetween(of, (node) => sources.has(node) || (node.kind === "read" && states.has(node.state)));
  if (between)
    refuse(
      "gradients",
      `nothing flows through states: ${between.name}, which is assigned inside repeat(), stands between the tensors ` +
        "and what is made of them; use fold() or scan()",
    );
}

type Parts = readonly (Node | undefined)[];
const partsOf = (node: Node, g: Node): Parts => (NODE_RULES[node.kind] as (node: Node, g: Node) => Parts)(node, g);

/** A loop's results are gone back through together, when the last of them has its gradient. */
function foldParts(
  { fold }: FoldNode,
  order: readonly Node[],
  at: number,
  found: ReadonlyMap<Node, Node>,
): Parts | undefined {
  const results = order.filter((node): node is FoldNode => node.kind === "fold" && node.fold === fold);
  if (order[at] !== results.at(-1)) return undefined;
  const gradients: (Node | undefined)[] = [];
  for (const result of results) gradients[result.which] = found.get(result);
  return gradients.some((g) => g) ? fold.reverse(gradients) : undefined;
}

/** How a scalar changes with each of some tensors: a tensor of the same shape for each. */
export function gradients(of: Tensor, tensors: readonly Tensor[]): Tensor[] {
  return gradientsOf(of, tensors, true);
}
/** The same while the other tensors stay as they are, also where one is computed from another. */
export function partialGradients(of: Tensor, tensors: readonly Tensor[]): Tensor[] {
  return gradientsOf(of, tensors, false);
}
function gradientsOf(of: Tensor, tensors: readonly Tensor[], beyond: boolean): Tensor[] {
  for (const t of [of, ...tensors]) tensorOf("gradients", t);
  if (!sameShape(of.shape, []) || !isFloat(of.node))
    refuse(
      "gradients",
      `of a ${of.dtype} tensor ${describeShape(of.shape)}: it must be one float; take its mean or sum`,
    );
  const sources = new Set(tensors.map((t) => t.node));
  const found = new Map<Node, Node>([[of.node, constantOf(1, of.dtype)]]);
  const order = between(of.node, sources, beyond).reverse();
  if (beyond && order.length === 0) refuseStates(of.node, sources);
  order.forEach((node, at) => {
    if (!beyond && sources.has(node)) return;
    const g = found.get(node);
    const parts = node.kind === "fold" ? foldParts(node, order, at, found) : g && partsOf(node, g);
    sourcesOf(node).forEach((x, k) => {
      const part = parts?.[k];
      if (!part || !isFloat(x)) return;
      const before = found.get(x);
      found.set(x, before ? add(before, part) : part);
    });
  });
  return tensors.map((t) => new Tensor(found.get(t.node) ?? constantOf(0, t.dtype, t.shape)));
}
