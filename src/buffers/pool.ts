/**
 * @file Observations that are stored once: the next observation of a step is the observation of the step after it.
 *
 * Rows are taken from a ring of their own. A step takes one row for its next observation, and one more for its
 * observation where a stream begins: first pushes, and first steps after an episode's end. Transitions keep the numbers
 * of their two rows. The final observation of an episode has a row that no later step uses, so many short episodes need
 * more rows than transitions; when rows run out, the oldest steps are given up and the buffer holds fewer transitions
 * than its capacity. Environments are pushed in step with each other, which keeps rows in the order of steps.
 */
import type { TypedArray } from "../ir/arrays.ts";
import { checkCount } from "../kernels/checks.ts";
import { DataError } from "../kernels/errors.ts";
import { type Column, checkNumbers, Storage } from "./columns.ts";
import type { RingState } from "./pushing.ts";

/** What a pool needs to continue exactly where it was. */
export interface PoolState {
  readonly taken: number;
  readonly first: number;
  readonly rows: TypedArray;
  readonly last: readonly number[];
  readonly stepFirst: readonly number[];
}

const NONE = -1;

export class ObservationPool {
  readonly storage: Storage;
  /** Rows of the transition (or, for a batch, of each environment) taken last. */
  row = 0;
  next = 0;
  readonly rows: Int32Array;
  readonly nexts: Int32Array;
  readonly #size: number;
  readonly #count: number;
  readonly #environments: number;
  readonly #steps: number;
  readonly #ring: RingState;
  readonly #array: TypedArray;
  /** Rows taken ever; row n lies at n modulo the number of rows. */
  #taken = 0;
  /** By environment: the row of its newest next observation, or NONE where a stream begins. */
  readonly #last: Float64Array;
  /** By step: the first row it refers to. */
  readonly #stepFirst: Float64Array;

