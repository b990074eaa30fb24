/**
 * @file Constructors of IR nodes, and the Builder that front ends and passes write statements with.
 *
 * Constructors check operand types at once, so that a mistake in a front end points at the line that made it.
 * They fold constants and drop trivial identities that are exact for every value (x * 1, x + -0 are not touched:
 * only what the scalar table proves); everything larger is left to the rewrite tables.
 */
import type {
  AnyLane,
  Assign,
  Binary,
  Buffer,
  Const,
  Exit,
  Expr,
  For,
  Func,
  Get,
  Iota,
  Label,
  Lane,
  Length,
  Load,
  Local,
  Recur,
  Reduction,
  Shuffle,
  Stmt,
  Store,
} from "./nodes.ts";
import { binaryValue, convertValue, fmaValue, roundTo, unaryValue } from "./scalar.ts";
import {
  type AxisKind,
  BINARY_OPS,
  type BinaryOp,
  CONVERSIONS,
  type DType,
  LOADED_TYPE,
  type OpSignature,
  type StorageType,
  UNARY_OPS,
  type UnaryOp,
} from "./types.ts";
import { eachExpr, structuralKey } from "./walk.ts";

/** A mistake inside the compiler, never the user's. */
export class IrError extends Error {
  override readonly name = "IrError";
}

/** For what is asked seldom: the message is a closure, which costs more than most conditions. */
export function assertIr(condition: boolean, message: () => string): asserts condition {
  if (!condition) throw new IrError(message());
}

const signature = (op: OpSignature): OpSignature => op;

export function constant(dtype: DType, value: number | boolean, lanes = 1): Const {
  return { kind: "const", dtype, lanes, value: roundTo(dtype, Number(value)) };
}
export const i32 = (value: number): Const => constant("i32", value);
export const TRUE: Const = constant("bool", true);
export const FALSE: Const = constant("bool", false);

export function local(name: string, dtype: DType, lanes = 1): Local {
  return { kind: "local", name, dtype, lanes };
}
export function get(from: Local): Get {
  return { kind: "get", dtype: from.dtype, lanes: from.lanes, local: from };
}

export function buffer(
  name: string,
  storage: StorageType,
  space: Buffer["space"],
  length?: number,
  extra: { data?: readonly number[]; lanes?: number } = {},
): Buffer {
  assertIr(space === "param" || length !== undefined, () => `${space} buffer ${name} needs a length`);
  const base = { kind: "buffer", name, storage, space, length, lanes: extra.lanes ?? 1 } as const;
  return extra.data === undefined ? base : { ...base, data: extra.data };
}
export function lengthOf(of: Buffer): Length | Const {
  return of.length === undefined ? { kind: "length", dtype: "i32", lanes: 1, buffer: of } : i32(of.length);
}

export function unary(op: UnaryOp, x: Expr): Expr {
  const sig = signature(UNARY_OPS[op]);
  if (!sig.operands.includes(x.dtype)) throw new IrError(`${op} does not take ${x.dtype}`);
  const dtype = sig.result ?? x.dtype;
  if (x.kind === "const") return constant(dtype, unaryValue(op, x.dtype, x.value), x.lanes);
  return { kind: "unary", dtype, lanes: x.lanes, op, x };
}

export function binary(op: BinaryOp, a: Expr, b: Expr): Expr {
  const sig = signature(BINARY_OPS[op]);
  if (a.dtype !== b.dtype) throw new IrError(`${op} of ${a.dtype} and ${b.dtype}`);
  if (a.lanes !== b.lanes) throw new IrError(`${op} of ${a.lanes} and ${b.lanes} lanes`);
  if (!sig.operands.includes(a.dtype)) throw new IrError(`${op} does not take ${a.dtype}`);
  const dtype = sig.result ?? a.dtype;
  if (a.kind === "const" && b.kind === "const")
    return constant(dtype, binaryValue(op, a.dtype, a.value, b.value), a.lanes);
  return { kind: "binary", dtype, lanes: a.lanes, op, a, b } satisfies Binary;
}

export const add = (a: Expr, b: Expr): Expr => binary("add", a, b);
export const sub = (a: Expr, b: Expr): Expr => binary("sub", a, b);
export const mul = (a: Expr, b: Expr): Expr => binary("mul", a, b);
export const div = (a: Expr, b: Expr): Expr => binary("div", a, b);
export const and = (a: Expr, b: Expr): Expr => binary("and", a, b);
export const or = (a: Expr, b: Expr): Expr => binary("or", a, b);
export const not = (x: Expr): Expr => unary("not", x);

