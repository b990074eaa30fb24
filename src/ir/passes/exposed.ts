/**
 * @file Which locals statements may read before they have assigned them: what a loop's body takes from outside, and
 * what one iteration takes from the one before.
 */
import type { Expr, Local, Stmt } from "../nodes.ts";
import { eachExpr, eachStmtExpr, stmtBodies } from "../walk.ts";

/** `defined` are locals that have a value already. */
export function exposedReads(body: readonly Stmt[], defined: readonly Local[] = []): Set<Local> {
  const reads = new ExposedReads();
  reads.visit(body, new Set(defined));
  return reads.found;
}

class ExposedReads {
  readonly found = new Set<Local>();

  /** Walks a list in order, adding to `defined`; false when its end is never reached. */
  visit(body: readonly Stmt[], defined: Set<Local>): boolean {
    return body.every((s) => {
      eachStmtExpr(s, (e) => this.#expr(e, defined));
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
      case "pack":
        defined.add(s.found);
        return true;
      case "recur":
        if (!defined.has(s.local)) this.found.add(s.local);
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

/** Whether a statement has a way out of something that encloses it, or of itself. */
export const mayLeave = (s: Stmt): boolean => s.kind === "exit" || stmtBodies(s).some((body) => body.some(mayLeave));
