/**
 * @file Which locals can be declared where they are assigned.
 *
 * Locals of the IR live as long as their function. Most are assigned once (or once in each copy of a versioned loop)
 * and read only below that; those become constants in the innermost C block, which reads better and leaves the
 * compiler less to find out. The others are declared at the top of the function.
 */
import type { Assign, Expr, For, Func, Local, Stmt } from "../../ir/nodes.ts";
import { eachExpr, stmtBodies, stmtExprs } from "../../ir/walk.ts";

/** Positions are counted in program order; a value assigned at `begin` is visible in its block up to `end`. */
interface Region {
  readonly begin: number;
  readonly end: number;
}
interface Uses {
  readonly regions: Region[];
  readonly reads: number[];
}

class Positions {
  readonly uses = new Map<Local, Uses>();
  #next = 0;

  of(l: Local): Uses {
    let found = this.uses.get(l);
    if (!found) {
      found = { regions: [], reads: [] };
      this.uses.set(l, found);
    }
    return found;
  }

  body(body: readonly Stmt[]): void {
    const pending: { local: Local; begin: number }[] = [];
    for (const s of body) {
      const at = this.#next++;
      for (const e of stmtExprs(s)) this.#reads(e, at);
      const begin = this.#next;
      for (const inner of stmtBodies(s)) this.body(inner);
      if (s.kind === "for") this.of(s.index).regions.push({ begin: begin - 1, end: this.#next - 1 });
      if (s.kind === "assign") pending.push({ local: s.local, begin: at });
    }
    for (const { local, begin } of pending) this.of(local).regions.push({ begin, end: this.#next - 1 });
  }

  #reads(e: Expr, at: number): void {
    eachExpr(e, (x) => {
      if (x.kind === "get") this.of(x.local).reads.push(at);
    });
  }
}

/** Every read lies in exactly one region, and regions do not overlap. */
function confined({ regions, reads }: Uses): boolean {
  const sorted = [...regions].sort((a, b) => a.begin - b.begin);
  const apart = sorted.every((r, k) => k === 0 || r.begin > (sorted[k - 1] as Region).end);
  return apart && reads.every((at) => sorted.some((r) => at > r.begin && at <= r.end));
}

/** The locals that each assignment (or loop) may declare; parameters are never among them. */
export function confinedLocals(f: Func): ReadonlySet<Assign["local"] | For["index"]> {
  const positions = new Positions();
  positions.body(f.body);
  const found = new Set<Local>();
  for (const [l, uses] of positions.uses) if (!f.params.includes(l) && confined(uses)) found.add(l);
  return found;
}
