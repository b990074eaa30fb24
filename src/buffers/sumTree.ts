/**
 * @file A sum tree and a min tree over the same leaves, in the heap: draws in proportion to weights, O(1) sum and least.
 *
 * Leaves are rounded up to a power of two; node 1 is the root, node n has the children 2n and 2n + 1, leaf i is node
 * leaves + i. Unused leaves hold 0 in the sum tree and infinity in the min tree. A value that hits a prefix sum exactly
 * belongs to the leaf on its right.
 *
 * Single leaves are set by plain JavaScript (a push must not cross into compiled code). Batches are compiled. Sums go
 * level by level instead of path by path: the steps of one level do not wait for each other, and the upper levels, where
 * paths meet, are computed once. Least values go path by path, because a change seldom reaches far: a subtree of k
 * leaves has a new least in about one of k cases, and the path ends where nothing changes.
 */

import type { TypedArray } from "../ir/arrays.ts";
import { f32, f64, i32 } from "../kernel/declare.ts";
import { allocate, free, kernel } from "../kernel/kernel.ts";
import { checkCount, needAmount } from "../kernels/checks.ts";
import { DataError } from "../kernels/errors.ts";
import type { TargetChoice } from "../runtime/targets.ts";
import { makeOrRelease } from "./columns.ts";
import { CONTROL_WORDS } from "./draws.ts";

/** Words of the control array that trees use, beside those of draws. */
export const TREE_CONTROL = { size: 8, leaves: 9 } as const;

/** Values for the draws of a batch: one in each of `size` equal parts of the total. */
export const drawStrata = kernel(
  { control: i32.array(CONTROL_WORDS), sums: f64.array(), value: f64.array() },
  ({ control, sums, value }, { parallel, rng }) => {
    const k0 = control[0]!;
    const k1 = control[1]!;
    const size = control[8]!;
    const total = sums[1]!;
    const parts = Number(size);
    parallel(size, (i) => {
      const u = Number(rng(k0, k1 + i).bits()) * 2.3283064365386963e-10;
      value[i] = ((Number(i) + u) * total) / parts;
    });
  },
  { name: "drawStrata" },
);

/**
 * The leaf that each value belongs to. Where rounding led past the end of a subtree, to a leaf of 0, the nearest leaf
 * above 0 on its left is taken.
 */
export const findLeaves = kernel(
  { control: i32.array(CONTROL_WORDS), sums: f64.array(), value: f64.array(), draws: i32.array() },
  ({ control, sums, value, draws }, { parallel }) => {
    const size = control[8]!;
    const leaves = control[9]!;
    for (let i = 0; i < draws.length; i++) draws[i] = 1;
    for (let width = 1; width < leaves; width = width * 2) {
      parallel(size, (i) => {
        const child = draws[i]! * 2;
        const left = sums[child]!;
        const v = value[i]!;
        draws[i] = v >= left ? child + 1 : child;
        value[i] = v >= left ? v - left : v;
      });
    }
    for (let i = 0; i < draws.length; i++) {
      let n = i < size ? draws[i]! : leaves;
      if (i < size && !(sums[n]! > 0)) {
        while (n > 1 && ((n & 1) === 0 || !(sums[n - 1]! > 0))) n = n >> 1;
        if (n > 1) n = n - 1;
        while (n < leaves) n = sums[2 * n + 1]! > 0 ? 2 * n + 1 : 2 * n;
      }
      draws[i] = n - leaves;
    }
  },
  { name: "findLeaves" },
);

/** Chances of drawn leaves, and the weights (N P)^-beta over the largest of them: (least leaf / leaf)^beta. */
export const weighDraws = kernel(
  {
    control: i32.array(CONTROL_WORDS),
    settings: f64.array(),
    sums: f64.array(),
    least: f64.array(),
    draws: i32.array(),
    weight: f32.array(),
    probability: f64.array(),
  },
  ({ control, settings, sums, least, draws, weight, probability }, { parallel }) => {
    const leaves = control[9]!;
    const beta = Math.fround(settings[1]!);
    const total = sums[1]!;
    const smallest = least[1]!;
    parallel(control[8]!, (i) => {
      const leaf = sums[leaves + draws[i]!]!;
      probability[i] = leaf / total;
      weight[i] = Math.fround(smallest / leaf) ** beta;
    });
  },
  { name: "weighDraws" },
);

