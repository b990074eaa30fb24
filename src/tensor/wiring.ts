/**
 * @file Which arrays a compiled program works on: its inputs, outputs and states, and the memory of its own values.
 */
import type { TypedArray, viewArray } from "../ir/arrays.ts";
import { buffer } from "../ir/build.ts";
import type { Buffer } from "../ir/nodes.ts";
import { STORED_TYPE } from "../ir/types.ts";
import { heap } from "../runtime/heap.ts";
import type { Block, Node, Stored } from "./nodes.ts";
import { inputsOf } from "./nodes.ts";
import type { Location } from "./plan.ts";
import { rootsOf } from "./reach.ts";
import type { Places } from "./schedule.ts";
import { elementsOf, TensorError } from "./shape.ts";
import type { State } from "./state.ts";

/** An array that the caller fills or reads, with the tensor it stands for. */
export interface Port {
  readonly node: Node;
  readonly array: TypedArray;
}

/** The inputs of a recorded program, and its outputs. */
export function portsOf(root: Block): { inputs: Map<string, Node>; outputs: Map<string, Node> } {
  const inputs = new Map<string, Node>();
  const outputs = new Map<string, Node>();
  const seen = new Set<Node>();
  const visit = (node: Node): void => {
    if (seen.has(node)) return;
    seen.add(node);
    if (node.kind === "input") {
      if (inputs.has(node.name))
        throw new TensorError(`the input "${node.name}" is declared twice, with another shape or type`);
      inputs.set(node.name, node);
    }
    for (const x of inputsOf(node)) visit(x);
  };
  for (const effect of root.effects) {
    for (const node of rootsOf(effect)) visit(node);
    if (effect.kind === "output") outputs.set(effect.name, effect.value);
  }
  return { inputs, outputs };
}

/** Arrays of the heap behind buffers; `temps` says whether values of its own lie in a program's arena or here, too. */
export class Wiring implements Places {
  readonly #ports: ReadonlyMap<string, Port>;
  readonly #temps: "arena" | "heap";
  readonly #locations = new Map<string | Stored, Location>();
  /** What is to be handed over, by buffer. */
  readonly arrays = new Map<Buffer, TypedArray>();
  readonly #own: TypedArray[] = [];

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
    return this.#wired(state, state, (state as State).array);
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
    const length = elementsOf(node.shape);
    if (this.#temps === "arena")
      return { buffer: buffer(`t${node.id}`, STORED_TYPE[node.dtype], "temp", length), offset: 0 };
    const array = this.scratch(STORED_TYPE[node.dtype], length);
    const made = buffer(`t${this.arrays.size}`, STORED_TYPE[node.dtype], "param", length);
    this.arrays.set(made, array);
    return { buffer: made, offset: 0 };
  }
  /** An array of its own that goes when the wiring goes. */
  scratch(storage: Parameters<typeof viewArray>[0], length: number): TypedArray {
    const array = heap().array(storage, length);
    this.#own.push(array);
    return array;
  }
  dispose(): void {
    for (const array of this.#own.splice(0)) heap().release(array.byteOffset);
  }
}

/** Arguments of a call, by the names of buffers. */
export const argumentsOf = (arrays: ReadonlyMap<Buffer, TypedArray>): { readonly [name: string]: TypedArray } =>
  Object.fromEntries([...arrays].map(([b, array]) => [b.name, array]));
