/**
 * @file State: numbers that live between runs and are shared by all programs that use them: parameters, moments, counters.
 */
import type { TypedArray } from "../ir/arrays.ts";
import { STORED_TYPE } from "../ir/types.ts";
import { heap } from "../runtime/heap.ts";
import { checkShape, checkType, expandOf, refuse } from "./build.ts";
import type { Stored, TensorType } from "./nodes.ts";
import { recording } from "./recorder.ts";
import { describeShape, elementsOf, type Shape, sameShape } from "./shape.ts";
import { nodeOf, type Operand, Tensor } from "./tensor.ts";

/** States that are made while something runs, to be given back together. */
export class StateScope {
  static #current: StateScope | undefined;
  readonly #states = new Set<State>();

  run<T>(build: () => T): T {
    const outer = StateScope.#current;
    StateScope.#current = this;
    try {
      return build();
    } finally {
      StateScope.#current = outer;
    }
  }
  /** Makes a state a part of the scope that is running, if one is. */
  static take(made: State): State {
    const scope = StateScope.#current;
    if (scope) scope.#states.add(made);
    return made;
  }
  /** Gives the memory of all of them back. */
  dispose(): void {
    for (const one of this.#states) one.dispose();
    this.#states.clear();
  }
}

/** States that have been disposed of so far: programs look at theirs again only when there are more. */
let disposals = 0;
export const disposedStates = (): number => disposals;

export class State implements Stored {
  readonly name: string;
  readonly dtype: TensorType;
  readonly shape: Shape;
  /** The numbers themselves, row after row; programs work on them in place. */
  readonly array: TypedArray;
  #isGone = false;

  /** Over new memory, or over an array that is there already, made by `allocate`. */
  constructor(
    name: string,
    dtype: TensorType,
    shape: Shape,
    array = heap().array(STORED_TYPE[dtype], elementsOf(shape)),
  ) {
    this.name = name;
    this.dtype = dtype;
    this.shape = shape;
    this.array = array;
  }

  /** What it holds at this point of the program that is being recorded. */
  get value(): Tensor {
    this.#mustBeThere("value");
    return new Tensor(recording().read(this));
  }

  /** Lets it hold another value from here on. */
  assign(value: Operand): void {
    this.#mustBeThere("assign");
    const node = nodeOf(value, this.dtype, "assign");
    if (node.dtype !== this.dtype) refuse("assign", `${this.name} is ${this.dtype}, the value is ${node.dtype}`);
    const fits = sameShape(node.shape, this.shape) || node.shape.length === 0;
    if (!fits)
      refuse(
        "assign",
        `${this.name} has the shape ${describeShape(this.shape)}, the value ${describeShape(node.shape)}`,
      );
    recording().assign(this, expandOf(node, this.shape));
  }

  /** Lets one row hold another value from here on; its number may be known only when the program runs. */
  assignRow(row: Operand, value: Operand): void {
    this.#mustBeThere("assignRow");
    const shape = this.shape.slice(1);
    const number = nodeOf(row, "i32", "assignRow");
    const node = nodeOf(value, this.dtype, "assignRow");
    if (this.shape.length === 0) refuse("assignRow", `${this.name} is a single number, it has no rows`);
    if (number.dtype !== "i32" || number.shape.length > 0)
      refuse("assignRow", `a row is a single i32, not ${number.dtype} ${describeShape(number.shape)}`);
    const rows = this.shape[0] as number;
    if (number.kind === "constant" && (number.value < 0 || number.value >= rows))
      refuse("assignRow", `row ${number.value} is not in 0 to ${rows - 1} of ${this.name}`);
    if (node.dtype !== this.dtype) refuse("assignRow", `${this.name} is ${this.dtype}, the value is ${node.dtype}`);
    if (!sameShape(node.shape, shape) && node.shape.length > 0)
      refuse("assignRow", `a row of ${this.name} is ${describeShape(shape)}, the value ${describeShape(node.shape)}`);
    recording().assign(this, expandOf(node, shape), number);
  }

  #mustBeThere(operation: string): void {
    if (this.#isGone) refuse(operation, `the state ${this.name} has been disposed of`);
  }
  /** Whether its memory was given back. */
  get disposed(): boolean {
    return this.#isGone;
  }
  /** Gives its memory back, once. Programs that use it do not run any more. */
  dispose(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    disposals++;
    heap().release(this.array.byteOffset);
  }
}

/** A new state of zeros, or of the given numbers. */
export function state(
  dtype: TensorType,
  shape: Shape,
  { name = "state", from }: { readonly name?: string; readonly from?: ArrayLike<number> } = {},
): State {
  checkType(name, dtype);
  checkShape(name, shape);
  if (shape.some((size) => size < 1))
    refuse(name, `${describeShape(shape)} is not a shape: sizes are whole numbers from 1 on`);
  if (from && from.length !== elementsOf(shape))
    refuse(name, `${from.length} numbers are not the elements of ${describeShape(shape)}`);
  const made = StateScope.take(new State(name, dtype, shape));
  if (from) made.array.set(from);
  return made;
}
