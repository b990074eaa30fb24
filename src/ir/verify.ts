/**
 * @file The verifier: what must hold of a Module at each boundary of the pipeline. A failure is a compiler bug.
 *
 * Node constructors check types where nodes are made, but passes rebuild nodes by spreading; this checks the result
 * as a whole: types again, labels, assigned-before-read on every path (conservatively), and what each stage allows.
 */
import { assertIr, IrError } from "./build.ts";
import type { Buffer, Expr, For, Func, Label, Local, Module, Stmt } from "./nodes.ts";
import { printExpr, printStmts } from "./print.ts";
import { BINARY_OPS, CONVERSIONS, LOADED_TYPE, type OpSignature, UNARY_OPS } from "./types.ts";
import { assignedLocals, eachStmtExpr, functionsOf, operands } from "./walk.ts";

/**
 * - `front`: what front ends make: scalar, parallel loops in place.
 * - `sharded`: after the reductions pass: parallel loops carry no reductions.
 * - `outlined`: parallel loops are launches. `vector`: vector expressions may appear.
 * - `final`: no partial loops and no scans are left.
 */
export type Stage = "front" | "sharded" | "outlined" | "vector" | "final";
const ORDER: readonly Stage[] = ["front", "sharded", "outlined", "vector", "final"];
const reached = (stage: Stage, at: Stage): boolean => ORDER.indexOf(stage) >= ORDER.indexOf(at);

function checkExpr(e: Expr, stage: Stage): void {
  for (const x of operands(e)) checkExpr(x, stage);
  const fail = (why: string): never => {
    throw new IrError(`${why}: ${printExpr(e)}`);
  };
  if (e.lanes !== 1 && !reached(stage, "vector")) fail(`a vector at stage ${stage}`);
  const sameLanes = (): void => {
    for (const x of operands(e)) if (x.lanes !== e.lanes) fail("operands with other lanes");
  };
  switch (e.kind) {
    case "const":
    case "iota":
    case "length":
      return;
    case "get":
      if (e.dtype !== e.local.dtype || e.lanes !== e.local.lanes) fail("read as another type");
      return;
    case "unary": {
      const sig: OpSignature = UNARY_OPS[e.op];
      if (!sig.operands.includes(e.x.dtype) || e.dtype !== (sig.result ?? e.x.dtype)) fail("wrong operand");
      return sameLanes();
    }
    case "binary": {
      const sig: OpSignature = BINARY_OPS[e.op];
      const typed = e.a.dtype === e.b.dtype && sig.operands.includes(e.a.dtype);
      if (!typed || e.dtype !== (sig.result ?? e.a.dtype)) fail("wrong operands");
      return sameLanes();
    }
    case "select":
      if (e.condition.dtype !== "bool" || e.a.dtype !== e.dtype || e.b.dtype !== e.dtype) fail("wrong operands");
      return sameLanes();
    case "fma":
      if (operands(e).some((x) => x.dtype !== "f32")) fail("wrong operands");
      return sameLanes();
    case "convert":
      if (!(CONVERSIONS as readonly string[]).includes(`${e.x.dtype}-${e.dtype}`)) fail("no such conversion");
      return sameLanes();
    case "load":
      if (e.dtype !== LOADED_TYPE[e.buffer.storage]) fail("wrong element type");
      return checkAccess(e.buffer, e.index, e.stride, e.lanes, fail);
    case "splat":
      if (e.x.lanes !== 1 || e.x.dtype !== e.dtype) fail("splat of a vector");
      return;
    case "any":
      if (e.lanes !== 1 || e.x.dtype !== "bool") fail("any of something else");
      return;
    case "shuffle": {
      const { a, b, order } = e;
      if (a.dtype !== e.dtype || b.dtype !== e.dtype || a.dtype === "bool" || a.lanes !== b.lanes || a.lanes === 1)
        fail("wrong operands");
      if (order.length !== e.lanes || order.some((l) => !(l >= 0 && l < 2 * a.lanes))) fail("wrong order");
      return;
    }
    case "lane":
      if (e.lanes !== 1 || e.x.dtype !== e.dtype || !(e.at >= 0 && e.at < e.x.lanes)) fail("no such lane");
      return;
    default:
      e satisfies never;
  }
}

