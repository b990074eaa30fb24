/**
 * @file The separate pass: the loops inside of a long function's loop become functions of their own, for compilers that
 * look at a whole function and give up when it is long.
 *
 * A loop is moved out as it is: what it reads from outside becomes a parameter, and loops that hand something on to what
 * follows stay. Vectors cannot be parameters everywhere, so loops that take some stay, too.
 */
import { func, get } from "../build.ts";
import type { For, Func, Local, Module, Stmt } from "../nodes.ts";
import { assignedLocals, eachStmt, filledLocals, mapStmts, usedBuffers } from "../walk.ts";
import { exposedReads } from "./exposed.ts";
import { rewriteFunctions } from "./rewrite.ts";

/** Loops inside of a loop from which on they are moved out. */
const MANY_LOOPS = 4;

export function separateLoops(module: Module): Module {
  return rewriteFunctions(module, (f) => {
    let count = 0;
    const body = mapStmts(f.body, (s) => {
      if (s.kind !== "for" || !s.body.some((inner) => inner.kind === "for")) return s;
      if (s.body.filter((inner) => inner.kind === "for").length < MANY_LOOPS) return s;
      return { ...s, body: s.body.map((inner, k) => separated(f, s, k, () => `${f.name}.${++count}`) ?? inner) };
    });
    return { ...f, body };
  });
}

/** The call of a loop that became a function; undefined where it has to stay. */
function separated(f: Func, around: For, at: number, name: () => string): Stmt | undefined {
  const loop = around.body[at] as Stmt;
  if (loop.kind !== "for" || loop.reductions.length > 0 || !staysInside(loop)) return undefined;
  const taken = [...exposedReads([loop])];
  if (taken.some(({ lanes }) => lanes > 1)) return undefined;
  const assigned = assignedLocals([loop]);
  const elsewhere = exposedReads([{ ...around, body: around.body.filter((_, k) => k !== at) }]);
  if ([...assigned].some((l: Local) => elsewhere.has(l) || taken.includes(l))) return undefined;
  // Arrays of the iteration's own live in its function.
  const own = filledLocals(f.body);
  const used = [...usedBuffers([loop])];
  if (used.some((b) => own.has(b))) return undefined;
  const buffers = used.filter(({ space }) => space === "param");
  return { kind: "call", func: func(name(), buffers, taken, [loop]), buffers, args: taken.map(get) };
}

/** Whether nothing in a loop leaves it by a label from outside. */
function staysInside(loop: For): boolean {
  const labels = new Set([loop.label]);
  let stays = true;
  eachStmt(loop.body, (s) => {
    if (s.kind === "for" || s.kind === "loop" || s.kind === "block") labels.add(s.label);
  });
  eachStmt(loop.body, (s) => {
    if (s.kind === "exit" && !labels.has(s.label)) stays = false;
  });
  return stays;
}
