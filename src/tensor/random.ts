/**
 * @file Random numbers inside programs: keys, draws from them, and a state that yields a new key each time.
 *
 * A draw is a pure function of a key and of the number of an element, so it does not matter who computes it and when.
 * Elements are numbered row after row; element n is draw n of a `HostStream` with the same key, bit for bit. One key
 * serves one call: two calls with one key give the same numbers.
 */
import { HostStream } from "../random/host.ts";
import { checkCount, checkShape, constantOf, mapOf } from "./build.ts";
import { iota, table } from "./make.ts";
import type { Node } from "./nodes.ts";
import type { MapOp } from "./operations.ts";
import { elementsOf, type Shape } from "./shape.ts";
import { type State, state } from "./state.ts";
import { Tensor } from "./tensor.ts";

const words = (value: number): Node => constantOf(value, "u32");
const counter = (count: number): Node => iota(count).to("u32").node;

/** What random numbers follow from: two words. */
export class Key {
  readonly word0: Tensor;
  readonly word1: Tensor;

  constructor(word0: Tensor, word1: Tensor) {
    this.word0 = word0;
    this.word1 = word1;
  }

  /** A key of its own for each number, say of a step. */
  fold(data: number | Tensor): Key {
    const node = typeof data === "number" ? words(data) : data.to("u32").node;
    return new Key(this.draw("word0", node), this.draw("word1", node));
  }
  draw(op: MapOp, ...operands: readonly Node[]): Tensor {
    return new Tensor(mapOf(op, [this.word0.node, this.word1.node, ...operands]));
  }
}

/** The key of a seed. */
export function keyOf(seed: number): Key {
  const { key0, key1 } = seeded(seed);
  return new Key(new Tensor(words(key0)), new Tensor(words(key1)));
}
const seeded = (seed: number): HostStream => new HostStream(Math.floor(seed / 2 ** 32), seed);

/** A state from which `randomKey` takes keys: two words of a seed, and how many were taken. */
export function randomState(seed: number, { name = "random" }: { readonly name?: string } = {}): State {
  const { key0, key1 } = seeded(seed);
  return state("u32", [3], { name, from: [key0, key1, 0] });
}

/** A key that was not given before: another one each time the program passes here, and in each run. */
export function randomKey(from: State): Key {
  const now = from.value;
  from.assign(now.add(table([0, 0, 1], "u32")));
  return new Key(now.at(0, 0), now.at(0, 1)).fold(now.at(0, 2));
}

/** 32 random bits each, as u32. */
export function randomBits(key: Key, shape: Shape): Tensor {
  checkShape("randomBits", shape);
  return key.draw("bits", counter(elementsOf(shape))).reshape(shape);
}

/** f32 numbers from 0 up to, not including, 1, or from `low` up to `high`, in 2^23 steps. */
export function uniform(key: Key, shape: Shape, low = 0, high = 1): Tensor {
  checkShape("uniform", shape);
  const bits = key.draw("bits", counter(elementsOf(shape)));
  const unit = new Tensor(mapOf("unit", [bits.node]));
  const scaled = low === 0 && high === 1 ? unit : unit.mul(Math.fround(high) - Math.fround(low)).add(low);
  return scaled.reshape(shape);
}

/** f32 numbers of mean 0 and deviation 1. */
export function normal(key: Key, shape: Shape): Tensor {
  checkShape("normal", shape);
  return key.draw("normal", counter(elementsOf(shape))).reshape(shape);
}

/** The numbers 0 to count - 1 in a random order, as i32. */
export function permutation(key: Key, count: number): Tensor {
  checkCount("permutation", count, 1);
  return key.draw("permuted", counter(count), words(count));
}
