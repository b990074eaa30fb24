/**
 * @file Translates the body of a parallel loop so that `lanes` neighbouring iterations run side by side.
 *
 * Uniform and affine values stay scalars; the rest become vectors. Branches on varying conditions become masks: an
 * assignment under a mask selects, a store under a mask stores only true lanes, and long arms are skipped when no
 * lane is on. Lanes that leave a loop or block early are switched off in its `live` mask until it ends.
 */
import {
  add,
  and,
  anyLane,
  assign,
  type Builder,
  binary,
  buffer,
  constant,
  convert,
  gather,
  get,
  i32,
  iota,
  label,
  loadLanes,
  mul,
  not,
  select,
  splat,
  store,
  sub,
} from "../build.ts";
import type { Buffer, Expr, For, If, Label, Load, Local, Stmt, Store } from "../nodes.ts";
import { carriedLocals, stmtBodies, withOperands } from "../walk.ts";
import { costOf } from "./cost.ts";
import { ownsElements, type SharedAccess, sharedAccesses } from "./dependence.ts";
import { Shapes } from "./shapes.ts";

/** The loop cannot be vectorised; it stays scalar. */
export class NotVectorisable extends Error {
  override readonly name = "NotVectorisable";
}

/** Operations in an arm from which on it pays to ask whether any lane takes it. */
const SKIP_COST = 48;

/** The lanes that run a list of statements: all (undefined) or those of a mask; and the list that the mask is for. */
interface Region {
  readonly mask: Expr | undefined;
  readonly body: readonly Stmt[] | undefined;
}

/** An enclosing loop or block, under its new label; `live` holds the lanes that have not left it. */
interface Construct {
  readonly old: Label;
  readonly label: Label;
  readonly live: Local | undefined;
}

/** What is known of a loop's body, however many lanes run it. */
export class LaneFacts {
  readonly shapes: Shapes;
  readonly carried: readonly Local[];
  readonly shared: ReadonlyMap<Buffer, readonly SharedAccess[]>;

  /** With a stride of -1 the last lane stands for iteration i and the first one for the last of them. */
  constructor(loop: For, stride: 1 | -1 = 1) {
    this.shapes = new Shapes(loop, stride);
    this.carried = carriedLocals(loop);
    this.shared = sharedAccesses(loop);
  }
}

export class LaneCode {
  readonly #b: Builder;
  readonly #lanes: number;
  readonly #shapes: Shapes;
  readonly #carried: readonly Local[];
  readonly #shared: ReadonlyMap<Buffer, readonly SharedAccess[]>;
  readonly #locals = new Map<Local, Local>();
  readonly #buffers = new Map<Buffer, Buffer>();
  #constructs: readonly Construct[] = [];

  constructor(b: Builder, { shapes, carried, shared }: LaneFacts, lanes: number) {
    this.#b = b;
    this.#lanes = lanes;
    this.#shapes = shapes;
    this.#carried = carried;
    this.#shared = shared;
  }

  /** The vector that stands for a varying local. */
  vector(l: Local): Local {
    let found = this.#locals.get(l);
    if (!found) {
      found = this.#b.local(l.name, l.dtype, this.#lanes);
      this.#locals.set(l, found);
    }
    return found;
  }

  /** Lets a reduced local stand for another vector from here on (one accumulator per unrolled copy). */
  accumulate(l: Local, into: Local): void {
    this.#locals.set(l, into);
  }

  /** Emits the vector form of a loop's body. */
  body(body: readonly Stmt[]): void {
    this.start(body);
    this.part(body);
  }
  /** What has to stand before the first part of a body. */
  start(body: readonly Stmt[]): void {
    for (const l of this.#needingStart(body)) this.#b.assign(this.vector(l), constant(l.dtype, 0, this.#lanes));
  }
  /** Emits the vector form of some of the body's statements. */
  part(body: readonly Stmt[]): void {
    this.#list(body, { mask: undefined, body: undefined });
  }
  /** An expression of the body as a vector. */
  value(e: Expr): Expr {
    return this.#vec(e);
  }

  /** Varying locals that are first assigned under a mask and seen outside of it: their other lanes need some value. */
  #needingStart(body: readonly Stmt[]): Set<Local> {
    const needing = new Set<Local>();
    const assigned = new Set<Local>(this.#carried);
    const walk = (list: readonly Stmt[], region: readonly Stmt[] | undefined): void => {
      for (const s of list) {
        if (s.kind === "assign") {
          const masked = region !== undefined && !this.#shapes.isPrivate(s.local, region);
          if (masked && !assigned.has(s.local)) needing.add(s.local);
          assigned.add(s.local);
        }
        const varyingIf = s.kind === "if" && this.#isVarying(s.condition);
        const divergent = "label" in s && s.kind !== "exit" && this.#shapes.isDivergent(s.label);
        for (const inner of stmtBodies(s)) walk(inner, varyingIf || divergent ? inner : region);
      }
    };
    walk(body, undefined);
    return needing;
  }

  #isVarying(e: Expr): boolean {
    return this.#shapes.of(e).kind !== "uniform";
  }

