/**
 * @file ExperienceTable: columns that only grow. Room is doubled when it runs out, so that a row costs the same on
 * average however many there are; give `capacity` where the number of rows is known.
 */
import type { TypedArray } from "../ir/arrays.ts";
import { checkCount } from "../kernels/checks.ts";
import { DataError } from "../kernels/errors.ts";
import { type ArrayFor, type Column, type ColumnSpecs, checkRows, columnsOf, Storage, writeRows } from "./columns.ts";
import type { RowValue } from "./pushing.ts";

export interface TableOptions<X extends ColumnSpecs> {
  readonly columns: X;
  /** Rows that there is room for at first; 1024 unless given. */
  readonly capacity?: number;
}
/** A row, or rows side by side: elements by column, or the number itself where there is one. */
export type TableRow<X extends ColumnSpecs> = { readonly [K in keyof X]: RowValue };
export type TableRows<X extends ColumnSpecs> = TableRow<X>;

export class ExperienceTable<X extends ColumnSpecs> {
  #storage: Storage;
  #length = 0;
  readonly #names: readonly (keyof X & string)[];

  constructor(options: TableOptions<X>) {
    this.#names = Object.keys(options.columns);
    if (this.#names.length === 0) throw new DataError("an ExperienceTable needs at least one column");
    const rows = checkCount("the capacity", options.capacity ?? 1024, 1);
    this.#storage = new Storage(columnsOf(options.columns), rows, "separate");
  }

  get length(): number {
    return this.#length;
  }
  /** Rows that there is room for before the columns move. */
  get capacity(): number {
    return this.#storage.rows;
  }

  /** A column: a view of its rows so far, valid until the table grows past its capacity. */
  column<K extends keyof X & string>(name: K): ArrayFor<X[K]> {
    const { array, size } = this.#storage.view(name);
    return array.subarray(0, this.#length * size) as ArrayFor<X[K]>;
  }

  /** Adds a row; its number. */
  append(row: TableRow<X>): number {
    for (const name of this.#names) checkRows("append", name, this.#storage.columns[name] as Column, row[name]);
    this.#reach(this.#length + 1);
    for (const name of this.#names) {
      const { array, size } = this.#storage.view(name);
      const value: RowValue = row[name];
      const to = this.#length * size;
      // Rows are short: a loop is faster than `set`.
      if (typeof value === "number") array[to] = value;
      else for (let k = 0; k < size; k++) array[to + k] = value[k] as number;
    }
    return this.#length++;
  }

  /** Adds rows that lie side by side; the number of the first. */
  appendRows(rows: TableRows<X>, count: number): number {
    checkCount("the number of rows", count, 0);
    for (const name of this.#names)
      checkRows("appendRows", name, this.#storage.columns[name] as Column, rows[name], count);
    this.#reach(this.#length + count);
    const first = this.#length;
    for (const name of this.#names) {
      const { array, size } = this.#storage.view(name);
      writeRows(array, first * size, rows[name]);
    }
    this.#length += count;
    return first;
  }

  #reach(rows: number): void {
    if (rows <= this.#storage.rows) return;
    const larger = new Storage(this.#storage.columns, Math.max(rows, 2 * this.#storage.rows), "separate");
    for (const name of this.#names) larger.view(name).array.set(this.column(name) as TypedArray, 0);
    this.#storage.dispose();
    this.#storage = larger;
  }

  /** Forgets all rows; the room stays. */
  clear(): void {
    this.#length = 0;
  }

  dispose(): void {
    this.#length = 0;
    this.#storage.dispose();
  }
}
