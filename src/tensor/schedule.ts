/**
 * @file The scheduler: decides which values get memory, in which order kernels fill it, and what is fused.
 *
 * Effects are taken in order, and what each needs is computed just before it. Elementwise values, views and small
 * reductions have no memory of their own: they are computed inside the loops that use them. A value gets memory when an
 * operation needs it there (a matrix product, a reduction), or when it is dear and used more than once. Values that read
 * a state are computed before the state is overwritten; where that is not so already, what the state held is copied.
 */
import { writtenBuffers } from "../runtime/signature.ts";
import { costOf, isDearlyRepeated, isSmallProduct, isSmallReduction, isTurned } from "./costs.ts";
import { type Known, productWithin } from "./finish.ts";
import { Locations, rowsFrom } from "./locations.ts";
import type {
  AssignEffect,
  Block,
  CallEffect,
  Effect,
  MatmulNode,
  Node,
  ReadNode,
  ReduceNode,
  Stored,
} from "./nodes.ts";
import { inputsOf } from "./nodes.ts";
import { inParts } from "./parts.ts";
import type { Location, Placed, Places, Step, Work } from "./plan.ts";
import {
  countUses,
  dependsOnRead,
  groupsOf,
  isAlias,
  isFlat,
  outsideNodes,
  outsideOperands,
  readsElsewhere,
  rootsOf,
} from "./reach.ts";
import { assignedStates } from "./recorder.ts";
import { grouped } from "./rows.ts";
import { elementsOf } from "./shape.ts";

export interface ScheduleOptions {
  /** Whether elementwise values are computed inside the loops that use them; otherwise every node gets memory. */
  readonly fuse: boolean;
}

/** Inlined operations from which on a value that is used more than once gets memory. */
const DEAR = 12;

export class Scheduler {
  readonly #places: Places;
  readonly #fuse: boolean;
  readonly #locations = new Locations();
  readonly #uses: ReadonlyMap<Node, number>;
  readonly #prepared = new Set<Node>();
  readonly #versions = new Map<Stored, number>();
  /** Where the arrays of a kernel that was called lie. */
  readonly #outcomes = new Map<CallEffect, Map<string, Location>>();
  readonly #known: Known;
  #steps: Step[] = [];

