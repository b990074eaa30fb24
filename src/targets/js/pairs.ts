/**
 * @file Loops two iterations at a time, their statements taking turns.
 *
 * Engines round f32 by converting there and back, so that a chain of operations takes long to arrive and a processor
 * looks ahead to little more than one iteration. Two chains side by side keep it busy: about a quarter less time for
 * elementary functions. Loops whose iterations are certain to be apart are written so, parallel ones and those of
 * reductions, as long as their body is a plain sequence: a loop inside would run to its end in one iteration before the
 * other starts.
 */
import { add, Builder, binary, get, i32, local, sub } from "../../ir/build.ts";
import type { Expr, For, Load, Local, Module, Stmt, Store } from "../../ir/nodes.ts";
import { costOf } from "../../ir/passes/cost.ts";
import { mayVectorise } from "../../ir/passes/dependence.ts";
import { exposedReads } from "../../ir/passes/exposed.ts";
import { renameLocals } from "../../ir/passes/reductions.ts";
import { rewriteFunctions } from "../../ir/passes/rewrite.ts";
import { assignedLocals, eachExprIn, eachStmt, usedBuffers, withBodies } from "../../ir/walk.ts";

/** Operations in a body above which twice as much code costs more than it gains. */
const MOST_COST = 600;

/** Whether a body is a sequence of which two copies can take turns, and hands no local to the next iteration. */
function isPlain(s: For): boolean {
  if (s.step !== 1 || s.reductions.length > 0 || costOf(s.body) > MOST_COST) return false;
  let plain = s.body.every((x) => x.kind === "assign" || x.kind === "store" || x.kind === "if");
  eachStmt(s.body, (x) => {
    // Of two faults the first counts; exits leave a loop that would be there once only.
    plain &&= x.kind !== "fault" && x.kind !== "call" && x.kind !== "launch" && x.kind !== "exit";
  });
  if (!plain) return false;
  const assigned = assignedLocals(s.body);
  for (const l of exposedReads(s.body, [s.index])) if (assigned.has(l)) return false;
  return true;
}

/**
 * Whether all that a loop stores are partial sums, the next iteration's in another place: local arrays that are reached
 * by (i - first) & (length - 1) alone, which is how reductions are lowered.
 */
function isReduction(s: For): boolean {
  const fixed = (e: Expr): boolean => e.kind === "const" || (e.kind === "get" && !assigned.has(e.local));
  const assigned = assignedLocals([s]);
  const turns = ({ index, buffer }: Load | Store): boolean => {
    if (index.kind !== "binary" || index.op !== "and" || index.a.kind !== "binary" || index.a.op !== "sub")
      return false;
    const { a, b } = index.a;
    const mask = index.b.kind === "const" ? index.b.value : 0;
    return a.kind === "get" && a.local === s.index && fixed(b) && mask % 2 === 1 && mask < (buffer.length ?? 0);
  };
  let all = true;
  eachStmt(s.body, (x) => {
    if (x.kind === "store") all &&= x.buffer.space === "local" && turns(x);
  });
  eachExprIn(s.body, (e) => {
    if (e.kind === "load" && e.buffer.space === "local") all &&= turns(e);
  });
  return all;
}

/** Whether nothing but the order of iterations would tell two of them apart. */
function maySplit(s: For): boolean {
  if (!isPlain(s)) return false;
  if (s.axis !== "parallel") return s.axis === "serial" && isReduction(s);
  return [...usedBuffers(s.body)].every((b) => b.space !== "local") && mayVectorise(s);
}

/**
 * The first iteration alone where their number is odd, then pairs. Not the last one alone: code behind a loop that has
 * not run yet when engines compile the loop makes them give up the compiled code whenever they come there.
 */
function inPairs(s: For): Stmt[] {
  const b = new Builder();
  const begin = b.let("from", s.begin);
  const end = b.let("to", s.end);
  const even = b.let("even", add(begin, binary("and", binary("max", sub(end, begin), i32(0)), i32(1))));
  const next = local(s.index.name, "i32");
  const twins = new Map<Local, Local>([[s.index, next]]);
  for (const l of assignedLocals(s.body)) twins.set(l, local(l.name, l.dtype));
  const second = renameLocals(s.body, twins);
  const both = b.body(() => {
    b.assign(next, add(get(s.index), i32(1)));
    s.body.forEach((x, k) => {
      b.emit(x);
      b.emit(second[k] as Stmt);
    });
  });
  b.emit({ ...s, axis: "serial", begin, end: even });
  b.emit({ ...s, axis: "serial", begin: even, end, step: 2, body: both });
  return b.statements;
}

export function pairIterations(module: Module): Module {
  const visit = (body: readonly Stmt[]): Stmt[] =>
    body.flatMap((s) => (s.kind === "for" && maySplit(s) ? inPairs(s) : withBodies(s, visit)));
  return rewriteFunctions(module, (f) => ({ ...f, body: visit(f.body) }));
}
