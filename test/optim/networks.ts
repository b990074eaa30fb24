/**
 * @file What golden updates have in common: networks filled from a fixture, minibatches by step, parameters as results.
 */
import { type Activation, type Mlp, mlp, Parameters } from "../../src/nn/index.ts";
import { type State, state, type Tensor } from "../../src/tensor/index.ts";
import type { Numbers, Recorded, Value } from "../nn/golden.ts";
import { fill } from "../nn/operations.ts";

type Arrays = { readonly [name: string]: Numbers };
export type Tensors = { readonly [name: string]: Tensor };

/** Networks of a case in one set, made once for all of its programs. */
export function networks(
  recorded: Recorded,
  names: readonly string[],
  {
    activation,
    outputActivation = "none",
  }: { readonly activation: Activation; readonly outputActivation?: Activation },
  others: readonly string[] = [],
): { readonly set: Parameters; readonly nets: readonly Mlp[] } {
  return recorded.once(names.join(), () => {
    const params = recorded.given.inputs.params as { readonly [name: string]: Value } as Arrays;
    const set = new Parameters({ dtype: recorded.dtype, name: names.join(" and ") });
    const nets = names.map((name) => {
      const layers = Object.keys(params).filter((key) => key.startsWith(`${name}.w`)).length;
      const shapes = Array.from({ length: layers }, (_, k) => (params[`${name}.w${k}`] as Numbers).shape);
      const sizes = shapes.map(([outputs = 0]) => outputs);
      return mlp({
        name,
        parameters: set,
        inputs: shapes[0]?.[1] as number,
        hidden: sizes.slice(0, -1),
        outputs: sizes.at(-1) as number,
        activation,
        outputActivation,
      });
    });
    for (const name of others) set.declare(name, (params[name] as Numbers).shape, () => {});
    for (const { name, shape } of set.list) fill(set, name, params[name] as Numbers, shape.length === 2);
    return { set, nets };
  });
}

/** All parameters of some sets at this point, as fixtures have them. */
export function valuesOf(sets: readonly Parameters[]): Tensors {
  return partsOf(sets, "params", (set) => set.flat);
}
export function partsOf(sets: readonly Parameters[], path: string, flat: (set: Parameters) => Tensor): Tensors {
  const found: { [name: string]: Tensor } = {};
  for (const set of sets)
    for (const { name, shape, offset, size } of set.list) {
      const part = flat(set)
        .slice(0, offset, offset + size)
        .reshape(shape);
      found[`${path}.${name}`] = shape.length === 2 ? part.transpose() : part;
    }
  return found;
}

/** Rows of inputs with a leading axis of steps; `next` is to be called once all have been read. */
export function minibatches(recorded: Recorded): { row: (name: string) => Tensor; next: () => void } {
  const counter: State = recorded.once("counter", () => state("i32", [], { name: "minibatch" }));
  const { value } = counter;
  return {
    row: (name) => recorded.tensor(name).gather(value),
    next: () => counter.assign(value.add(1)),
  };
}
