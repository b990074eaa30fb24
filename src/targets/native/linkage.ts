/**
 * @file How the functions of a module reach memory: names, hidden parameters, tables, and who owns local buffers.
 *
 * A function of the IR sees buffers by identity; a C function gets them as restrict pointers, but for those of which
 * several lie in the same memory, one after the other: a compiler may not move what is done to one past what is done to
 * the next. Besides its declared buffers each function takes those that it (or what it calls) uses otherwise. A local
 * buffer belongs to the outermost function that touches it, and is handed down from there.
 */
import type { Buffer, Func, Launch } from "../../ir/nodes.ts";
import { functionsOf } from "../../ir/walk.ts";
import { extentOf, overlapping } from "../extents.ts";
import type { ArenaLayout, Lowered } from "../target.ts";
import { factsOf } from "./facts.ts";
import { elementLiteral } from "./literals.ts";
import type { Names } from "./names.ts";
import { cType } from "./prelude.ts";

/** Work per piece below which a second thread does not pay: about 15 us. */
const PIECE_NANOSECONDS = 15_000;
/** One operation of an iteration, and how much of that remains per lane in vector code. */
const OPERATION_NANOSECONDS = 0.4;

export class Linkage {
  readonly functions: readonly Func[];
  readonly #arena: ArenaLayout;
  readonly #parameters = new Map<Func, readonly Buffer[]>();
  readonly #functionNames = new Map<Func, string>();
  readonly #tables = new Map<Buffer, string>();
  readonly #launched = new Set<Func>();
  readonly #names: Names;

  constructor({ module, arena }: Lowered, names: Names) {
    this.#arena = arena;
    this.#names = names;
    this.functions = functionsOf(module);
    for (const f of this.functions) {
      this.#functionNames.set(f, names.fresh(f.name));
      for (const launched of factsOf(f).launched) this.#launched.add(launched);
    }
    this.#findParameters();
  }

  /** Callers first: what local buffers come from above; then callees first: what each must be handed. */
  #findParameters(): void {
    const above = new Map<Func, Set<Buffer>>();
    for (const f of [...this.functions].reverse()) {
      const own = above.get(f) ?? new Set();
      const visible = [...own, ...factsOf(f).buffers].filter((b) => b.space === "local");
      for (const callee of factsOf(f).callees) above.set(callee, new Set([...(above.get(callee) ?? []), ...visible]));
    }
    for (const f of this.functions) {
      const needed = new Set(f.buffers);
      const fromAbove = above.get(f) ?? new Set();
      const add = (b: Buffer): void => {
        if (b.space !== "table" && (b.space !== "local" || fromAbove.has(b))) needed.add(b);
      };
      for (const b of factsOf(f).buffers) add(b);
      for (const callee of factsOf(f).callees)
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

  /** Which of them lie in memory that another one uses, too. */
  sharing(f: Func): ReadonlySet<Buffer> {
    const extents = this.parameters(f).flatMap((buffer) => extentOf(buffer, this.#arena) ?? []);
    return new Set(overlapping(extents).flatMap((pair) => pair.map(({ buffer }) => buffer)));
  }

  hasLoops(f: Func): boolean {
    return factsOf(f).loops;
  }

  isLaunched(f: Func): boolean {
    return this.#launched.has(f);
  }

  /** Whether a function needs the thread pool, for itself or for what it calls. */
  launches(f: Func): boolean {
    const { launched, callees } = factsOf(f);
    return launched.length > 0 || callees.some((c) => this.launches(c));
  }

  /** Nanoseconds of an iteration, roughly. */
  nanoseconds(s: Launch): number {
    const speed = Math.min(factsOf(s.func).lanes, 8);
    return (Math.max(s.cost, 1) * OPERATION_NANOSECONDS) / speed;
  }
  /** Iterations that make a piece worth a thread. */
  grain(s: Launch): number {
    return Math.max(1, Math.ceil(PIECE_NANOSECONDS / this.nanoseconds(s)));
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
