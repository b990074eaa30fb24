/**
 * @file What each function of a program needs to be called with, and where its tables and local buffers lie.
 *
 * A function receives only what it (or what it calls) uses: the arena, the tables, a stack for local buffers, then
 * its buffers and scalars. The body of a launch sees its caller's buffers; they are passed like parameters, and so are
 * local buffers that the caller uses too.
 */
import type { Buffer, Func, Module } from "../../ir/nodes.ts";
import { STORAGE_BYTES } from "../../ir/types.ts";
import { eachExpr, eachStmt, functionsOf, stmtExprs, usedBuffers } from "../../ir/walk.ts";
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

/** Local buffers that a function names itself, launches not included. */
function directLocals(func: Func): Set<Buffer> {
  const found = new Set<Buffer>();
  const note = (b: Buffer): void => {
    if (b.space === "local") found.add(b);
  };
  eachStmt(func.body, (s) => {
    for (const e of stmtExprs(s)) eachExpr(e, (x) => (x.kind === "load" || x.kind === "length") && note(x.buffer));
    if (s.kind === "store") note(s.buffer);
    if (s.kind === "call") s.buffers.forEach(note);
  });
  return found;
}

/** For every launched function the local buffers that belong to those around it. */
function inheritedLocals(module: Module): Map<Func, Set<Buffer>> {
  const inherited = new Map<Func, Set<Buffer>>();
  for (const func of functionsOf(module).reverse()) {
    const visible = new Set([...(inherited.get(func) ?? []), ...directLocals(func)]);
    eachStmt(func.body, (s) => {
      if (s.kind !== "launch") return;
      const used = usedBuffers(s.func.body);
      inherited.set(s.func, new Set([...visible].filter((b) => used.has(b))));
    });
  }
  return inherited;
}

function faults(func: Func): boolean {
  let found = false;
  eachStmt(func.body, (s) => {
    if (s.kind === "fault") found = true;
  });
  return found;
}

export function planProgram(module: Module): ProgramPlan {
  const functions = new Map<Func, FunctionPlan>();
  const inherited = inheritedLocals(module);
  const tables = new Set<Buffer>();
  for (const func of functionsOf(module)) {
    const used = usedBuffers(func.body);
    const outer = inherited.get(func) ?? new Set();
    const captured = [...used].filter((b) => outer.has(b) || (b.space === "param" && !func.buffers.includes(b)));
    const own = [...directLocals(func)].filter((b) => !outer.has(b));
    const called: FunctionPlan[] = [];
    eachStmt(func.body, (s) => {
      if (s.kind === "call" || s.kind === "launch") called.push(functions.get(s.func) as FunctionPlan);
    });
    const uses = (space: Buffer["space"]): boolean => [...used].some((b) => b.space === space);
    const { offsets, bytes } = place(own);
    for (const b of used) if (b.space === "table") tables.add(b);
    functions.set(func, {
      func,
      buffers: [...func.buffers, ...captured],
      arena: uses("temp") || uses("state") || faults(func) || called.some((c) => c.arena),
      tables: uses("table") || called.some((c) => c.tables),
      locals: offsets,
      localBytes: bytes,
      stackBytes: bytes + Math.max(0, ...called.map((c) => c.stackBytes)),
    });
  }
  const placed = place(tables);
  return { functions, tables: placed.offsets, tableBytes: placed.bytes };
}