function checkAccess(
  b: Buffer,
  index: Expr,
  stride: Expr | undefined,
  lanes: number,
  fail: (why: string) => never,
): void {
  if (index.dtype !== "i32" || (stride && (stride.dtype !== "i32" || stride.lanes !== 1))) fail("subscript is not i32");
  if (b.lanes > 1) {
    if (lanes !== b.lanes || (index.lanes !== 1 && index.lanes !== lanes))
      fail("access with other lanes than the buffer");
  } else if (index.lanes !== (stride || lanes === 1 ? 1 : lanes)) {
    fail("subscript with other lanes than the access");
  }
}

/** What is known while walking down: enclosing labels, and locals that certainly have a value. */
interface Scope {
  readonly labels: ReadonlySet<Label>;
  readonly assigned: Set<Local>;
  /** Loop indices and parameters, which the body must leave alone. */
  readonly fixed: ReadonlySet<Local>;
  /** The statements of the innermost loop's body, when that is a scan. */
  readonly scan: readonly Stmt[];
}

class Verifier {
  readonly #stage: Stage;
  constructor(stage: Stage) {
    this.#stage = stage;
  }

  func(f: Func): void {
    for (const b of f.buffers) assertIr(b.space === "param", () => `${f.name}: buffer ${b.name} is not a param`);
    this.body(f.body, { labels: new Set(), assigned: new Set(f.params), fixed: new Set(), scan: [] });
  }

  body(body: readonly Stmt[], scope: Scope): void {
    for (const s of body) this.#stmt(s, scope);
  }

  #stmt(s: Stmt, scope: Scope): void {
    const fail = (why: string): never => {
      throw new IrError(`${why} in\n${printStmts([s]).split("\n").slice(0, 3).join("\n")}`);
    };
    eachStmtExpr(s, (e) => {
      checkExpr(e, this.#stage);
      this.#reads(e, scope, fail);
    });
    switch (s.kind) {
      case "assign":
        if (s.local.dtype !== s.value.dtype || s.local.lanes !== s.value.lanes) fail("wrong type");
        if (scope.fixed.has(s.local)) fail("a loop index is assigned");
        scope.assigned.add(s.local);
        return;
      case "recur":
        if (s.local.lanes !== 1 || [s.term, s.factor].some((e) => e.dtype !== s.local.dtype || e.lanes !== 1))
          fail("wrong type");
        if (s.local.dtype !== "f32" && s.local.dtype !== "f64") fail("a recurrence of whole numbers");
        if (!scope.scan.includes(s)) fail("a recurrence outside of a scan");
        if (!scope.assigned.has(s.local)) fail(`${s.local.name} has no initial value`);
        return;
      case "store":
        if (s.value.dtype !== LOADED_TYPE[s.buffer.storage]) fail("wrong element type");
        if (s.buffer.space === "table") fail("a table is written");
        if (s.mask && (s.mask.dtype !== "bool" || s.mask.lanes !== s.value.lanes)) fail("wrong mask");
        return checkAccess(s.buffer, s.index, s.stride, s.value.lanes, fail);
      case "pack": {
        const { lanes, dtype } = s.value;
        if (dtype !== LOADED_TYPE[s.buffer.storage] || s.buffer.storage === "u8") fail("wrong element type");
        if (s.buffer.space === "table" || s.buffer.lanes > 1) fail("a table, or an array of each lane, is written");
        if (lanes === 1 || s.mask.dtype !== "bool" || s.mask.lanes !== lanes) fail("wrong lanes");
        if (s.found.dtype !== "i32" || s.found.lanes !== 1) fail("wrong type");
        scope.assigned.add(s.found);
        return checkAccess(s.buffer, s.index, undefined, 1, fail);
      }
      case "if":
        return this.#branches(s.condition, [s.then, s.else], scope, fail);
      case "for":
        return this.#loop(s, scope, fail);
      case "loop":
      case "block": {
        const inner = { ...scope, labels: new Set([...scope.labels, s.label]), assigned: new Set(scope.assigned) };
        this.body(s.body, inner);
        // A block may be left early; only what its body assigned before any exit would be certain. Locals that are
        // read after it must have been assigned before, or be assigned on all ways out, which is not tracked here.
        for (const l of inner.assigned) scope.assigned.add(l);
        return;
      }
      case "exit":
        if (!scope.labels.has(s.label)) fail("exit from something that does not enclose it");
        return;
      case "fault":
        if (s.condition.dtype !== "bool") fail("fault on something else than a bool");
        return;
      case "call":
        if (s.buffers.length !== s.func.buffers.length || s.args.length !== s.func.params.length)
          fail("wrong arguments");
        s.func.buffers.forEach((b, k) => {
          if (b.storage !== s.buffers[k]?.storage) fail(`buffer ${b.name} of another type`);
        });
        return this.#args(s.func, s.args, fail);
      case "launch":
        if (!reached(this.#stage, "outlined")) fail(`a launch at stage ${this.#stage}`);
        if (s.args.length + 2 !== s.func.params.length) fail("wrong arguments");
        return this.#args(s.func, s.args, fail);
      default:
        s satisfies never;
    }
  }

  #args(f: Func, args: readonly Expr[], fail: (why: string) => never): void {
    args.forEach((a, k) => {
      if (a.dtype !== f.params[k]?.dtype || a.lanes !== 1) fail(`argument ${k} of another type`);
    });
  }

  #reads(e: Expr, scope: Scope, fail: (why: string) => never): void {
    if (e.kind === "get" && !scope.assigned.has(e.local)) fail(`${e.local.name} is read before it is assigned`);
    for (const x of operands(e)) this.#reads(x, scope, fail);
  }

