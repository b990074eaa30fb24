/**
 * @file Which values differ between the lanes of a vectorised loop: uniform (one scalar for all lanes), affine (lane
 * l holds scalar + l * stride) or varying (a vector), and which constructs are left by some lanes earlier than others.
 *
 * A fixpoint: everything starts uniform and is demoted as assignments and branches demand. A local that lives wholly
 * inside one branch is not affected by that branch's mask: lanes that are off never look at it.
 */
import { add, i32, mul, sub } from "../build.ts";
import type { Expr, For, Get, If, Label, Local, Stmt } from "../nodes.ts";
import {
  assignedBy,
  assignedLocals,
  carriedLocals,
  eachExpr,
  eachStmt,
  eachStmtExpr,
  operands,
  structuralKey,
} from "../walk.ts";

export type Shape =
  | { readonly kind: "uniform" }
  | { readonly kind: "affine"; readonly stride: Expr }
  | { readonly kind: "varying" };
const UNIFORM: Shape = { kind: "uniform" };
const VARYING: Shape = { kind: "varying" };

/** Reads and assignments of each local in a list of statements. */
function occurrences(body: readonly Stmt[]): Map<Local, number> {
  const count = new Map<Local, number>();
  const note = (l: Local): void => void count.set(l, (count.get(l) ?? 0) + 1);
  eachStmt(body, (s) => {
    eachStmtExpr(s, (e) => eachExpr(e, (x) => x.kind === "get" && note(x.local)));
    const by = assignedBy(s);
    if (by) note(by);
  });
  return count;
}

/** A construct on the way from the loop's body to a statement. */
type Step = { readonly kind: "branch" } | { readonly kind: "construct"; readonly label: Label };

export class Shapes {
  readonly #shapes = new Map<Local, Shape>();
  readonly #assigned: ReadonlySet<Local>;
  readonly #all: ReadonlyMap<Local, number>;
  readonly #inRegion = new Map<readonly Stmt[], ReadonlyMap<Local, number>>();
  readonly #divergent = new Set<Label>();
  readonly #leaving = new Set<Stmt>();
  /** What expressions were found to be, once nothing changes any more: translating asks at every level of a tree. */
  readonly #known = new Map<Expr, Shape>();
  readonly #carried: readonly Local[];
  #changed = false;

  /** Lane l stands for iteration i + l * stride, where i is what the index holds. */
  constructor(loop: For, stride: number) {
    this.#carried = carriedLocals(loop);
    this.#assigned = assignedLocals(loop.body);
    this.#all = occurrences(loop.body);
    this.#shapes.set(loop.index, { kind: "affine", stride: i32(stride) });
    for (const l of this.#carried) this.#shapes.set(l, VARYING);
    do {
      this.#changed = false;
      this.#walk(loop.body, [], []);
      this.#known.clear();
    } while (this.#changed);
  }

  /** Whether lanes may leave this construct at different times. */
  isDivergent(label: Label): boolean {
    return this.#divergent.has(label);
  }

  /** Whether some lanes may have left an enclosing construct inside `s`. */
  mayDisable(s: Stmt): boolean {
    return this.#leaving.has(s);
  }

  /** Whether all reads and assignments of a local stand in `region`. */
  isPrivate(l: Local, region: readonly Stmt[]): boolean {
    let count = this.#inRegion.get(region);
    if (!count) {
      count = occurrences(region);
      this.#inRegion.set(region, count);
    }
    return count.get(l) === this.#all.get(l) && !this.#carried.includes(l);
  }

  ofLocal(l: Local): Shape {
    return this.#shapes.get(l) ?? UNIFORM;
  }

  of(e: Expr): Shape {
    if (e.kind === "get") return this.ofLocal(e.local);
    let shape = this.#known.get(e);
    if (!shape) {
      shape = this.#derived(e);
      this.#known.set(e, shape);
    }
    return shape;
  }

  #derived(e: Exclude<Expr, Get>): Shape {
    switch (e.kind) {
      case "load":
        if (e.buffer.space === "local") return VARYING;
        return this.of(e.index).kind === "uniform" ? UNIFORM : VARYING;
      case "binary":
        return this.#binary(e);
      case "unary":
        if (e.op === "own") return this.of(e.x);
        return this.of(e.x).kind === "uniform" ? UNIFORM : VARYING;
      default:
        return operands(e).every((x) => this.of(x).kind === "uniform") ? UNIFORM : VARYING;
    }
  }

  #binary(e: Expr & { kind: "binary" }): Shape {
    const a = this.of(e.a);
    const b = this.of(e.b);
    if (a.kind === "uniform" && b.kind === "uniform") return UNIFORM;
    if (a.kind === "varying" || b.kind === "varying" || e.dtype !== "i32") return VARYING;
    const stride = (s: Shape): Expr => (s.kind === "affine" ? s.stride : i32(0));
    const affine = (s: Expr): Shape => (s.kind === "const" && s.value === 0 ? UNIFORM : { kind: "affine", stride: s });
    switch (e.op) {
      case "add":
        return affine(plus(stride(a), stride(b)));
      case "sub":
        return affine(sub(stride(a), stride(b)));
      case "mul":
        if (a.kind === "affine" && b.kind === "affine") return VARYING;
        return affine(a.kind === "affine" ? times(a.stride, e.b) : times(stride(b), e.a));
      case "shl":
        if (b.kind !== "uniform" || e.b.kind !== "const") return VARYING;
        return affine(mul(stride(a), i32(2 ** (e.b.value & 31))));
      default:
        return VARYING;
    }
  }

