/**
 * @file The ring of transitions under the replay buffers: its layout, its memory, pushing, saving and restoring.
 *
 * A transition has an observation, an action, a reward, `terminated` and `truncated`, usually a next observation, and
 * any further columns. Once `capacity` are stored, a push overwrites the oldest.
 */
import type { TypedArray } from "../ir/arrays.ts";
import { checkCount } from "../kernels/checks.ts";
import { DataError } from "../kernels/errors.ts";
import {
  type Arrangement,
  type ArrayFor,
  type ArraysFor,
  type Column,
  type ColumnSpec,
  type ColumnSpecs,
  type Columns,
  checkFlags,
  checkNumbers,
  columnOf,
  columnsOf,
  makeOrRelease,
  Storage,
  type StorageAddress,
} from "./columns.ts";
import { lookUpRows } from "./draws.ts";
import type { Chooser, GatherSource } from "./gather.ts";
import { ObservationPool, type PoolState } from "./pool.ts";
import {
  ARGUMENTS,
  type Flag,
  makeCheck,
  makePush,
  makePushBatch,
  type PushHooks,
  type RingState,
  type RowValue,
  type Target,
} from "./pushing.ts";

/**
 * How next observations are kept: in a column of their own ("separate"), each observation once ("once"), or not at all
 * ("none").
 */
export type NextObservations = "separate" | "once" | "none";

export interface TransitionOptions<
  O extends ColumnSpec = ColumnSpec,
  A extends ColumnSpec = ColumnSpec,
  X extends ColumnSpecs = ColumnSpecs,
> {
  /** Transitions that the buffer holds. */
  readonly capacity: number;
  /** An observation: so many f32, or `{ dtype: "u8", size }`. */
  readonly observation: O;
  readonly action: A;
  /** Further columns, by name. */
  readonly columns?: X;
  readonly nextObservations?: NextObservations;
  /** Environments that are pushed in step with each other by `pushBatch`; 1 unless given. */
  readonly environments?: number;
  /**
   * With `nextObservations: "once"`: rows beyond the capacity, for final observations of episodes. A sixteenth of the
   * capacity unless given; with fewer than there are episodes in the buffer it holds fewer transitions.
   */
  readonly finalObservations?: number;
  /**
   * "records" (the default) keeps the parts of a transition together, which samples faster; "separate" gives every part
   * an array of its own, so that others can write rows in place.
   */
  readonly arrangement?: Arrangement;
}

/** One transition. Extra columns are further fields. */
export interface Transition {
  /** May be left out where each observation is stored once and an episode goes on. */
  readonly observation?: ArrayLike<number>;
  readonly action: RowValue;
  readonly reward: number;
  readonly terminated: Flag;
  readonly truncated: Flag;
  readonly nextObservation?: ArrayLike<number>;
  readonly [column: string]: RowValue | Flag | undefined;
}
/** Transitions side by side: one array per column, row after row. */
export interface TransitionBatch {
  readonly observation?: ArrayLike<number>;
  readonly action: ArrayLike<number>;
  readonly reward: ArrayLike<number>;
  readonly terminated: ArrayLike<number | boolean>;
  readonly truncated: ArrayLike<number | boolean>;
  readonly nextObservation?: ArrayLike<number>;
  readonly [column: string]: ArrayLike<number | boolean> | undefined;
}

/** Writes a transition from its parts; the slot it went to. */
export type PushSlices = (
  observation: ArrayLike<number> | undefined,
  action: RowValue,
  reward: number,
  terminated: Flag,
  truncated: Flag,
  nextObservation?: ArrayLike<number>,
  extra?: { readonly [column: string]: RowValue | Flag | undefined },
) => number;
export type PushBatch = (batch: TransitionBatch, rows: number) => number;

/** The arrays of sampled transitions, row after row; extra columns stand beside the others under their names. */
export type BatchArrays<O extends ColumnSpec, A extends ColumnSpec, X extends ColumnSpecs> = {
  readonly size: number;
  /** The slots that were taken. */
  readonly index: Int32Array;
  readonly observation: ArrayFor<O>;
  /** Empty when next observations are not kept. */
  readonly nextObservation: ArrayFor<O>;
  readonly action: ArrayFor<A>;
  readonly reward: Float32Array;
  readonly terminated: Uint8Array;
  readonly truncated: Uint8Array;
} & ArraysFor<X>;

/** A DataError when a saved state is not of a buffer with this seed. */
export function checkSaved(saved: { readonly seed: number; readonly calls: number }, seed: number): void {
  if (typeof saved !== "object" || saved === null)
    throw new DataError(`restore: a state is what save gives, this is ${String(saved)}`);
  if (saved.seed !== seed)
    throw new DataError(`restore: the state is of a buffer with seed ${saved.seed}, this one has ${seed}`);
  checkCount("restore: the number of calls", saved.calls, 0);
}

/** A DataError when a sample asks for more than there is; before anything is made for it. */
export function needStored(size: number, count: number, what = "transitions"): void {
  if (checkCount("the size of a batch", size, 1) > count)
    throw new DataError(`sample: ${size} ${what} were asked for, ${count} are there; push more first or take fewer`);
}

