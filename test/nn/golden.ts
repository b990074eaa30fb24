/**
 * @file Golden cases from fixtures: many cases are recorded into one program, run in some way, and compared.
 *
 * A case's code gives tensors by the paths of what is expected, such as "grads.x". Arrays of more elements than a
 * fixture keeps have only every n-th of them.
 */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import {
  input,
  program,
  type Shape,
  type Tensor,
  type TensorProgram,
  type TensorProgramOptions,
} from "../../src/tensor/index.ts";
import { TARGETS } from "../tensor/support.ts";

export type Precision = "f32" | "f64";
export interface Numbers {
  readonly dtype: "f64" | "f32" | "i32" | "u32" | "bool";
  readonly shape: Shape;
  readonly data: readonly (number | string)[];
  readonly every?: number;
}
export type Value = number | string | boolean | null | Numbers | readonly Value[] | { readonly [key: string]: Value };
export interface Case {
  readonly name: string;
  readonly op: string;
  readonly inputs: { readonly [name: string]: Value };
  readonly expected: Value;
  readonly tolerance: { readonly [P in Precision]?: { readonly rtol: number; readonly atol: number } } & {
    readonly exact?: boolean;
  };
}

export function readCases(file: string): readonly Case[] {
  const bytes = readFileSync(new URL(`../fixtures/numeric/${file}`, import.meta.url));
  const text = file.endsWith(".gz") ? gunzipSync(bytes) : bytes;
  return (JSON.parse(text.toString()) as { cases: readonly Case[] }).cases;
}

export const isNumbers = (value: Value | undefined): value is Numbers =>
  typeof value === "object" && value !== null && "dtype" in value && "data" in value;

/** Every n-th element, or each, as numbers; single numbers and short lists, too. */
export function flatNumbers(value: Value): number[] {
  if (isNumbers(value)) return value.data.map(Number);
  return Array.isArray(value) ? value.map(Number) : [Number(value)];
}

/** What the code of a case works with while its program is recorded. */
export class Recorded {
  readonly given: Case;
  readonly dtype: Precision;
  readonly fed = new Map<string, readonly number[]>();
  readonly #kept = new Map<string, unknown>();

  constructor(given: Case, dtype: Precision) {
    this.given = given;
    this.dtype = dtype;
  }
  /** An input by its path, as an array that the program is fed with. */
  tensor(path: string): Tensor {
    const value = this.raw(path);
    const name = `${this.given.name}/${path}`;
    this.fed.set(name, flatNumbers(value));
    if (!isNumbers(value)) return input(name, this.dtype, Array.isArray(value) ? [value.length] : []);
    const { dtype, shape } = value;
    return input(name, dtype === "f64" || dtype === "f32" ? this.dtype : dtype, shape);
  }
  raw(path: string): Value {
    const found = pathsOf(this.given.inputs).get(path) ?? this.given.inputs[path];
    if (found === undefined) throw new Error(`${this.given.name} has no ${path}`);
    return found;
  }
  /** What all programs of a case share: networks, say. */
  once<T>(name: string, make: () => T): T {
    const kept = this.#kept.get(name) ?? make();
    this.#kept.set(name, kept);
    return kept as T;
  }
  has(path: string): boolean {
    const value = this.given.inputs[path];
    return value !== undefined && value !== null;
  }
  number(path: string): number {
    return Number(this.raw(path));
  }
  text(path: string): string {
    return String(this.raw(path));
  }
  numbers(path: string): number[] {
    return flatNumbers(this.raw(path));
  }
}

/** All arrays and single numbers in a value, by their paths. */
export function pathsOf(value: Value, path = ""): Map<string, Value> {
  const found = new Map<string, Value>();
  const isLeaf =
    value === null ||
    typeof value !== "object" ||
    isNumbers(value) ||
    (Array.isArray(value) && typeof value[0] === "number");
  if (isLeaf) return found.set(path, value);
  for (const [key, inner] of Object.entries(value))
    for (const [at, leaf] of pathsOf(inner as Value, path ? `${path}.${key}` : key)) found.set(at, leaf);
  return found;
}

/** Records a case; `run` counts the programs of cases that need several. */
export type CaseCode = (recorded: Recorded, run: number) => { readonly [path: string]: Tensor };
type Code = { readonly [op: string]: CaseCode };

const NATIVE = TARGETS.filter((target) => target === "native");
export interface Mode extends TensorProgramOptions {
  readonly precision: Precision;
}
export const IS_FULL = Boolean(process.env.LOCKSTEP_FULL);

/** Ways to run goldens: whole and operation by operation, on every target. */
export const GOLDEN_MODES: readonly Mode[] = [
  { target: "js", precision: "f64", threads: 1 },
  { target: "wasm", precision: "f32", threads: 1 },
  ...NATIVE.map((target): Mode => ({ target, precision: "f32", threads: 1 })),
  { target: "js", precision: "f32", eager: true },
  { target: "wasm", precision: "f32", eager: true },
  ...(IS_FULL ? NATIVE : []).map((target): Mode => ({ target, precision: "f32", eager: true })),
];

