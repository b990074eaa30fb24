/**
 * @file The separate pass: the loops inside of a long function's loop become functions of their own, for compilers that
 * look at a whole function and give up when it is long.
 *
 * A loop is moved out as it is: what it reads from outside becomes a parameter, and loops that hand something on to what
 * follows stay. Vectors cannot be parameters everywhere, so loops that take some stay, too.
 */
import { func, get } from "../build.ts";
import type { Buffer, For, Func, Local, Module, Stmt } from "../nodes.ts";
import { assignedLocals, eachStmt, filledLocals, usedBuffers, withBodies } from "../walk.ts";
import { exposedReads } from "./exposed.ts";
import { rewriteFunctions } from "./rewrite.ts";

/** Loops inside of a loop from which on they are moved out. */
const MANY_LOOPS = 4;

export function separateLoops(module: Module): Module {
  return rewriteFunctions(module, (f) => ({ ...f, body: new Separating(f).body(f.body, new Set()) }));
}

class Separating {
  readonly #func: Func;
  /** Arrays of an iteration's own live in its function. */
  readonly #own: ReadonlySet<Buffer>;
  #count = 0;
  constructor(f: Func) {
    this.#func = f;
    this.#own = filledLocals(f.body);
  }

  /** A list of statements; `later` are the locals that may be read after it. */
  body(body: readonly Stmt[], later: ReadonlySet<Local>): Stmt[] {
    return body.map((s, k) => {
      const after = new Set([...later, ...exposedReads(body.slice(k + 1))]);
      if (s.kind === "for" || s.kind === "loop") for (const l of exposedReads(s.body)) after.add(l);
      const inner = withBodies(s, (list) => this.body(list, after));
      if (inner.kind !== "for" || inner.body.filter((x) => x.kind === "for").length < MANY_LOOPS) return inner;
      return { ...inner, body: inner.body.map((x, at) => this.#separated(inner.body, at, after) ?? x) };
    });
  }

  /** The call of a loop of a list that became a function; undefined where it has to stay. */
  #separated(body: readonly Stmt[], at: number, later: ReadonlySet<Local>): Stmt | undefined {
    const loop = body[at] as Stmt;
    if (loop.kind !== "for" || loop.reductions.length > 0 || !staysInside(loop)) return undefined;
    const taken = [...exposedReads([loop])];
    if (taken.some(({ lanes }) => lanes > 1)) return undefined;
    const after = exposedReads(body.slice(at + 1));
    const handsOn = (l: Local): boolean => later.has(l) || after.has(l) || taken.includes(l);
    if ([...assignedLocals([loop])].some(handsOn)) return undefined;
    const used = [...usedBuffers([loop])];
    if (used.some((b) => this.#own.has(b))) return undefined;
    const buffers = used.filter(({ space }) => space === "param");
    const name = `${this.#func.name}.${++this.#count}`;
    return { kind: "call", func: func(name, buffers, taken, [loop]), buffers, args: taken.map(get) };
  }
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
