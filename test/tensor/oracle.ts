/**
 * @file What a recorded program means, computed node by node over plain arrays: slow, and written from the definitions in
 * nodes.ts alone. Numbers are exact as long as all of them are small whole numbers; values for which that is not so are
 * marked, because sums in another order and other ways to compute `exp` differ in their last bits.
 */
import type { AssignEffect, Block, Effect, MapNode, Node, ReadNode, Stored, ViewAxis } from "../../src/tensor/nodes.ts";
import { inputsOf } from "../../src/tensor/nodes.ts";
import { rootsOf } from "../../src/tensor/reach.ts";
import { elementsOf, type Shape, stridesOf } from "../../src/tensor/shape.ts";

export interface Value {
  readonly data: readonly number[];
  /** Whether every number on the way here was a small whole one. */
  readonly exact: boolean;
}

const LARGE = 2 ** 20;

/** Subscripts of element number `flat`. */
const subscriptsOf = (flat: number, shape: Shape): number[] =>
  stridesOf(shape).map((stride, axis) => Math.floor(flat / stride) % (shape[axis] as number));
const numberOf = (subscripts: readonly number[], shape: Shape): number =>
  stridesOf(shape).reduce((sum, stride, axis) => sum + stride * (subscripts[axis] as number), 0);
const through = (axes: readonly ViewAxis[], subscripts: readonly number[]): number[] =>
  axes.map(({ start, terms }) => terms.reduce((sum, t) => sum + t.step * (subscripts[t.axis] as number), start));

const MAPS: { readonly [op: string]: (...xs: number[]) => number } = {
  copy: (x = 0) => x,
  detach: (x = 0) => x,
  neg: (x = 0) => -x,
  abs: Math.abs,
  floor: Math.floor,
  ceil: Math.ceil,
  sign: Math.sign,
  not: (x) => (x ? 0 : 1),
  add: (a = 0, b = 0) => a + b,
  sub: (a = 0, b = 0) => a - b,
  mul: (a = 0, b = 0) => a * b,
  min: Math.min,
  max: Math.max,
  and: (a, b) => (a && b ? 1 : 0),
  or: (a, b) => (a || b ? 1 : 0),
  eq: (a, b) => (a === b ? 1 : 0),
  ne: (a, b) => (a !== b ? 1 : 0),
  lt: (a = 0, b = 0) => (a < b ? 1 : 0),
  le: (a = 0, b = 0) => (a <= b ? 1 : 0),
  gt: (a = 0, b = 0) => (a > b ? 1 : 0),
  ge: (a = 0, b = 0) => (a >= b ? 1 : 0),
  select: (c, a = 0, b = 0) => (c ? a : b),
  convert: (x = 0) => x,
  picked: (x = 0) => x,
};
const COMBINED = {
  add: (a: number, b: number) => a + b,
  mul: (a: number, b: number) => a * b,
  min: Math.min,
  max: Math.max,
};

/** Versions behind a loop: one for each assignment in it, loops inside counted alike, and one for the loop itself. */
function countChanges(effect: Effect, versions: Map<Stored, number>): Set<Stored> {
  const changed = new Set<Stored>();
  const count = (state: Stored): void => void versions.set(state, (versions.get(state) ?? 0) + 1);
  if (effect.kind === "assign") {
    count(effect.state);
    changed.add(effect.state);
  }
  if (effect.kind === "repeat") {
    for (const inner of effect.body.effects) for (const state of countChanges(inner, versions)) changed.add(state);
    for (const state of changed) count(state);
  }
  return changed;
}

export class Oracle {
  readonly states = new Map<Stored, Value>();
  readonly outputs = new Map<string, Value>();
  readonly #inputs: ReadonlyMap<string, readonly number[]>;
  readonly #reads: ReadNode[] = [];
  readonly #captured = new Map<ReadNode, Value>();
  readonly #iterations = new Map<Block, number>();
  #memo = new Map<Node, Value>();
  #versions = new Map<Stored, number>();

  constructor(root: Block, inputs: ReadonlyMap<string, readonly number[]>, states: ReadonlyMap<Stored, Value>) {
    this.#inputs = inputs;
    for (const [state, value] of states) this.states.set(state, value);
    const seen = new Set<Node>();
    const visit = (node: Node): void => {
      if (seen.has(node)) return;
      seen.add(node);
      if (node.kind === "read") this.#reads.push(node);
      for (const x of inputsOf(node)) visit(x);
    };
    for (const effect of root.effects) for (const node of rootsOf(effect)) visit(node);
    this.#block(root);
  }

  #capture(block: Block): void {
    for (const read of this.#reads)
      if (read.block === block && read.version === (this.#versions.get(read.state) ?? 0))
        this.#captured.set(read, this.states.get(read.state) as Value);
  }
  #changed(state: Stored): void {
    this.#versions.set(state, (this.#versions.get(state) ?? 0) + 1);
  }
  #block(block: Block): void {
    this.#capture(block);
    for (const effect of block.effects) {
      this.#effect(effect);
      this.#capture(block);
    }
  }
  #effect(effect: Effect): void {
    switch (effect.kind) {
      case "assign":
        this.states.set(effect.state, this.#assigned(effect));
        return this.#changed(effect.state);
      case "output":
        this.outputs.set(effect.name, this.value(effect.value));
        return;
      case "repeat": {
        const before = this.#versions;
        const memo = this.#memo;
        for (let i = 0; i < effect.count; i++) {
          this.#versions = new Map(before);
          this.#iterations.set(effect.body, i);
          this.#memo = new Map([...memo].filter(([node]) => node.block.depth < effect.body.depth));
          this.#block(effect.body);
        }
        this.#memo = memo;
        this.#versions = new Map(before);
        countChanges(effect, this.#versions);
        return;
      }
      default:
        throw new Error(`the oracle knows no ${effect.kind}`);
    }
  }

  #assigned({ state, value, row }: AssignEffect): Value {
    const next = this.value(value);
    if (!row) return next;
    const before = this.states.get(state) ?? { data: new Array<number>(elementsOf(state.shape)).fill(0), exact: true };
    const data = [...before.data];
    data.splice((this.value(row).data[0] as number) * next.data.length, next.data.length, ...next.data);
    return { data, exact: before.exact && next.exact && this.value(row).exact };
  }

