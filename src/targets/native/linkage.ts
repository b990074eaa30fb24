/**
 * @file How the functions of a module reach memory: names, hidden parameters, tables, and who owns local buffers.
 *
 * A function of the IR sees buffers by identity; a C function gets them as restrict pointers. Besides its declared
 * buffers each function takes those that it (or what it calls) uses otherwise. A local buffer belongs to the
 * outermost function that touches it, and is handed down from there.
 */
import type { Buffer, Func, Launch, Module } from "../../ir/nodes.ts";
import { eachExprIn, eachStmt, functionsOf, stmtExprs } from "../../ir/walk.ts";
import { elementLiteral } from "./literals.ts";
import type { Names } from "./names.ts";
import { cType } from "./prelude.ts";

/** Work per piece below which a second thread does not pay: about 15 us. */
const PIECE_NANOSECONDS = 15_000;
/** One operation of an iteration, and how much of that remains per lane in vector code. */
const OPERATION_NANOSECONDS = 0.4;

interface Uses {
  /** Buffers that the function's own statements touch. */
  readonly direct: ReadonlySet<Buffer>;
  readonly callees: readonly Func[];
  readonly launches: boolean;
  readonly loops: boolean;
  /** The widest vector in it, 1 for scalar code. */
  readonly lanes: number;
}

function usesOf(f: Func): Uses {
  const direct = new Set<Buffer>();
  const callees: Func[] = [];
  let launches = false;
  let loops = false;
  let lanes = 1;
  eachStmt(f.body, (s) => {
    if (s.kind === "store") direct.add(s.buffer);
    if (s.kind === "call") for (const b of s.buffers) direct.add(b);
    if (s.kind === "call" || s.kind === "launch") callees.push(s.func);
    if (s.kind === "launch") launches = true;
    if (s.kind === "for" || s.kind === "loop") loops = true;
    for (const e of stmtExprs(s)) lanes = Math.max(lanes, e.lanes);
  });
  eachExprIn(f.body, (e) => {
    if (e.kind === "load" || e.kind === "length") direct.add(e.buffer);
  });
  return { direct, callees, launches, loops, lanes };
}

export class Linkage {
  readonly functions: readonly Func[];
  readonly #uses = new Map<Func, Uses>();
  readonly #parameters = new Map<Func, readonly Buffer[]>();
  readonly #functionNames = new Map<Func, string>();
  readonly #tables = new Map<Buffer, string>();
  readonly #launched = new Set<Func>();
  readonly #names: Names;

  constructor(module: Module, names: Names) {
    this.#names = names;
    this.functions = functionsOf(module);
    for (const f of this.functions) {
      this.#uses.set(f, usesOf(f));
      this.#functionNames.set(f, names.fresh(f.name));
      eachStmt(f.body, (s) => {
        if (s.kind === "launch") this.#launched.add(s.func);
      });
    }
    this.#findParameters();
  }

  #usesOf(f: Func): Uses {
    return this.#uses.get(f) as Uses;
  }

  /** Callers first: what local buffers come from above; then callees first: what each must be handed. */
  #findParameters(): void {
    const above = new Map<Func, Set<Buffer>>();
    for (const f of [...this.functions].reverse()) {
      const own = above.get(f) ?? new Set();
      const visible = [...own, ...this.#usesOf(f).direct].filter((b) => b.space === "local");
      for (const callee of this.#usesOf(f).callees)
        above.set(callee, new Set([...(above.get(callee) ?? []), ...visible]));
    }
    for (const f of this.functions) {
      const needed = new Set(f.buffers);
      const fromAbove = above.get(f) ?? new Set();
      const add = (b: Buffer): void => {
        if (b.space !== "table" && (b.space !== "local" || fromAbove.has(b))) needed.add(b);
      };
      for (const b of this.#usesOf(f).direct) add(b);
      for (const callee of this.#usesOf(f).callees)
        for (const b of this.parameters(callee)) if (!callee.buffers.includes(b)) add(b);
      this.#parameters.set(f, [...needed]);
    }
  }

  nameOf(f: Func): string {
    return this.#functionNames.get(f) as string;
  }

  /** The buffers that a function takes, in order. */
  parameters(f: Func): readonly Buffer[] {
    return this.#parameters.get(f) as readonly Buffer[];
  }

  /** Whether a local buffer lives in this function's stack frame. */
  owns(f: Func, b: Buffer): boolean {
    return this.#usesOf(f).direct.has(b) && !this.parameters(f).includes(b);
  }

  hasLoops(f: Func): boolean {
    return this.#usesOf(f).loops;
  }

  isLaunched(f: Func): boolean {
    return this.#launched.has(f);
  }

  /** Whether a function needs the thread pool, for itself or for what it calls. */
  launches(f: Func): boolean {
    const { launches, callees } = this.#usesOf(f);
    return launches || callees.some((c) => this.launches(c));
  }

  /** Iterations that make a piece worth a thread. */
  grain(s: Launch): number {
    const speed = Math.min(this.#usesOf(s.func).lanes, 8);
    const each = (Math.max(s.cost, 1) * OPERATION_NANOSECONDS) / speed;
    return Math.max(1, Math.ceil(PIECE_NANOSECONDS / each));
  }

  table(b: Buffer): string {
    let name = this.#tables.get(b);
    if (name === undefined) {
      name = this.#names.fresh(b.name);
      this.#tables.set(b, name);
    }
    return name;
  }

  /** Definitions of the tables that have been asked for. */
  tableTexts(): string[] {
    return [...this.#tables].map(([b, name]) => {
      const data = (b.data ?? []).map((x) => elementLiteral(b.storage, x));
      return `static const ${cType(b.storage)} ${name}[${Math.max(1, b.length ?? 0)}] = {${data.join(", ") || "0"}};`;
    });
  }
}

/** The leading arguments of a call of `f`: fault word, context where needed, then buffers and dynamic lengths. */
export function argumentsOf(
  linkage: Linkage,
  f: Func,
  from: {
    readonly fault: string;
    readonly context: string;
    readonly buffer: (b: Buffer) => string;
    readonly length: (b: Buffer) => string;
  },
): string[] {
  const list = [from.fault];
  if (linkage.launches(f)) list.push(from.context);
  for (const b of linkage.parameters(f)) {
    list.push(from.buffer(b));
    if (b.length === undefined) list.push(from.length(b));
  }
  return list;
}