  constructor(root: Block, places: Places, { fuse }: ScheduleOptions) {
    this.#places = places;
    this.#fuse = fuse;
    this.#uses = countUses(root);
    this.#known = {
      uses: this.#uses,
      hasMemory: (node) => this.#locations.has(node),
      isComputed: (node) => this.#isComputed(node),
    };
  }

  /** The steps of a whole program. */
  plan(root: Block): readonly Step[] {
    this.#block(root, []);
    return this.#fused(this.#steps);
  }
  #fused(steps: readonly Step[]): readonly Step[] {
    return this.#fuse ? grouped(steps) : steps;
  }
  #push(work: Work): void {
    this.#steps.push({ ...work, where: this.#locations.next() });
  }

  // Effects

  /** Takes a block's effects in order; `behind` are those that come after the block. */
  #block(block: Block, behind: readonly Effect[]): void {
    const groups = groupsOf(block.effects);
    for (const [k, group] of groups.entries()) {
      const later = [...groups.slice(k + 1).flat(), ...behind];
      this.#effects(group, later);
    }
  }
  #effects(group: readonly Effect[], later: readonly Effect[]): void {
    const [first] = group;
    switch (first?.kind) {
      case "assign":
        return this.#assign(group as readonly AssignEffect[], later);
      case "output":
        return this.#output(first.name, first.value);
      case "call":
        return this.#call(first, later);
      case "repeat":
        return this.#repeat(first.count, first.body, later);
      case undefined:
        return;
      default:
        first satisfies never;
    }
  }

  /** One row of a state: its number is only known when the program runs. */
  #assignRow({ state, value, row }: AssignEffect, later: readonly Effect[]): void {
    this.#prepare(row as Node);
    this.#prepare(value);
    const states = new Set([state]);
    this.#rescue(states, later);
    if (this.#stale(value, states).length) this.#place(value);
    this.#push({ kind: "map", stores: [[{ node: value, into: this.#places.state(state), row }]] });
    this.#changed(states);
  }

  #assign(group: readonly AssignEffect[], later: readonly Effect[]): void {
    const [first] = group;
    if (first?.row) return this.#assignRow(first, later);
    for (const { value } of group) this.#prepare(value);
    const states = new Set(group.map((e) => e.state));
    this.#rescue(states, later);
    const crossing = group.some(({ value }) => readsElsewhere(value, states, this.#locations));
    if (crossing) for (const { value } of group) this.#place(value);
    const stores = group.flatMap(({ state, value }): Placed[] => {
      const into = this.#places.state(state);
      // A state that is given what it holds stays as it is.
      return this.#liesAt(value, into) ? [] : [{ node: value, into }];
    });
    if (stores.length) this.#push({ kind: "map", stores: [stores] });
    this.#changed(states);
  }

  #liesAt(node: Node, { buffer, offset }: Location): boolean {
    const at = this.#locations.get(node);
    return at?.buffer === buffer && at.offset === offset;
  }

  #output(name: string, value: Node): void {
    const into = this.#places.output(name);
    const isPlaced = this.#isComputed(value) || this.#productWithin(value);
    if (isPlaced && !this.#locations.has(value)) this.#place(value, into);
    if (this.#liesAt(value, into)) return;
    this.#prepare(value);
    this.#push({ kind: "map", stores: [[{ node: value, into }]] });
  }

  #call(call: CallEffect, later: readonly Effect[]): void {
    const buffers = new Map<string, Location>();
    const written = new Set([...writtenBuffers(call.module.entry)].map((b) => b.name));
    const changed = new Set([...call.states.values()].map((state) => this.#places.state(state).buffer));
    for (const node of call.scalars.values()) this.#prepare(node);
    for (const [name, node] of call.given) {
      if (!written.has(name)) this.#place(node);
      const at = this.#locations.get(node);
      // A kernel takes whole arrays, each for its own: what it changes is a copy, and so is what lies among other values.
      const whole = at?.buffer.length === elementsOf(node.shape) && !changed.has(at.buffer);
      buffers.set(name, at && whole && !written.has(name) ? at : this.#copyOf(node));
    }
    this.#rescue(new Set(call.states.values()), later);
    for (const [name, state] of call.states) buffers.set(name, this.#places.state(state));
    this.#push({ kind: "call", call, buffers });
    this.#outcomes.set(call, buffers);
    this.#changed(call.states.values());
  }

  #copyOf(node: Node): Location {
    this.#prepare(node);
    const into = this.#places.fresh(node);
    this.#push({ kind: "map", stores: [[{ node, into }]] });
    return into;
  }

  #repeat(count: number, body: Block, later: readonly Effect[]): void {
    const changed = assignedStates(body);
    if (count === 0) return this.#skip(body);
    for (const node of outsideNodes(body)) this.#settle(node, changed);
    for (const node of outsideOperands(body)) this.#place(node);
    this.#rescue(changed, later);
    const outer = this.#steps;
    this.#steps = [];
    this.#block(body, []);
    const steps = this.#fused(this.#steps);
    this.#steps = outer;
    this.#push({ kind: "repeat", count, body, steps });
    this.#changed(changed);
  }
  /** Counts what a loop that never runs would have changed. */
  #skip(body: Block): void {
    for (const effect of body.effects) {
      if (effect.kind === "assign") this.#changed([effect.state]);
      if (effect.kind === "call") this.#changed(effect.states.values());
      if (effect.kind === "repeat") this.#skip(effect.body);
    }
    this.#changed(assignedStates(body));
  }
  /** Counts assignments as the recorder has done it. */
  #changed(states: Iterable<Stored>): void {
    for (const state of states) this.#versions.set(state, this.#version(state) + 1);
  }
  #version(state: Stored): number {
    return this.#versions.get(state) ?? 0;
  }

  /** Sees to it that a node from outside of a loop can be used inside: its value does not change there. */
  #settle(node: Node, changed: ReadonlySet<Stored>): void {
    switch (node.kind) {
      case "constant":
      case "iteration":
      case "iota":
      case "input":
      case "table":
        return this.#prepare(node);
      case "read":
        if (changed.has(node.state)) this.#save(node);
        else this.#prepare(node);
        return;
      case "view":
      case "fold":
        return this.#settle(node.input, changed);
      case "pad":
        return this.#isComputed(node) ? this.#place(node) : this.#settle(node.input, changed);
      case "reshape":
        return this.#isComputed(node.input) ? this.#place(node.input) : this.#settle(node.input, changed);
      default:
        this.#place(node);
    }
  }

  /** Computes what reads states before they change, as far as it can be; copies what is read later all the same. */
  #rescue(states: ReadonlySet<Stored>, later: readonly Effect[]): void {
    for (const effect of later) {
      if (effect.kind !== "output") continue;
      const ready = !dependsOnRead(effect.value, (read) => read.version > this.#version(read.state));
      if (ready && this.#stale(effect.value, states).length) this.#prepare(effect.value);
    }
    for (const effect of later)
      for (const root of effect.kind === "repeat" ? outsideNodes(effect.body) : rootsOf(effect))
        for (const node of this.#stale(root, states)) this.#save(node);
  }
  /** The reads of what states hold now on which a value still depends. */
  #stale(root: Node, states: ReadonlySet<Stored>): ReadNode[] {
    const found: ReadNode[] = [];
    const seen = new Set<Node>();
    const visit = (node: Node): void => {
      if (seen.has(node)) return;
      seen.add(node);
      if (node.kind === "read") {
        // Reads of later versions are of values to come.
        if (states.has(node.state) && node.version <= this.#version(node.state)) found.push(node);
        return;
      }
      // A view has no memory of its own even where it lies in its input's.
      if (!isAlias(node) && this.#locations.has(node)) return;
      if (node.kind === "outcome" && this.#outcomes.has(node.call)) return;
      for (const x of inputsOf(node)) visit(x);
    };
    visit(root);
    return found;
  }
  #isOwn(node: ReadNode): boolean {
    const at = this.#locations.get(node);
    return at !== undefined && at.buffer !== this.#places.state(node.state).buffer;
  }
  #save(node: ReadNode): void {
    if (this.#isOwn(node)) return;
    const into = this.#places.fresh(node);
    this.#prepare(node);
    this.#push({ kind: "map", stores: [[{ node, into }]] });
    this.#locations.set(node, into);
  }

  // Values

  /** Whether a kernel computes a value, rather than the loops that use it. */
  #isComputed(node: Node): boolean {
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
  #prepare(node: Node): void {
    if (this.#prepared.has(node)) return;
    this.#prepared.add(node);
    switch (node.kind) {
      case "constant":
      case "iteration":
      case "iota":
        return;
      case "input":
        this.#locations.set(node, this.#places.input(node.name));
        return;
      case "read":
        if (!this.#locations.has(node)) this.#locations.set(node, this.#places.state(node.state));
        return;
      case "table":
        this.#locations.set(node, this.#places.table(node.data, node));
        return;
      case "outcome":
        this.#locations.set(node, this.#outcomes.get(node.call)?.get(node.name) as Location);
        return;
      case "view":
        if (rowsFrom(node) !== undefined && node.input.kind === "read") return this.#prepare(node.input);
        if (isDearlyRepeated(node)) this.#place(node.input);
        return this.#prepare(node.input);
      case "reshape":
        return this.#place(node.input);
      case "gather":
        this.#place(node.input);
        this.#prepare(node.index);
        if (this.#isComputed(node)) this.#place(node);
        return;
      default:
        if (this.#isComputed(node)) return this.#place(node);
        for (const x of inputsOf(node)) this.#prepareOperand(node, x);
    }
  }

  /** Gives a value memory, and computes it into it. */
  #place(node: Node, wanted?: Location): void {
    if (this.#locations.has(node)) return;
    this.#prepared.add(node);
    switch (node.kind) {
      case "input":
      case "read":
      case "table":
      case "outcome":
        this.#prepared.delete(node);
        return this.#prepare(node);
      case "reshape":
      case "fold":
        return this.#place(node.input, wanted);
      case "view":
        if (rowsFrom(node) !== undefined) {
          this.#place(node.input);
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
        this.#prepare(node.input);
        // A sum of all elements goes through them in their order, whatever they are computed of.
        if (elementsOf(node.shape) === 1 && !isFlat(node.input, node.input.shape, this.#locations))
          this.#place(node.input);
        return this.#sum(node, wanted, (own, into) => this.#push({ kind: "reduce", results: [{ node: own, into }] }));
      case "scatter":
      case "unview":
        for (const x of inputsOf(node)) this.#prepare(x);
        this.#push({ kind: "scatter", result: { node, into: this.#reserve(node, wanted) } });
        return;
      case "cumulate":
        this.#prepare(node.input);
        this.#push({ kind: "cumulate", result: { node, into: this.#reserve(node, wanted) } });
        return;
      default:
    }
    const product = this.#productWithin(node);
    if (product) return this.#finish(product, node, wanted);
    for (const x of inputsOf(node)) this.#prepareOperand(node, x);
    const into = wanted ?? this.#places.fresh(node);
    this.#push({ kind: "map", stores: [[{ node, into }]] });
    this.#locations.set(node, into);
  }
  #placeFactors({ a, b }: MatmulNode): void {
    this.#place(a.kind === "view" ? a.input : a);
    // A product packs a matrix that lies column after column, and needs no copy of it.
    this.#place(b.kind === "view" && isTurned(b) ? b.input : b);
  }
  #productWithin(node: Node): MatmulNode | undefined {
    return this.#fuse ? productWithin(node, this.#known) : undefined;
  }
  /** Computes a value along with the product in it, which has no memory then. */
  #finish(product: MatmulNode, value: Node, wanted: Location | undefined): void {
    this.#prepared.add(product);
    for (const x of inputsOf(value)) this.#prepareOperand(value, x);
    this.#placeFactors(product);
    const into = wanted ?? this.#places.fresh(value);
    this.#push({ kind: "matmul", result: { node: product, into }, finish: value });
    this.#locations.set(value, into);
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
    if ((node.kind === "gather" && x === node.input) || node.kind === "matmul") return this.#place(x);
    this.#prepare(x);
  }
  #reserve(node: Node, wanted: Location | undefined): Location {
    const into = wanted ?? this.#places.fresh(node);
    this.#locations.set(node, into);
    return into;
  }
  /** Tensors one after the other: each is computed where it has to lie. */
  #placeInParts(parts: readonly Node[], { buffer, offset }: Location): void {
    let at = offset;
    for (const part of parts) {
      const into = { buffer, offset: at };
      at += elementsOf(part.shape);
      const free = !this.#locations.has(part) && part.kind !== "input" && part.kind !== "read" && part.kind !== "table";
      if (free && part.kind !== "constant" && part.kind !== "outcome") this.#place(part, into);
      if (this.#liesAt(part, into)) continue;
      this.#prepare(part);
      this.#push({ kind: "map", stores: [[{ node: part, into }]] });
    }
  }
}
