/**
 * @file Pushing a transition: typed-array writes in JavaScript, no call into compiled code and nothing allocated.
 *
 * The function is generated for the layout, as argument marshalling is: straight-line code over named columns that
 * stays fast whatever other buffers there are in the process. All values are checked before the first is written.
 */
import { arrayName, type TypedArray } from "../ir/arrays.ts";
import { DataError } from "../kernels/errors.ts";
import { type Column, type ColumnType, type ColumnView, checkFlags, checkIntegers, wrongInteger } from "./columns.ts";

/** A flag: false, true, or 0 and 1. */
export type Flag = boolean | number;
/** A row of a column: its elements, or the number itself where there is one element. */
export type RowValue = ArrayLike<number> | number;

/** Where the next transition goes. */
export interface RingState {
  /** The slot that is written next. */
  head: number;
  /** Transitions that can be sampled. */
  count: number;
  /** Transitions pushed ever. */
  pushed: number;
}

/** A column to be written, and which argument it comes from. */
export interface Target {
  readonly name: string;
  readonly column: Column;
  readonly view: ColumnView;
  /** "argument": a parameter of the function; "extra": a field of its last parameter; "local": set by `prepare`. */
  readonly from: "argument" | "extra" | "local";
  readonly flag?: boolean;
}

export interface PushHooks {
  /** Statements between the checks and the writes. */
  readonly prepare?: string;
  /** Statements after the position has moved. */
  readonly finish?: string;
  /** Checks of arguments that are no column, such as observations that are stored elsewhere. */
  readonly checks?: string;
  /** What the statements use. */
  readonly uses?: { readonly [name: string]: unknown };
}

/** Parameters of a push in their order; extra columns are fields of the last. */
export const ARGUMENTS = [
  "observation",
  "action",
  "reward",
  "terminated",
  "truncated",
  "nextObservation",
  "extra",
] as const;

/** Rows of more elements than this are copied by `set`. */
const LOOPED = 64;
const UNROLLED = 16;

const INTEGER_CHECK: { readonly [dtype: string]: ((v: string) => string) | undefined } = {
  u8: (v) => `(${v} & 255) !== ${v}`,
  i32: (v) => `(${v} | 0) !== ${v}`,
  u32: (v) => `(${v} >>> 0) !== ${v}`,
};
const helpers = {
  wrongRow(name: string, value: unknown, size: number): never {
    const got =
      value === undefined || value === null
        ? "it is missing"
        : typeof value === "number"
          ? `it is the number ${value}`
          : `it has ${String((value as ArrayLike<number>).length)}`;
    throw new DataError(`push: "${name}" must have ${size} element${size === 1 ? "" : "s"}, ${got}`);
  },
  wrongFlag(name: string, value: unknown): never {
    throw new DataError(`push: "${name}" must be true or false (or 1 and 0), it is ${String(value)}`);
  },
  wrongNumber(name: string, value: unknown): never {
    throw new DataError(`push: "${name}" must be a number, it is ${String(value)}`);
  },
  wrongInteger: (name: string, dtype: ColumnType, value: unknown): never => wrongInteger("push", name, dtype, value),
  wrongArray(name: string, dtype: ColumnType, value: unknown): never {
    const got = ArrayBuffer.isView(value) ? value.constructor.name : typeof value;
    const wanted = arrayName(dtype);
    throw new DataError(`push: "${name}" must be a ${wanted} (${dtype}), it is a ${got}`);
  },
  wrongCount(count: unknown, capacity: number): never {
    throw new DataError(
      `pushBatch: the number of transitions must be a whole number from 1 to the capacity ${capacity}, not ${String(count)}`,
    );
  },
  checkIntegers: (name: string, { dtype }: Column, values: ArrayLike<number>): void =>
    checkIntegers("push", name, dtype, values),
  checkFlags: (name: string, values: ArrayLike<number | boolean>): void => checkFlags("pushBatch", name, values),
  /** Rows of an array of their own, from slot `at` on, around the end. */
  copyRows(view: ColumnView, at: number, values: TypedArray, rows: number, capacity: number): void {
    const first = Math.min(rows, capacity - at) * view.size;
    if (first === values.length) view.array.set(values, at * view.size);
    else {
      view.array.set(values.subarray(0, first), at * view.size);
      view.array.set(values.subarray(first), 0);
    }
  },
};

