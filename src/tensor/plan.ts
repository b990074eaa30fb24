/**
 * @file What the scheduler makes of a recording: steps in order, and where values lie.
 */
import type { Buffer } from "../ir/nodes.ts";
import type {
  Block,
  CallEffect,
  CumulateNode,
  MatmulNode,
  Node,
  ReduceNode,
  ScatterNode,
  Stored,
  UnviewNode,
} from "./nodes.ts";

/** Elements of a buffer, row after row from an offset on. */
export interface Location {
  readonly buffer: Buffer;
  readonly offset: number;
}
/** Where values live that the program does not make itself. */
export interface Places {
  state(state: Stored): Location;
  input(name: string): Location;
  output(name: string): Location;
  table(data: readonly number[], node: Node): Location;
  /** Memory for a value of its own. */
  fresh(node: Node): Location;
}

/** Where values lie, as a step sees it. */
export interface Lookup {
  get(node: Node): Location | undefined;
  has(node: Node): boolean;
}
/** A value and where it goes. */
export interface Placed<N extends Node = Node> {
  readonly node: N;
  readonly into: Location;
  /** It goes to the row of this number behind `into`. */
  readonly row?: Node | undefined;
  /** What it sees when its step was fused with later ones, which see more; otherwise what the step sees. */
  readonly where?: Lookup;
}
/** A loop nest, or a loop over steps; and where the values that it reads lie at that time. */
export type Step = Work & { readonly where: Lookup };
export type Work =
  /** Elementwise: all values of one shape, each computed before any of the same list is stored. */
  | { readonly kind: "map"; readonly stores: readonly (readonly Placed[])[] }
  | { readonly kind: "reduce"; readonly results: readonly Placed<ReduceNode>[] }
  /** A product; or, of each of its elements while it is in a register, an elementwise value of the same shape. */
  | { readonly kind: "matmul"; readonly result: Placed<MatmulNode>; readonly finish?: Node }
  | { readonly kind: "scatter"; readonly result: Placed<ScatterNode | UnviewNode> }
  | { readonly kind: "cumulate"; readonly result: Placed<CumulateNode> }
  | { readonly kind: "call"; readonly call: CallEffect; readonly buffers: ReadonlyMap<string, Location> }
  | { readonly kind: "repeat"; readonly count: number; readonly body: Block; readonly steps: readonly Step[] }
  /** Steps that go through so many rows one by one: a block of rows through all of them, then the next. */
  | { readonly kind: "rows"; readonly count: number; readonly block: number; readonly steps: readonly RowStep[] };
/** A step whose rows do not need each other. */
export type RowStep = Extract<Step, { kind: "map" | "reduce" | "matmul" }>;

/** The values that a step computes, and where they go. */
export function valuesOf(step: Step): readonly Placed[] {
  switch (step.kind) {
    case "map":
      return step.stores.flat();
    case "reduce":
      return step.results;
    case "matmul":
    case "scatter":
    case "cumulate":
      return [step.result];
    case "call":
    case "repeat":
    case "rows":
      return [];
    default:
      return step satisfies never;
  }
}
