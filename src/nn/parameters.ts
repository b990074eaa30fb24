/**
 * @file Parameters: named tensors in one flat arena, so that optimisers, norms and averages are single passes.
 *
 * Layers declare their tensors in a set; the arena is made when it is first used, and the set is complete from then on.
 * What optimisers remember (moments, steps) belongs to the set, under names: it is there for every program that
 * updates the parameters, and is saved and restored with them.
 */
import type { TypedArray } from "../ir/arrays.ts";
import { LockstepError } from "../platform/errors.ts";
import { didYouMean } from "../platform/suggest.ts";
import { HostStream } from "../random/host.ts";
import { gradients, stateBetween } from "../tensor/gradients.ts";
import { concat } from "../tensor/make.ts";
import { type Node, type ReadNode, sourcesOf } from "../tensor/nodes.ts";
import { withPlace } from "../tensor/place.ts";
import { describeShape, elementsOf, type Shape } from "../tensor/shape.ts";
import { type State, state } from "../tensor/state.ts";
import { Tensor } from "../tensor/tensor.ts";
import type { Initializer } from "./initializers.ts";

/** Parameters that do not exist, exist twice, or do not fit what is asked of them. */
export class ParameterError extends LockstepError {
  override readonly name: string = "ParameterError";
}

export type ParameterType = "f32" | "f64";
export interface ParametersOptions {
  readonly dtype?: ParameterType;
  /** All initial values follow from it and from the names of the tensors. */
  readonly seed?: number;
  readonly name?: string;
}
export interface Parameter {
  readonly name: string;
  readonly shape: Shape;
  /** Where in the arena it begins, in elements. */
  readonly offset: number;
  readonly size: number;
}

export class Parameters {
  readonly name: string;
  readonly dtype: ParameterType;
  readonly seed: number;
  readonly #declared = new Map<string, Parameter & { readonly initializer: Initializer }>();
  readonly #slots = new Map<string, State>();
  #arena: State | undefined;
  #size = 0;

  constructor({ dtype = "f32", seed = 0, name = "parameters" }: ParametersOptions = {}) {
    this.name = name;
    this.dtype = dtype;
    this.seed = seed;
  }

