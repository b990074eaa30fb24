/**
 * @file The scheduler: takes the effects of a program in order, and has what each needs computed just before it.
 *
 * Which values get memory is the business of values.ts, which steps are fused that of rows.ts and merge.ts. Values that
 * read a state are computed before the state is overwritten; where that is not so already, what the state held is copied.
 */
import { writtenBuffers } from "../runtime/signature.ts";
import type { Locations } from "./locations.ts";
import type { AssignEffect, Block, CallEffect, Effect, Node, ReadNode, Stored } from "./nodes.ts";
import { inputsOf } from "./nodes.ts";
import type { Location, Placed, Places, Step, Work } from "./plan.ts";
import {
  countUses,
  dependsOnRead,
  groupsOf,
  isAlias,
  outsideNodes,
  outsideOperands,
  readsElsewhere,
  rootsOf,
} from "./reach.ts";
import { assignedStates } from "./recorder.ts";
import { grouped } from "./rows.ts";
import { elementsOf } from "./shape.ts";
import { Values } from "./values.ts";

export interface ScheduleOptions {
  /** Whether elementwise values are computed inside the loops that use them; otherwise every node gets memory. */
  readonly fuse: boolean;
}

export class Scheduler {
  readonly #places: Places;
  readonly #fuse: boolean;
  readonly #values: Values;
  readonly #locations: Locations;
  readonly #versions = new Map<Stored, number>();
  #steps: Step[] = [];

  constructor(root: Block, places: Places, { fuse }: ScheduleOptions) {
    this.#places = places;
    this.#fuse = fuse;
    this.#values = new Values({ places, fuse, uses: countUses(root), push: (work) => this.#push(work) });
    this.#locations = this.#values.locations;
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
    this.#values.prepare(row as Node);
    this.#values.prepare(value);
    const states = new Set([state]);
    this.#rescue(states, later);
    if (this.#stale(value, states).length) this.#values.place(value);
    this.#push({ kind: "map", stores: [[{ node: value, into: this.#places.state(state), row }]] });
    this.#changed(states);
  }

  #assign(group: readonly AssignEffect[], later: readonly Effect[]): void {
    const [first] = group;
    if (first?.row) return this.#assignRow(first, later);
    for (const { value } of group) this.#values.prepare(value);
    const states = new Set(group.map((e) => e.state));
    this.#rescue(states, later);
    const crossing = group.some(({ value }) => readsElsewhere(value, states, this.#locations));
    if (crossing) for (const { value } of group) this.#values.place(value);
    const stores = group.flatMap(({ state, value }): Placed[] => {
      const into = this.#places.state(state);
      // A state that is given what it holds stays as it is.
      return this.#values.liesAt(value, into) ? [] : [{ node: value, into }];
    });
    if (stores.length) this.#push({ kind: "map", stores: [stores] });
    this.#changed(states);
  }

  #output(name: string, value: Node): void {
    const into = this.#places.output(name);
    const isPlaced = this.#values.isComputed(value) || this.#values.productWithin(value);
    if (isPlaced && !this.#locations.has(value)) this.#values.place(value, into);
    if (this.#values.liesAt(value, into)) return;
    this.#values.prepare(value);
    this.#push({ kind: "map", stores: [[{ node: value, into }]] });
  }

  #call(call: CallEffect, later: readonly Effect[]): void {
    const buffers = new Map<string, Location>();
    const written = new Set([...writtenBuffers(call.module.entry)].map((b) => b.name));
    const changed = new Set([...call.states.values()].map((state) => this.#places.state(state).buffer));
    for (const node of call.scalars.values()) this.#values.prepare(node);
    for (const [name, node] of call.given) {
      if (!written.has(name)) this.#values.place(node);
      const at = this.#locations.get(node);
      // A kernel takes whole arrays, each for its own: what it changes is a copy, and so is what lies among other values.
      const whole = at?.buffer.length === elementsOf(node.shape) && !changed.has(at.buffer);
      buffers.set(name, at && whole && !written.has(name) ? at : this.#copyOf(node));
    }
    this.#rescue(new Set(call.states.values()), later);
    for (const [name, state] of call.states) buffers.set(name, this.#places.state(state));
    this.#push({ kind: "call", call, buffers });
    this.#values.outcomes.set(call, buffers);
    this.#changed(call.states.values());
  }

  #copyOf(node: Node): Location {
    this.#values.prepare(node);
    const into = this.#places.fresh(node);
    this.#push({ kind: "map", stores: [[{ node, into }]] });
    return into;
  }

  #repeat(count: number, body: Block, later: readonly Effect[]): void {
    const changed = assignedStates(body);
    if (count === 0) return this.#skip(body);
    for (const node of outsideNodes(body)) this.#settle(node, changed);
    for (const node of outsideOperands(body)) this.#values.place(node);
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
        return this.#values.prepare(node);
      case "read":
        if (changed.has(node.state)) this.#save(node);
        else this.#values.prepare(node);
        return;
      case "view":
      case "fold":
        return this.#settle(node.input, changed);
      case "pad":
        return this.#values.isComputed(node) ? this.#values.place(node) : this.#settle(node.input, changed);
      case "reshape":
        return this.#values.isComputed(node.input) ? this.#values.place(node.input) : this.#settle(node.input, changed);
      default:
        this.#values.place(node);
    }
  }

  /** Computes what reads states before they change, as far as it can be; copies what is read later all the same. */
  #rescue(states: ReadonlySet<Stored>, later: readonly Effect[]): void {
    for (const effect of later) {
      if (effect.kind !== "output") continue;
      const ready = !dependsOnRead(effect.value, (read) => read.version > this.#version(read.state));
      if (ready && this.#stale(effect.value, states).length) this.#values.prepare(effect.value);
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
      if (node.kind === "outcome" && this.#values.outcomes.has(node.call)) return;
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
    this.#values.prepare(node);
    this.#push({ kind: "map", stores: [[{ node, into }]] });
    this.#locations.set(node, into);
  }
}
