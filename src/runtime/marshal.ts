/**
 * @file From an object of arguments to a call of compiled code: a small function generated per signature.
 *
 * A call must cost some ten nanoseconds, so the checks are straight-line code over named properties instead of a loop
 * over descriptions, and arrays that the call before had too are not checked again. Nothing is written before every
 * argument has been checked.
 */
import { arrayName } from "../ir/arrays.ts";
import { STORAGE_BYTES } from "../ir/types.ts";
import type { Entry } from "../targets/target.ts";
import { ArgumentError, type ArgumentHelpers } from "./arguments.ts";
import { HEAP_OFFSET, type Heap } from "./heap.ts";
import type { ArrayParameter, ScalarKind, Signature } from "./signature.ts";

/** What calls of a program share: how often they crossed into compiled code, and whether its memory is gone. */
export interface Counter {
  crossings: number;
  disposed: boolean;
}

const property = (root: string, path: readonly string[]): string =>
  root + path.map((p, k) => `${k ? "?." : "."}${/^[A-Za-z_$][\w$]*$/.test(p) ? p : `[${JSON.stringify(p)}]`}`).join("");

const SCALAR_CHECK: { readonly [D in ScalarKind]: (v: string) => string } = {
  f32: (v) => `typeof ${v} !== "number"`,
  f64: (v) => `typeof ${v} !== "number"`,
  i32: (v) => `(${v} | 0) !== ${v}`,
  u32: (v) => `(${v} >>> 0) !== ${v}`,
  u8: (v) => `(${v} & 255) !== ${v}`,
  bool: (v) => `${v} !== true && ${v} !== false`,
};
const SCALAR_VALUE: { readonly [D in ScalarKind]: (v: string) => string } = {
  f32: (v) => `fround(${v})`,
  f64: (v) => v,
  // -0 is a whole number too; compiled integers have no such thing.
  i32: (v) => `(${v} | 0)`,
  u32: (v) => `(${v} >>> 0)`,
  u8: (v) => `(${v} | 0)`,
  bool: (v) => `(${v} ? 1 : 0)`,
};

/** One line for every array of a signature. */
const perArray = (signature: Signature, line: (k: number, p: ArrayParameter) => string): string[] =>
  signature.arrays.map((p, k) => line(k, p));
const list = (signature: Signature): string => perArray(signature, (k) => `a${k}`).join(", ");

/** Checks of one array: its kind, and its length n0.. against what is known of it. */
function arrayChecks(signature: Signature, p: ArrayParameter, k: number): string[] {
  const lines = [
    `if (!(a${k} instanceof ${arrayName(p.storage)})) helpers.wrongArray(${k}, a${k});`,
    `const n${k} = a${k}.length;`,
  ];
  if (p.each > 1) lines.push(`if (n${k} % ${p.each} !== 0) helpers.wrongMultiple(${k}, a${k});`);
  const first = p.group === undefined ? k : signature.arrays.findIndex((q) => q.group === p.group);
  const each = signature.arrays[first]?.each ?? 1;
  if (first < k)
    lines.push(`if (n${first} * ${p.each} !== n${k} * ${each}) helpers.wrongGroup(${first}, ${k}, a${first}, a${k});`);
  if (p.length !== undefined) lines.push(`if (n${k} !== ${p.length}) helpers.wrongLength(${k}, a${k});`);
  return lines;
}

/** Compares the ranges of every pair of arrays of which one is written. */
function overlapChecks(signature: Signature): string[] {
  const end = (k: number): string =>
    `o${k} + a${k}.length * ${STORAGE_BYTES[(signature.arrays[k] as ArrayParameter).storage]}`;
  return signature.arrays.flatMap((a, j) =>
    signature.arrays.flatMap((b, k) => {
      if (k <= j || !(a.written || b.written)) return [];
      return [`if (o${j} < ${end(k)} && o${k} < ${end(j)}) helpers.aliased(${j}, ${k});`];
    }),
  );
}

