/**
 * @file Moves what an innermost loop computes anew in every trip in front of it.
 *
 * Newer V8 versions build a v128 constant where it stands, in every trip, and move nothing out of loops; older ones do
 * it themselves and lose nothing. Only innermost loops are treated: a constant kept alive across an inner loop would
 * take a register from it, and a loop that needs all registers runs at half the speed with one less.
 */
import { type BlockNode, children, type LocalGet, type LocalSet, type Node, set, typeOf } from "./code.ts";
import type { ValueType } from "./opcodes.ts";

type NewLocal = (type: ValueType) => LocalGet;

/** Instructions that may trap or look at memory stay where they are. */
const MOVABLE = /^(?!.*(load|store|atomic|memory|div_s|div_u|rem_s|rem_u|unreachable))/;
const isSimpleConstant = (node: Node): boolean => node.kind === "op" && /^[if](32|64)\.const$/.test(node.op);

function countSets(nodes: readonly Node[], counts: Map<number, number>): Map<number, number> {
  for (const node of nodes) {
    if (node.kind === "set") counts.set(node.index, (counts.get(node.index) ?? 0) + 1);
    countSets(children(node), counts);
  }
  return counts;
}

/** Equal for equal trees; computed once for each node. */
const keys = new WeakMap<Node, string>();
function keyOf(node: Node): string {
  let key = keys.get(node);
  if (key === undefined) {
    const below = children(node).map(keyOf).join(",");
    const own = node.kind === "op" ? `${node.op} ${node.immediates.join(" ")}` : node.kind === "get" ? node.index : "";
    // -0 joins as "0".
    const sign = node.kind === "op" && node.immediates.some((v) => Object.is(v, -0)) ? "-" : "";
    key = `${node.kind} ${own}${sign}(${below})`;
    keys.set(node, key);
  }
  return key;
}

/** Rewrites the body of one innermost loop. */
class LoopHoister {
  /** What is to stand before the loop. */
  readonly before: Node[] = [];
  readonly #changing: Set<number>;
  readonly #setCounts: ReadonlyMap<number, number>;
  readonly #newLocal: NewLocal;
  readonly #known = new Map<string, LocalGet>();

  constructor(body: readonly Node[], setCounts: ReadonlyMap<number, number>, newLocal: NewLocal) {
    this.#changing = new Set(countSets(body, new Map()).keys());
    this.#setCounts = setCounts;
    this.#newLocal = newLocal;
  }

  #isInvariant(node: Node): boolean {
    switch (node.kind) {
      case "get":
        return !this.#changing.has(node.index);
      case "global":
        return true;
      case "op":
        return MOVABLE.test(node.op) && node.args.every((arg) => this.#isInvariant(arg));
      default:
        return false;
    }
  }

  #value(node: Node): Node {
    const plain = node.kind === "get" || node.kind === "global" || isSimpleConstant(node);
    if (plain || typeOf(node) === undefined) return this.#inside(node);
    if (!this.#isInvariant(node)) return this.#inside(node);
    const key = keyOf(node);
    const found = this.#known.get(key);
    if (found) return found;
    const into = this.#newLocal(typeOf(node) as ValueType);
    this.before.push(set(into.index, node));
    this.#known.set(key, into);
    return into;
  }

  #inside(node: Node): Node {
    switch (node.kind) {
      case "op":
      case "call": {
        const args = node.args.map((arg) => this.#value(arg));
        return { ...node, args };
      }
      case "set":
        return node.value ? { ...node, value: this.#value(node.value) } : node;
      case "branch":
        return node.condition ? { ...node, condition: this.#inside(node.condition) } : node;
      case "if":
        // A comparison stays at its branch, where the engine makes one instruction of both.
        return {
          ...node,
          condition: this.#inside(node.condition),
          then: this.statements(node.then),
          else: this.statements(node.else),
        };
      case "block":
      case "loop":
        return { ...node, body: this.statements(node.body) };
      case "get":
      case "global":
        return node;
      default:
        return node satisfies never;
    }
  }

  statements(nodes: readonly Node[]): Node[] {
    return nodes.flatMap((node) => {
      if (node.kind === "set" && this.#movesWhole(node)) {
        this.#changing.delete(node.index);
        this.before.push(node);
        return [];
      }
      return [typeOf(node) === undefined ? this.#inside(node) : this.#value(node)];
    });
  }

  /** A local set nowhere else, to a value that does not change. */
  #movesWhole(node: LocalSet): boolean {
    return node.value !== undefined && this.#setCounts.get(node.index) === 1 && this.#isInvariant(node.value);
  }
}

/** Rewrites lists of statements from the innermost loops out. */
class Rewriter {
  readonly #setCounts: ReadonlyMap<number, number>;
  readonly #newLocal: NewLocal;
  /** Loops met so far: how a loop tells whether there was one inside it. */
  #loops = 0;

  constructor(setCounts: ReadonlyMap<number, number>, newLocal: NewLocal) {
    this.#setCounts = setCounts;
    this.#newLocal = newLocal;
  }

  list(nodes: readonly Node[]): Node[] {
    return nodes.flatMap((node): readonly Node[] => {
      switch (node.kind) {
        case "loop":
          return this.#loop(node);
        case "block":
          return [{ ...node, body: this.list(node.body) }];
        case "if":
          return [{ ...node, then: this.list(node.then), else: this.list(node.else) }];
        default:
          return [node];
      }
    });
  }

  #loop(node: BlockNode): Node[] {
    const before = this.#loops;
    const body = this.list(node.body);
    const innermost = this.#loops === before;
    this.#loops += 1;
    if (!innermost) return [{ ...node, body }];
    const hoister = new LoopHoister(body, this.#setCounts, this.#newLocal);
    const rest = hoister.statements(body);
    return [...hoister.before, { ...node, body: rest }];
  }
}

/** The same code with the invariants of innermost loops in front of them; parameters come with a value already. */
export function hoistInvariants(body: readonly Node[], params: number, newLocal: NewLocal): Node[] {
  const given = new Map(Array.from({ length: params }, (_, index) => [index, 1]));
  return new Rewriter(countSets(body, given), newLocal).list(body);
}