  // Expressions

  #vec(e: Expr): Expr {
    const shape = this.#shapes.of(e);
    if (shape.kind === "uniform") return splat(e, this.#lanes);
    if (shape.kind === "affine") {
      const unit = shape.stride.kind === "const" && shape.stride.value === 1;
      const steps = unit ? iota(this.#lanes) : mul(iota(this.#lanes), splat(shape.stride, this.#lanes));
      return add(splat(e, this.#lanes), steps);
    }
    switch (e.kind) {
      case "get":
        return get(this.vector(e.local));
      case "load":
        return this.#load(e);
      default:
        return withOperands(e, (x) => this.#vec(x), this.#lanes);
    }
  }

  #load(e: Load): Expr {
    if (e.buffer.space === "local") {
      const b = this.#private(e.buffer);
      return { ...e, lanes: this.#lanes, buffer: b, index: this.#privateIndex(e.index) };
    }
    const shape = this.#shapes.of(e.index);
    if (shape.kind === "affine") return loadLanes(e.buffer, e.index, shape.stride, this.#lanes);
    return gather(e.buffer, this.#vec(e.index));
  }

  /** A local buffer with a copy per lane. */
  #private(b: Buffer): Buffer {
    let found = this.#buffers.get(b);
    if (!found) {
      found = buffer(b.name, b.storage, "local", b.length, { lanes: this.#lanes });
      this.#buffers.set(b, found);
    }
    return found;
  }

  #privateIndex(index: Expr): Expr {
    return this.#isVarying(index) ? this.#vec(index) : index;
  }

  // Statements

  #list(body: readonly Stmt[], region: Region): void {
    let { mask } = region;
    for (const s of body) {
      this.#stmt(s, { ...region, mask });
      if (mask && this.#shapes.mayDisable(s)) mask = this.#refreshed(mask);
    }
  }

  /** A mask without the lanes that have left the innermost construct meanwhile. */
  #refreshed(mask: Expr): Expr {
    const live = this.#constructs.findLast((c) => c.live)?.live;
    if (!live || (mask.kind === "get" && mask.local === live)) return mask;
    return this.#b.let("mask", and(mask, get(live)));
  }

  #stmt(s: Stmt, region: Region): void {
    switch (s.kind) {
      case "assign":
        return this.#assign(s.local, s.value, region);
      case "store":
        return this.#store(s, region.mask);
      case "if":
        return this.#if(s, region);
      case "for":
      case "loop":
      case "block":
        return this.#construct(s, region);
      case "exit":
        return this.#exit(s.label, region.mask);
      case "fault":
        return this.#fault(s.condition, s.site, region.mask);
      case "recur":
        throw new NotVectorisable(`${s.local.name} goes from one iteration to the next`);
      case "pack":
        throw new NotVectorisable("it is vector code");
      case "call":
      case "launch":
        throw new NotVectorisable(`it calls ${s.func.name}`);
      default:
        s satisfies never;
    }
  }

  #assign(l: Local, value: Expr, region: Region): void {
    if (this.#shapes.ofLocal(l).kind !== "varying") return this.#b.assign(l, value);
    const to = this.vector(l);
    const v = this.#vec(value);
    const seen = region.mask && region.body && !this.#shapes.isPrivate(l, region.body);
    this.#b.assign(to, seen && region.mask ? select(region.mask, v, get(to)) : v);
  }

  #store(s: Store, mask: Expr | undefined): void {
    const value = this.#vec(s.value);
    if (s.buffer.space === "local") {
      this.#b.emit(store(this.#private(s.buffer), this.#privateIndex(s.index), value, undefined, mask));
      return;
    }
    const shape = this.#shapes.of(s.index);
    if (shape.kind === "affine" && (!mask || !isOne(shape.stride) || ownsElements(this.#shared.get(s.buffer) ?? [])))
      this.#b.emit(store(s.buffer, s.index, value, shape.stride, mask));
    else this.#b.emit(store(s.buffer, this.#vec(s.index), value, undefined, mask));
  }

  #fault(condition: Expr, site: number, mask: Expr | undefined): void {
    const varying = mask || this.#isVarying(condition);
    const lanes = varying ? this.#vec(condition) : condition;
    this.#b.fault(mask ? and(mask, lanes) : lanes, site);
  }

  #if(s: If, region: Region): void {
    if (!this.#isVarying(s.condition)) {
      this.#b.if(
        s.condition,
        () => this.#list(s.then, region),
        () => this.#list(s.else, region),
      );
      return;
    }
    const taken = this.#b.let("taken", this.#vec(s.condition));
    const within = (m: Expr): Expr => (region.mask ? this.#b.let("mask", and(region.mask, m)) : m);
    // Both masks are taken before either arm runs: an arm may change what the condition read.
    const masks = [within(taken), s.else.length ? within(not(taken)) : taken] as const;
    this.#arm(s.then, masks[0]);
    if (s.else.length) this.#arm(s.else, this.#named(masks[1]));
  }

  #named(mask: Expr): Expr {
    return mask.kind === "get" || mask.kind === "const" ? mask : this.#b.let("mask", mask);
  }

  #arm(body: readonly Stmt[], mask: Expr): void {
    const run = (): void => this.#list(body, { mask, body });
    if (costOf(body) > SKIP_COST || body.some(hasLoop)) this.#b.if(anyLane(mask), run);
    else run();
  }

  #construct(s: Stmt & { kind: "for" | "loop" | "block" }, region: Region): void {
    const divergent = this.#shapes.isDivergent(s.label);
    const live = divergent ? this.#b.local("live", "bool", this.#lanes) : undefined;
    const construct: Construct = { old: s.label, label: label(s.label.name), live };
    const outer = this.#constructs;
    this.#constructs = [...outer, construct];
    if (live) this.#b.assign(live, region.mask ?? constant("bool", 1, this.#lanes));
    const inner: Region = live ? { mask: get(live), body: s.body } : region;
    if (s.kind === "for" && live && this.#shapes.ofLocal(s.index).kind === "varying")
      this.#raggedFor(s, live, construct, inner);
    else this.#emitConstruct(s, construct, () => this.#list(s.body, inner));
    this.#constructs = outer;
  }

  #emitConstruct(s: Stmt & { kind: "for" | "loop" | "block" }, c: Construct, run: () => void): void {
    const live = c.live;
    const body = this.#b.body(() => {
      run();
      if (live && s.kind !== "block") this.#b.if(not(anyLane(get(live))), () => this.#b.exit(c.label));
    });
    this.#b.emit({ ...s, label: c.label, body } as Stmt);
  }

  /** A counted loop whose lanes run different numbers of times. */
  #raggedFor(s: For, live: Local, c: Construct, region: Region): void {
    const index = this.vector(s.index);
    const end = this.#b.let("end", this.#vec(s.end));
    this.#b.assign(index, this.#vec(s.begin));
    this.#b.assign(live, and(get(live), binary(s.step > 0 ? "lt" : "gt", get(index), end)));
    // What is left of a live lane's way is positive; comparing it with the step cannot wrap.
    const left = (): Expr => convert("u32", s.step > 0 ? sub(end, get(index)) : sub(get(index), end));
    const step = constant("u32", Math.abs(s.step), this.#lanes);
    const body = this.#b.body(() => {
      this.#b.if(not(anyLane(get(live))), () => this.#b.exit(c.label));
      this.#list(s.body, region);
      this.#b.assign(live, and(get(live), binary("gt", left(), step)));
      this.#b.assign(index, add(get(index), splat(i32(s.step), this.#lanes)));
    });
    this.#b.emit({ kind: "loop", label: c.label, body });
  }

  #exit(target: Label, mask: Expr | undefined): void {
    const at = this.#constructs.findLastIndex((c) => c.old === target);
    const construct = this.#constructs[at];
    if (!construct) throw new NotVectorisable("it leaves the loop");
    if (!construct.live) return this.#b.exit(construct.label);
    // The mask may be the very live mask that is about to change.
    const leaving = mask && this.#b.let("leaving", mask);
    for (const c of this.#constructs.slice(at)) {
      if (c.live)
        this.#b.emit(assign(c.live, leaving ? and(get(c.live), not(leaving)) : constant("bool", 0, this.#lanes)));
    }
  }
}

const isOne = (e: Expr): boolean => e.kind === "const" && e.value === 1;
const hasLoop = (s: Stmt): boolean =>
  s.kind === "for" || s.kind === "loop" || stmtBodies(s).some((body) => body.some(hasLoop));
