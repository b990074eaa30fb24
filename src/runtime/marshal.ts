/**
 * @file From an object of arguments to a call of compiled code: a small function generated per signature.
 *
 * A call must cost some ten nanoseconds, so the checks are straight-line code over named properties instead of a loop
 * over descriptions. Nothing is written before every argument has been checked.
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

/** Statements that read all arguments into a0.., n0.., s0.. and check their kinds. */
function readAndCheck(signature: Signature): string[] {
  const lines = ['if (typeof args !== "object" || args === null) helpers.notObject(args);'];
  signature.arrays.forEach((p, k) => {
    lines.push(
      `const a${k} = ${property("args", p.path)};`,
      `if (!(a${k} instanceof ${arrayName(p.storage)})) helpers.wrongArray(${k}, a${k});`,
      `const n${k} = a${k}.length;`,
    );
    if (p.each > 1) lines.push(`if (n${k} % ${p.each} !== 0) helpers.wrongMultiple(${k}, a${k});`);
    const first = p.group === undefined ? k : signature.arrays.findIndex((q) => q.group === p.group);
    const each = signature.arrays[first]?.each ?? 1;
    if (first < k)
      lines.push(
        `if (n${first} * ${p.each} !== n${k} * ${each}) helpers.wrongGroup(${first}, ${k}, a${first}, a${k});`,
      );
    if (p.length !== undefined) lines.push(`if (n${k} !== ${p.length}) helpers.wrongLength(${k}, a${k});`);
  });
  signature.scalars.forEach((p, k) => {
    lines.push(
      `const s${k} = ${property("args", p.path)};`,
      `if (${SCALAR_CHECK[p.dtype](`s${k}`)}) helpers.wrongScalar(${k}, s${k});`,
    );
  });
  return lines;
}

const list = (signature: Signature): string => signature.arrays.map((_, k) => `a${k}`).join(", ");

/** Offsets o0.. in the heap: carried by the heap's own arrays; others are looked at more closely. */
function locate(signature: Signature): string[] {
  const known = signature.arrays.map((_, k) => `o${k} !== undefined`).join(" && ") || "true";
  return [
    ...signature.arrays.map((_, k) => `let o${k} = a${k}[HEAP_OFFSET];`),
    `const foreign = !(${known});`,
    "if (foreign) {",
    `  helpers.checkAliases([${list(signature)}]);`,
    ...signature.arrays.map((_, k) => `  o${k} = helpers.locate(${k}, a${k});`),
    "} else {",
    ...overlapChecks(signature),
    "}",
  ];
}

/** Compares the ranges of every pair of arrays of which one is written. */
function overlapChecks(signature: Signature): string[] {
  const end = (k: number): string =>
    `o${k} + n${k} * ${STORAGE_BYTES[(signature.arrays[k] as ArrayParameter).storage]}`;
  return signature.arrays.flatMap((a, j) =>
    signature.arrays.flatMap((b, k) => {
      if (k <= j || !(a.written || b.written)) return [];
      return [`  if (o${j} < ${end(k)} && o${k} < ${end(j)}) helpers.aliased(${j}, ${k});`];
    }),
  );
}

const scalars = (signature: Signature): string[] => signature.scalars.map((p, k) => SCALAR_VALUE[p.dtype](`s${k}`));

function arraysCall(signature: Signature): string[] {
  const args = [...signature.arrays.map((_, k) => `a${k}`), ...scalars(signature)];
  const known = signature.arrays.map((_, k) => `o${k} !== undefined`).join(" && ");
  const checks = signature.arrays.some((a) => a.written)
    ? [
        ...signature.arrays.map((_, k) => `const o${k} = a${k}[HEAP_OFFSET];`),
        `if (!(${known})) helpers.checkAliases([${list(signature)}]);`,
        "else {",
        ...overlapChecks(signature),
        "}",
      ]
    : [];
  return [...checks, `const fault = call(${args.join(", ")});`];
}

/** Data and, where it is not fixed, length of every array. */
function dataAndLengths(signature: Signature, data: (k: number) => string): string[] {
  return signature.arrays.flatMap((p, k) => (p.length === undefined ? [data(k), `n${k}`] : [data(k)]));
}

function offsetsCall(signature: Signature): string[] {
  const args = ["arena", ...dataAndLengths(signature, (k) => `o${k}`), ...scalars(signature)];
  return [...locate(signature), `const fault = call(${args.join(", ")});`];
}

function blockCall(signature: Signature): string[] {
  const values = [...dataAndLengths(signature, (k) => `base + o${k}`), ...scalars(signature)];
  return [...locate(signature), ...values.map((v, k) => `block[${k + 1}] = ${v};`), "const fault = call();"];
}

const CALLS: { readonly [C in Entry["convention"]]: (signature: Signature) => string[] } = {
  arrays: arraysCall,
  offsets: offsetsCall,
  block: blockCall,
};

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

function generate<F>(lines: readonly string[], outer: readonly string[], environment: Environment): F {
  const names = Object.keys(environment);
  const text = ['"use strict";', "const { fround } = Math;", ...outer, ...lines].join("\n");
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
  const foreign = o.entry.convention === "arrays" ? [] : [`if (foreign) helpers.giveBack([${list(o.signature)}]);`];
  const body = [
    "if (counter.disposed) helpers.gone();",
    ...readAndCheck(o.signature),
    ...CALLS[o.entry.convention](o.signature),
    "counter.crossings++;",
    ...foreign,
    "if (fault !== 0) helpers.raise(fault);",
  ];
  const environment = environmentOf(o.entry, o.arena, o.heap, o.helpers, o.counter);
  return generate([`return function ${safeName(o.signature.name)}(args) {`, ...body, "};"], [], environment);
}

const safeName = (name: string): string => `run_${name.replace(/\W/g, "_")}`;

/** The same for one fixed object of arguments: all checks now, none later. Arrays must live in the heap. */
export function bindArguments(o: MarshalOptions, args: unknown): () => void {
  const refuse = (): never => {
    throw new ArgumentError(
      `${o.signature.name}: bind needs arrays in lockstep's memory; make them with allocate(type, length)`,
    );
  };
  const prepare = [...readAndCheck(o.signature)];
  const call = CALLS[o.entry.convention](o.signature);
  const last = call.pop() as string;
  const check = o.entry.convention === "arrays" ? [] : ["if (foreign && !heapOwns()) refuse();"];
  const owns = `const heapOwns = () => [${list(o.signature)}].every((a) => heap.owns(a.buffer));`;
  const body = [
    "return function bind(args) {",
    ...prepare,
    owns,
    ...call,
    ...check,
    `return () => { if (counter.disposed) helpers.gone(); ${last} counter.crossings++; if (fault !== 0) helpers.raise(fault); };`,
    "};",
  ];
  const environment = { ...environmentOf(o.entry, o.arena, o.heap, o.helpers, o.counter), refuse };
  return generate<(args: unknown) => () => void>(body, [], environment)(args);
}