const givenAs = (t: Target): string => (t.from === "extra" ? `extra.${t.name}` : t.name);

/** Statements that check one value of a column of one element and leave it in `v_name`. */
function checkScalar(t: Target): string[] {
  const { name, column } = t;
  const given = givenAs(t);
  if (t.flag)
    return [
      `const v_${name} = ${given};`,
      `if (v_${name} !== true && v_${name} !== false && v_${name} !== 0 && v_${name} !== 1) wrongFlag("${name}", v_${name});`,
    ];
  const integer = INTEGER_CHECK[column.dtype];
  return [
    `let v_${name} = ${given};`,
    `if (typeof v_${name} !== "number") {`,
    `  if (!v_${name} || v_${name}.length !== 1) wrongRow("${name}", v_${name}, 1);`,
    `  v_${name} = v_${name}[0];`,
    `  if (typeof v_${name} !== "number") wrongNumber("${name}", v_${name});`,
    "}",
    ...(integer ? [`if (${integer(`v_${name}`)}) wrongInteger("${name}", "${column.dtype}", v_${name});`] : []),
  ];
}

function checkRow(t: Target): string[] {
  const { name, column } = t;
  const lines = [
    `const v_${name} = ${givenAs(t)};`,
    `if (!v_${name} || v_${name}.length !== ${column.size}) wrongRow("${name}", v_${name}, ${column.size});`,
  ];
  if (INTEGER_CHECK[column.dtype] === undefined) return lines;
  const type = arrayName(column.dtype);
  if (column.size > LOOPED)
    return [...lines, `if (!(v_${name} instanceof ${type})) wrongArray("${name}", "${column.dtype}", v_${name});`];
  return [...lines, `if (!(v_${name} instanceof ${type})) checkIntegers("${name}", column_${name}, v_${name});`];
}

/** Statements that write one row of a column at slot `at`. */
function writeRow({ name, column, view, flag, from }: Target): string[] {
  const base = view.stride === 1 ? "at" : `at * ${view.stride}`;
  const place = (k: number): string => `c_${name}[${base}${view.offset + k ? ` + ${view.offset + k}` : ""}]`;
  const value = from === "local" ? name : `v_${name}`;
  if (column.size === 1) return [`${place(0)} = ${value}${flag ? " ? 1 : 0" : ""};`];
  if (column.size <= UNROLLED) return Array.from({ length: column.size }, (_, k) => `${place(k)} = ${value}[${k}];`);
  if (column.size <= LOOPED)
    return [`for (let k = 0, to = ${base} + ${view.offset}; k < ${column.size}; k++) c_${name}[to + k] = ${value}[k];`];
  return [`c_${name}.set(${value}, ${base});`];
}

const advance = (capacity: number): string[] => [
  `state.head = at + 1 === ${capacity} ? 0 : at + 1;`,
  `if (state.count < ${capacity}) state.count++;`,
  "state.pushed++;",
];

function generate<F>(lines: readonly string[], targets: readonly Target[], state: RingState, hooks: PushHooks): F {
  const environment: { [name: string]: unknown } = { ...helpers, state, ...hooks.uses };
  for (const { name, view, column } of targets) {
    environment[`c_${name}`] = view.array;
    environment[`column_${name}`] = column;
    environment[`view_${name}`] = view;
  }
  const text = ['"use strict";', ...lines].join("\n");
  return new Function(...Object.keys(environment), text)(...Object.values(environment)) as F;
}

