/**
 * @file Every operation on every type as small functions: out[i] = f(a[i], b[i]), one or several lanes at a time.
 */
import {
  Builder,
  binary,
  buffer,
  constant,
  convert,
  fma,
  func,
  i32,
  load,
  loadLanes,
  local,
  select,
  store,
  unary,
} from "../../src/ir/build.ts";
import type { Buffer, Call, Expr, Func, Module } from "../../src/ir/nodes.ts";
import {
  BINARY_OPS,
  type BinaryOp,
  CONVERSIONS,
  type DType,
  type OpSignature,
  STORED_TYPE,
  type StorageType,
  UNARY_OPS,
  type UnaryOp,
} from "../../src/ir/types.ts";
import { moduleOf } from "./rig.ts";
import type { NumberType } from "./values.ts";

interface Case {
  readonly name: string;
  readonly result: DType;
  /** From two operands of the input type. */
  readonly make: (a: Expr, b: Expr) => Expr;
}

export const NUMBERS: readonly NumberType[] = ["f32", "f64", "i32", "u32"];
const takes = (op: OpSignature, t: DType): boolean => op.operands.includes(t);

/** A bool made of an operand, for the operations that take bools. */
const truth = (x: Expr): Expr => binary("gt", x, constant(x.dtype, 1, x.lanes));

function unaryCases(t: NumberType): Case[] {
  return (Object.keys(UNARY_OPS) as UnaryOp[]).flatMap((op): Case[] => {
    const signature: OpSignature = UNARY_OPS[op];
    if (!takes(signature, t)) return [];
    const real = (x: Expr): Expr => select(binary("eq", x, x), x, constant(t, 7, x.lanes));
    // The bits of a NaN are not defined.
    const operand = op === "bits" || op === "highWord" || op === "lowWord" ? real : (x: Expr): Expr => x;
    return [{ name: op, result: signature.result ?? t, make: (a) => unary(op, operand(a)) }];
  });
}

/** Operations with forms of their own for a constant right operand. */
const CONSTANT_OPERAND: readonly BinaryOp[] = ["div", "rem", "shl", "shr"];

/** With two variables, and with constants that the emitter treats by themselves. */
function binaryCases(t: NumberType): Case[] {
  return (Object.keys(BINARY_OPS) as BinaryOp[]).flatMap((op): Case[] => {
    const signature: OpSignature = BINARY_OPS[op];
    if (!takes(signature, t)) return [];
    const result = signature.result ?? t;
    const plain: Case = { name: op, result, make: (a, b) => binary(op, a, b) };
    const values =
      t === "f32" || t === "f64" ? [0, -0, 1.5, Number.NaN, -Infinity] : [0, 1, 7, 33, t === "i32" ? -1 : 4294967295];
    const right = values.map(
      (v): Case => ({ name: `${op} ${v}`, result, make: (a) => binary(op, a, constant(t, v, a.lanes)) }),
    );
    const left = values.map(
      (v): Case => ({ name: `${v} ${op}`, result, make: (a) => binary(op, constant(t, v, a.lanes), a) }),
    );
    if (op === "min" || op === "max") return [plain, ...right, ...left];
    return CONSTANT_OPERAND.includes(op) ? [plain, ...right] : [plain];
  });
}

function otherCases(t: NumberType): Case[] {
  const conversions = CONVERSIONS.filter((c) => c.startsWith(`${t}-`)).map((c): Case => {
    const to = c.slice(t.length + 1) as DType;
    return { name: c, result: to, make: (a) => convert(to, a) };
  });
  const ofBool = CONVERSIONS.filter((c) => c.startsWith("bool-")).map((c): Case => {
    const to = c.slice(5) as DType;
    return { name: c, result: to, make: (a) => convert(to, truth(a)) };
  });
  const logic = (["and", "or", "xor", "eq", "ne"] as const).map((op): Case => {
    return { name: `bool ${op}`, result: "bool", make: (a, b) => binary(op, truth(a), truth(b)) };
  });
  return [
    ...conversions,
    ...ofBool,
    ...logic,
    { name: "bool not", result: "bool", make: (a) => unary("not", truth(a)) },
    { name: "smaller", result: t, make: (a, b) => select(binary("lt", a, b), a, b) },
    { name: "larger", result: t, make: (a, b) => select(binary("gt", a, b), a, b) },
    { name: "larger, turned", result: t, make: (a, b) => select(binary("lt", a, b), b, a) },
    { name: "select", result: t, make: (a, b) => select(binary("le", a, b), b, a) },
    { name: "select bool", result: "bool", make: (a, b) => select(truth(a), truth(b), binary("eq", a, b)) },
    ...(t === "f32" ? [{ name: "fma", result: t, make: fmaOf } as Case] : []),
  ];
}
const fmaOf = (a: Expr, b: Expr): Expr => fma(a, b, binary("sub", b, a));

/** What a bool is stored as. */
const stored = (e: Expr): Expr => (e.dtype === "bool" ? convert("i32", e) : e);

/** out[i] = make(a[i], b[i]) for all i, `lanes` at a time. */
function caseFunction(c: Case, t: NumberType, lanes: number, wide: boolean): Func {
  const a = buffer("a", t, "param");
  const b = buffer("b", t, "param");
  const storage: StorageType = c.result === "bool" ? "i32" : STORED_TYPE[c.result];
  const out = buffer("out", storage, "param");
  const body = new Builder();
  const end: Expr = { kind: "length", dtype: "i32", lanes: 1, buffer: a };
  body.for("i", { begin: i32(0), end, step: lanes, axis: lanes === 1 ? "serial" : "vector" }, (i) => {
    if (lanes === 1) return body.store(out, i, stored(c.make(load(a, i), load(b, i))));
    const [x, y] = [body.let("x", loadLanes(a, i, i32(1), lanes)), body.let("y", loadLanes(b, i, i32(1), lanes))];
    // A value of f64 makes the parts of all vectors of that many lanes narrower.
    if (wide) body.assign(local("narrow", "f64", lanes), constant("f64", 1, lanes));
    body.emit(store(out, i, stored(c.make(x, y)), i32(1)));
  });
  return func(`${c.name} ${t} ${lanes}${wide ? " wide" : ""}`, [a, b, out], [], body.statements);
}

/** Lanes, and whether f64 values of as many lanes are about. */
export type Variant = readonly [lanes: number, wide: boolean];

/** All cases of an operand type in each variant, as one module on (first, second, outputs...). */
export function everyOperation(t: NumberType, variants: readonly Variant[]): { module: Module; outputs: Buffer[] } {
  const cases = [...unaryCases(t), ...binaryCases(t), ...otherCases(t)];
  const inputs = [buffer("first", t, "param"), buffer("second", t, "param")] as const;
  const outputs: Buffer[] = [];
  const calls: Call[] = [];
  for (const [lanes, wide] of variants) {
    for (const c of cases) {
      const f = caseFunction(c, t, lanes, wide);
      const out = buffer(`${f.name} =`, (f.buffers[2] as Buffer).storage, "param");
      outputs.push(out);
      calls.push({ kind: "call", func: f, buffers: [...inputs, out], args: [] });
    }
  }
  return { module: moduleOf(func(`ops_${t}`, [...inputs, ...outputs], [], calls)), outputs };
}