/**
 * Statements that find the offsets o0.. of checked arrays, which the heap's own carry; others (`foreign`) are copied
 * there, where compiled code works on the heap.
 */
function locate(signature: Signature, copies: boolean): string[] {
  const known = perArray(signature, (k) => `o${k} !== undefined`).join(" && ") || "true";
  return [
    ...perArray(signature, (k) => `let o${k} = a${k}[HEAP_OFFSET];`),
    `const foreign = !(${known});`,
    `if (foreign) helpers.checkAliases([${list(signature)}]);`,
    "else {",
    ...overlapChecks(signature),
    "}",
    ...(copies ? ["if (foreign) {", ...perArray(signature, (k) => `o${k} = helpers.locate(${k}, a${k});`), "}"] : []),
  ];
}

const scalars = (signature: Signature): string[] => signature.scalars.map((p, k) => SCALAR_VALUE[p.dtype](`s${k}`));

/** How arguments reach compiled code, by its calling convention. */
interface Convention {
  /** Whether arrays of others are copied to the heap. */
  readonly copies: boolean;
  /** What is kept of the arrays until others come: variables, and the statements that set them. */
  readonly kept: (signature: Signature) => { readonly variables: readonly string[]; readonly set: readonly string[] };
  /** Statements for a call with what is kept and the scalars s0..; the last one sets `fault`. */
  readonly call: (signature: Signature) => string[];
}

/** Data and, where it is not fixed, length of every array. */
function dataAndLengths(signature: Signature, data: string, length: (k: number) => string): string[] {
  return signature.arrays.flatMap((p, k) => (p.length === undefined ? [`${data}${k}`, length(k)] : [`${data}${k}`]));
}

const CONVENTIONS: { readonly [C in Entry["convention"]]: Convention } = {
  arrays: {
    copies: false,
    kept: () => ({ variables: [], set: [] }),
    call: (signature) => [
      `const fault = call(${[...perArray(signature, (k) => `a${k}`), ...scalars(signature)].join(", ")});`,
    ],
  },
  offsets: {
    copies: true,
    kept: (signature) => ({
      variables: perArray(signature, (k) => `offset${k} = 0, length${k} = 0`),
      set: perArray(signature, (k) => `offset${k} = o${k}; length${k} = a${k}.length;`),
    }),
    call: (signature) => {
      const data = dataAndLengths(signature, "offset", (k) => `length${k}`);
      return [`const fault = call(${["arena", ...data, ...scalars(signature)].join(", ")});`];
    },
  },
  block: {
    copies: true,
    kept: (signature) => ({
      variables: [],
      set: dataAndLengths(signature, "base + o", (k) => `a${k}.length`).map((v, k) => `block[${k + 1}] = ${v};`),
    }),
    call: (signature) => {
      const first = dataAndLengths(signature, "", () => "").length + 1;
      return [...scalars(signature).map((v, k) => `block[${first + k}] = ${v};`), "const fault = call();"];
    },
  },
};

/**
 * Variables and functions that hold on to the arrays of a call. Arrays never change their kind, length or place, so that
 * those of the call before need no check again; `helpers` stands for none.
 */
function holding(signature: Signature, { copies, kept }: Convention): string[] {
  const { variables, set } = kept(signature);
  const held = perArray(signature, (k) => `held${k} = helpers`);
  return [
    ...(held.length > 0 ? [`let ${[...held, ...variables].join(", ")};`] : []),
    `function check(${list(signature)}) {`,
    ...signature.arrays.flatMap((p, k) => arrayChecks(signature, p, k)),
    "}",
    `function take(${list(signature)}) {`,
    ...locate(signature, copies),
    ...set,
    ...perArray(signature, (k) => `held${k} = foreign ? helpers : a${k};`),
    "return foreign;",
    "}",
  ];
}

