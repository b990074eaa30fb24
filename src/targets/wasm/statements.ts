/**
 * @file Statements: structured control, calls, faults; and the frame around a function's body.
 */
import { IrError } from "../../ir/build.ts";
import type { Buffer, Call, Expr, Fault, For, Func, If, Label, Launch, Local, Stmt } from "../../ir/nodes.ts";
import { eachExprIn, eachStmt, stmtBodies } from "../../ir/walk.ts";
import { FAULT_WORD } from "../target.ts";
import type { Place } from "./address.ts";
import {
  addI32,
  block,
  branch,
  call,
  constantOf,
  type FunctionRef,
  i32,
  type LocalGet,
  loop,
  type Node,
  op,
  set,
  type Target,
  target,
  v128Words,
  when,
} from "./code.ts";
import { type BufferAccess, Expressions, type ProgramContext } from "./expressions.ts";
import type { FunctionBuilder } from "./function.ts";
import { type LaunchArguments, launchPieces, type Thunk } from "./launch.ts";
import type { ThreadPlan } from "./layout.ts";
import { storeScalar, storeVector } from "./memory.ts";
import type { FunctionPlan } from "./plan.ts";
import { SCALAR_TYPES } from "./scalar.ts";

/** What functions of a program know of each other. */
export interface ProgramLinks extends ProgramContext {
  readonly plans: ReadonlyMap<Func, FunctionPlan>;
  readonly refs: ReadonlyMap<Func, FunctionRef>;
  readonly tables: ReadonlyMap<Buffer, number>;
  readonly arena: ReadonlyMap<Buffer, number>;
  /** Undefined when everything runs on the caller's thread. */
  readonly threads: ThreadPlan | undefined;
  /** The function that runs pieces of a launch's body from a frame in memory. */
  readonly thunk: (func: Func) => Thunk;
}

/** The values every function may be given: where the arena, the tables and the free stack are. */
export interface Bases {
  readonly arena: LocalGet | undefined;
  readonly tables: LocalGet | undefined;
  readonly stack: LocalGet | undefined;
}
interface BufferParams {
  readonly pointer: LocalGet;
  readonly length: LocalGet | undefined;
}

const MAX_I32 = 2147483647;
/** Local buffers up to this many bytes are cleared by plain stores. */
const UNROLLED_CLEAR = 256;

export class Statements implements BufferAccess {
  readonly #build: FunctionBuilder;
  readonly #links: ProgramLinks;
  readonly #plan: FunctionPlan;
  readonly #bases: Bases;
  readonly #params: ReadonlyMap<Buffer, BufferParams>;
  readonly #labels = new Map<Label, Target>();
  readonly #exits: ReadonlySet<Label>;
  readonly #assigned = new AssignedLocals();
  readonly expressions: Expressions;

  constructor(
    build: FunctionBuilder,
    links: ProgramLinks,
    plan: FunctionPlan,
    bases: Bases,
    params: ReadonlyMap<Buffer, BufferParams>,
  ) {
    this.#build = build;
    this.#links = links;
    this.#plan = plan;
    this.#bases = bases;
    this.#params = params;
    this.#exits = exitLabels(plan.func);
    this.expressions = new Expressions(build, plan.func, links, this);
  }

  begin(buffer: Buffer): Place {
    const given = this.#params.get(buffer);
    if (given) return { base: given.pointer, offset: 0 };
    const [base, offset] = this.#owned(buffer);
    if (!base || offset === undefined) throw new IrError(`no memory planned for ${buffer.name}`);
    return { base, offset };
  }
  #owned(buffer: Buffer): [LocalGet | undefined, number | undefined] {
    switch (buffer.space) {
      case "local":
        return [this.#bases.stack, this.#plan.locals.get(buffer)];
      case "table":
        return [this.#bases.tables, this.#links.tables.get(buffer)];
      case "temp":
      case "state":
        return [this.#bases.arena, this.#links.arena.get(buffer)];
      case "param":
        return [undefined, undefined];
      default:
        return buffer.space satisfies never;
    }
  }
  length(buffer: Buffer): Node {
    return this.#params.get(buffer)?.length ?? i32(buffer.length ?? 0);
  }

  /** Local buffers begin as zeros. */
  clearLocals(): void {
    const { localBytes } = this.#plan;
    const { stack } = this.#bases;
    if (!localBytes || !stack) return;
    if (localBytes > UNROLLED_CLEAR) {
      this.#build.emit(op("memory.fill", [stack, i32(0), i32(localBytes)]));
      return;
    }
    for (let at = 0; at < localBytes; at += 16) this.#build.emit(op("v128.store", [stack, v128Words(0)], at));
  }

  body(body: readonly Stmt[]): void {
    for (const s of body) this.#statement(s);
  }

  #statement(s: Stmt): void {
    switch (s.kind) {
      case "assign":
        return this.expressions.assign(s.local, s.value);
      case "store":
        return s.value.lanes === 1 ? storeScalar(s, this.expressions) : storeVector(s, this.expressions);
      case "if":
        return this.#if(s);
      case "for":
        return this.#for(s);
      case "loop": {
        const top = target("loop");
        const body = this.#nested(s.body, "loop");
        this.#build.emit(this.#leavable(s.label, () => [loop(top, [...body(), branch(top)])]));
        return;
      }
      case "block": {
        const body = this.#nested(s.body, "branch");
        this.#build.emit(this.#leavable(s.label, body));
        return;
      }
      case "exit": {
        const to = this.#labels.get(s.label);
        if (!to) throw new IrError(`exit from ${s.label.name}, which does not enclose it`);
        this.#build.emit(branch(to));
        return;
      }
      case "fault":
        return this.#fault(s);
      case "recur":
      case "pack":
        throw new IrError(`${s.kind} reached a target that does not know it`);
      case "call":
        return this.#call(s);
      case "launch":
        return this.#launch(s);
      default:
        s satisfies never;
    }
  }

  /** Nested statements as code, written when called. */
  #nested(body: readonly Stmt[], kind: "branch" | "loop", more?: Local): () => Node[] {
    return () => {
      const own = this.#assigned.in(body);
      const assigned = more ? new Set([...own, more]) : own;
      let nodes: Node[] = [];
      this.expressions.addresses.within(assigned, kind, () => {
        nodes = this.#build.collect(() => this.body(body));
      });
      return nodes;
    };
  }

