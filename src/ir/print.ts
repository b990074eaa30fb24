/**
 * @file Prints IR as text, for `show("ir")`, error messages and snapshot tests. One statement a line; names of locals
 * that clash are told apart by a number, so that equal text means equal structure.
 */
import type { Buffer, Expr, Func, Local, Module, Stmt } from "./nodes.ts";
import type { BinaryOp } from "./types.ts";
import { functionsOf } from "./walk.ts";

const INFIX: { readonly [O in BinaryOp]: string | undefined } = {
  add: "+",
  sub: "-",
  mul: "*",
  div: "/",
  rem: "%",
  min: undefined,
  max: undefined,
  and: "&",
  or: "|",
  xor: "^",
  shl: "<<",
  shr: ">>",
  mulHigh: undefined,
  fromWords: undefined,
  eq: "==",
  ne: "!=",
  lt: "<",
  le: "<=",
  gt: ">",
  ge: ">=",
};

/** Gives every object that has a name a distinct one. */
class Names {
  readonly #given = new Map<object, string>();
  readonly #taken = new Set<string>();
  of(thing: { readonly name: string }): string {
    let name = this.#given.get(thing);
    if (name === undefined) {
      name = thing.name;
      for (let n = 1; this.#taken.has(name); n++) name = `${thing.name}'${n}`;
      this.#taken.add(name);
      this.#given.set(thing, name);
    }
    return name;
  }
}

const typeText = (t: { readonly dtype: string; readonly lanes: number }): string =>
  t.lanes === 1 ? t.dtype : `${t.dtype}x${t.lanes}`;

const numberText = (value: number): string => (Object.is(value, -0) ? "-0" : String(value));

function exprText(e: Expr, names: Names): string {
  const sub = (x: Expr): string => exprText(x, names);
  switch (e.kind) {
    case "const":
      return e.dtype === "bool" ? String(e.value !== 0) : `${numberText(e.value)}${e.dtype === "i32" ? "" : e.dtype}`;
    case "get":
      return names.of(e.local);
    case "length":
      return `${names.of(e.buffer)}.length`;
    case "unary":
      return `${e.op}(${sub(e.x)})`;
    case "binary": {
      const infix = INFIX[e.op];
      return infix ? `(${sub(e.a)} ${infix} ${sub(e.b)})` : `${e.op}(${sub(e.a)}, ${sub(e.b)})`;
    }
    case "select":
      return `select(${sub(e.condition)}, ${sub(e.a)}, ${sub(e.b)})`;
    case "fma":
      return `fma(${sub(e.a)}, ${sub(e.b)}, ${sub(e.c)})`;
    case "convert":
      return `${typeText(e)}(${sub(e.x)})`;
    case "load":
      return `${names.of(e.buffer)}[${subscript(e, sub)}]`;
    case "splat":
      return `splat${e.lanes}(${sub(e.x)})`;
    case "iota":
      return `iota${e.lanes}`;
    case "any":
      return `any(${sub(e.x)})`;
    case "shuffle":
      return `shuffle(${sub(e.a)}, ${sub(e.b)}: ${e.order.join(" ")})`;
    case "lane":
      return `lane(${sub(e.x)}, ${e.at})`;
    default:
      return e satisfies never;
  }
}

function subscript(access: { index: Expr; stride: Expr | undefined }, sub: (x: Expr) => string): string {
  return access.stride ? `${sub(access.index)} step ${sub(access.stride)}` : sub(access.index);
}

function stmtLines(s: Stmt, names: Names, indent: string): string[] {
  const sub = (x: Expr): string => exprText(x, names);
  const nested = (body: readonly Stmt[]): string[] => body.flatMap((x) => stmtLines(x, names, `${indent}  `));
  switch (s.kind) {
    case "assign":
      return [`${indent}${names.of(s.local)}: ${typeText(s.local)} = ${sub(s.value)}`];
    case "recur":
      return [`${indent}recur ${names.of(s.local)} = ${sub(s.term)} + ${sub(s.factor)} * ${names.of(s.local)}`];
    case "store": {
      const mask = s.mask ? ` where ${sub(s.mask)}` : "";
      return [`${indent}${names.of(s.buffer)}[${subscript(s, sub)}] = ${sub(s.value)}${mask}`];
    }
    case "pack": {
      const to = `${names.of(s.buffer)}[${sub(s.index)}...]`;
      return [`${indent}${names.of(s.found)}: i32 = pack ${to} = ${sub(s.value)} where ${sub(s.mask)}`];
    }
    case "if": {
      const otherwise = s.else.length ? [`${indent}else`, ...nested(s.else)] : [];
      return [`${indent}if ${sub(s.condition)}`, ...nested(s.then), ...otherwise];
    }
    case "for": {
      const reductions = s.reductions.map((r) => ` reduce ${names.of(r.local)} by ${r.op}`).join("");
      const step = s.step === 1 ? "" : ` step ${s.step}`;
      const head = `${s.axis} ${names.of(s.index)} = ${sub(s.begin)} to ${sub(s.end)}${step}${reductions}`;
      return [`${indent}${head}  @${names.of(s.label)}`, ...nested(s.body)];
    }
    case "loop":
    case "block":
      return [`${indent}${s.kind}  @${names.of(s.label)}`, ...nested(s.body)];
    case "exit":
      return [`${indent}exit @${names.of(s.label)}`];
    case "fault":
      return [`${indent}fault ${s.site} if ${sub(s.condition)}`];
    case "call": {
      const args = [...s.buffers.map((b) => names.of(b)), ...s.args.map(sub)];
      return [`${indent}call ${names.of(s.func)}(${args.join(", ")})`];
    }
    case "launch": {
      const how = s.threaded ? "launch" : "launch here";
      return [`${indent}${how} ${names.of(s.func)}(${s.args.map(sub).join(", ")}) over ${sub(s.count)} cost ${s.cost}`];
    }
    default:
      return s satisfies never;
  }
}

const bufferText = (b: Buffer, names: Names): string => `${names.of(b)}: ${b.storage}[${b.length ?? ""}]`;
const paramText = (p: Local, names: Names): string => `${names.of(p)}: ${typeText(p)}`;

function funcLines(f: Func, names: Names): string[] {
  const params = [...f.buffers.map((b) => bufferText(b, names)), ...f.params.map((p) => paramText(p, names))];
  return [`func ${names.of(f)}(${params.join(", ")})`, ...f.body.flatMap((s) => stmtLines(s, names, "  "))];
}

export function printModule(module: Module): string {
  const names = new Names();
  return functionsOf(module)
    .map((f) => funcLines(f, names).join("\n"))
    .join("\n\n");
}

export function printStmts(body: readonly Stmt[]): string {
  const names = new Names();
  return body.flatMap((s) => stmtLines(s, names, "")).join("\n");
}

export function printExpr(e: Expr): string {
  return exprText(e, new Names());
}
