/**
 * @file The graph that a tensor program is recorded into: values that never change, and effects in their order.
 *
 * A node is a value of a fixed shape and type, computed from others. Effects are what happens: a state is assigned, a
 * kernel called, a block repeated. Reading a state gives the value it has at that point of the recording, so that nodes
 * stay values whatever is assigned later; the scheduler sees to it that they are computed in time.
 */
import type { Module } from "../ir/nodes.ts";
import type { DType } from "../ir/types.ts";
import type { MapOp } from "./operations.ts";
import type { Shape } from "./shape.ts";

/** What a tensor's elements are. */
export type TensorType = DType;

interface NodeBase {
  /** Counts nodes in the order of their recording. */
  readonly id: number;
  readonly shape: Shape;
  readonly dtype: TensorType;
  /** The innermost block on which the value depends: it is the same in all iterations of loops further inside. */
  readonly block: Block;
}
/** One number for all elements. */
export interface ConstantNode extends NodeBase {
  readonly kind: "constant";
  readonly value: number;
}
/** Given numbers. */
export interface TableNode extends NodeBase {
  readonly kind: "table";
  readonly data: readonly number[];
}
/** An array that the caller fills. */
export interface InputNode extends NodeBase {
  readonly kind: "input";
  readonly name: string;
}
/** What a state holds between two assignments. */
export interface ReadNode extends NodeBase {
  readonly kind: "read";
  readonly state: Stored;
  /** Assignments to the state before this value. */
  readonly version: number;
}
/** The number of the iteration of a loop, from 0. */
export interface IterationNode extends NodeBase {
  readonly kind: "iteration";
}
/** The subscript along one axis. */
export interface IotaNode extends NodeBase {
  readonly kind: "iota";
  readonly axis: number;
}
/** An operation on elements at the same place of tensors of the same shape. */
export interface MapNode extends NodeBase {
  readonly kind: "map";
  readonly op: MapOp;
  readonly inputs: readonly Node[];
  /** What the user has called, where a run may fault because of it. */
  readonly asked?: string | undefined;
}
/** Where along one axis of its input a view's element lies: start + sum of step * (subscript along an axis of the view). */
export interface ViewAxis {
  readonly start: number;
  readonly terms: readonly { readonly axis: number; readonly step: number }[];
}
/** Elements of the input in other places, some perhaps several times: transposed, sliced, repeated, in windows. */
export interface ViewNode extends NodeBase {
  readonly kind: "view";
  readonly input: Node;
  /** One for each axis of the input. */
  readonly axes: readonly ViewAxis[];
}
/** What a view's gradient is: every element added to the place that the view took it from; zero elsewhere. */
export interface UnviewNode extends NodeBase {
  readonly kind: "unview";
  readonly input: Node;
  readonly axes: readonly ViewAxis[];
}
/** The same elements in the same order under another shape. */
export interface ReshapeNode extends NodeBase {
  readonly kind: "reshape";
  readonly input: Node;
}
export type ReduceKind = "add" | "mul" | "min" | "max";
/** Elements combined along some axes, which are gone from the shape. */
export interface ReduceNode extends NodeBase {
  readonly kind: "reduce";
  readonly op: ReduceKind;
  readonly input: Node;
  readonly axes: readonly number[];
  readonly parts?: Parts;
}
/**
 * Sums over the rows of a batch in so many parts: the shape is [parts, elements of the sum]. Only the scheduler makes
 * these (parts.ts).
 */
type Parts = number;
/**
 * [m, k] times [k, n]: for each element the products are added in the order of k, onto zero; where columns are few, to
 * eight sums by turns, which are then added by halves (costs.ts, isThin); where rows of a batch are summed, in parts
 * (parts.ts).
 */
