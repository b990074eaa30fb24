/**
 * @file Elements of values as IR: loads where a value has memory, and the operations that compute it where it has none.
 */
import { add, and, type Builder, binary, constant, convert, fma, i32, load, mul, or, select } from "../../ir/build.ts";
import type { Expr } from "../../ir/nodes.ts";
import { contractWithin } from "../../ir/passes/contract.ts";
import type { Block, ConstantNode, GatherNode, Node, ReduceKind, ScatterNode, TensorType, ViewAxis } from "../nodes.ts";
import { operation } from "../operations.ts";
import type { Location, Lookup, Placed } from "../plan.ts";
import { elementsOf, type Shape, stridesOf } from "../shape.ts";

/** Which element: subscripts along all axes, or its number where only that is known. */
export interface Index {
  readonly subscripts: readonly Expr[] | undefined;
  readonly flat: Expr | undefined;
}
export const byNumber = (flat: Expr): Index => ({ subscripts: undefined, flat });
export const bySubscripts = (subscripts: readonly Expr[]): Index => ({ subscripts, flat: undefined });

export const COMBINED: { readonly [R in ReduceKind]: (a: Expr, b: Expr) => Expr } = {
  add: (a, b) => binary("add", a, b),
  mul: (a, b) => binary("mul", a, b),
  min: (a, b) => binary("min", a, b),
  max: (a, b) => binary("max", a, b),
};
/** Where a reduction starts. */
export function neutral(op: ReduceKind, dtype: TensorType): Expr {
  const integer = dtype === "i32" || dtype === "u32";
  const least = integer ? (dtype === "i32" ? -(2 ** 31) : 0) : Number.NEGATIVE_INFINITY;
  const most = integer ? (dtype === "i32" ? 2 ** 31 - 1 : 2 ** 32 - 1) : Number.POSITIVE_INFINITY;
  return constant(dtype, { add: 0, mul: 1, min: most, max: least }[op]);
}

export const isZero = (e: Expr): boolean => e.kind === "const" && e.value === 0;
export function plus(a: Expr, b: Expr): Expr {
  if (a.kind === "const" && b.kind === "const") return i32(a.value + b.value);
  return isZero(a) ? b : isZero(b) ? a : add(a, b);
}
export function times(a: Expr, factor: number): Expr {
  if (a.kind === "const") return i32(a.value * factor);
  return factor === 1 ? a : factor === 0 ? i32(0) : mul(a, i32(factor));
}

/** The number of an element of a tensor that lies row after row. */
export function flatOf({ subscripts, flat }: Index, shape: Shape): Expr {
  if (flat) return flat;
  const strides = stridesOf(shape);
  return (subscripts ?? []).reduce<Expr>((sum, x, axis) => plus(sum, times(x, strides[axis] as number)), i32(0));
}

/** A subscript along an axis of a view's input. */
function viewed({ start, terms }: ViewAxis, subscripts: readonly Expr[]): Expr {
  const sum = terms.reduce<Expr>((e, { axis, step }) => plus(e, times(subscripts[axis] as Expr, step)), i32(0));
  return plus(sum, i32(start));
}

export interface ElementContext {
  readonly locations: Lookup;
  /** The numbers of the iterations that are going on, by the blocks of their loops. */
  readonly iterations: ReadonlyMap<Block, Expr>;
  /** Whether products are added to sums without being rounded. */
  readonly fused: boolean;
  /** A new place that can fault, with what is then said. */
  readonly site: (message: string) => number;
}

/** A sum and a product more, as matrix products have it. */
export const productAdded = (sum: Expr, x: Expr, y: Expr, fused: boolean): Expr =>
  fused && sum.dtype === "f32" ? fma(x, y, sum) : add(sum, mul(x, y));

/** Where a value sees others while it is computed. */
export const seenBy = ({ where }: Placed, context: ElementContext): Lookup => where ?? context.locations;

/** Computes elements; each once for one index, as long as the list of statements is the same. */
export class Elements {
  readonly #b: Builder;
  readonly #context: ElementContext;
  readonly #known = new Map<Index, Map<Node, Expr>>();
  readonly #views = new Map<Index, Map<Node, Index>>();
  readonly #sites = new Map<Node, number>();
  #locations: Lookup;

  constructor(b: Builder, context: ElementContext) {
    this.#b = b;
    this.#context = context;
    this.#locations = context.locations;
  }