  /** Adds a tensor; possible until the parameters are first used. */
  declare(name: string, shape: Shape, initializer: Initializer): void {
    if (this.#arena)
      throw new ParameterError(
        withPlace(`"${name}" comes too late: the ${this.name} are in use; declare all layers before`),
      );
    if (this.#declared.has(name))
      throw new ParameterError(
        withPlace(`there is a parameter "${name}" already; give one of the layers another name`),
      );
    if (shape.some((size) => !Number.isInteger(size) || size < 1))
      throw new ParameterError(
        withPlace(`"${name}": ${describeShape(shape)} is not a shape: sizes are whole numbers from 1 on`),
      );
    const size = elementsOf(shape);
    this.#declared.set(name, { name, shape, offset: this.#size, size, initializer });
    this.#size += size;
  }

  /** All tensors, in the order of their declaration, which is that of the arena. */
  get list(): readonly Parameter[] {
    return [...this.#declared.values()];
  }
  get size(): number {
    return this.#size;
  }
  find(name: string): Parameter {
    const found = this.#declared.get(name);
    if (!found) {
      const known = [...this.#declared.keys()];
      throw new ParameterError(
        `there is no parameter "${name}".${didYouMean(name, known)} Parameters: ${known.join(", ") || "none"}.`,
      );
    }
    return found;
  }

  /** The state that holds all of them, one after the other. */
  get arena(): State {
    if (!this.#arena) {
      if (this.#size === 0) throw new ParameterError(`the ${this.name} are empty; make a layer with them first`);
      this.#arena = state(this.dtype, [this.#size], { name: this.name });
      this.initialize(this.seed);
    }
    return this.#arena;
  }
  /** The numbers of one tensor, in place. */
  array(name: string): TypedArray {
    const { offset, size } = this.find(name);
    return this.arena.array.subarray(offset, offset + size);
  }
  /** Fresh initial values; what optimisers remember stays. */
  initialize(seed: number): void {
    const root = new HostStream(Math.floor(seed / 2 ** 32), seed);
    const { array } = this.arena;
    for (const { name, shape, offset, size, initializer } of this.#declared.values()) {
      const values = new Float64Array(size);
      initializer(values, shape, root.fold(hashOf(name)));
      array.set(values, offset);
    }
  }

  // Inside programs

  /** All of them, flat. */
  get flat(): Tensor {
    return this.arena.value;
  }
  value(name: string): Tensor {
    return this.#part(this.flat, this.find(name));
  }
  #part(flat: Tensor, { shape, offset, size }: Parameter): Tensor {
    return flat.slice(0, offset, offset + size).reshape(shape);
  }

  /** How a loss changes with each parameter, flat; with respect to the values that the loss was computed from. */
  gradients(loss: Tensor): Tensor {
    const read = this.#readingOf(loss);
    const parts = gradients(
      loss,
      this.list.map((parameter) => this.#part(read, parameter)),
    );
    return concat(parts.map((g) => g.reshape([-1])));
  }
  #readingOf(loss: Tensor): Tensor {
    const found = readingsOf(loss.node, this.arena);
    const [first] = found;
    if (!first) {
      const between = stateBetween(loss.node, (node) => node.kind === "read" && node.state === this.arena);
      const why = between ? ` but through the state ${between.name}, and nothing flows through states; use fold()` : "";
      throw new ParameterError(withPlace(`gradients: the loss does not depend on the ${this.name}${why}`));
    }
    const now = this.flat.node;
    const chosen = found.length === 1 ? first : found.find((read) => read === now);
    if (!chosen)
      throw new ParameterError(
        withPlace(
          `gradients: the loss mixes ${this.name} of before and after an assignment: which gradient is meant is not clear`,
        ),
      );
    return new Tensor(chosen);
  }

  /** Moves these towards others of the same shapes: target * (1 - fraction) + source * fraction. */
  moveTowards(source: Parameters, fraction: number | Tensor): void {
    this.#checkAlike(source);
    const share = typeof fraction === "number" ? fraction : fraction.to(this.dtype);
    const kept = typeof share === "number" ? 1 - share : share.neg().add(1);
    this.arena.assign(this.flat.mul(kept).add(source.flat.mul(share)));
  }
  /** A set of its own with the same tensors and the values of now. */
  copy(name = `copy of ${this.name}`): Parameters {
    const made = new Parameters({ dtype: this.dtype, seed: this.seed, name });
    for (const { name: own, shape, initializer } of this.#declared.values()) made.declare(own, shape, initializer);
    made.arena.array.set(this.arena.array);
    return made;
  }
  #checkAlike(other: Parameters): void {
    const describe = (set: Parameters) => set.list.map(({ name, shape }) => `${name} ${describeShape(shape)}`).join();
    if (describe(this) !== describe(other) || this.dtype !== other.dtype)
      throw new ParameterError(withPlace(`the ${this.name} and the ${other.name} are not the same tensors`));
  }

  // What optimisers remember

  /** A state that belongs to the parameters: made once, found by its name from then on. */
  slot(name: string, { dtype = this.dtype as State["dtype"], shape = [this.#size] as Shape, fill = 0 } = {}): State {
    const found = this.#slots.get(name);
    if (found) {
      if (found.dtype === dtype && `${found.shape}` === `${shape}`) return found;
      throw new ParameterError(
        `"${name}" is ${found.dtype} ${describeShape(found.shape)} already, not ${dtype} ${describeShape(shape)}`,
      );
    }
    const made = state(dtype, shape, { name: `${this.name} ${name}` });
    made.array.fill(fill);
    this.#slots.set(name, made);
    return made;
  }
  get slots(): ReadonlyMap<string, State> {
    return this.#slots;
  }

  /** Gives the memory of the arena and of all slots back. */
  dispose(): void {
    this.#arena?.dispose();
    for (const slot of this.#slots.values()) slot.dispose();
    this.#slots.clear();
  }
}

/** The readings of a state that a value depends on by differentiable ways, or might. */
function readingsOf(root: Node, of: State): ReadNode[] {
  const found: ReadNode[] = [];
  const seen = new Set<Node>();
  const visit = (node: Node): void => {
    if (seen.has(node)) return;
    seen.add(node);
    if (node.kind === "read" && node.state === of) found.push(node);
    if (node.kind === "map" && node.op === "detach") return;
    if (node.dtype === "f32" || node.dtype === "f64") for (const x of sourcesOf(node)) visit(x);
  };
  visit(root);
  return found;
}

/** 32 bits of a name (Fowler, Noll and Vo). */
function hashOf(name: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(name)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}
