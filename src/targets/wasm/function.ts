/**
 * @file Collects the code of one function: its locals, and the list of statements being written.
 *
 * Every temporary is a local of its own, set in one place only: engines build their own SSA form from them anyway,
 * and the hoisting of loop invariants may then move a setting as a whole.
 */
import { type FunctionRef, type LocalGet, type Node, set, typeOf } from "./code.ts";
import { hoistInvariants } from "./hoist.ts";
import type { ValueType } from "./opcodes.ts";
import type { FunctionCode } from "./writer.ts";

/** Whether repeating a node costs no more than reading a local. */
function isCheap(node: Node): boolean {
  switch (node.kind) {
    case "get":
    case "global":
      return true;
    case "op":
      return node.op.endsWith(".const");
    default:
      return false;
  }
}

export class FunctionBuilder {
  readonly #params: ValueType[] = [];
  readonly #locals: ValueType[] = [];
  readonly #names: string[] = [];
  #body: Node[] = [];

  /** A parameter; all are made before the first local. */
  param(type: ValueType, name: string): LocalGet {
    this.#params.push(type);
    return this.#named(type, name);
  }
  local(type: ValueType, name: string): LocalGet {
    this.#locals.push(type);
    return this.#named(type, name);
  }
  #named(type: ValueType, name: string): LocalGet {
    this.#names.push(name);
    return { kind: "get", index: this.#names.length - 1, type };
  }

  emit(...nodes: Node[]): void {
    this.#body.push(...nodes);
  }
  /** Computes a value now; the result may be used any number of times. */
  share(node: Node, name = "t"): Node {
    if (isCheap(node)) return node;
    return this.keep(node, name);
  }
  /** A new local that holds the value, whatever it is. */
  keep(node: Node, name: string): LocalGet {
    const into = this.local(typeOf(node) as ValueType, name);
    this.emit(set(into.index, node));
    return into;
  }
  /** The statements that `write` emits, kept apart from the current list. */
  collect(write: () => void): Node[] {
    const outer = this.#body;
    this.#body = [];
    try {
      write();
      return this.#body;
    } finally {
      this.#body = outer;
    }
  }

  finish(ref: FunctionRef, exported?: string): FunctionCode {
    const body = hoistInvariants(this.#body, this.#params.length, (type) => this.local(type, "k"));
    return { ref, exported, locals: this.#locals, names: this.#names, body };
  }
}