export function select(condition: Expr, a: Expr, b: Expr): Expr {
  if (condition.dtype !== "bool") throw new IrError(`select on ${condition.dtype}`);
  if (a.dtype !== b.dtype) throw new IrError(`select of ${a.dtype} and ${b.dtype}`);
  if (a.lanes !== b.lanes || condition.lanes !== a.lanes) throw new IrError("select with unequal lanes");
  if (condition.kind === "const") return condition.value ? a : b;
  return { kind: "select", dtype: a.dtype, lanes: a.lanes, condition, a, b };
}

export function fma(a: Expr, b: Expr, c: Expr): Expr {
  for (const x of [a, b, c]) assertIr(x.dtype === "f32" && x.lanes === a.lanes, () => `fma of ${x.dtype}`);
  if (a.kind === "const" && b.kind === "const" && c.kind === "const")
    return constant("f32", fmaValue(a.value, b.value, c.value), a.lanes);
  return { kind: "fma", dtype: "f32", lanes: a.lanes, a, b, c };
}

export function convert(to: DType, x: Expr): Expr {
  if (x.dtype === to) return x;
  assertIr((CONVERSIONS as readonly string[]).includes(`${x.dtype}-${to}`), () => `no conversion ${x.dtype}-${to}`);
  if (x.kind === "const") return constant(to, convertValue(x.dtype, to, x.value), x.lanes);
  return { kind: "convert", dtype: to, lanes: x.lanes, x };
}

export function load(from: Buffer, index: Expr): Load {
  if (index.dtype !== "i32" || index.lanes !== 1) throw new IrError(`subscript of ${from.name} is ${index.dtype}`);
  return { kind: "load", dtype: LOADED_TYPE[from.storage], lanes: 1, buffer: from, index, stride: undefined };
}
/** Lane l reads `index + l * stride`. */
export function loadLanes(from: Buffer, index: Expr, stride: Expr, lanes: number): Load {
  if (index.lanes !== 1 || stride.lanes !== 1) throw new IrError(`strided load of ${from.name} with vector subscript`);
  return { kind: "load", dtype: LOADED_TYPE[from.storage], lanes, buffer: from, index, stride };
}
export function gather(from: Buffer, index: Expr): Load {
  assertIr(index.dtype === "i32" && index.lanes > 1, () => `gather from ${from.name} needs a vector subscript`);
  return { kind: "load", dtype: LOADED_TYPE[from.storage], lanes: index.lanes, buffer: from, index, stride: undefined };
}
export function splat(x: Expr, lanes: number): Expr {
  if (x.lanes === lanes) return x;
  if (x.lanes !== 1) throw new IrError(`splat of ${x.lanes} lanes to ${lanes}`);
  if (x.kind === "const") return constant(x.dtype, x.value, lanes);
  return { kind: "splat", dtype: x.dtype, lanes, x };
}
export function iota(lanes: number): Iota {
  return { kind: "iota", dtype: "i32", lanes };
}
export function anyLane(x: Expr): Expr {
  assertIr(x.dtype === "bool", () => `any of ${x.dtype}`);
  if (x.lanes === 1) return x;
  return { kind: "any", dtype: "bool", lanes: 1, x } satisfies AnyLane;
}

/** Lanes of a and b in the order given; b is a unless given. */
export function shuffle(order: readonly number[], a: Expr, b: Expr = a): Expr {
  assertIr(a.dtype === b.dtype && a.dtype !== "bool", () => `shuffle of ${a.dtype} and ${b.dtype}`);
  assertIr(a.lanes > 1 && a.lanes === b.lanes, () => `shuffle of ${a.lanes} and ${b.lanes} lanes`);
  if (a.kind === "const" && b.kind === "const" && Object.is(a.value, b.value))
    return constant(a.dtype, a.value, order.length);
  return { kind: "shuffle", dtype: a.dtype, lanes: order.length, a, b, order } satisfies Shuffle;
}
export function lane(at: number, x: Expr): Expr {
  assertIr(x.dtype !== "bool" && at >= 0 && at < x.lanes, () => `lane ${at} of ${x.lanes}`);
  if (x.kind === "const") return constant(x.dtype, x.value);
  return { kind: "lane", dtype: x.dtype, lanes: 1, x, at } satisfies Lane;
}

/** local = term + factor * local */
export function recur(of: Local, term: Expr, factor: Expr): Recur {
  const fits = (of.dtype === "f32" || of.dtype === "f64") && term.dtype === of.dtype && factor.dtype === of.dtype;
  assertIr(fits, () => `${of.name}: ${of.dtype} = ${term.dtype} + ${factor.dtype} * ...`);
  return { kind: "recur", local: of, factor, term };
}