  #branches(condition: Expr, arms: readonly (readonly Stmt[])[], scope: Scope, fail: (why: string) => never): void {
    if (condition.dtype !== "bool" || condition.lanes !== 1) fail("condition is not a scalar bool");
    const scopes = arms.map((arm) => {
      const inner = { ...scope, assigned: new Set(scope.assigned) };
      this.body(arm, inner);
      return { inner, leaves: arm.at(-1)?.kind === "exit" };
    });
    const staying = scopes.filter((s) => !s.leaves);
    for (const l of staying[0]?.inner.assigned ?? [])
      if (staying.every((s) => s.inner.assigned.has(l))) scope.assigned.add(l);
  }

  #loop(s: For, scope: Scope, fail: (why: string) => never): void {
    if (s.index.dtype !== "i32" || s.index.lanes !== 1) fail("loop index is not i32");
    if (s.begin.dtype !== "i32" || s.end.dtype !== "i32") fail("loop bounds are not i32");
    if (!Number.isInteger(s.step) || s.step === 0) fail("loop step is not a whole number");
    if (s.axis === "vector" && !reached(this.#stage, "vector")) fail(`a vector loop at stage ${this.#stage}`);
    const independent = s.axis === "parallel" || s.axis === "scan";
    if (independent && s.step !== 1) fail("a parallel loop with a step");
    if (s.axis === "scan" && reached(this.#stage, "final")) fail(`a scan at stage ${this.#stage}`);
    this.#reductions(s, scope, fail);
    if (assignedLocals(s.body).has(s.index)) fail("the loop index is assigned");
    const inner: Scope = {
      labels: independent || s.axis === "partial" ? new Set() : new Set([...scope.labels, s.label]),
      assigned: new Set(scope.assigned).add(s.index),
      fixed: new Set([...scope.fixed, s.index]),
      scan: s.axis === "scan" ? s.body : [],
    };
    this.body(s.body, inner);
  }

  #reductions(s: For, scope: Scope, fail: (why: string) => never): void {
    const sharded = reached(this.#stage, "sharded");
    if (s.axis === "partial") {
      if (!sharded || reached(this.#stage, "final")) fail(`a partial loop at stage ${this.#stage}`);
      for (const r of s.reductions) scope.assigned.add(r.local);
      return;
    }
    if (s.reductions.length && (s.axis !== "parallel" || sharded)) fail("a reduction left over");
    for (const r of s.reductions) if (!scope.assigned.has(r.local)) fail(`${r.local.name} has no initial value`);
  }
}

/** Throws an IrError when `module` is not well formed at `stage`. */
export function verify(module: Module, stage: Stage): void {
  const verifier = new Verifier(stage);
  for (const f of functionsOf(module)) {
    try {
      verifier.func(f);
    } catch (error) {
      if (error instanceof IrError) throw new IrError(`${module.name}, ${f.name}: ${error.message}`);
      throw error;
    }
  }
}