/** What a ring needs to continue exactly where it was; plain data and typed arrays. */
export interface RingSnapshot {
  readonly capacity: number;
  readonly head: number;
  readonly count: number;
  readonly pushed: number;
  /** Rows from the oldest to the newest. */
  readonly columns: { readonly [name: string]: TypedArray };
  readonly pool?: PoolState;
}

const RESERVED_NAMES: ReadonlySet<string> = new Set([
  ...ARGUMENTS,
  "size",
  "index",
  "weight",
  "probability",
  "priority",
  "discount",
  "steps",
  "relabelled",
  "observationRow",
  "nextObservationRow",
]);
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const FLAGS: ReadonlySet<string> = new Set(["terminated", "truncated"]);
const FLAG: Column = { dtype: "u8", size: 1 };
const ROW: Column = { dtype: "i32", size: 1 };

/** The columns of a transition without observations, by name. */
function checkedExtra(specs: ColumnSpecs): Columns {
  for (const name of Object.keys(specs)) {
    if (RESERVED_NAMES.has(name)) throw new DataError(`columns: the name "${name}" is taken; choose another`);
    if (!IDENTIFIER.test(name))
      throw new DataError(`columns: "${name}" is not a plain name (letters, digits, _ and $)`);
  }
  return columnsOf(specs);
}

export class TransitionRing {
  readonly capacity: number;
  readonly environments: number;
  readonly nextObservations: NextObservations;
  readonly observation: Column;
  readonly action: Column;
  readonly extra: Columns;
  state: RingState = { head: 0, count: 0, pushed: 0 };
  readonly storage: Storage;
  readonly pool: ObservationPool | undefined;

  constructor(options: TransitionOptions, at?: StorageAddress) {
    this.capacity = checkCount("the capacity", options.capacity, 1);
    this.environments = checkCount("environments", options.environments ?? 1, 1);
    if (this.capacity % this.environments !== 0)
      throw new DataError(
        `the capacity (${this.capacity}) must be a multiple of the number of environments (${this.environments})`,
      );
    this.observation = columnOf("observation", options.observation);
    this.action = columnOf("action", options.action);
    this.extra = checkedExtra(options.columns ?? {});
    this.nextObservations = options.nextObservations ?? "separate";
    const { arrangement = "records" } = options;
    if (arrangement === "separate" && this.nextObservations === "once")
      throw new DataError('arrangement: "separate" arrays hold next observations "separate" or "none", not "once"');
    const room = checkCount("finalObservations", options.finalObservations ?? Math.ceil(this.capacity / 16), 0);
    this.storage = new Storage(this.#columns(), this.capacity, arrangement, at);
    if (this.nextObservations === "once") {
      const { observation, environments, capacity, state } = this;
      const make = () => new ObservationPool(observation, capacity, environments, room, state);
      this.pool = makeOrRelease([this.storage], make);
    }
  }

  #columns(): Columns {
    const { action, extra, observation } = this;
    const rest = { action, reward: { dtype: "f32", size: 1 }, terminated: FLAG, truncated: FLAG, ...extra } as const;
    switch (this.nextObservations) {
      case "separate":
        return { observation, nextObservation: observation, ...rest };
      case "once":
        return { observationRow: ROW, nextObservationRow: ROW, ...rest };
      case "none":
        return { observation, ...rest };
      default:
        throw new DataError(`nextObservations: "${String(this.nextObservations satisfies never)}" is not known`);
    }
  }

