/**
 * @file Which values of a program get memory, and what computes them there.
 *
 * Elementwise values, views and small reductions have no memory of their own: they are computed inside the loops that use
 * them. A value gets memory when an operation needs it there (a matrix product, a reduction), or when it is dear and used
 * more than once.
 */
import { costOf, isDearlyRepeated, isSmallProduct, isSmallReduction, isTurned } from "./costs.ts";
import { type Known, productWithin } from "./finish.ts";
import { Locations, rowsFrom } from "./locations.ts";
import type { CallEffect, MatmulNode, Node, ReduceNode } from "./nodes.ts";
import { inputsOf } from "./nodes.ts";
import { inParts } from "./parts.ts";
import type { Location, Places, Work } from "./plan.ts";
import { isFlat } from "./reach.ts";
import { elementsOf } from "./shape.ts";

/** Inlined operations from which on a value that is used more than once gets memory. */
const DEAR = 12;

export interface ValueOptions {
  readonly places: Places;
  /** Whether elementwise values are computed inside the loops that use them; otherwise every node gets memory. */
  readonly fuse: boolean;
  readonly uses: ReadonlyMap<Node, number>;
  /** Adds a step. */
  readonly push: (work: Work) => void;
}

export class Values {
  readonly locations = new Locations();
  /** Where the arrays of a kernel that was called lie. */
  readonly outcomes = new Map<CallEffect, Map<string, Location>>();
  readonly #places: Places;
  readonly #fuse: boolean;
  readonly #uses: ReadonlyMap<Node, number>;
  readonly #push: (work: Work) => void;
  readonly #prepared = new Set<Node>();
  readonly #known: Known;