  constructor(column: Column, capacity: number, environments: number, room: number, ring: RingState) {
    this.#size = column.size;
    this.#environments = environments;
    this.#steps = capacity / environments;
    this.#count = capacity + Math.max(4 * environments, room);
    this.#ring = ring;
    this.storage = new Storage({ observation: column }, this.#count, "separate");
    this.#array = this.storage.view("observation").array;
    this.#last = new Float64Array(environments).fill(NONE);
    this.#stepFirst = new Float64Array(this.#steps);
    this.rows = new Int32Array(environments);
    this.nexts = new Int32Array(environments);
  }

  /** Whether a push of one transition may take its rows. */
  check(observation: ArrayLike<number> | undefined, next: ArrayLike<number> | undefined): void {
    if (this.#environments !== 1)
      throw new DataError(`push: this buffer takes ${this.#environments} environments in step; use pushBatch`);
    if (observation === undefined && this.#last[0] === NONE)
      throw new DataError("push: a stream begins here (first push, or an episode ended before): give its observation");
    this.#checkRow("observation", observation, this.#size, true);
    this.#checkRow("nextObservation", next, this.#size, false);
  }

  /** Whether a batch has rows for all environments. */
  checkBatch(observations: ArrayLike<number> | undefined, nexts: ArrayLike<number> | undefined, rows: number): void {
    if (rows !== this.#environments)
      throw new DataError(`pushBatch: this buffer takes ${this.#environments} environments in step, not ${rows}`);
    const begins = this.#last.includes(NONE);
    if (begins && observations === undefined)
      throw new DataError("pushBatch: streams begin here (first push, or an episode ended before): give observations");
    this.#checkRow("observation", observations, rows * this.#size, true);
    this.#checkRow("nextObservation", nexts, rows * this.#size, false);
  }

  #checkRow(name: string, value: ArrayLike<number> | undefined, length: number, optional: boolean): void {
    if (value === undefined && optional) return;
    if (!(value instanceof (this.#array.constructor as new () => TypedArray)) || value.length !== length)
      throw new DataError(`push: "${name}" must be a ${this.#array.constructor.name} of ${length} elements`);
  }

  /** Rows for one transition; the observation is stored only where a stream begins. */
  take(observation: TypedArray | undefined, next: TypedArray, ended: boolean): void {
    const begins = observation !== undefined && !this.#continues(0, observation, 0);
    this.#makeRoom(begins ? 2 : 1);
    const from = begins ? this.#store(observation) : (this.#last[0] as number);
    this.#stepFirst[this.#ring.head] = from;
    this.row = from % this.#count;
    const to = this.#store(next);
    this.next = to % this.#count;
    this.#last[0] = ended ? NONE : to;
  }

  /** Rows for a step of all environments; observations are stored only where a stream begins. */
  takeBatch(
    observations: TypedArray | undefined,
    nexts: TypedArray,
    terminated: ArrayLike<number>,
    truncated: ArrayLike<number>,
  ): void {
    const size = this.#size;
    this.#makeRoom(2 * this.#environments);
    let first = Number.POSITIVE_INFINITY;
    for (let e = 0; e < this.#environments; e++) {
      const goesOn = observations === undefined || this.#continues(e, observations, e * size);
      const from = goesOn ? (this.#last[e] as number) : this.#storePart(observations, e * size);
      this.rows[e] = from % this.#count;
      first = Math.min(first, from);
    }
    this.#stepFirst[this.#ring.head / this.#environments] = first;
    for (let e = 0; e < this.#environments; e++) {
      const to = this.#storePart(nexts, e * size);
      this.nexts[e] = to % this.#count;
      this.#last[e] = terminated[e] || truncated[e] ? NONE : to;
    }
  }

  /**
   * Whether an observation that is given is the next observation of the step before. One that differs begins a stream:
   * the environment was reset, and no flag said so.
   */
  #continues(environment: number, rows: TypedArray, from: number): boolean {
    const last = this.#last[environment] as number;
    if (last === NONE) return false;
    const at = (last % this.#count) * this.#size;
    for (let k = 0; k < this.#size; k++) if (!Object.is(rows[from + k], this.#array[at + k])) return false;
    return true;
  }

  /** Lets the next push of an environment begin a stream, where an episode was given up without an end. */
  restart(environment: number): void {
    if (!(environment in this.#last)) throw new DataError(`restart: there is no environment ${environment}`);
    this.#last[environment] = NONE;
  }

  #store(row: TypedArray): number {
    this.#array.set(row, (this.#taken % this.#count) * this.#size);
    return this.#taken++;
  }

  #storePart(rows: TypedArray, from: number): number {
    const size = this.#size;
    const to = (this.#taken % this.#count) * size;
    if (rows.length === size) this.#array.set(rows, to);
    // One view per wide row is cheap next to the row itself; narrow ones are copied without.
    else if (size > 256) this.#array.set(rows.subarray(from, from + size), to);
    else for (let k = 0; k < size; k++) this.#array[to + k] = rows[from + k] as number;
    return this.#taken++;
  }

  /** Gives up the oldest steps until so many rows can be taken. */
  #makeRoom(rows: number): void {
    const { head, count } = this.#ring;
    const capacity = this.#steps * this.#environments;
    // The step that is overwritten goes first.
    if (count === capacity) this.#ring.count -= this.#environments;
    while (this.#ring.count > 0) {
      const oldest = (head - this.#ring.count + capacity) % capacity;
      const first = this.#stepFirst[oldest / this.#environments] as number;
      if (this.#taken + rows - first <= this.#count) return;
      this.#ring.count -= this.#environments;
    }
  }

  save(): PoolState {
    const first = Math.max(0, this.#taken - this.#count);
    return {
      taken: this.#taken,
      first,
      rows: this.storage.copy("observation", first % this.#count, this.#taken - first),
      last: [...this.#last],
      stepFirst: [...this.#stepFirst],
    };
  }

  /** Checks a state, and the numbers of rows that transitions refer to: nothing looks at them again. */
  checkState(state: PoolState, rows: readonly (ArrayLike<number> | undefined)[]): void {
    const { taken, first, last, stepFirst } = state;
    if (last?.length !== this.#environments || stepFirst?.length !== this.#steps)
      throw new DataError("restore: the state belongs to a buffer with another capacity or number of environments");
    checkCount("restore: the number of observations", taken, 0);
    const known = (n: number): boolean => Number.isSafeInteger(n) && n >= first && n < Math.max(1, taken);
    const whole = first === Math.max(0, taken - this.#count) && state.rows?.length === (taken - first) * this.#size;
    const counted = (n: number): boolean => Number.isSafeInteger(n) && n >= 0 && n <= taken;
    const sound = last.every((n) => n === NONE || known(n)) && stepFirst.every(counted);
    if (!whole || !sound) throw new DataError("restore: the state's observations do not fit together");
    checkNumbers("restore", "observation", (this.storage.columns.observation as Column).dtype, state.rows);
    for (const list of rows)
      for (let k = 0; k < (list?.length ?? 0); k++)
        if (!(Number.isInteger(list?.[k]) && (list?.[k] as number) >= 0 && (list?.[k] as number) < this.#count))
          throw new DataError(`restore: there is no row ${list?.[k]} of observations`);
  }

  restore(state: PoolState): void {
    this.#taken = state.taken;
    this.storage.fill("observation", state.first % this.#count, state.rows);
    this.#last.set(state.last);
    this.#stepFirst.set(state.stepFirst);
  }
}