  value(node: Node): Value {
    const known = node.kind === "read" ? this.#captured.get(node) : this.#memo.get(node);
    if (known) return known;
    const xs = inputsOf(node).map((x) => this.value(x));
    const raw = this.#compute(
      node,
      xs.map((x) => x.data),
    );
    const round = node.dtype === "f32" ? Math.fround : node.dtype === "i32" ? (x: number) => x | 0 : (x: number) => x;
    const data = raw?.map(round) ?? new Array<number>(elementsOf(node.shape)).fill(0);
    const small = data.every((x, k) => Number.isInteger(x) && Math.abs(x) < LARGE && raw?.[k] === x);
    const made = { data, exact: raw !== undefined && small && xs.every((x) => x.exact) };
    this.#memo.set(node, made);
    return made;
  }

  /** The elements of a node; undefined: not to be had exactly. */
  #compute(node: Node, xs: readonly (readonly number[])[]): number[] | undefined {
    const count = elementsOf(node.shape);
    const [x = [], y = []] = xs;
    const each = (f: (subscripts: number[], flat: number) => number): number[] =>
      Array.from({ length: count }, (_, flat) => f(subscriptsOf(flat, node.shape), flat));
    switch (node.kind) {
      case "constant":
        return each(() => node.value);
      case "table":
        return [...node.data];
      case "input":
        return [...(this.#inputs.get(node.name) as readonly number[])];
      case "iteration":
        return [this.#iterations.get(node.block) as number];
      case "iota":
        return each((s) => s[node.axis] as number);
      case "map":
        return this.#map(node, xs, count);
      case "view":
        return each((s) => x[numberOf(through(node.axes, s), node.input.shape)] as number);
      case "reshape":
      case "fold":
        return [...x];
      case "unview": {
        const sum = new Array<number>(count).fill(0);
        x.forEach((value, k) => {
          const at = numberOf(through(node.axes, subscriptsOf(k, node.input.shape)), node.shape);
          sum[at] = (sum[at] as number) + value;
        });
        return sum;
      }
      case "reduce": {
        const found = new Map<number, number>();
        x.forEach((value, k) => {
          const kept = subscriptsOf(k, node.input.shape).filter((_, axis) => !node.axes.includes(axis));
          const at = numberOf(kept, node.shape);
          const before = found.get(at);
          found.set(at, before === undefined ? value : COMBINED[node.op](before, value));
        });
        return each((_, flat) => found.get(flat) as number);
      }
      case "matmul": {
        const inner = node.a.shape[1] as number;
        const n = node.shape[1] as number;
        return each(([i = 0, j = 0]) => {
          let sum = 0;
          for (let k = 0; k < inner; k++) sum += (x[i * inner + k] as number) * (y[k * n + j] as number);
          return sum;
        });
      }
      case "gather": {
        const width = elementsOf(node.input.shape.slice(1));
        return each((_, flat) => x[(y[Math.floor(flat / width)] as number) * width + (flat % width)] as number);
      }
      case "scatter": {
        const width = elementsOf(node.shape.slice(1));
        const sum = new Array<number>(count).fill(0);
        x.forEach((value, k) => {
          const at = (y[Math.floor(k / width)] as number) * width + (k % width);
          sum[at] = (sum[at] as number) + value;
        });
        return sum;
      }
      case "cumulate":
        return each((s) => {
          const here = s[node.axis] as number;
          const size = node.shape[node.axis] as number;
          let sum = 0;
          for (let k = node.fromEnd ? here : 0; k < (node.fromEnd ? size : here + 1); k++)
            sum += x[numberOf(s.with(node.axis, k), node.shape)] as number;
          return sum;
        });
      case "concat":
        return each((s) => {
          let at = s[node.axis] as number;
          for (const [k, part] of node.inputs.entries()) {
            const size = part.shape[node.axis] as number;
            if (at < size) return xs[k]?.[numberOf(s.with(node.axis, at), part.shape)] as number;
            at -= size;
          }
          throw new Error("behind the last part");
        });
      case "pad":
        return each((s) => {
          const inner = s.map((k, axis) => k - (node.before[axis] as number));
          const inside = inner.every((k, axis) => k >= 0 && k < (node.input.shape[axis] as number));
          return inside ? (x[numberOf(inner, node.input.shape)] as number) : node.value;
        });
      case "read":
      case "outcome":
        throw new Error(`the oracle knows no ${node.kind} here`);
      default:
        return node satisfies never;
    }
  }
  #map({ op, dtype }: MapNode, xs: readonly (readonly number[])[], count: number): number[] | undefined {
    const f = MAPS[op];
    if (!f) return undefined;
    if (op === "convert" && dtype === "bool") return undefined;
    return Array.from({ length: count }, (_, k) => f(...xs.map((x) => x[k] as number)));
  }
}
