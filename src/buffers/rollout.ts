/**
 * @file RolloutBuffer: a fixed number of steps of some environments, for algorithms that learn from fresh experience.
 *
 * Columns are separate and step-major (row t * environments + e). observation[t], action[t] and what the policy said at
 * t stand in row t; reward[t], terminated[t] and truncated[t] are the result of action[t]. There is one row of
 * observations more than steps: the last one is what the episode goes on from, and what the value after the last step
 * is computed of. Nothing is carried over silently: every rollout starts with `begin(observation)`.
 */
import { checkCount, needLength } from "../kernels/checks.ts";
import { DataError } from "../kernels/errors.ts";
import { HostStream } from "../random/host.ts";
import type { TargetChoice } from "../runtime/targets.ts";
import {
  type ArrayFor,
  type ArraysFor,
  type Column,
  type ColumnSpec,
  type ColumnSpecs,
  checkFlags,
  checkRows,
  columnOf,
  columnsOf,
  makeOrRelease,
  Storage,
  writeRows,
} from "./columns.ts";
import { seedWords } from "./draws.ts";
import { type BoundBatch, GIVEN, Sampler } from "./gather.ts";
import type { RowValue } from "./pushing.ts";

export interface RolloutOptions<O extends ColumnSpec, A extends ColumnSpec, X extends ColumnSpecs> {
  readonly steps: number;
  readonly environments: number;
  readonly observation: O;
  readonly action: A;
  /** Further columns of one row per step and environment, such as `logProb: 1, value: 1`. */
  readonly columns?: X;
  readonly seed?: number;
  readonly target?: TargetChoice;
}

/** The result of one step of all environments: one row for each, or a number where that is one element. */
export type RolloutStep<X extends ColumnSpecs> = {
  readonly action: RowValue;
  readonly reward: RowValue;
  readonly terminated: ArrayLike<number | boolean>;
  readonly truncated: ArrayLike<number | boolean>;
  /** The observation to act on next: that of a new episode where one ended. */
  readonly nextObservation: RowValue;
} & { readonly [K in keyof X]: RowValue };

/** The columns of a rollout, step-major. */
export type RolloutColumns<O extends ColumnSpec, A extends ColumnSpec, X extends ColumnSpecs> = {
  /** Of steps + 1 rows per environment; the others have `steps`. */
  readonly observation: ArrayFor<O>;
  readonly action: ArrayFor<A>;
  readonly reward: Float32Array;
  readonly terminated: Uint8Array;
  readonly truncated: Uint8Array;
} & ArraysFor<X>;
export type RolloutBatch<O extends ColumnSpec, A extends ColumnSpec, X extends ColumnSpecs> = RolloutColumns<
  O,
  A,
  X
> & {
  readonly size: number;
  /** The rows taken. */
  readonly index: Int32Array;
};

const FLAG: Column = { dtype: "u8", size: 1 };
const FLAG_COLUMNS = ["terminated", "truncated"] as const;
const STEP_COLUMNS = ["action", "reward", ...FLAG_COLUMNS] as const;

export class RolloutBuffer<
  O extends ColumnSpec = ColumnSpec,
  A extends ColumnSpec = ColumnSpec,
  X extends ColumnSpecs = Record<never, never>,
