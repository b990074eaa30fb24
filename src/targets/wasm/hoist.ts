/**
 * @file Moves what an innermost loop computes anew in every trip in front of it.
 *
 * Newer V8 versions build a v128 constant where it stands, in every trip, and move nothing out of loops; older ones do
 * it themselves and lose nothing. Only innermost loops are treated: a constant kept alive across an inner loop would
 * take a register from it, and a loop that needs all registers runs at half the speed with one less.
 */
import {
  type BlockNode,
  block,
  type CallNode,
  children,
  type GlobalGet,
  type IfNode,
  type Instruction,
  type LocalGet,
  loop,
  type Node,
  set,
  typeOf,
} from "./code.ts";
import { OPCODES, type OpName, type ValueType } from "./opcodes.ts";

type NewLocal = (type: ValueType) => LocalGet;

const NAMES = Object.keys(OPCODES) as OpName[];
/** Instructions that may trap or look at memory stay where they are. */
const MOVABLE: ReadonlySet<OpName> = new Set(
  NAMES.filter((name) => OPCODES[name].result && !/load|store|atomic|memory|(div|rem)_[su]/.test(name)),
);
/** Constants that instructions take as they are. */
const SIMPLE_CONSTANTS: ReadonlySet<OpName> = new Set(["i32.const", "i64.const", "f32.const", "f64.const"]);

function countSets(nodes: readonly Node[], counts: Map<number, number>): Map<number, number> {
  for (const node of nodes) {
    switch (node.kind) {
      // Values hold no settings.
      case "set":
        counts.set(node.index, (counts.get(node.index) ?? 0) + 1);
        break;
      case "if":
        countSets(node.then, counts);
        countSets(node.else, counts);
        break;
      case "block":
      case "loop":
        countSets(node.body, counts);
        break;
      default:
    }
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
  #invariant = false;

  constructor(body: readonly Node[], setCounts: ReadonlyMap<number, number>, newLocal: NewLocal) {
    this.#changing = new Set(countSets(body, new Map()).keys());
    this.#setCounts = setCounts;
    this.#newLocal = newLocal;
  }

  /**
   * A node with its invariant operands replaced; or, when it is invariant as a whole, the node as it is. Whether it is
   * stands in #invariant afterwards.
   */
  #visit(node: Node): Node {
    switch (node.kind) {
      case "get":
        this.#invariant = !this.#changing.has(node.index);
        return node;
      case "global":
        this.#invariant = true;
        return node;
      case "op":
        return this.#instruction(node);
      case "call": {
        const args = node.args.map((arg) => this.#operand(arg));
        this.#invariant = false;
        return { ...node, args };
      }
      default: {
        const rewritten = this.#control(node);
        this.#invariant = false;
        return rewritten;
      }
    }
  }

  #instruction(node: Instruction): Node {
    let all = MOVABLE.has(node.op);
    let invariants = 0;
    // The operands as they were, until one changes: most stay.
    let args: Node[] | undefined;
    for (let k = 0; k < node.args.length; k++) {
      const arg = node.args[k] as Node;
      const visited = this.#visit(arg);
      if (this.#invariant) invariants |= 1 << k;
      else all = false;
      if (visited === arg && !args) continue;
      args ??= node.args.slice(0, k);
      args.push(visited);
    }
    this.#invariant = all;
    if (all) return node;
    for (let k = 0; k < node.args.length && invariants; k++) {
      if (!(invariants & (1 << k))) continue;
      const arg = (args ?? node.args)[k] as Node;
      const placed = this.#placed(arg);
      if (placed === arg) continue;
      args ??= [...node.args];
      args[k] = placed;
    }
    this.#invariant = false;
    return args ? { kind: "op", op: node.op, args, immediates: node.immediates } : node;
  }

  #operand(node: Node): Node {
    const visited = this.#visit(node);
    return this.#invariant ? this.#placed(visited) : visited;
  }

  /** What stands in the loop for an invariant operand: a local that is set before it, when it is worth one. */
  #placed(node: Node): Node {
    if (node.kind !== "op" || SIMPLE_CONSTANTS.has(node.op)) return node;
    const key = keyOf(node);
    let into = this.#known.get(key);
    if (!into) {
      into = this.#newLocal(typeOf(node) as ValueType);
      this.before.push(set(into.index, node));
      this.#known.set(key, into);
    }
    return into;
  }

  #control(node: Exclude<Node, Instruction | LocalGet | GlobalGet | CallNode>): Node {
    switch (node.kind) {
      case "set":
        return node.value ? { ...node, value: this.#operand(node.value) } : node;
      case "branch":
        return node.condition ? { ...node, condition: this.#condition(node.condition) } : node;
      case "if":
        return {
          ...node,
          condition: this.#condition(node.condition),
          then: node.rare ? node.then : this.statements(node.then),
          else: node.rare ? node.else : this.statements(node.else),
        };
      case "block":
      case "loop":
        return { ...node, body: this.statements(node.body) };
      default:
        return node satisfies never;
    }
  }

  /** A comparison stays at its branch, where the engine makes one instruction of both; its operands may move. */
  #condition(node: Node): Node {
    if (node.kind !== "op") return this.#visit(node);
    return { ...node, args: node.args.map((arg) => this.#operand(arg)) };
  }

  statements(nodes: readonly Node[]): Node[] {
    const kept: Node[] = [];
    for (const node of nodes) {
      if (node.kind === "set" && node.value && this.#setCounts.get(node.index) === 1) {
        const value = this.#visit(node.value);
        // A local set nowhere else, to a value that does not change: the setting moves as a whole.
        if (this.#invariant) this.#changing.delete(node.index);
        if (this.#invariant) this.before.push(node);
        else kept.push(value === node.value ? node : { ...node, value });
      } else {
        kept.push(typeOf(node) === undefined ? this.#visit(node) : this.#operand(node));
      }
    }
    return kept;
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
    const rewritten: Node[] = [];
    for (const node of nodes) {
      switch (node.kind) {
        case "loop":
          rewritten.push(...this.#loop(node));
          break;
        case "block":
          rewritten.push(block(node.target, this.list(node.body)));
          break;
        case "if":
          rewritten.push(this.#if(node));
          break;
        default:
          rewritten.push(node);
      }
    }
    return rewritten;
  }

  /** A loop that is seldom reached does not make the loop around it less than innermost. */
  #if(node: IfNode): Node {
    const before = this.#loops;
    const rewritten = { ...node, then: this.list(node.then), else: this.list(node.else) };
    if (node.rare) this.#loops = before;
    return rewritten;
  }

  #loop(node: BlockNode): Node[] {
    const before = this.#loops;
    const body = this.list(node.body);
    const innermost = this.#loops === before;
    this.#loops += 1;
    if (!innermost) return [loop(node.target, body)];
    const hoister = new LoopHoister(body, this.#setCounts, this.#newLocal);
    const rest = hoister.statements(body);
    return [...hoister.before, loop(node.target, rest)];
  }
}

/** The same code with the invariants of innermost loops in front of them; parameters come with a value already. */
export function hoistInvariants(body: readonly Node[], params: number, newLocal: NewLocal): Node[] {
  const given = new Map(Array.from({ length: params }, (_, index) => [index, 1]));
  return new Rewriter(countSets(body, given), newLocal).list(body);
}
