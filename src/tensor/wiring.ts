/**
 * @file Which arrays a compiled program works on: its inputs, outputs and states, and the memory of its own values.
 */
import type { TypedArray, viewArray } from "../ir/arrays.ts";
import { buffer } from "../ir/build.ts";
import type { Buffer } from "../ir/nodes.ts";
import { STORED_TYPE } from "../ir/types.ts";
import { heap } from "../runtime/heap.ts";
import type { Block, Node, Stored } from "./nodes.ts";
import type { Location, Places } from "./plan.ts";
import { elementsOf, type Shape } from "./shape.ts";
import type { State } from "./state.ts";

/** An array that the caller fills or reads, with the tensor it stands for. */
export interface Port {
  readonly node: Node;
  readonly array: TypedArray;
}

/** The outputs of a recorded program. */
export function outputsOf(root: Block): Map<string, Node> {
  return new Map(root.effects.flatMap((effect) => (effect.kind === "output" ? [[effect.name, effect.value]] : [])));
}

/** Arrays of the heap behind buffers; `temps` says whether values of its own lie in a program's arena or here, too. */
export class Wiring implements Places {
  readonly #ports: ReadonlyMap<string, Port>;
  readonly #temps: "arena" | "heap";
  readonly #locations = new Map<string | Stored, Location>();
  /** What is to be handed over, by buffer. */
  readonly arrays = new Map<Buffer, TypedArray>();
  /** The states among them. */
  readonly states = new Set<State>();
  readonly #scratch: TypedArray[] = [];

  constructor(ports: ReadonlyMap<string, Port>, temps: "arena" | "heap") {
    this.#ports = ports;
    this.#temps = temps;
  }

  #wired(key: string | Stored, node: { readonly dtype: Node["dtype"] }, array: TypedArray): Location {
    let found = this.#locations.get(key);
    if (!found) {
      const made = buffer(`a${this.arrays.size}`, STORED_TYPE[node.dtype], "param", array.length);
      this.arrays.set(made, array);
      found = { buffer: made, offset: 0 };
      this.#locations.set(key, found);
    }
    return found;
  }
  #port(key: string): Location {
    const { node, array } = this.#ports.get(key) as Port;
    return this.#wired(key, node, array);
  }

  state(state: Stored): Location {
    if (!state.temporary) {
      this.states.add(state as State);
      return this.#wired(state, state, (state as State).array);
    }
    const found = this.#locations.get(state) ?? this.#own(state, state.name);
    this.#locations.set(state, found);
    return found;
  }
  input(name: string): Location {
    return this.#port(`input ${name}`);
  }
  output(name: string): Location {
    return this.#port(`output ${name}`);
  }
  table(data: readonly number[], node: Node): Location {
    return { buffer: buffer(`table${node.id}`, STORED_TYPE[node.dtype], "table", data.length, { data }), offset: 0 };
  }
  fresh(node: Node): Location {
    return this.#own(node, `t${node.id}`);
  }
  #own({ dtype, shape }: { readonly dtype: Node["dtype"]; readonly shape: Shape }, name: string): Location {
    const length = elementsOf(shape);
    if (this.#temps === "arena") return { buffer: buffer(name, STORED_TYPE[dtype], "temp", length), offset: 0 };
    const array = this.scratch(STORED_TYPE[dtype], length);
    const made = buffer(`t${this.arrays.size}`, STORED_TYPE[dtype], "param", length);
    this.arrays.set(made, array);
    return { buffer: made, offset: 0 };
  }
  /** An array of its own that goes when the wiring goes. */
  scratch(storage: Parameters<typeof viewArray>[0], length: number): TypedArray {
    const array = heap().array(storage, length);
    this.#scratch.push(array);
    return array;
  }
  /** Bytes of all of these. */
  get scratchBytes(): number {
    return this.#scratch.reduce((sum, array) => sum + array.byteLength, 0);
  }
  dispose(): void {
    for (const array of this.#scratch.splice(0)) heap().release(array.byteOffset);
  }
}

/** Arguments of a call, by the names of buffers. */
export const argumentsOf = (arrays: ReadonlyMap<Buffer, TypedArray>): { readonly [name: string]: TypedArray } =>
  Object.fromEntries([...arrays].map(([b, array]) => [b.name, array]));
