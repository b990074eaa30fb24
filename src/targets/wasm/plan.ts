/**
 * @file What each function of a program needs to be called with, and where its tables and local buffers lie.
 *
 * A function receives only what it (or what it calls) uses: the arena, the tables, a stack for local buffers, then
 * its buffers and scalars. The body of a launch sees its caller's buffers; they are passed like parameters, and so are
 * local buffers that the caller uses too.
 */
import type { Buffer, Expr, Func, Module } from "../../ir/nodes.ts";
import { STORAGE_BYTES } from "../../ir/types.ts";
import { eachExpr, eachStmt, eachStmtExpr, functionsOf } from "../../ir/walk.ts";
import { alignUp } from "./layout.ts";

export interface FunctionPlan {
  readonly func: Func;
  /** Its own buffers, then those seen through its caller. */
  readonly buffers: readonly Buffer[];
  readonly arena: boolean;
  readonly tables: boolean;
  /** Bytes from the stack's base of its own local buffers, and how many there are in all. */
  readonly locals: ReadonlyMap<Buffer, number>;
  readonly localBytes: number;
  /** Bytes of stack that it and all it calls may use. */
  readonly stackBytes: number;
}

export interface ProgramPlan {
  /** Callees before callers, the entry last. */
  readonly functions: ReadonlyMap<Func, FunctionPlan>;
  readonly tables: ReadonlyMap<Buffer, number>;
  readonly tableBytes: number;
}

/** Vectors load faster from where they do not cross cache lines. */
const BUFFER_ALIGN = 64;
export const bytesOf = (b: Buffer): number => (b.length ?? 0) * b.lanes * STORAGE_BYTES[b.storage];

/** Buffers one behind the other. */
function place(buffers: Iterable<Buffer>): { offsets: Map<Buffer, number>; bytes: number } {
  const offsets = new Map<Buffer, number>();
  let bytes = 0;
  for (const b of buffers) {
    offsets.set(b, bytes);
    bytes = alignUp(bytes + Math.max(bytesOf(b), 8), BUFFER_ALIGN);
  }
  return { offsets, bytes };
}

/** What a function names itself, and the functions it runs. */
interface Direct {
  readonly buffers: ReadonlySet<Buffer>;
  readonly launched: readonly Func[];
  readonly called: readonly Func[];
  readonly faults: boolean;
}

function directUses(func: Func): Direct {
  const buffers = new Set<Buffer>(func.buffers);
  const launched: Func[] = [];
  const called: Func[] = [];
  let faults = false;
  const note = (x: Expr): void => {
    if (x.kind === "load" || x.kind === "length") buffers.add(x.buffer);
  };
  eachStmt(func.body, (s) => {
    eachStmtExpr(s, (e) => eachExpr(e, note));
    if (s.kind === "store") buffers.add(s.buffer);
    if (s.kind === "fault") faults = true;
    if (s.kind === "launch") launched.push(s.func);
    if (s.kind === "call") {
      called.push(s.func);
      for (const b of s.buffers) buffers.add(b);
    }
  });
  return { buffers, launched, called, faults };
}

/** For every launched function the local buffers that belong to those around it. */
function inheritedLocals(functions: readonly Func[], direct: ReadonlyMap<Func, Direct>): Map<Func, Set<Buffer>> {
  const inherited = new Map<Func, Set<Buffer>>();
  for (const func of [...functions].reverse()) {
    const own = direct.get(func) as Direct;
    const visible = new Set(inherited.get(func));
    for (const b of own.buffers) if (b.space === "local") visible.add(b);
    for (const body of own.launched) inherited.set(body, visible);
  }
  return inherited;
}

export function planProgram(module: Module): ProgramPlan {
  const order = functionsOf(module);
  const direct = new Map(order.map((func) => [func, directUses(func)]));
  const inherited = inheritedLocals(order, direct);
  const functions = new Map<Func, FunctionPlan>();
  const tables = new Set<Buffer>();
  /** With those of launched functions, which see the same buffers. */
  const used = new Map<Func, ReadonlySet<Buffer>>();
  for (const func of order) {
    const { buffers, launched, called, faults } = direct.get(func) as Direct;
    const all = new Set([...buffers, ...launched.flatMap((body) => [...(used.get(body) as ReadonlySet<Buffer>)])]);
    used.set(func, all);
    const outer = inherited.get(func) ?? new Set();
    const below = [...launched, ...called].map((f) => functions.get(f) as FunctionPlan);
    const uses = (space: Buffer["space"]): boolean => [...all].some((b) => b.space === space);
    const captured = [...all].filter((b) => outer.has(b) || (b.space === "param" && !func.buffers.includes(b)));
    const { offsets, bytes } = place([...buffers].filter((b) => b.space === "local" && !outer.has(b)));
    for (const b of all) if (b.space === "table") tables.add(b);
    functions.set(func, {
      func,
      buffers: [...func.buffers, ...captured],
      arena: uses("temp") || uses("state") || faults || below.some((c) => c.arena),
      tables: uses("table") || below.some((c) => c.tables),
      locals: offsets,
      localBytes: bytes,
      stackBytes: bytes + Math.max(0, ...below.map((c) => c.stackBytes)),
    });
  }
  const placed = place(tables);
  return { functions, tables: placed.offsets, tableBytes: placed.bytes };
}
