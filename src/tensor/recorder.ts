/**
 * @file The recording of a program: the current block, what states hold, and equal nodes made once.
 *
 * There is one recording at a time, because it runs from the call of a program's function to its return. A node's block
 * is the innermost one that it depends on, not the one it was written in: what does not change in a loop is computed
 * before it without anyone asking.
 */
import type { Block, CallEffect, InputNode, Node, ReadNode, Stored } from "./nodes.ts";
import { inputsOf } from "./nodes.ts";
import { withPlace } from "./place.ts";
import { TensorError } from "./shape.ts";

/** A node without what the recorder adds. */
export type Draft = Node extends infer N ? (N extends Node ? Omit<N, "id" | "block"> : never) : never;

const isWithin = (block: Block, outer: Block): boolean => {
  for (let b: Block | undefined = block; b; b = b.parent) if (b === outer) return true;
  return false;
};

export class Recording {
  readonly root: Block = { effects: [], parent: undefined, depth: 0, pure: false };
  /** All arrays that were declared, those too that nothing is computed of. */
  readonly inputs = new Map<string, InputNode>();
  readonly #known = new Map<string, Node>();
  readonly #versions = new Map<Stored, number>();
  /** What states of the user were assigned inside of loops. */
  readonly #assignedInLoops = new Map<Stored, Node[]>();
  readonly #blocks = new Map<Block, number>();
  /** What states were read while each of these was recorded. */
  readonly #observed: Map<Stored, ReadNode>[] = [];
  #replayed: ReadonlyMap<Stored, ReadNode> = new Map();
  #current: Block = this.root;
  #count = 0;

  get block(): Block {
    return this.#current;
  }

  /** The node for a draft: the same one for equal drafts. `key` tells drafts of one kind with the same inputs apart. */
  node(draft: Draft, key: string, within: Block = this.root): Node {
    const inputs = inputsOf(draft as Node);
    let block = within;
    for (const input of inputs) {
      if (!isWithin(this.#current, input.block))
        throw new TensorError(
          withPlace("a tensor that was made inside repeat() is used outside of it; assign it to a state instead"),
        );
      if (input.block.depth > block.depth) block = input.block;
    }
    if (draft.kind === "outcome" && this.#current.depth > block.depth) block = this.#current;
    const ids = inputs.map((input) => input.id).join();
    const whole = `${draft.kind} ${draft.dtype} ${draft.shape} ${this.#number(block)} ${key} (${ids})`;
    let found = this.#known.get(whole);
    if (!found) {
      found = { ...draft, id: this.#count++, block } as Node;
      this.#known.set(whole, found);
    }
    return found;
  }
  #number(block: Block): number {
    const known = this.#blocks.get(block) ?? this.#blocks.size;
    this.#blocks.set(block, known);
    return known;
  }

  /** What a state holds at this point. */
  read(state: Stored): ReadNode {
    const replayed = this.#replayed.get(state);
    if (replayed) return replayed;
    const version = this.#versions.get(state) ?? 0;
    const { shape, dtype } = state;
    let block = this.#current;
    while (block.pure && block.parent && !state.temporary) block = block.parent;
    const key = `${numberOf(state)}.${version}`;
    const made = this.node({ kind: "read", state, version, shape, dtype }, key, block) as ReadNode;
    if (!state.temporary) for (const list of this.#observed) list.set(state, made);
    return made;
  }
  /** Which values of states `write` sees. */
  observing(write: () => void): ReadonlyMap<Stored, ReadNode> {
    const seen = new Map<Stored, ReadNode>();
    this.#observed.push(seen);
    try {
      write();
    } finally {
      this.#observed.pop();
    }
    return seen;
  }
  /** Lets `write` see these values of states again. */
  replaying<T>(values: ReadonlyMap<Stored, ReadNode>, write: () => T): T {
    const before = this.#replayed;
    this.#replayed = values;
    try {
      return write();
    } finally {
      this.#replayed = before;
    }
  }

  /** A state holds another value from here on, all of it or in one row. */
  assign(state: Stored, value: Node, row?: Node): void {
    const version = this.#changed(state);
    this.#current.effects.push({ kind: "assign", state, value, row, version });
    if (this.#current.depth > 0 && !state.temporary)
      this.#assignedInLoops.set(state, [...this.assignedInLoops(state), value]);
  }
  /** The values that a state was assigned inside of loops so far. */
  assignedInLoops(state: Stored): readonly Node[] {
    return this.#assignedInLoops.get(state) ?? [];
  }
  /** Adds to the front of a loop that has been recorded: in each iteration, a row of a new state is assigned. */
  prepend(body: Block, state: Stored, value: Node, row: Node): void {
    body.effects.unshift({ kind: "assign", state, value, row, version: this.#changed(state) });
    this.#changed(state);
  }
  output(name: string, value: Node): void {
    this.#current.effects.push({ kind: "output", name, value });
  }
  call(call: CallEffect): void {
    this.#current.effects.push(call);
    for (const state of call.states.values()) this.#changed(state);
  }
  #changed(state: Stored): number {
    for (let block: Block | undefined = this.#current; block; block = block.parent)
      if (block.pure && !state.temporary)
        throw new TensorError(
          withPlace(`${state.name} is changed inside fold(): its function only computes; use repeat() instead`),
        );
    const version = (this.#versions.get(state) ?? 0) + 1;
    this.#versions.set(state, version);
    return version;
  }

  /** Records what happens in each of `count` iterations. */
  repeat(count: number, body: (iteration: Node) => void, { pure = false } = {}): Block {
    const outer = this.#current;
    const inner: Block = { effects: [], parent: outer, depth: outer.depth + 1, pure };
    this.#current = inner;
    try {
      body(this.node({ kind: "iteration", shape: [], dtype: "i32" }, "", inner));
    } finally {
      this.#current = outer;
    }
    outer.effects.push({ kind: "repeat", count, body: inner });
    // Behind the loop a state may hold what any iteration left.
    for (const state of assignedStates(inner)) this.#changed(state);
    return inner;
  }
}

const numbers = new WeakMap<object, number>();
let numbered = 0;
/** A number that tells a state, or a kernel's call, from all others. */
export function numberOf(thing: Stored | CallEffect): number {
  let number = numbers.get(thing);
  if (number === undefined) {
    number = numbered++;
    numbers.set(thing, number);
  }
  return number;
}

/** The states that a block changes, in loops inside it too. */
export function assignedStates(block: Block): Set<Stored> {
  const found = new Set<Stored>();
  for (const effect of block.effects) {
    if (effect.kind === "assign") found.add(effect.state);
    if (effect.kind === "call") for (const state of effect.states.values()) found.add(state);
    if (effect.kind === "repeat") for (const state of assignedStates(effect.body)) found.add(state);
  }
  return found;
}

let current: Recording | undefined;

/** The recording that is going on. */
export function recording(): Recording {
  if (!current)
    throw new TensorError(withPlace("tensors are computed inside program(...): there is no program being recorded"));
  return current;
}

export type Inputs = ReadonlyMap<string, InputNode>;

/** Runs `write` as a new recording. */
export function record<T>(write: () => T): { readonly root: Block; readonly inputs: Inputs; readonly result: T } {
  if (current)
    throw new TensorError(withPlace("a program is being recorded already: programs are not made inside one another"));
  const mine = new Recording();
  current = mine;
  try {
    return { result: write(), root: mine.root, inputs: mine.inputs };
  } finally {
    current = undefined;
  }
}