/** Sets leaves to priority^alpha in order (of two for one leaf the last stays) and brings all sums up to date. */
export const setLeaves = kernel(
  {
    control: i32.array(CONTROL_WORDS),
    settings: f64.array(),
    sums: f64.array(),
    least: f64.array(),
    node: i32.array(),
    priority: f64.array(),
  },
  ({ control, settings, sums, least, node, priority }, { parallel }) => {
    const size = node.length;
    const leaves = control[9]!;
    const alpha = settings[0]!;
    // A priority to the power of 1 is itself, to the last bit.
    if (alpha !== 1) {
      parallel(size, (i) => {
        priority[i] = priority[i]! ** alpha;
      });
    }
    for (let i = 0; i < size; i++) {
      const n = node[i]! + leaves;
      const leaf = priority[i]!;
      node[i] = n;
      sums[n] = leaf;
      least[n] = leaf > 0 ? leaf : Infinity;
    }
    for (let i = 0; i < size; i++) {
      let n = node[i]! >> 1;
      while (n >= 1) {
        const left = least[2 * n]!;
        const right = least[2 * n + 1]!;
        const low = left < right ? left : right;
        if (least[n]! === low) break;
        least[n] = low;
        n = n >> 1;
      }
    }
    // Levels with more nodes than there are changes are visited change by change; the others whole, once.
    for (let width = leaves >> 1; width >= 1; width = width >> 1) {
      if (width > size) {
        for (let i = 0; i < size; i++) {
          const n = node[i]! >> 1;
          node[i] = n;
          sums[n] = sums[2 * n]! + sums[2 * n + 1]!;
        }
      } else {
        for (let n = width; n < 2 * width; n++) sums[n] = sums[2 * n]! + sums[2 * n + 1]!;
      }
    }
  },
  { name: "setLeaves" },
);

/** A leaf's value, on any target: what setLeaves computes. */
const leafOf = kernel(
  { settings: f64.array(), one: f64.array(1) },
  ({ settings, one }) => {
    if (settings[0]! !== 1) one[0] = one[0]! ** settings[0]!;
  },
  { name: "leafOf" },
);

interface BoundUpdate {
  readonly node: Int32Array;
  readonly priority: Float64Array;
  readonly run: () => void;
}

export interface SumTreeOptions {
  /** Leaves are priorities to this power; 1 unless given. */
  readonly alpha?: number;
  readonly target?: TargetChoice;
}

export class SumTree {
  readonly capacity: number;
  /** The capacity, rounded up to a power of two. */
  readonly leaves: number;
  /** Nodes of the sum tree; node 0 is unused. */
  readonly sums: Float64Array;
  /** Nodes of the min tree. A leaf of 0 counts as infinity, because it is never drawn. */
  readonly least: Float64Array;
  /** Alpha and beta, as the kernels read them. */
  readonly settings: Float64Array;
  readonly #control: Int32Array;
  readonly #one: Float64Array;
  readonly #owned: TypedArray[] = [];
  readonly #leaf: () => void;
  /** By size, rounded up to a power of two. */
  readonly #updates = new Map<number, BoundUpdate>();
  /** Priorities and leaves up to these have sums that are finite. */
  readonly #mostPriority: number;
  readonly #mostLeaf: number;
  readonly #target: TargetChoice;

  constructor(capacity: number, options: SumTreeOptions = {}) {
    this.capacity = checkCount("the capacity", capacity, 1);
    this.leaves = 2 ** Math.ceil(Math.log2(this.capacity));
    const alpha = options.alpha ?? 1;
    needAmount("SumTree", "alpha", alpha);
    this.#mostLeaf = Number.MAX_VALUE / (2 * this.leaves);
    this.#mostPriority = alpha > 0 ? Math.min(Number.MAX_VALUE, this.#mostLeaf ** (1 / alpha)) : Number.MAX_VALUE;
    this.#target = options.target ?? "auto";
    const leaf = leafOf.on(this.#target, { threads: 1 });
    this.sums = this.#take(() => allocate(f64, 2 * this.leaves));
    this.least = this.#take(() => allocate(f64, 2 * this.leaves)).fill(Number.POSITIVE_INFINITY);
    this.settings = this.#take(() => allocate(f64, 4));
    this.settings[0] = alpha;
    this.#control = this.#take(() => allocate(i32, CONTROL_WORDS));
    this.#control[TREE_CONTROL.leaves] = this.leaves;
    this.#one = this.#take(() => allocate(f64, 1));
    this.#leaf = leaf.bind({ settings: this.settings, one: this.#one });
  }

  /** An array of the tree's own; when there is no room for it, the ones before are given back. */
  #take<T extends TypedArray>(make: () => T): T {
    const array = makeOrRelease([this], make);
    this.#owned.push(array);
    return array;
  }

  /** The sum of all leaves. */
  get total(): number {
    return this.sums[1] as number;
  }
  /** The least leaf above 0; infinity when there is none. */
  get smallest(): number {
    return this.least[1] as number;
  }
  leaf(i: number): number {
    return this.sums[this.leaves + this.#checked(i)] as number;
  }

  #checked(i: number): number {
    if (Number.isInteger(i) && i >= 0 && i < this.capacity) return i;
    throw new DataError(`there is no leaf ${i}; leaves are 0 to ${this.capacity - 1}`);
  }