/** Statements that check all arguments of a push. */
function checkArguments(targets: readonly Target[], hooks: PushHooks): string[] {
  const given = targets.filter((t) => t.from !== "local");
  const extra = given.find((t) => t.from === "extra");
  return [
    ...(extra ? [`if (!extra) wrongRow("${extra.name}", undefined, 1);`] : []),
    ...given.flatMap((t) => (t.column.size === 1 ? checkScalar(t) : checkRow(t))),
    hooks.checks ?? "",
  ];
}

/** A function of the arguments of `ARGUMENTS` that does what a push does before it writes. */
export function makeCheck<F>(targets: readonly Target[], state: RingState, hooks: PushHooks): F {
  const lines = [`return function check(${ARGUMENTS.join(", ")}) {`, ...checkArguments(targets, hooks), "};"];
  return generate(lines, targets, state, hooks);
}

/** A function of the arguments of `ARGUMENTS` that writes one transition and returns its slot. */
export function makePush<F>(targets: readonly Target[], capacity: number, state: RingState, hooks: PushHooks): F {
  const body = [
    ...checkArguments(targets, hooks),
    "const at = state.head;",
    hooks.prepare ?? "",
    ...targets.flatMap(writeRow),
    ...advance(capacity),
    hooks.finish ?? "",
    "return at;",
  ];
  return generate([`return function push(${ARGUMENTS.join(", ")}) {`, ...body, "};"], targets, state, hooks);
}

function checkBatch(t: Target): string[] {
  const { name, column } = t;
  const type = arrayName(column.dtype);
  const lines = [
    `const v_${name} = ${t.from === "argument" || t.from === "extra" ? `batch.${name}` : name};`,
    `if (!v_${name} || v_${name}.length !== rows * ${column.size}) wrongRow("${name}", v_${name}, rows * ${column.size});`,
  ];
  if (column.size > LOOPED)
    return [...lines, `if (!(v_${name} instanceof ${type})) wrongArray("${name}", "${column.dtype}", v_${name});`];
  if (t.flag) return [...lines, `checkFlags("${name}", v_${name});`];
  if (INTEGER_CHECK[column.dtype] === undefined) return lines;
  return [...lines, `if (!(v_${name} instanceof ${type})) checkIntegers("${name}", column_${name}, v_${name});`];
}

function writeBatchRow({ name, column, view, flag, from }: Target): string[] {
  if (column.size > LOOPED) return [];
  const value = from === "local" ? name : `v_${name}`;
  const to = `at * ${view.stride} + ${view.offset}`;
  if (column.size === 1) return [`c_${name}[${to}] = ${value}[r]${flag ? " ? 1 : 0" : ""};`];
  return [
    `for (let k = 0, to = ${to}, from = r * ${column.size}; k < ${column.size}; k++) c_${name}[to + k] = ${value}[from + k];`,
  ];
}

/** A function of (batch, rows) that writes so many transitions, and returns the slot of the first. */
export function makePushBatch<F>(targets: readonly Target[], capacity: number, state: RingState, hooks: PushHooks): F {
  const given = targets.filter((t) => t.from !== "local");
  const wide = targets.filter((t) => t.column.size > LOOPED);
  const body = [
    `if (!(Number.isInteger(rows) && rows >= 1 && rows <= ${capacity})) wrongCount(rows, ${capacity});`,
    ...given.flatMap(checkBatch),
    hooks.checks ?? "",
    "const first = state.head;",
    hooks.prepare ?? "",
    ...wide.map((t) => `copyRows(view_${t.name}, first, v_${t.name}, rows, ${capacity});`),
    "for (let r = 0; r < rows; r++) {",
    "  const at = state.head;",
    ...targets.flatMap(writeBatchRow),
    ...advance(capacity),
    "}",
    hooks.finish ?? "",
    "return first;",
  ];
  return generate(["return function pushBatch(batch, rows) {", ...body, "};"], targets, state, hooks);
}