> {
  readonly steps: number;
  readonly environments: number;
  /** All columns, in place. */
  readonly columns: RolloutColumns<O, A, X>;
  /** Epochs of minibatches taken so far: the next one is a pure function of the seed and this number. */
  epochs = 0;
  readonly #observations: Storage;
  readonly #rows: Storage;
  /** Names of the columns that a step fills, and of those of them that are no flags. */
  readonly #filled: readonly string[];
  readonly #numbers: readonly string[];
  readonly #sampler: Sampler;
  readonly #seed: HostStream;
  readonly #batches = new Map<number, { batch: RolloutBatch<O, A, X>; bound: BoundBatch }>();
  #begun = false;
  #step = 0;

  constructor(options: RolloutOptions<O, A, X>) {
    this.steps = checkCount("steps", options.steps, 1);
    this.environments = checkCount("environments", options.environments, 1);
    const { word0, word1 } = seedWords(checkCount("the seed", options.seed ?? 0, 0));
    this.#seed = new HostStream(word0, word1);
    const observation = columnOf("observation", options.observation);
    const action = columnOf("action", options.action);
    const extra = columnsOf(options.columns ?? {});
    const clash = Object.keys(extra).find((name) => ["observation", "index", "size", ...STEP_COLUMNS].includes(name));
    if (clash) throw new DataError(`columns: the name "${clash}" is taken; choose another`);
    this.#filled = [...STEP_COLUMNS, ...Object.keys(extra)];
    this.#numbers = ["action", "reward", ...Object.keys(extra)];
    const rows = this.steps * this.environments;
    const reward: Column = { dtype: "f32", size: 1 };
    const filled = { action, reward, terminated: FLAG, truncated: FLAG, ...extra };
    this.#observations = new Storage({ observation }, rows + this.environments, "separate");
    this.#rows = makeOrRelease([this.#observations], () => new Storage(filled, rows, "separate"));
    const arrays = Object.keys(this.#rows.columns).map((name) => [name, this.#rows.view(name).array]);
    const views = { observation: this.#observations.view("observation").array, ...Object.fromEntries(arrays) };
    this.columns = views as RolloutColumns<O, A, X>;
    const taken = [this.#observations, this.#rows];
    this.#sampler = makeOrRelease(taken, () => new Sampler(this.#sources(), GIVEN, options.target ?? "auto"));
  }

  #sources() {
    const of = (storage: Storage, name: string) => {
      return { name, column: storage.columns[name] as Column, view: storage.view(name), by: "at" };
    };
    return [of(this.#observations, "observation"), ...Object.keys(this.#rows.columns).map((n) => of(this.#rows, n))];
  }

  /** Steps added since `begin`. */
  get length(): number {
    return this.#step;
  }
  get full(): boolean {
    return this.#step === this.steps;
  }
  /** Rows of a full rollout. */
  get size(): number {
    return this.steps * this.environments;
  }

  /** Starts a rollout from the observations that the first actions are chosen on. */
  begin(observation: RowValue): void {
    checkRows("begin", "observation", this.#observations.columns.observation as Column, observation, this.environments);
    writeRows(this.#observations.view("observation").array, 0, observation);
    this.#begun = true;
    this.#step = 0;
  }

  /** The observations that the next actions are chosen on: a view of the row. */
  get observation(): ArrayFor<O> {
    this.#check("observation");
    const { array, size } = this.#observations.view("observation");
    const width = this.environments * size;
    return array.subarray(this.#step * width, (this.#step + 1) * width) as ArrayFor<O>;
  }

  #check(what: string): void {
    if (!this.#begun)
      throw new DataError(
        `${what}: this rollout has no first observation; call begin(observation) before each rollout`,
      );
  }

  /** Adds the result of one step of all environments. */
  add(step: RolloutStep<X>): void {
    this.#check("add");
    if (this.full)
      throw new DataError(`add: all ${this.steps} steps are there; use them, then call begin(observation)`);
    const given = step as unknown as { readonly [name: string]: RowValue };
    for (const name of this.#numbers)
      checkRows("add", name, this.#rows.columns[name] as Column, given[name], this.environments);
    for (const name of FLAG_COLUMNS) {
      needLength("add", name, step[name], this.environments, "the number of environments");
      checkFlags("add", name, step[name]);
    }
    const next = this.#observations.view("observation");
    const { observation } = this.#observations.columns as { readonly observation: Column };
    checkRows("add", "nextObservation", observation, given.nextObservation, this.environments);
    const at = this.#step * this.environments;
    for (const name of this.#filled) {
      const { array, size } = this.#rows.view(name);
      writeRows(array, at * size, given[name] as RowValue);
    }
    writeRows(next.array, (at + this.environments) * next.size, step.nextObservation);
    this.#step++;
  }

  /** Takes steps that others have written to `columns` in place, from step `length` on; nothing is copied or checked. */
  commit(steps: number): void {
    this.#check("commit");
    checkCount("commit: the number of steps", steps, 1);
    const left = this.steps - this.#step;
    if (steps > left) throw new DataError(`commit: ${steps} steps do not fit: ${left} of ${this.steps} are left`);
    this.#step += steps;
  }

  /** Ends a rollout: what follows needs a new `begin`. Columns stay as they are. */
  reset(): void {
    this.#begun = false;
    this.#step = 0;
  }

  /**
   * Calls `use` with minibatches that together hold every row once, in random order; the last may not be smaller, so
   * `size` must divide the number of rows. The batch is the buffer's own and is overwritten by the next of its size,
   * also where `use` takes minibatches itself.
   */
  minibatches(size: number, use: (batch: RolloutBatch<O, A, X>, number: number) => void): void {
    this.#check("minibatches");
    if (!this.full)
      throw new DataError(`minibatches: ${this.#step} of ${this.steps} steps are there; add the others first`);
    checkCount("the size of a minibatch", size, 1);
    if (this.size % size !== 0)
      throw new DataError(`minibatches: ${size} does not divide the ${this.size} rows; choose a size that does`);
    const { batch, bound } = this.#own(size);
    const order = this.#seed.fold(this.epochs++).permutation(this.size);
    for (let first = 0; first < this.size; first += size) {
      for (let i = 0; i < size; i++) bound.index[i] = order.at(first + i);
      bound.run();
      use(batch, first / size);
    }
  }

  #own(size: number): { batch: RolloutBatch<O, A, X>; bound: BoundBatch } {
    let found = this.#batches.get(size);
    if (!found) {
      const bound = this.#sampler.bind(size);
      const batch = { size, index: bound.index, ...bound.arrays } as unknown as RolloutBatch<O, A, X>;
      found = { batch, bound };
      this.#batches.set(size, found);
    }
    return found;
  }

  dispose(): void {
    this.reset();
    this.#observations.dispose();
    this.#rows.dispose();
    this.#sampler.dispose();
    for (const { bound } of this.#batches.values()) bound.dispose();
    this.#batches.clear();
  }
}