  /** priority^alpha, rounded as on every target. */
  power(priority: number): number {
    checkPriority(priority, this.#mostPriority);
    this.#one[0] = priority;
    this.#leaf();
    return this.#one[0] as number;
  }

  /** Checks the value of a leaf. */
  checkLeaf(value: number): void {
    checkPriority(value, this.#mostLeaf);
  }

  /** Sets one leaf to a value (already raised to alpha), in plain JavaScript. */
  set(i: number, value: number): void {
    this.checkLeaf(value);
    const { sums, least } = this;
    const leaf = this.leaves + this.#checked(i);
    sums[leaf] = value;
    for (let n = leaf >> 1; n >= 1; n >>= 1) sums[n] = (sums[2 * n] as number) + (sums[2 * n + 1] as number);
    least[leaf] = value > 0 ? value : Number.POSITIVE_INFINITY;
    for (let n = leaf >> 1; n >= 1; n >>= 1) {
      const left = least[2 * n] as number;
      const right = least[2 * n + 1] as number;
      const low = left < right ? left : right;
      if (least[n] === low) break;
      least[n] = low;
    }
  }

  /** Sum and least of a node. */
  node(n: number): { readonly sum: number; readonly least: number } {
    return { sum: this.sums[n] as number, least: this.least[n] as number };
  }

  /**
   * Sets leaves to priority^alpha; of several priorities for one leaf the last stays. Nothing is set if one is wrong.
   * Returns the largest priority, 0 when there are none.
   */
  setMany(indices: ArrayLike<number>, priorities: ArrayLike<number>): number {
    const size = indices.length;
    if (priorities.length !== size)
      throw new DataError(`there are ${size} leaves and ${priorities.length} priorities; give one for each`);
    if (size === 0) return 0;
    const { node, priority, run } = this.#bound(2 ** Math.ceil(Math.log2(size)));
    const { capacity } = this;
    const most = this.#mostPriority;
    let largest = 0;
    for (let k = 0; k < size; k++) {
      const i = indices[k] as number;
      const p = priorities[k] as number;
      if (!(p >= 0 && p <= most)) checkPriority(p, most);
      if (!((i | 0) === i && i >= 0 && i < capacity)) this.#checked(i);
      node[k] = i;
      priority[k] = p;
      if (p > largest) largest = p;
    }
    // What is left of the round size sets the last leaf again.
    node.fill(node[size - 1] as number, size);
    priority.fill(priority[size - 1] as number, size);
    run();
    return largest;
  }

  #bound(size: number): BoundUpdate {
    let found = this.#updates.get(size);
    if (!found) {
      const node = allocate(i32, size);
      const priority = allocate(f64, size);
      const { settings, sums, least } = this;
      const run = setLeaves
        .on(this.#target, { threads: 1, unchecked: true })
        .bind({ control: this.#control, settings, sums, least, node, priority });
      found = { node, priority, run };
      this.#updates.set(size, found);
    }
    return found;
  }

  /** The leaf that a value from 0 to the total belongs to. */
  find(value: number): number {
    const { sums } = this;
    let rest = value;
    let n = 1;
    while (n < this.leaves) {
      const left = sums[2 * n] as number;
      if (rest >= left && (sums[2 * n + 1] as number) > 0) {
        rest -= left;
        n = 2 * n + 1;
      } else n = 2 * n;
    }
    return n - this.leaves;
  }

  /** The leaves of many values; what sampling does. */
  findMany(values: ArrayLike<number>): Int32Array {
    const control = allocate(i32, CONTROL_WORDS);
    const value = allocate(f64, values.length);
    const draws = allocate(i32, values.length);
    value.set(values);
    control[TREE_CONTROL.size] = values.length;
    control[TREE_CONTROL.leaves] = this.leaves;
    findLeaves.on(this.#target, { threads: 1 })({ control, sums: this.sums, value, draws });
    const found = Int32Array.from(draws);
    for (const array of [control, value, draws]) free(array);
    return found;
  }

  /** Sum and least of leaves `begin` to `end - 1`. */
  range(begin: number, end: number): { readonly sum: number; readonly least: number } {
    const whole = Number.isInteger(begin) && Number.isInteger(end);
    if (!(whole && begin >= 0 && begin <= end && end <= this.capacity))
      throw new DataError(`there is no range from ${begin} to ${end}; leaves are 0 to ${this.capacity - 1}`);
    let sum = 0;
    let least = Number.POSITIVE_INFINITY;
    for (let a = begin + this.leaves, b = end + this.leaves; a < b; a >>= 1, b >>= 1) {
      if (a & 1) {
        const part = this.node(a++);
        sum += part.sum;
        least = Math.min(least, part.least);
      }
      if (b & 1) {
        const part = this.node(--b);
        sum += part.sum;
        least = Math.min(least, part.least);
      }
    }
    return { sum, least };
  }

  clear(): void {
    this.sums.fill(0);
    this.least.fill(Number.POSITIVE_INFINITY);
  }

  dispose(): void {
    for (const array of this.#owned.splice(0)) free(array);
    for (const { node, priority } of this.#updates.values()) {
      free(node);
      free(priority);
    }
    this.#updates.clear();
  }
}

/** A priority is a finite number from 0 on, and small enough for finite sums. */
function checkPriority(p: number, most: number): void {
  if (!(p >= 0 && p < Number.POSITIVE_INFINITY))
    throw new DataError(`a priority must be a finite number from 0 on, not ${p}; use |error| + a small number`);
  if (!(p <= most))
    throw new DataError(`a priority of ${p} is too large: sums would not be finite; take at most ${most}`);
}
