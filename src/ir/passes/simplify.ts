/**
 * @file The simplify pass: rewrites by the tables, computes equal values once, and drops what nobody reads.
 *
 * Macros (sine and cosine of one angle, a clamp against constants) leave repeated and unused work behind; removing it
 * here serves every target and keeps generated code short.
 */
import { assign, binary, get, local } from "../build.ts";
import type { Assign, Expr, Func, Local, Module, Stmt } from "../nodes.ts";
import { constantLimit, simplifyNode } from "../rewrites.ts";
import {
  assignedLocals,
  assignmentCounts,
  carriedLocals,
  eachExpr,
  eachStmt,
  eachStmtExpr,
  mapExpr,
  mapStmts,
  stmtBodies,
  structuralKey,
  withBodies,
  withExprs,
} from "../walk.ts";
import { rewriteFunctions } from "./rewrite.ts";

/** Locals that are assigned in one place only, parameters and loop indices included. */
const singlyAssigned = (f: Func): Set<Local> =>
  new Set([...assignmentCounts(f)].filter(([, n]) => n === 1).map(([l]) => l));

/**
 * Replaces reads of names for the same value, and values computed before on every way here. Locals that change are told
 * apart by how often they have been assigned; a loop counts as assigning what its body assigns, before and after.
 */
class CommonValues {
  readonly #once: Set<Local>;
  readonly #instead = new Map<Local, Expr>();
  readonly #versions = new Map<Local, number>();
  constructor(once: Set<Local>) {
    this.#once = once;
  }

  /** `known` maps values to the local that holds them already. */
  body(body: readonly Stmt[], known: ReadonlyMap<string, Local>): Stmt[] {
    const here = new Map(known);
    return body.flatMap((s) => {
      const named: Stmt[] = [];
      const simplified = (x: Expr): Expr => simplifyNode(this.#named(this.#renamed(x), here, named));
      const renamed = withExprs(s, (e) => mapExpr(e, simplified));
      if (renamed.kind === "assign") return [...named, ...this.#assign(renamed, here)];
      if (renamed.kind === "recur" || renamed.kind === "pack") this.#bump([...assignedLocals([renamed])]);
      const bodies = stmtBodies(renamed);
      if (bodies.length === 0) return [...named, renamed];
      const changed = bodies.flatMap((inner) => [...assignedLocals(inner)]);
      if (renamed.kind !== "if") this.#bump(changed);
      const result = withBodies(renamed, (inner) => this.body(inner, here));
      this.#bump(changed);
      return [...named, result];
    });
  }

  /** Gives what is compared with a constant limit a name, because the rules read it twice. */
  #named(e: Expr, here: Map<string, Local>, before: Stmt[]): Expr {
    const limit = constantLimit(e);
    if (!limit || limit.x.kind === "get" || e.kind !== "binary") return e;
    const name = local("limited", limit.x.dtype);
    this.#once.add(name);
    before.push(...this.#assign(assign(name, limit.x), here));
    return binary(e.op, this.#renamed(get(name)), limit.limit);
  }

  #bump(locals: readonly Local[]): void {
    for (const l of locals) this.#versions.set(l, (this.#versions.get(l) ?? 0) + 1);
  }

  #assign(s: Assign, here: Map<string, Local>): Stmt[] {
    const key = this.#key(s.value);
    if (this.#once.has(s.local)) {
      const alias = this.#alias(s.value, key, here);
      if (alias) {
        this.#instead.set(s.local, alias);
        return [];
      }
      if (key !== undefined) here.set(key, s.local);
    } else this.#bump([s.local]);
    return [s];
  }

  #renamed(e: Expr): Expr {
    return e.kind === "get" ? (this.#instead.get(e.local) ?? e) : e;
  }

  #alias(value: Expr, key: string | undefined, here: ReadonlyMap<string, Local>): Expr | undefined {
    if (value.kind === "const") return value;
    if (value.kind === "get" && this.#once.has(value.local)) return value;
    const same = key === undefined ? undefined : here.get(key);
    return same && get(same);
  }

  /** What an expression's value depends on; nothing when it reads memory, or is not worth a lookup. */
  #key(e: Expr): string | undefined {
    if (e.kind === "const" || e.kind === "get") return undefined;
    let loads = false;
    eachExpr(e, (x) => {
      loads ||= x.kind === "load";
    });
    return loads ? undefined : structuralKey(e, (l) => this.#versions.get(l) ?? 0);
  }
}

/** Locals that reach something other than locals: memory, a condition, a bound; and `kept`. */
function neededLocals(body: readonly Stmt[], kept: Iterable<Local>): Set<Local> {
  const needed = new Set<Local>();
  const sources = new Map<Local, Expr[]>();
  const waiting: Expr[] = [];
  const need = (l: Local): void => {
    if (needed.has(l)) return;
    needed.add(l);
    waiting.push(...(sources.get(l) ?? []));
  };
  eachStmt(body, (s) => {
    if (s.kind !== "assign") eachStmtExpr(s, (e) => waiting.push(e));
    else sources.set(s.local, [...(sources.get(s.local) ?? []), s.value]);
  });
  for (const l of kept) need(l);
  for (let e = waiting.pop(); e; e = waiting.pop()) eachExpr(e, (x) => x.kind === "get" && need(x.local));
  return needed;
}

/** Drops assignments whose values reach nothing, those that only feed each other included. */
function withoutDead(body: readonly Stmt[], kept: ReadonlySet<Local>): readonly Stmt[] {
  const needed = neededLocals(body, kept);
  return mapStmts(body, (s) => (s.kind === "assign" && !needed.has(s.local) ? [] : s));
}

function reducedLocals(f: Func): Set<Local> {
  const found = new Set<Local>();
  eachStmt(f.body, (s) => {
    if (s.kind === "for") for (const l of carriedLocals(s)) found.add(l);
  });
  return found;
}

export function simplify(module: Module): Module {
  return rewriteFunctions(module, (f) => {
    const common = new CommonValues(singlyAssigned(f)).body(f.body, new Map());
    return { ...f, body: withoutDead(common, reducedLocals(f)) };
  });
}