/** Statements that read and check all arguments, nothing being written before the last check; `foreign` tells of copies. */
function takeArguments(signature: Signature): string[] {
  const changed = perArray(signature, (k) => `a${k} !== held${k}`).join(" || ") || "false";
  return [
    'if (typeof args !== "object" || args === null) helpers.notObject(args);',
    ...perArray(signature, (k, p) => `const a${k} = ${property("args", p.path)};`),
    ...signature.scalars.map((p, k) => `const s${k} = ${property("args", p.path)};`),
    // Only now: a property may be a getter that calls this very function.
    `const changed = ${changed};`,
    `if (changed) check(${list(signature)});`,
    ...signature.scalars.map((p, k) => `if (${SCALAR_CHECK[p.dtype](`s${k}`)}) helpers.wrongScalar(${k}, s${k});`),
    `const foreign = changed && take(${list(signature)});`,
  ];
}

interface Environment {
  readonly call: Entry["call"];
  readonly block: Float64Array | undefined;
  readonly base: number;
  readonly arena: number;
  readonly heap: Heap;
  readonly helpers: ArgumentHelpers;
  readonly counter: Counter;
  readonly HEAP_OFFSET: symbol;
}

function generate<F>(lines: readonly string[], environment: Environment): F {
  const names = Object.keys(environment);
  const text = ['"use strict";', "const { fround } = Math;", ...lines].join("\n");
  return new Function(...names, text)(...Object.values(environment)) as F;
}

function environmentOf(
  entry: Entry,
  arena: number,
  heap: Heap,
  helpers: ArgumentHelpers,
  counter: Counter,
): Environment {
  const native = entry.convention === "block" ? entry : undefined;
  return {
    call: entry.call,
    block: native?.block,
    base: native?.base ?? 0,
    arena,
    heap,
    helpers,
    counter,
    HEAP_OFFSET,
  };
}

/** Everything a marshalling function works with. */
export interface MarshalOptions {
  readonly signature: Signature;
  readonly entry: Entry;
  readonly arena: number;
  readonly heap: Heap;
  readonly helpers: ArgumentHelpers;
  readonly counter: Counter;
}

/** A function that checks an object of arguments and calls the entry with it. */
export function marshal(o: MarshalOptions): (args: unknown) => void {
  const convention = CONVENTIONS[o.entry.convention];
  const body = [
    "if (counter.disposed) helpers.gone();",
    ...takeArguments(o.signature),
    ...convention.call(o.signature),
    "counter.crossings++;",
    ...(convention.copies ? [`if (foreign) helpers.giveBack([${list(o.signature)}]);`] : []),
    "if (fault !== 0) helpers.raise(fault);",
  ];
  const environment = environmentOf(o.entry, o.arena, o.heap, o.helpers, o.counter);
  const lines = [`return function ${safeName(o.signature.name)}(args) {`, ...body, "};"];
  return generate([...holding(o.signature, convention), ...lines], environment);
}

const safeName = (name: string): string => `run_${name.replace(/\W/g, "_")}`;

/** The same for one fixed object of arguments: all checks now, none later. Arrays must live in the heap. */
export function bindArguments(o: MarshalOptions, args: unknown): () => void {
  const convention = CONVENTIONS[o.entry.convention];
  const refuse = (): never => {
    throw new ArgumentError(
      `${o.signature.name}: bind needs arrays in lockstep's memory; make them with allocate(type, length)`,
    );
  };
  const call = convention.call(o.signature);
  const last = call.pop() as string;
  const owned = `[${list(o.signature)}].every((a) => heap.owns(a.buffer))`;
  const body = [
    "return function bind(args) {",
    ...takeArguments(o.signature),
    ...call,
    ...(convention.copies ? [`if (foreign && !${owned}) refuse();`] : []),
    `return () => { if (counter.disposed) helpers.gone(); ${last} counter.crossings++; if (fault !== 0) helpers.raise(fault); };`,
    "};",
  ];
  const environment = { ...environmentOf(o.entry, o.arena, o.heap, o.helpers, o.counter), refuse };
  return generate<(args: unknown) => () => void>([...holding(o.signature, convention), ...body], environment)(args);
}