export function assign(to: Local, value: Expr): Assign {
  assertIr(to.dtype === value.dtype, () => `${to.name}: ${to.dtype} = ${value.dtype}`);
  assertIr(to.lanes === value.lanes, () => `${to.name}: ${to.lanes} lanes = ${value.lanes}`);
  return { kind: "assign", local: to, value };
}
export function store(to: Buffer, index: Expr, value: Expr, stride?: Expr, mask?: Expr): Store {
  const expected = LOADED_TYPE[to.storage];
  assertIr(value.dtype === expected, () => `store of ${value.dtype} to ${to.storage} buffer ${to.name}`);
  return { kind: "store", buffer: to, index, value, stride, mask };
}
export function label(name: string): Label {
  return { kind: "label", name };
}

/** Collects statements; nested bodies are written by callbacks. Locals get distinct names for printing. */
export class Builder {
  statements: Stmt[] = [];
  readonly #names = new Map<string, number>();
  /** How often each local has been assigned so far. */
  readonly #versions = new Map<Local, number>();
  /** What `once` made in the current list. */
  #made = new Map<string, unknown>();

  emit(stmt: Stmt): void {
    this.statements.push(stmt);
    if (stmt.kind === "assign") this.#versions.set(stmt.local, (this.#versions.get(stmt.local) ?? 0) + 1);
  }
  /** What `make` gives; or what it gave before in this list for the same value of `x` (sine and cosine share much). */
  once<T>(name: string, x: Expr, make: () => T): T {
    let loads = false;
    eachExpr(x, (e) => {
      loads ||= e.kind === "load";
    });
    if (loads) return make();
    const key = `${name} ${structuralKey(x, (l) => this.#versions.get(l) ?? 0)}`;
    const known = this.#made.get(key);
    if (known !== undefined) return known as T;
    const made = make();
    this.#made.set(key, made);
    return made;
  }
  /** A fresh variable. */
  local(name: string, dtype: DType, lanes = 1): Local {
    const n = this.#names.get(name) ?? 0;
    this.#names.set(name, n + 1);
    return local(n === 0 ? name : `${name}_${n}`, dtype, lanes);
  }
  /** Names a value so that it is computed once; constants and plain reads of unnamed use pass through. */
  let(name: string, value: Expr): Expr {
    if (value.kind === "const") return value;
    const into = this.local(name, value.dtype, value.lanes);
    this.emit(assign(into, value));
    return get(into);
  }
  assign(to: Local, value: Expr): void {
    this.emit(assign(to, value));
  }
  store(to: Buffer, index: Expr, value: Expr): void {
    this.emit(store(to, index, value));
  }
  /** The statements that `write` emits, kept apart from the current list. */
  body(write: () => void): Stmt[] {
    const outer = { statements: this.statements, made: this.#made };
    this.statements = [];
    this.#made = new Map();
    try {
      write();
      return this.statements;
    } finally {
      this.statements = outer.statements;
      this.#made = outer.made;
    }
  }
  if(condition: Expr, then: () => void, otherwise?: () => void): void {
    const thenBody = this.body(then);
    const elseBody = otherwise ? this.body(otherwise) : [];
    this.emit({ kind: "if", condition, then: thenBody, else: elseBody });
  }
  for(
    name: string,
    range: { begin: Expr; end: Expr; step?: number; axis?: AxisKind; reductions?: readonly Reduction[] },
    write: (index: Expr, label: Label) => void,
  ): For {
    const index = this.local(name, "i32");
    const mark = label(name);
    const loop: For = {
      kind: "for",
      label: mark,
      axis: range.axis ?? "serial",
      index,
      begin: range.begin,
      end: range.end,
      step: range.step ?? 1,
      body: this.body(() => write(get(index), mark)),
      reductions: range.reductions ?? [],
    };
    this.emit(loop);
    return loop;
  }
  loop(write: (label: Label) => void): void {
    const mark = label("loop");
    this.emit({ kind: "loop", label: mark, body: this.body(() => write(mark)) });
  }
  block(write: (label: Label) => void): void {
    const mark = label("block");
    this.emit({ kind: "block", label: mark, body: this.body(() => write(mark)) });
  }
  exit(from: Label): void {
    this.emit({ kind: "exit", label: from } satisfies Exit);
  }
  fault(condition: Expr, site: number): void {
    this.emit({ kind: "fault", condition, site });
  }
}

export function func(name: string, buffers: readonly Buffer[], params: readonly Local[], body: readonly Stmt[]): Func {
  return { kind: "func", name, buffers, params, body };
}
