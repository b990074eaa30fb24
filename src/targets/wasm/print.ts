/**
 * @file The readable form of a module: its code in WebAssembly's text format, as `show("wasm")` gives it.
 *
 * Operands are folded into their instruction while a line stays short. The text is what was emitted, instruction for
 * instruction, so that a text tool can read it again.
 */
import { children, type Node } from "./code.ts";
import { OPCODES, type Opcode } from "./opcodes.ts";
import { FUNCTION_IMPORTS, type FunctionCode, MAX_PAGES, type ModuleCode } from "./writer.ts";

const WIDTH = 100;
const INDENT = "  ";

/** Names in letters that the text format takes, told apart by numbers. */
function distinctNames(names: readonly string[]): string[] {
  const taken = new Map<string, number>();
  return names.map((name) => {
    const base = name.replace(/[^A-Za-z0-9_.]/g, "_");
    const count = taken.get(base) ?? 0;
    taken.set(base, count + 1);
    return count === 0 ? base : `${base}:${count}`;
  });
}

class FunctionPrinter {
  readonly #code: FunctionCode;
  readonly #globals: readonly string[];
  readonly #names: readonly string[];
  constructor(code: FunctionCode, globals: readonly string[]) {
    this.#code = code;
    this.#globals = globals;
    this.#names = distinctNames(code.names);
  }

  #local(index: number): string {
    return `$${this.#names[index] ?? index}`;
  }

  print(): string {
    const { ref, locals, exported, body } = this.#code;
    const params = ref.params.map((type, k) => `(param ${this.#local(k)} ${type})`);
    const head = [`(func $${ref.name}`, ...(exported ? [`(export "${exported}")`] : []), ...params];
    if (ref.result) head.push(`(result ${ref.result})`);
    const lines = [`${INDENT}${head.join(" ")}`];
    for (const [k, type] of locals.entries())
      lines.push(`${INDENT.repeat(2)}(local ${this.#local(ref.params.length + k)} ${type})`);
    for (const node of body) lines.push(...this.#node(node, 2));
    return `${lines.join("\n")})`;
  }

  #node(node: Node, depth: number): string[] {
    const pad = INDENT.repeat(depth);
    const body = (nodes: readonly Node[]): string[] => nodes.flatMap((inner) => this.#node(inner, depth + 1));
    switch (node.kind) {
      case "block":
      case "loop":
        return [`${pad}(${node.kind} $${node.target.name}`, ...body(node.body), `${pad})`];
      case "if": {
        const result = node.result ? ` (result ${node.result})` : "";
        const lines = [`${pad}(if${result}`, ...this.#node(node.condition, depth + 1)];
        lines.push(`${pad}${INDENT}(then`, ...node.then.flatMap((n) => this.#node(n, depth + 2)), `${pad}${INDENT})`);
        if (node.else.length)
          lines.push(`${pad}${INDENT}(else`, ...node.else.flatMap((n) => this.#node(n, depth + 2)), `${pad}${INDENT})`);
        return [...lines, `${pad})`];
      }
      default: {
        // A set without a value takes the stack's top: the unfolded form.
        if (node.kind === "set" && !node.value) return [`${pad}${this.#head(node)}`];
        const flat = this.#flat(node);
        if (flat !== undefined && pad.length + flat.length <= WIDTH) return [pad + flat];
        const operands = children(node);
        if (operands.length === 0) return [`${pad}(${this.#head(node)})`];
        return [`${pad}(${this.#head(node)}`, ...body(operands), `${pad})`];
      }
    }
  }

  /** A node on one line, or undefined when it holds control. */
  #flat(node: Node): string | undefined {
    if (node.kind === "block" || node.kind === "loop" || node.kind === "if") return undefined;
    const parts = children(node).map((child) => this.#flat(child));
    return parts.some((part) => part === undefined) ? undefined : `(${[this.#head(node), ...parts].join(" ")})`;
  }

  #head(node: Node): string {
    switch (node.kind) {
      case "op":
        return [
          node.op.startsWith("select") ? "select" : node.op,
          ...immediates(OPCODES[node.op], node.immediates),
        ].join(" ");
      case "get":
      case "set":
        return `local.${node.kind} ${this.#local(node.index)}`;
      case "global":
        return `global.get $${this.#globals[node.index]}`;
      case "call":
        return `call $${node.callee.name}`;
      case "branch":
        return `${node.condition ? "br_if" : "br"} $${node.target.name}`;
      case "block":
      case "loop":
      case "if":
        return node.kind;
      default:
        return node satisfies never;
    }
  }
}

const number = (value: number | bigint): string =>
  Number.isNaN(value) ? "nan" : Object.is(value, -0) ? "-0" : `${value}`.replace("Infinity", "inf");

/** The words after an instruction's name. */
function immediates(opcode: Opcode, values: readonly (number | bigint)[]): string[] {
  switch (opcode.immediate) {
    case "memory":
      return values[0] ? [`offset=${values[0]}`] : [];
    case "memoryLane":
      return [...(values[0] ? [`offset=${values[0]}`] : []), `${values[1]}`];
    case "bytes":
      return opcode.operands.length ? values.map(String) : ["i32x4", ...words(values)];
    case "lane":
    case "i32":
    case "i64":
    case "f32":
    case "f64":
      return values.map(number);
    case "none":
    case "fill":
      return [];
    default:
      return opcode.immediate satisfies never;
  }
}

const words = (bytes: readonly (number | bigint)[]): string[] =>
  [...new Uint32Array(Uint8Array.from(bytes, Number).buffer)].map((w) => `0x${w.toString(16).padStart(8, "0")}`);

export function printModule(module: ModuleCode): string {
  const memory = module.sharedMemory ? `(memory 0 ${MAX_PAGES} shared)` : "(memory 0)";
  const imports = [`${INDENT}(import "env" "memory" ${memory})`];
  for (const f of module.imports) {
    const params = f.params.length ? ` (param ${f.params.join(" ")})` : "";
    imports.push(`${INDENT}(import "${FUNCTION_IMPORTS}" "${f.name}" (func $${f.name}${params}))`);
  }
  for (const name of module.globals) imports.push(`${INDENT}(import "env" "${name}" (global $${name} i32))`);
  const functions = module.functions.map((f) => new FunctionPrinter(f, module.globals).print());
  return `(module\n${[...imports, ...functions].join("\n")})\n`;
}