export interface Runs {
  readonly runs?: number;
  /** What is expected of several runs: all numbers one after the other, or "steps.<run>.<path>". */
  readonly gives?: "rows" | "steps";
  /** Whether every run is a program of its own; otherwise all are the same. */
  readonly apart?: boolean;
  /** Cases of one program: few make many programs, many make one that takes long to compile. */
  readonly together?: number;
}

/**
 * Whether a way to run has one case of every kind only. With native code operation by operation that is always so: each
 * kernel is a run of the C compiler, and all cases would take an hour.
 */
export const isCutShort = ({ target, eager = false }: Mode): boolean =>
  target === "native" ? eager || !IS_FULL : target === "js" && eager && !IS_FULL;
/** What tells kinds of one operation apart: words and choices among the inputs, such as the name of a function. */
const kindOf = ({ op, inputs }: Case): string =>
  [op, ...Object.values(inputs).filter((x) => typeof x === "string" || typeof x === "boolean")].join(" ");
/** All cases, or the first one of every kind of every operation. */
const casesFor = (cases: readonly Case[], mode: Mode): readonly Case[] =>
  isCutShort(mode) ? [...new Map([...cases].reverse().map((one) => [kindOf(one), one])).values()].reverse() : cases;

/** What differs between the expected and the computed numbers. */
export function faultsOf(all: readonly Case[], code: Code, mode: Mode, how: Runs = {}): string[] {
  const { together = 12 } = how;
  const cases = casesFor(all, mode);
  const groups = Array.from({ length: Math.ceil(cases.length / together) }, (_, k) =>
    cases.slice(k * together, (k + 1) * together),
  );
  return groups.flatMap((group) => faultsTogether(group, code, mode, how));
}

type Found = { [name: string]: number[] };

function faultsTogether(cases: readonly Case[], code: Code, mode: Mode, { runs = 1, gives, apart }: Runs): string[] {
  const recorded = cases.map((one) => new Recorded(one, mode.precision));
  const found: Found = {};
  let made: TensorProgram | undefined;
  for (let run = 0; run < runs; run++) {
    if (!made || apart) {
      made?.dispose();
      made = recordedTogether(recorded, code, mode, run);
    }
    const known = new Set(Object.keys(made.inputs));
    const fed = recorded.flatMap(({ fed: own }) => [...own]).filter(([name]) => known.has(name));
    const outputs = made.run(Object.fromEntries(fed)) as { readonly [name: string]: ArrayLike<number> };
    for (const [name, values] of Object.entries(outputs)) collect(found, name, Array.from(values), run, gives);
  }
  made?.dispose();
  return cases.flatMap((one) => compared(one, found, mode.precision));
}
function recordedTogether(recorded: readonly Recorded[], code: Code, mode: Mode, run: number): TensorProgram {
  const { precision: _, ...options } = mode;
  const write = (): { [name: string]: Tensor } => {
    const outputs: { [name: string]: Tensor } = {};
    for (const one of recorded) {
      const own = code[one.given.op];
      if (!own) throw new Error(`nothing computes ${one.given.op}`);
      for (const [path, tensor] of Object.entries(own(one, run))) outputs[`${one.given.name}/${path}`] = tensor;
    }
    return outputs;
  };
  return program("golden", write, options);
}
function collect(found: Found, name: string, values: number[], run: number, gives: Runs["gives"]): void {
  if (gives === "rows") found[name] = [...(found[name] ?? []), ...values];
  else if (gives === "steps") {
    const path = name.includes("/first_") ? name : name.replace("/", `/steps.${run}.`);
    found[path] ??= values;
  } else found[name] = values;
}

/** Differences of single arrays. */
export function compared(one: Case, outputs: { readonly [name: string]: ArrayLike<number> }, precision: Precision) {
  const faults: string[] = [];
  for (const [path, wanted] of pathsOf(one.expected)) {
    if (wanted === null) continue;
    const found = outputs[`${one.name}/${path}`];
    if (!found) faults.push(`${one.name}: ${path} is not computed`);
    else {
      const fault = difference(wanted, found, one, precision);
      if (fault) faults.push(`${one.name}: ${path}${fault}`);
    }
  }
  return faults;
}

function difference(wanted: Value, found: ArrayLike<number>, one: Case, precision: Precision): string | undefined {
  const numbers = flatNumbers(wanted);
  const step = isNumbers(wanted) ? (wanted.every ?? 1) : 1;
  if (numbers.length !== Math.ceil(found.length / step)) return ` has ${found.length} elements`;
  const { rtol, atol } = one.tolerance.exact
    ? { rtol: 0, atol: 0 }
    : (one.tolerance[precision] as { rtol: number; atol: number });
  for (const [k, x] of numbers.entries()) {
    const y = found[k * step] as number;
    const same = Object.is(x, y) || Math.abs(y - x) <= atol + rtol * Math.abs(x);
    if (!same) return `[${k * step}] is ${y}, not ${x}`;
  }
  return undefined;
}