export interface MatmulNode extends NodeBase {
  readonly kind: "matmul";
  readonly a: Node;
  readonly b: Node;
  readonly parts?: Parts;
}
/** Rows of the input, as the index says: shape of the index, then that of a row. */
export interface GatherNode extends NodeBase {
  readonly kind: "gather";
  readonly input: Node;
  readonly index: Node;
}
/** Rows of the input added to the rows that the index says, in order; zero elsewhere. */
export interface ScatterNode extends NodeBase {
  readonly kind: "scatter";
  readonly input: Node;
  readonly index: Node;
}
/** Sums of all elements up to each along an axis, or, from the end, down to it. */
export interface CumulateNode extends NodeBase {
  readonly kind: "cumulate";
  readonly input: Node;
  readonly axis: number;
  readonly fromEnd: boolean;
}
/** Tensors one after the other along an axis. */
export interface ConcatNode extends NodeBase {
  readonly kind: "concat";
  readonly inputs: readonly Node[];
  readonly axis: number;
}
/** The input with elements of one value around it. */
export interface PadNode extends NodeBase {
  readonly kind: "pad";
  readonly input: Node;
  readonly before: readonly number[];
  readonly value: number;
}
/** What a loop leaves of a value that it carries; the loop is known, so that a gradient can go back through it. */
export interface FoldNode extends NodeBase {
  readonly kind: "fold";
  readonly input: Node;
  readonly fold: FoldRecord;
  /** Which of the loop's results. */
  readonly which: number;
}
/** What gradients need to know of a loop. */
export interface FoldRecord {
  /** What its results depend on. */
  readonly sources: readonly Node[];
  /** Records the gradients of the sources, of those of the results (undefined: nothing depends on that one). */
  readonly reverse: (gradients: readonly (Node | undefined)[]) => readonly (Node | undefined)[];
}
/** What a kernel wrote to one of its arrays. */
export interface OutcomeNode extends NodeBase {
  readonly kind: "outcome";
  readonly call: CallEffect;
  readonly name: string;
}
export type Node =
  | ConstantNode
  | TableNode
  | InputNode
  | ReadNode
  | IterationNode
  | IotaNode
  | MapNode
  | ViewNode
  | UnviewNode
  | ReshapeNode
  | ReduceNode
  | MatmulNode
  | GatherNode
  | ScatterNode
  | CumulateNode
  | ConcatNode
  | PadNode
  | FoldNode
  | OutcomeNode;

/** What is known of a state here: where its numbers lie is the program's business. */
export interface Stored {
  readonly name: string;
  readonly shape: Shape;
  readonly dtype: TensorType;
  /** Lives in the program's own memory, for one run. */
  readonly temporary?: boolean;
}

export interface AssignEffect {
  readonly kind: "assign";
  readonly state: Stored;
  readonly value: Node;
  /** Only this row of the state changes; all of it when there is none. */
  readonly row?: Node | undefined;
  /** Assignments to the state, this one included. */
  readonly version: number;
}
export interface OutputEffect {
  readonly kind: "output";
  readonly name: string;
  readonly value: Node;
}
export interface RepeatEffect {
  readonly kind: "repeat";
  readonly count: number;
  readonly body: Block;
}
/** A kernel of plain code: arrays by name, those that it writes and those that it reads, and numbers. */
export interface CallEffect {
  readonly kind: "call";
  readonly module: Module;
  /** What its arrays hold before; an array that it only writes has none. */
  readonly given: ReadonlyMap<string, Node>;
  readonly scalars: ReadonlyMap<string, Node>;
  /** States that stand for arrays of the kernel, changed in place. */
  readonly states: ReadonlyMap<string, Stored>;
}
export type Effect = AssignEffect | OutputEffect | RepeatEffect | CallEffect;

/** What happens in order, in a program or in each iteration of a loop. */
export interface Block {
  readonly effects: Effect[];
  readonly parent: Block | undefined;
  readonly depth: number;
  /** Nothing but temporary states changes inside: states are read as they are outside. */
  readonly pure: boolean;
}

/** The nodes that a node is computed from. */
export function inputsOf(node: Node): readonly Node[] {
  switch (node.kind) {
    case "constant":
    case "table":
    case "input":
    case "read":
    case "iteration":
    case "iota":
      return [];
    case "map":
    case "concat":
      return node.inputs;
    case "view":
    case "unview":
    case "reshape":
    case "reduce":
    case "cumulate":
    case "pad":
    case "fold":
      return [node.input];
    case "matmul":
      return [node.a, node.b];
    case "gather":
    case "scatter":
      return [node.input, node.index];
    case "outcome":
      return [...node.call.given.values(), ...node.call.scalars.values()];
    default:
      return node satisfies never;
  }
}

/** The nodes that a gradient flows on to. */
export const sourcesOf = (node: Node): readonly Node[] => (node.kind === "fold" ? node.fold.sources : inputsOf(node));
