/**
 * @file The share pass: a local array that is used both outside and inside of a parallel loop moves to the arena.
 *
 * Local buffers are private to an iteration once a loop runs on several lanes and threads. One that was filled before
 * the loop is the same for all iterations, so it becomes a temp of the program.
 */
import { buffer } from "../build.ts";
import type { Buffer, Func, Module, Stmt } from "../nodes.ts";
import { mapExprsIn, mapStmts, stmtBodies, usedBuffers, withBodies } from "../walk.ts";
import { rewriteFunctions } from "./rewrite.ts";

const isParallel = (s: Stmt): boolean => s.kind === "for" && (s.axis === "parallel" || s.axis === "scan");

/** Local buffers touched inside of parallel loops, and those touched elsewhere. */
function localsByPlace(body: readonly Stmt[], inside: Set<Buffer>, outside: Set<Buffer>): void {
  const isLocal = (b: Buffer): boolean => b.space === "local";
  for (const s of body) {
    const nested = stmtBodies(s);
    const own = nested.length ? withBodies(s, () => []) : s;
    for (const b of usedBuffers([own])) if (isLocal(b)) outside.add(b);
    for (const inner of nested) {
      if (isParallel(s)) for (const b of [...usedBuffers(inner)].filter(isLocal)) inside.add(b);
      else localsByPlace(inner, inside, outside);
    }
  }
}

function shared(f: Func): Func {
  const [inside, outside] = [new Set<Buffer>(), new Set<Buffer>()];
  localsByPlace(f.body, inside, outside);
  const moved = new Map<Buffer, Buffer>();
  for (const b of inside) if (outside.has(b)) moved.set(b, buffer(b.name, b.storage, "temp", b.length));
  if (moved.size === 0) return f;
  const place = (b: Buffer): Buffer => moved.get(b) ?? b;
  const loads = mapExprsIn(f.body, (e) => (e.kind === "load" ? { ...e, buffer: place(e.buffer) } : e));
  const body = mapStmts(loads, (s) => {
    if (s.kind === "store") return { ...s, buffer: place(s.buffer) };
    return s.kind === "call" ? { ...s, buffers: s.buffers.map(place) } : s;
  });
  return { ...f, body };
}

export function shareLocals(module: Module): Module {
  return rewriteFunctions(module, shared);
}
