/**
 * @file WebAssembly code as trees: instructions with their operands below them, and structured control.
 *
 * Trees instead of bytes, because they can be printed, searched for what a loop computes anew in each trip, and
 * referred to before functions have numbers. A tree that is cheap to repeat (a local, a constant) may be used in
 * several places; all others are used once.
 */
import { IrError } from "../../ir/build.ts";
import { OPCODES, type Opcode, type OpName, type ValueType } from "./opcodes.ts";

/** A jump target: identity of an enclosing block or loop. */
export interface Target {
  readonly kind: "target";
  readonly name: string;
}

/** A function of the module under construction; its number is its place in the module's list. */
export interface FunctionRef {
  readonly name: string;
  readonly params: readonly ValueType[];
  readonly result: ValueType | undefined;
}

export interface Instruction {
  readonly kind: "op";
  readonly op: OpName;
  readonly args: readonly Node[];
  /** What follows the opcode: offset, lane, both, 16 bytes, or the number of a constant. */
  readonly immediates: readonly (number | bigint)[];
}
export interface LocalGet {
  readonly kind: "get";
  readonly index: number;
  readonly type: ValueType;
}
/** Without a value it takes the one that the statement before it left on the stack. */
export interface LocalSet {
  readonly kind: "set";
  readonly index: number;
  readonly value: Node | undefined;
}
export interface GlobalGet {
  readonly kind: "global";
  readonly index: number;
}
export interface CallNode {
  readonly kind: "call";
  readonly callee: FunctionRef;
  readonly args: readonly Node[];
}
export interface BlockNode {
  readonly kind: "block" | "loop";
  readonly target: Target;
  readonly body: readonly Node[];
}
export interface IfNode {
  readonly kind: "if";
  readonly condition: Node;
  readonly then: readonly Node[];
  readonly else: readonly Node[];
  readonly result: ValueType | undefined;
  /** Whether the arms are seldom taken: nothing is moved out of them. */
  readonly rare: boolean;
}
/** A jump, conditional when there is a condition. */
export interface BranchNode {
  readonly kind: "branch";
  readonly target: Target;
  readonly condition: Node | undefined;
}
export type Node = Instruction | LocalGet | LocalSet | GlobalGet | CallNode | BlockNode | IfNode | BranchNode;

/** The type of the value a node leaves, undefined for none. */
export function typeOf(node: Node): ValueType | undefined {
  switch (node.kind) {
    case "op":
      return OPCODES[node.op].result;
    case "get":
      return node.type;
    case "global":
      return "i32";
    case "call":
      return node.callee.result;
    case "if":
      return node.result;
    case "set":
    case "block":
    case "loop":
    case "branch":
      return undefined;
    default:
      return node satisfies never;
  }
}

const NO_NODES: readonly Node[] = [];
const NO_IMMEDIATES: readonly number[] = [];

function checkOperands(what: string, args: readonly Node[], types: readonly ValueType[]): void {
  if (args.length !== types.length) throw new IrError(`${what} with ${args.length} operands`);
  for (let k = 0; k < args.length; k++) {
    const found = typeOf(args[k] as Node);
    if (found !== types[k]) throw new IrError(`operand ${k} of ${what} is ${found}`);
  }
}

/** An instruction, its operands checked against the table. */
export function op(name: OpName, args: readonly Node[] = NO_NODES, ...immediates: (number | bigint)[]): Instruction {
  const { operands }: Opcode = OPCODES[name];
  checkOperands(name, args, operands);
  return { kind: "op", op: name, args, immediates: immediates.length ? immediates : NO_IMMEDIATES };
}

export const i32 = (value: number): Instruction => op("i32.const", [], value | 0);
export const i64 = (value: bigint): Instruction => op("i64.const", [], value);
export const f32 = (value: number): Instruction => op("f32.const", [], value);
export const f64 = (value: number): Instruction => op("f64.const", [], value);

export function v128(bytes: ArrayBuffer): Instruction {
  return op("v128.const", [], ...new Uint8Array(bytes));
}
/** Constants met before; the same few come up all the time. */
const knownWords = new Map<number, Instruction>();
const MAX_KNOWN = 4096;
/** The same 32-bit word in all four lanes. */
export function v128Words(word: number): Instruction {
  let known = knownWords.get(word);
  if (!known) {
    if (knownWords.size === MAX_KNOWN) knownWords.clear();
    known = v128(new Int32Array(4).fill(word).buffer);
    knownWords.set(word, known);
  }
  return known;
}
export const v128Doubles = (value: number): Instruction => v128(new Float64Array(2).fill(value).buffer);

/** The value of an `i32.const`, undefined for anything else. */
export function constantOf(node: Node): number | undefined {
  return node.kind === "op" && node.op === "i32.const" ? Number(node.immediates[0]) : undefined;
}

/** Sums of addresses, with the constant part kept last. */
export function addI32(a: Node, b: Node): Node {
  const x = constantOf(a);
  const y = constantOf(b);
  if (x !== undefined && y !== undefined) return i32(x + y);
  if (x === 0) return b;
  if (y === 0) return a;
  return x === undefined ? op("i32.add", [a, b]) : op("i32.add", [b, a]);
}
export function scaleI32(x: Node, factor: number): Node {
  const known = constantOf(x);
  if (known !== undefined) return i32(Math.imul(known, factor));
  if (factor === 1) return x;
  const shift = Math.log2(factor);
  return Number.isInteger(shift) ? op("i32.shl", [x, i32(shift)]) : op("i32.mul", [x, i32(factor)]);
}

export const set = (index: number, value?: Node): LocalSet => ({ kind: "set", index, value });
export const target = (name: string): Target => ({ kind: "target", name });
export const block = (at: Target, body: readonly Node[]): BlockNode => ({ kind: "block", target: at, body });
export const loop = (at: Target, body: readonly Node[]): BlockNode => ({ kind: "loop", target: at, body });
export const branch = (to: Target, condition?: Node): BranchNode => ({ kind: "branch", target: to, condition });
export function when(condition: Node, then: readonly Node[], otherwise: readonly Node[] = [], rare = false): IfNode {
  return { kind: "if", condition, then, else: otherwise, result: undefined, rare };
}
/** A value chosen by a branch; each arm leaves one value. */
export function choose(condition: Node, a: Node, b: Node): IfNode {
  return { kind: "if", condition, then: [a], else: [b], result: typeOf(a), rare: false };
}
export function call(callee: FunctionRef, args: readonly Node[]): CallNode {
  checkOperands(callee.name, args, callee.params);
  return { kind: "call", callee, args };
}

/** The nodes directly below one. */
export function children(node: Node): readonly Node[] {
  switch (node.kind) {
    case "op":
    case "call":
      return node.args;
    case "set":
      return node.value ? [node.value] : [];
    case "if":
      return [node.condition, ...node.then, ...node.else];
    case "branch":
      return node.condition ? [node.condition] : [];
    case "block":
    case "loop":
      return node.body;
    case "get":
    case "global":
      return [];
    default:
      return node satisfies never;
  }
}