  #set(l: Local, shape: Shape): void {
    const before = this.#shapes.get(l);
    if (before === undefined) {
      this.#shapes.set(l, shape);
      this.#changed = true;
      return;
    }
    if (before.kind === "varying" || sameShape(before, shape)) return;
    this.#shapes.set(l, VARYING);
    this.#changed = true;
  }

  /** `regions` are the enclosing lists that only some lanes may run; `path` the constructs and branches around. */
  #walk(body: readonly Stmt[], regions: readonly (readonly Stmt[])[], path: readonly Step[]): boolean {
    let leaves = false;
    for (const s of body) {
      const inside = this.#stmt(s, regions, path);
      if (inside) this.#leaving.add(s);
      leaves ||= inside;
    }
    return leaves;
  }

  /** Returns whether lanes may leave something that encloses `s`. */
  #stmt(s: Stmt, regions: readonly (readonly Stmt[])[], path: readonly Step[]): boolean {
    switch (s.kind) {
      case "assign":
        this.#assign(s.local, s.value, regions);
        return false;
      case "if":
        return this.#branch(s, regions, path);
      case "exit":
        return this.#exit(s.label, path);
      case "for":
        if (this.of(s.begin).kind !== "uniform" || this.of(s.end).kind !== "uniform") {
          this.#diverge(s.label);
          this.#set(s.index, VARYING);
        } else if (!this.#shapes.has(s.index)) this.#set(s.index, UNIFORM);
        return this.#construct(s, regions, path);
      case "loop":
      case "block":
        return this.#construct(s, regions, path);
      default:
        return false;
    }
  }

  #construct(
    s: Stmt & { label: Label; body: readonly Stmt[] },
    regions: readonly (readonly Stmt[])[],
    path: readonly Step[],
  ): boolean {
    const inner = this.#divergent.has(s.label) ? [...regions, s.body] : regions;
    const leaves = this.#walk(s.body, inner, [...path, { kind: "construct", label: s.label }]);
    return leaves && this.#leavesBeyond(s);
  }

  /** Whether an exit inside `s` goes to a divergent label outside of it. */
  #leavesBeyond(s: Stmt & { label: Label; body: readonly Stmt[] }): boolean {
    const inside = new Set<Label>([s.label]);
    let beyond = false;
    eachStmt(s.body, (x) => {
      if (x.kind === "for" || x.kind === "loop" || x.kind === "block") inside.add(x.label);
    });
    eachStmt(s.body, (x) => {
      if (x.kind === "exit" && !inside.has(x.label) && this.#divergent.has(x.label)) beyond = true;
    });
    return beyond;
  }

  #branch(s: If, regions: readonly (readonly Stmt[])[], path: readonly Step[]): boolean {
    const varying = this.of(s.condition).kind !== "uniform";
    const arm = (body: readonly Stmt[]): boolean =>
      this.#walk(body, varying ? [...regions, body] : regions, varying ? [...path, { kind: "branch" }] : path);
    const first = arm(s.then);
    return arm(s.else) || first;
  }

  #diverge(label: Label): void {
    if (this.#divergent.has(label)) return;
    this.#divergent.add(label);
    this.#changed = true;
  }

  #exit(target: Label, path: readonly Step[]): boolean {
    const from = path.findIndex((p) => p.kind === "construct" && p.label === target);
    const crossed = path.slice(from);
    const divergent = crossed.some((p) => p.kind === "branch" || this.#divergent.has(p.label));
    if (divergent) for (const p of crossed) if (p.kind === "construct") this.#diverge(p.label);
    return divergent;
  }

  #assign(l: Local, value: Expr, regions: readonly (readonly Stmt[])[]): void {
    const region = regions.at(-1);
    if (region && !this.isPrivate(l, region)) return this.#set(l, VARYING);
    const shape = this.of(value);
    // An affine local is read as its first lane's scalar; its stride must hold wherever that is.
    if (shape.kind === "affine" && !this.#isInvariant(shape.stride)) return this.#set(l, VARYING);
    this.#set(l, shape);
  }

  #isInvariant(e: Expr): boolean {
    let invariant = true;
    eachExpr(e, (x) => {
      if (x.kind === "load" || (x.kind === "get" && this.#assigned.has(x.local))) invariant = false;
    });
    return invariant;
  }
}

const isZero = (e: Expr): boolean => e.kind === "const" && e.value === 0;
const plus = (a: Expr, b: Expr): Expr => (isZero(a) ? b : isZero(b) ? a : add(a, b));
const times = (a: Expr, b: Expr): Expr => (a.kind === "const" && a.value === 1 ? b : mul(a, b));

function sameShape(a: Shape, b: Shape): boolean {
  if (a.kind === "affine" && b.kind === "affine") return structuralKey(a.stride) === structuralKey(b.stride);
  return a.kind === b.kind;
}