  /** Code in a block that `exit` can leave. */
  #leavable(label: Label, write: () => Node[]): Node {
    const out = target(label.name.replace(/\W/g, "_"));
    this.#labels.set(label, out);
    const nodes = write();
    this.#labels.delete(label);
    const [only, ...more] = nodes;
    return this.#exits.has(label) || !only || more.length ? block(out, nodes) : only;
  }

  #if(s: If): void {
    const condition = this.expressions.scalar(s.condition);
    const then = this.#nested(s.then, "branch")();
    const otherwise = this.#nested(s.else, "branch")();
    // The vectoriser asks whether any lane is on before long arms, which are mostly skipped.
    this.#build.emit(when(condition, then, otherwise, s.condition.kind === "any"));
  }

  #for(s: For): void {
    if (s.axis === "partial" || s.axis === "scan") throw new IrError(`a ${s.axis} loop reached a target`);
    const { expressions } = this;
    const begin = expressions.scalar(s.begin);
    const end = this.#bound(s);
    const index = expressions.parts(s.index).parts[0] as LocalGet;
    this.#build.emit(set(index.index, begin));
    expressions.addresses.changed(s.index);
    const body = this.#nested(s.body, "loop", s.index);
    const top = target(s.label.name.replace(/\W/g, "_"));
    const run = (): Node[] => {
      const next = set(index.index, op("i32.add", [index, i32(s.step)]));
      return [loop(top, [...body(), ...this.#advance(s, index, end, next, top)])];
    };
    const always = runsOnce(begin, end, s.step);
    const enter = (): Node[] => (always ? run() : [when(compare(s.step, index, end), run())]);
    this.#build.emit(this.#leavable(s.label, enter));
    expressions.addresses.changed(s.index);
  }

  /** The end of a loop, read once: in a local of its own when the body could change what it is computed from. */
  #bound(s: For): Node {
    const end = this.expressions.scalar(s.end);
    const isStable = s.end.kind === "get" && !this.#assigned.in(s.body).has(s.end.local) && s.end.local !== s.index;
    return constantOf(end) !== undefined || isStable ? end : this.#build.keep(end, "end");
  }

  /** To the next iteration, if there is one. */
  #advance(s: For, index: LocalGet, end: Node, next: Node, top: Target): Node[] {
    const known = constantOf(end);
    const far = Math.abs(s.step);
    // index + step cannot wrap when it stops at the end exactly, or when the end is far enough from the limits.
    const safe = far === 1 || s.axis === "vector" || (known !== undefined && Math.abs(known) <= MAX_I32 - far);
    if (safe) return [next, branch(top, compare(s.step, index, end))];
    const left = s.step > 0 ? op("i32.sub", [end, index]) : op("i32.sub", [index, end]);
    const more = this.#build.local("i32", "more");
    return [set(more.index, op("i32.gt_u", [left, i32(far)])), next, branch(top, more)];
  }

  #fault(s: Fault): void {
    const { arena } = this.#bases;
    if (!arena) throw new IrError("a fault without an arena");
    const condition: Expr =
      s.condition.lanes === 1 ? s.condition : { kind: "any", dtype: "bool", lanes: 1, x: s.condition };
    const offset = 4 * FAULT_WORD;
    const first = when(op("i32.eqz", [op("i32.load", [arena], offset)]), [
      op("i32.store", [arena, i32(s.site)], offset),
    ]);
    this.#build.emit(when(this.expressions.scalar(condition), [first]));
  }

  /** Arguments for another function: bases, then pointers and lengths; `given` says which buffer stands for which. */
  #passed(plan: FunctionPlan, given: (b: Buffer) => Buffer): Node[] {
    const { arena, tables, stack } = this.#bases;
    const args: Node[] = [];
    if (plan.arena) args.push(arena as Node);
    if (plan.tables) args.push(tables as Node);
    if (plan.stackBytes) args.push(addI32(stack as Node, i32(this.#plan.localBytes)));
    for (const b of plan.buffers) {
      const { base, offset } = this.begin(given(b));
      args.push(addI32(base, i32(offset)));
      if (b.length === undefined) args.push(this.length(given(b)));
    }
    return args;
  }

  #linked(func: Func): { plan: FunctionPlan; ref: FunctionRef } {
    const [plan, ref] = [this.#links.plans.get(func), this.#links.refs.get(func)];
    if (!plan || !ref) throw new IrError(`function ${func.name} is not part of the program`);
    return { plan, ref };
  }

  #call(s: Call): void {
    const { plan, ref } = this.#linked(s.func);
    const given = (b: Buffer): Buffer => s.buffers[s.func.buffers.indexOf(b)] ?? b;
    this.#build.emit(call(ref, [...this.#passed(plan, given), ...s.args.map((a) => this.expressions.scalar(a))]));
  }

  #launch(s: Launch): void {
    const { plan, ref } = this.#linked(s.func);
    const share = (node: Node): Node => this.#build.share(node, "argument");
    const args = [...this.#passed(plan, (b) => b), ...s.args.map((a) => this.expressions.scalar(a))].map(share);
    const count = this.#build.share(this.expressions.scalar(s.count), "count");
    const alone = when(op("i32.gt_s", [count, i32(0)]), [call(ref, [...args, i32(0), count])]);
    const { threads } = this.#links;
    if (!threads || !s.threaded) {
      this.#build.emit(alone);
      return;
    }
    const stack = this.#bases.stack && addI32(this.#bases.stack, i32(this.#plan.localBytes));
    const lanes = widestVector(s.func);
    const launch: LaunchArguments = { args, count, cost: s.cost, lanes, stack: stack ?? i32(0), alone };
    launchPieces(this.#build, launch, threads, this.#links.thunk(s.func));
  }
}

const compare = (step: number, index: Node, end: Node): Node => op(step > 0 ? "i32.lt_s" : "i32.gt_s", [index, end]);

function runsOnce(begin: Node, end: Node, step: number): boolean {
  const [first, last] = [constantOf(begin), constantOf(end)];
  return first !== undefined && last !== undefined && (step > 0 ? first < last : first > last);
}

function widestVector(func: Func): number {
  let lanes = 1;
  eachExprIn(func.body, (e) => {
    lanes = Math.max(lanes, e.lanes);
  });
  eachStmt(func.body, (s) => {
    if (s.kind === "call") lanes = Math.max(lanes, widestVector(s.func));
  });
  return lanes;
}

/** The labels that some `exit` goes to. */
function exitLabels(func: Func): Set<Label> {
  const found = new Set<Label>();
  eachStmt(func.body, (s) => {
    if (s.kind === "exit") found.add(s.label);
  });
  return found;
}

/** The locals that lists of statements assign, found once for each list. */
class AssignedLocals {
  readonly #found = new WeakMap<readonly Stmt[], ReadonlySet<Local>>();

  in(body: readonly Stmt[]): ReadonlySet<Local> {
    const known = this.#found.get(body);
    if (known) return known;
    const found = new Set<Local>();
    for (const s of body) {
      if (s.kind === "assign") found.add(s.local);
      if (s.kind === "for") found.add(s.index);
      for (const inner of stmtBodies(s)) for (const l of this.in(inner)) found.add(l);
    }
    this.#found.set(body, found);
    return found;
  }
}

/** The type of a function's parameters in the order of `Statements.#passed`, then its scalars. */
export function declareParams(
  build: FunctionBuilder,
  plan: FunctionPlan,
): { bases: Bases; buffers: Map<Buffer, BufferParams>; scalars: Map<Local, LocalGet> } {
  const bases: Bases = {
    arena: plan.arena ? build.param("i32", "arena") : undefined,
    tables: plan.tables ? build.param("i32", "tables") : undefined,
    stack: plan.stackBytes ? build.param("i32", "stack") : undefined,
  };
  const { buffers, scalars } = declareArguments(build, plan);
  return { bases, buffers, scalars };
}

/** Buffers and scalars alone, as the entry takes them. */
export function declareArguments(
  build: FunctionBuilder,
  plan: FunctionPlan,
): { buffers: Map<Buffer, BufferParams>; scalars: Map<Local, LocalGet> } {
  const buffers = new Map<Buffer, BufferParams>();
  for (const b of plan.buffers) {
    const pointer = build.param("i32", b.name);
    buffers.set(b, { pointer, length: b.length === undefined ? build.param("i32", `${b.name}.length`) : undefined });
  }
  const scalars = new Map(plan.func.params.map((p) => [p, build.param(SCALAR_TYPES[p.dtype], p.name)]));
  return { buffers, scalars };
}