  /** From here on values lie as `locations` says; those that are known stay known, they are the same wherever they lie. */
  see(locations: Lookup): void {
    this.#locations = locations;
  }

  at(node: Node, index: Index): Expr {
    const memory = this.#locations.get(node);
    return this.#named(node, index, () =>
      memory ? this.#load(node, memory, flatOf(index, node.shape)) : this.#computed(node, index),
    );
  }
  /** From here on an element of a value is known for this index. */
  know(node: Node, index: Index, value: Expr): void {
    this.#known.set(index, new Map(this.#known.get(index)).set(node, value));
  }
  /** An element of a value that gets its memory just now; from here on it is known for this index. */
  compute(node: Node, index: Index): Expr {
    return this.#named(node, index, () => this.#computed(node, index));
  }
  #named(node: Node, index: Index, make: () => Expr): Expr {
    if (node.kind === "constant") return constant(node.dtype, node.value);
    const known = this.#known.get(index) ?? new Map<Node, Expr>();
    this.#known.set(index, known);
    let value = known.get(node);
    if (!value) {
      const made = make();
      value = made.kind === "const" || made.kind === "get" ? made : this.#b.let(node.kind, made);
      known.set(node, value);
    }
    return value;
  }

  #computed(node: Node, index: Index): Expr {
    switch (node.kind) {
      case "iteration":
        return this.#context.iterations.get(node.block) as Expr;
      case "iota":
        return index.subscripts ? (index.subscripts[node.axis] as Expr) : flatOf(index, node.shape);
      case "map": {
        const inputs = node.inputs.map((x) => this.at(x, index));
        if (node.op === "picked")
          this.#inside(node, inputs[1] as Expr, node.asked ?? node.op, (node.inputs[2] as ConstantNode).value);
        const emit = (): Expr => operation(node.op).emit(this.#b, inputs, node.dtype);
        // Within an operation alone: whole or operation by operation, a program gives the same numbers.
        return this.#context.fused && node.dtype === "f32" ? contractWithin(this.#b, emit) : emit();
      }
      case "fold":
        return this.at(node.input, index);
      case "view":
        return this.at(node.input, this.#through(node, index));
      case "reshape":
        return this.at(node.input, this.#renumbered(node, index));
      case "reduce":
        return this.#reduce(node, index.subscripts ?? []);
      case "matmul":
        return this.#product(node, index.subscripts ?? []);
      case "gather": {
        const rank = node.index.shape.length;
        const subscripts = index.subscripts ?? [flatOf(index, node.shape)];
        const row = this.row(node, this.at(node.index, this.#part(node, index, subscripts.slice(0, rank))));
        return this.at(node.input, bySubscripts([row, ...subscripts.slice(rank)]));
      }
      case "pad":
        return this.#pad(node, index.subscripts ?? [flatOf(index, node.shape)]);
      case "concat":
        return this.#concat(node, index.subscripts ?? [flatOf(index, node.shape)]);
      default:
        throw new Error(`${node.kind} ${node.id} has no memory and cannot be computed in place`);
    }
  }

  #load(node: Node, { buffer, offset }: Location, flat: Expr): Expr {
    const value = load(buffer, plus(flat, i32(offset)));
    return node.dtype === "bool" ? binary("ne", value, i32(0)) : value;
  }

  /**
   * A row as an index says. Where the rows are a whole buffer, one out of range is an element out of range; where other
   * values lie around them it would reach those.
   */
  row(node: GatherNode | ScatterNode, row: Expr, into = this.#locations.get(node.input)): Expr {
    const table = node.kind === "gather" ? node.input : node;
    if (into?.buffer.length === elementsOf(table.shape)) return row;
    const rows = table.shape[0] as number;
    const name = node.kind === "gather" ? "gather" : "scatterAdd";
    const number = this.#b.let("row", row);
    return this.#b.let("inside", select(this.#inside(node, number, name, rows), i32(0), number));
  }
  /** Faults where an index is not one of so many; whether it is not. */
  #inside(node: Node, index: Expr, name: string, count: number): Expr {
    const outside = this.#b.let("outside", or(binary("lt", index, i32(0)), binary("ge", index, i32(count))));
    const known = this.#sites.get(node) ?? this.#context.site(`${name}: an index is not in 0 to ${count - 1}`);
    this.#sites.set(node, known);
    this.#b.emit({ kind: "fault", condition: outside, site: known });
    return outside;
  }

  /** The index of a view's element in its input; the same object for the same view and index. */
  #through(node: Node & { kind: "view" }, index: Index): Index {
    return this.#remembered(node, index, () => {
      const subscripts = index.subscripts ?? [];
      return bySubscripts(node.axes.map((axis) => viewed(axis, subscripts)));
    });
  }
  #renumbered(node: Node & { kind: "reshape" }, index: Index): Index {
    return this.#remembered(node, index, () => byNumber(flatOf(index, node.shape)));
  }
  #part(node: Node, index: Index, subscripts: readonly Expr[]): Index {
    return this.#remembered(node, index, () => bySubscripts(subscripts));
  }
  #remembered(node: Node, index: Index, make: () => Index): Index {
    const known = this.#views.get(index) ?? new Map<Node, Index>();
    this.#views.set(index, known);
    const found = known.get(node) ?? make();
    known.set(node, found);
    return found;
  }

  /** A reduction of few elements, in order. */
  #reduce(node: Node & { kind: "reduce" }, subscripts: readonly Expr[]): Expr {
    // The order and the start are those of a reduction in memory: a sum of minus zeros is zero.
    let sum = neutral(node.op, node.dtype);
    for (const inner of combinations(node.axes.map((axis) => node.input.shape[axis] as number))) {
      let kept = 0;
      const whole = node.input.shape.map((_, axis) => {
        const reduced = node.axes.indexOf(axis);
        return reduced < 0 ? (subscripts[kept++] as Expr) : i32(inner[reduced] as number);
      });
      const value = this.at(node.input, bySubscripts(whole));
      sum = this.#b.let("sum", COMBINED[node.op](sum, value));
    }
    return sum;
  }

  /** A product of few factors: in the order, and from the start, that all matrix products have. */
  #product({ a, b, dtype }: Node & { kind: "matmul" }, [row, column]: readonly Expr[]): Expr {
    let sum: Expr = constant(dtype, 0);
    for (let k = 0; k < (a.shape[1] as number); k++) {
      const [x, y] = [
        this.at(a, bySubscripts([row as Expr, i32(k)])),
        this.at(b, bySubscripts([i32(k), column as Expr])),
      ];
      sum = this.#b.let("sum", productAdded(sum, x, y, this.#context.fused));
    }
    return sum;
  }

  #pad(node: Node & { kind: "pad" }, subscripts: readonly Expr[]): Expr {
    let inside: Expr | undefined;
    const inner = subscripts.map((x, axis) => {
      const size = node.input.shape[axis] as number;
      if (size === node.shape[axis]) return x;
      const shifted = this.#b.let("shifted", plus(x, i32(-(node.before[axis] as number))));
      const fits = and(binary("ge", shifted, i32(0)), binary("lt", shifted, i32(size)));
      inside = inside ? and(inside, fits) : fits;
      return this.#b.let("within", select(fits, shifted, i32(0)));
    });
    const value = this.at(node.input, bySubscripts(inner));
    return inside ? select(inside, value, constant(node.dtype, node.value)) : value;
  }

  /** The element of that input in whose part the subscript lies. */
  #concat({ inputs, axis }: Node & { kind: "concat" }, subscripts: readonly Expr[]): Expr {
    const along = subscripts[axis] as Expr;
    let end = inputs.reduce((sum, x) => sum + (x.shape[axis] as number), 0);
    let chosen: Expr | undefined;
    for (const input of [...inputs].reverse()) {
      const size = input.shape[axis] as number;
      const begin = end - size;
      const own = binary("min", binary("max", plus(along, i32(-begin)), i32(0)), i32(size - 1));
      const value = this.at(input, bySubscripts(subscripts.map((x, k) => (k === axis ? this.#b.let("own", own) : x))));
      chosen = chosen ? this.#b.let("chosen", select(binary("lt", along, i32(end)), value, chosen)) : value;
      end = begin;
    }
    return chosen as Expr;
  }
}

/** All subscripts of a shape, in order. */
export function* combinations(sizes: readonly number[]): Generator<number[]> {
  if (sizes.length === 0) {
    yield [];
    return;
  }
  const [first = 0, ...rest] = sizes;
  for (let k = 0; k < first; k++) for (const more of combinations(rest)) yield [k, ...more];
}

/** A value as it is stored. */
export const stored = (value: Expr): Expr => (value.dtype === "bool" ? convert("i32", value) : value);