  #targets(): Target[] {
    return Object.entries(this.storage.columns).map(([name, column]) => {
      const from = name in this.extra ? "extra" : name.endsWith("Row") ? "local" : "argument";
      return { name, column, view: this.storage.view(name), from, flag: FLAGS.has(name) };
    });
  }

  /** The function that pushes one transition. `finish` is run after the position has moved. */
  pushSlices(hooks: PushHooks = {}): PushSlices {
    return makePush<PushSlices>(this.#targets(), this.capacity, this.state, this.#withPool(hooks, false));
  }

  /** What a push checks before it writes, by itself. */
  checkSlices(): (...args: Parameters<PushSlices>) => void {
    return makeCheck(this.#targets(), this.state, this.#withPool({}, false));
  }

  /** Lets functions made before fail with `why` before they write: those made from now on take their place. */
  retirePushes(why: string): void {
    const old = this.state;
    this.state = { ...old };
    Object.defineProperty(old, "head", {
      get: () => {
        throw new DataError(why);
      },
    });
  }

  pushBatch(hooks: PushHooks = {}): PushBatch {
    return makePushBatch<PushBatch>(this.#targets(), this.capacity, this.state, this.#withPool(hooks, true));
  }

  #withPool(hooks: PushHooks, batch: boolean): PushHooks {
    const { pool } = this;
    if (!pool) return hooks;
    const locals = batch ? "pool.rows, nextObservationRow = pool.nexts" : "pool.row, nextObservationRow = pool.next";
    const take = batch
      ? "pool.takeBatch(batch.observation, batch.nextObservation, v_terminated, v_truncated);"
      : "pool.take(observation, nextObservation, v_terminated || v_truncated);";
    const checks = batch
      ? "pool.checkBatch(batch.observation, batch.nextObservation, rows);"
      : "pool.check(observation, nextObservation);";
    return {
      ...hooks,
      checks: [hooks.checks ?? "", checks].join("\n"),
      prepare: [hooks.prepare ?? "", take, `const observationRow = ${locals};`].join("\n"),
      uses: { ...hooks.uses, pool },
    };
  }

  /** The slot of the oldest transition. */
  get oldest(): number {
    const { head, count } = this.state;
    return head >= count ? head - count : head - count + this.capacity;
  }

  /** Columns of a sample, and the rows they are taken by. */
  sources(nextBy = "at"): GatherSource[] {
    const { storage, pool, observation } = this;
    const direct = (name: string, by: string): GatherSource => ({
      name,
      column: storage.columns[name] as Column,
      view: storage.view(name),
      by,
    });
    const rest = ["action", "reward", "terminated", "truncated", ...Object.keys(this.extra)].map((n) =>
      direct(n, "at"),
    );
    if (!pool) {
      const next = this.nextObservations === "separate" ? [direct("nextObservation", nextBy)] : [];
      return [direct("observation", "at"), ...next, ...rest];
    }
    const view = pool.storage.view("observation");
    const observations = [
      { name: "observation", column: observation, view, by: "row" },
      { name: "nextObservation", column: observation, view, by: "nextRow" },
    ];
    return [...observations, ...rest];
  }

  /** The steps that choose rows: `first` draws transitions; where observations are stored once, theirs are looked up. */
  chooser(first: Chooser): Chooser {
    if (!this.pool) return first;
    const row = this.storage.view("observationRow");
    const next = this.storage.view("nextObservationRow");
    return {
      name: `${first.name}_${row.stride}_${row.offset}_${next.offset}`,
      steps: [...first.steps, lookUpRows(row.stride, row.offset, next.offset)],
      inputs: { ...first.inputs, records: row.array },
      outputs: { ...first.outputs, row: "i32", nextRow: "i32" },
    };
  }

  /** Bytes of all columns. */
  get bytes(): number {
    return this.storage.bytes + (this.pool?.storage.bytes ?? 0);
  }

  save(): RingSnapshot {
    const { head, count, pushed } = this.state;
    const names = Object.keys(this.storage.columns);
    const columns = Object.fromEntries(names.map((name) => [name, this.storage.copy(name, this.oldest, count)]));
    const pool = this.pool ? { pool: this.pool.save() } : {};
    return { capacity: this.capacity, head, count, pushed, columns, ...pool };
  }

  #checkPosition({ capacity, head, count, pushed }: RingSnapshot, step: number): void {
    if (capacity !== this.capacity)
      throw new DataError(
        `restore: the state is of a buffer for ${capacity} transitions, this one holds ${this.capacity}`,
      );
    const whole = [head, count, pushed].every((n) => Number.isSafeInteger(n) && n >= 0 && n % step === 0);
    // Until it is full, a ring is written from slot 0 on; only a pool gives up transitions before.
    const begins = this.pool !== undefined || count === capacity || head === count;
    if (!whole || !begins || head >= capacity || count > capacity || pushed < count)
      throw new DataError(`restore: position ${head}, ${count} stored and ${pushed} pushed do not fit together`);
  }

  #checkColumns({ count, columns }: RingSnapshot): void {
    for (const [name, { dtype, size }] of Object.entries(this.storage.columns)) {
      const values = columns?.[name];
      if (values?.length !== count * size)
        throw new DataError(`restore: the state has no column "${name}" of ${count} rows of ${size}`);
      if (FLAGS.has(name)) checkFlags("restore", name, values);
      else checkNumbers("restore", name, dtype, values);
    }
  }

  /** Continues where a saved ring was. Of buffers that are pushed in step, `step` is the number of environments. */
  restore(saved: RingSnapshot, step: number = this.pool ? this.environments : 1): void {
    this.#checkPosition(saved, step);
    this.#checkColumns(saved);
    const { head, count, pushed, columns, pool } = saved;
    if (!pool !== !this.pool)
      throw new DataError("restore: the state is of a buffer that keeps next observations in another way");
    if (pool) {
      this.pool?.checkState(pool, [columns.observationRow, columns.nextObservationRow]);
      this.pool?.restore(pool);
    }
    Object.assign(this.state, { head, count, pushed });
    for (const name of Object.keys(this.storage.columns))
      this.storage.fill(name, this.oldest, columns[name] as TypedArray);
  }

  clear(): void {
    Object.assign(this.state, { head: 0, count: 0 });
    for (let e = 0; this.pool && e < this.environments; e++) this.pool.restart(e);
  }

  dispose(): void {
    this.storage.dispose();
    this.pool?.storage.dispose();
  }
}