  constructor({ places, fuse, uses, push }: ValueOptions) {
    this.#places = places;
    this.#fuse = fuse;
    this.#uses = uses;
    this.#push = push;
    this.#known = {
      uses,
      hasMemory: (node) => this.locations.has(node),
      isComputed: (node) => this.isComputed(node),
    };
  }

  liesAt(node: Node, { buffer, offset }: Location): boolean {
    const at = this.locations.get(node);
    return at?.buffer === buffer && at.offset === offset;
  }

  /** Whether a kernel computes a value, rather than the loops that use it. */
  isComputed(node: Node): boolean {
    switch (node.kind) {
      case "reduce":
        return !(this.#fuse && isSmallReduction(node));
      case "matmul":
        return !(this.#fuse && isSmallProduct(node) && this.#uses.get(node) === 1);
      case "scatter":
      case "unview":
      case "cumulate":
      case "concat":
        return true;
      case "map":
        return !this.#fuse || ((this.#uses.get(node) ?? 0) > 1 && costOf(node) >= DEAR);
      case "gather":
      case "pad":
        return !this.#fuse;
      default:
        return false;
    }
  }

  /** Sees to it that a node can be used inside a loop nest. */
  prepare(node: Node): void {
    if (this.#prepared.has(node)) return;
    this.#prepared.add(node);
    switch (node.kind) {
      case "constant":
      case "iteration":
      case "iota":
        return;
      case "input":
        this.locations.set(node, this.#places.input(node.name));
        return;
      case "read":
        if (!this.locations.has(node)) this.locations.set(node, this.#places.state(node.state));
        return;
      case "table":
        this.locations.set(node, this.#places.table(node.data, node));
        return;
      case "outcome":
        this.locations.set(node, this.outcomes.get(node.call)?.get(node.name) as Location);
        return;
      case "view":
        if (rowsFrom(node) !== undefined && node.input.kind === "read") return this.prepare(node.input);
        if (isDearlyRepeated(node)) this.place(node.input);
        return this.prepare(node.input);
      case "reshape":
        return this.place(node.input);
      case "gather":
        this.place(node.input);
        this.prepare(node.index);
        if (this.isComputed(node)) this.place(node);
        return;
      default:
        if (this.isComputed(node)) return this.place(node);
        for (const x of inputsOf(node)) this.#prepareOperand(node, x);
    }
  }

  /** Gives a value memory, and computes it into it. */
  place(node: Node, wanted?: Location): void {
    if (this.locations.has(node)) return;
    this.#prepared.add(node);
    switch (node.kind) {
      case "input":
      case "read":
      case "table":
      case "outcome":
        this.#prepared.delete(node);
        return this.prepare(node);
      case "reshape":
      case "fold":
        return this.place(node.input, wanted);
      case "view":
        if (rowsFrom(node) !== undefined) {
          this.place(node.input);
          return;
        }
        break;
      case "concat":
        if (node.axis === 0) return this.#placeInParts(node.inputs, this.#reserve(node, wanted));
        break;
      case "matmul":
        this.#placeFactors(node);
        return this.#sum(node, wanted, (own, into) => this.#push({ kind: "matmul", result: { node: own, into } }));
      case "reduce":
        this.prepare(node.input);
        // A sum of all elements goes through them in their order, whatever they are computed of.
        if (elementsOf(node.shape) === 1 && !isFlat(node.input, node.input.shape, this.locations))
          this.place(node.input);
        return this.#sum(node, wanted, (own, into) => this.#push({ kind: "reduce", results: [{ node: own, into }] }));
      case "scatter":
      case "unview":
        for (const x of inputsOf(node)) this.prepare(x);
        this.#push({ kind: "scatter", result: { node, into: this.#reserve(node, wanted) } });
        return;
      case "cumulate":
        this.prepare(node.input);
        this.#push({ kind: "cumulate", result: { node, into: this.#reserve(node, wanted) } });
        return;
      default:
    }
    const product = this.productWithin(node);
    if (product) return this.#finish(product, node, wanted);
    for (const x of inputsOf(node)) this.#prepareOperand(node, x);
    const into = wanted ?? this.#places.fresh(node);
    this.#push({ kind: "map", stores: [[{ node, into }]] });
    this.locations.set(node, into);
  }
  #placeFactors({ a, b }: MatmulNode): void {
    this.place(a.kind === "view" ? a.input : a);
    // A product packs a matrix that lies column after column, and needs no copy of it.
    this.place(b.kind === "view" && isTurned(b) ? b.input : b);
  }
  productWithin(node: Node): MatmulNode | undefined {
    return this.#fuse ? productWithin(node, this.#known) : undefined;
  }
  /** Computes a value along with the product in it, which has no memory then. */
  #finish(product: MatmulNode, value: Node, wanted: Location | undefined): void {
    this.#prepared.add(product);
    for (const x of inputsOf(value)) this.#prepareOperand(value, x);
    this.#placeFactors(product);
    const into = wanted ?? this.#places.fresh(value);
    this.#push({ kind: "matmul", result: { node: product, into }, finish: value });
    this.locations.set(value, into);
  }
  /** A sum, as a whole or in parts. */
  #sum<N extends MatmulNode | ReduceNode>(
    node: N,
    wanted: Location | undefined,
    push: (node: N, into: Location) => void,
  ): void {
    const split = inParts(node);
    if (split) push(split.parts, this.#reserve(split.parts, undefined));
    const into = this.#reserve(node, wanted);
    if (split) this.#push({ kind: "reduce", results: [{ node: split.total, into }] });
    else push(node, into);
  }
  /** Operands of a value that is about to be computed, as far as they are used in its loops. */
  #prepareOperand(node: Node, x: Node): void {
    // Elements of a factor are used for many of a product.
    if ((node.kind === "gather" && x === node.input) || node.kind === "matmul") return this.place(x);
    this.prepare(x);
  }
  #reserve(node: Node, wanted: Location | undefined): Location {
    const into = wanted ?? this.#places.fresh(node);
    this.locations.set(node, into);
    return into;
  }
  /** Tensors one after the other: each is computed where it has to lie. */
  #placeInParts(parts: readonly Node[], { buffer, offset }: Location): void {
    let at = offset;
    for (const part of parts) {
      const into = { buffer, offset: at };
      at += elementsOf(part.shape);
      const free = !this.locations.has(part) && part.kind !== "input" && part.kind !== "read" && part.kind !== "table";
      if (free && part.kind !== "constant" && part.kind !== "outcome") this.place(part, into);
      if (this.liesAt(part, into)) continue;
      this.prepare(part);
      this.#push({ kind: "map", stores: [[{ node: part, into }]] });
    }
  }
}
