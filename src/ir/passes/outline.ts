/**
 * @file The outline pass: parallel loops become functions, so that a thread pool can run pieces of them and so that
 * engines compile hot loops on their own.
 *
 * Only outermost parallel loops are outlined; inner ones stay in the body, where the vectoriser finds them. What the
 * body reads from outside becomes a parameter; it changes nothing outside but buffers (the reductions pass has seen
 * to that).
 */
import { add, func, get, local, sub } from "../build.ts";
import type { Expr, For, Func, Launch, Local, Module, Stmt } from "../nodes.ts";
import { eachExpr, stmtBodies, stmtExprs, withBodies } from "../walk.ts";
import { costOf } from "./cost.ts";
import { mayThread } from "./dependence.ts";
import { rewriteFunctions } from "./rewrite.ts";

/** Finds the locals that statements may read before they have assigned them. */
class ExposedReads {
  readonly found = new Set<Local>();

  /** Walks a list in order, adding to `defined`; false when its end is never reached. */
  visit(body: readonly Stmt[], defined: Set<Local>): boolean {
    return body.every((s) => {
      for (const e of stmtExprs(s)) this.#expr(e, defined);
      return this.#stmt(s, defined);
    });
  }

  #expr(e: Expr, defined: ReadonlySet<Local>): void {
    eachExpr(e, (x) => {
      if (x.kind === "get" && !defined.has(x.local)) this.found.add(x.local);
    });
  }

  #stmt(s: Stmt, defined: Set<Local>): boolean {
    switch (s.kind) {
      case "assign":
        defined.add(s.local);
        return true;
      case "exit":
        return false;
      case "if": {
        const arms = [s.then, s.else].map((arm) => ({ arm, after: new Set(defined) }));
        const staying = arms.filter((a) => this.visit(a.arm, a.after));
        for (const l of staying[0]?.after ?? []) if (staying.every((a) => a.after.has(l))) defined.add(l);
        return staying.length > 0;
      }
      case "for": {
        const reduced = s.reductions.map((r) => r.local);
        if (s.axis === "parallel") for (const l of reduced) if (!defined.has(l)) this.found.add(l);
        this.visit(s.body, new Set([...defined, s.index, ...reduced]));
        for (const l of reduced) defined.add(l);
        return true;
      }
      case "loop":
      case "block": {
        this.visit(s.body, new Set(defined));
        // What stands before the first way out is certain afterwards.
        const first = s.body.findIndex(mayLeave);
        this.visit(first === -1 ? s.body : s.body.slice(0, first), defined);
        return true;
      }
      default:
        return true;
    }
  }
}

const mayLeave = (s: Stmt): boolean => s.kind === "exit" || stmtBodies(s).some((body) => body.some(mayLeave));

function outlined(s: For, name: string): Launch {
  const reads = new ExposedReads();
  reads.visit(s.body, new Set([s.index]));
  for (const e of [s.begin]) eachExpr(e, (x) => x.kind === "get" && reads.found.add(x.local));
  const captured = [...reads.found];
  const begin = local("begin", "i32");
  const end = local("end", "i32");
  const loop: For = { ...s, begin: add(s.begin, get(begin)), end: add(s.begin, get(end)) };
  const body: Func = func(name, [], [...captured, begin, end], [loop]);
  return {
    kind: "launch",
    func: body,
    args: captured.map(get),
    count: sub(s.end, s.begin),
    cost: costOf(s.body),
    threaded: mayThread(s),
  };
}

/** Replaces outermost parallel loops by launches. */
export function outlineParallel(module: Module): Module {
  return rewriteFunctions(module, (f) => {
    let count = 0;
    const visit = (body: readonly Stmt[]): Stmt[] =>
      body.map((s) => {
        if (s.kind !== "for" || s.axis !== "parallel") return withBodies(s, visit);
        count += 1;
        return outlined(s, `${f.name}.${count}`);
      });
    return { ...f, body: visit(f.body) };
  });
}
