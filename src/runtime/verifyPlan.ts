/**
 * @file Checks a memory plan where every pass is checked, too: no buffer is read after another one was written over it.
 *
 * Knows nothing of lifetimes, which plans are made by. It goes through a lowered module in order, loops twice, and notes
 * for whole buffers what was written last to their memory: a store counts as a store of all. So it sees every buffer that
 * lies where another one is still needed, but not one of which a part only is written anew.
 */
import { IrError } from "../ir/build.ts";
import type { Buffer, Expr, Module, Stmt } from "../ir/nodes.ts";
import { STORAGE_BYTES } from "../ir/types.ts";
import { eachExpr, eachStmtExpr, stmtBodies, usedBuffers } from "../ir/walk.ts";
import { type Extent, extentOf, overlapping } from "../targets/extents.ts";
import { ARENA_HEADER, type ArenaLayout } from "../targets/target.ts";

/** Buffers by those that they share memory with. */
type Rivals = ReadonlyMap<Buffer, readonly Buffer[]>;

function extentsOf(module: Module, layout: ArenaLayout): Extent[] {
  const own = [...usedBuffers(module.entry.body)].filter((b) => b.space === "temp" || b.space === "state");
  return own.map((buffer) => {
    const extent = extentOf(buffer, layout) ?? { buffer, begin: Number.NaN, end: Number.NaN };
    const { begin, end } = extent;
    if (!(begin >= ARENA_HEADER && end <= layout.bytes && begin % STORAGE_BYTES[buffer.storage] === 0))
      throw new IrError(
        `${module.name}: ${buffer.name} does not lie in the arena: ${begin} to ${end} of ${layout.bytes}`,
      );
    return extent;
  });
}

function rivalsIn(module: Module, extents: readonly Extent[]): Rivals {
  const rivals = new Map<Buffer, Buffer[]>();
  for (const [{ buffer: a }, { buffer: b }] of overlapping(extents)) {
    if (a.space === "state" || b.space === "state")
      throw new IrError(`${module.name}: ${a.name} and ${b.name} share memory, one of them for good`);
    rivals.set(a, [...(rivals.get(a) ?? []), b]);
    rivals.set(b, [...(rivals.get(b) ?? []), a]);
  }
  return rivals;
}

/** Goes through the statements of a module. */
class Walk {
  readonly #name: string;
  readonly #rivals: Rivals;
  /** Buffers that others were written over since they were written themselves. */
  readonly #spoiled = new Map<Buffer, Buffer>();
  /** What buffers of called functions stand for. */
  #given: ReadonlyMap<Buffer, Buffer> = new Map();

  constructor(name: string, rivals: Rivals) {
    this.#name = name;
    this.#rivals = rivals;
  }

  /** `again`: whether loops are gone through a second time, for what they carry from one iteration to the next. */
  body(statements: readonly Stmt[], again: boolean): void {
    for (const s of statements) this.#statement(s, again);
  }
  #statement(s: Stmt, again: boolean): void {
    eachStmtExpr(s, (e) => eachExpr(e, this.#read));
    if (s.kind === "store" || s.kind === "pack") this.#write(s.buffer);
    if (s.kind === "launch") this.#twice(s.func.body, again);
    if (s.kind === "call") this.#call(s, again);
    const loops = s.kind === "for" || s.kind === "loop";
    for (const inner of stmtBodies(s)) loops ? this.#twice(inner, again) : this.body(inner, again);
  }
  #twice(statements: readonly Stmt[], again: boolean): void {
    this.body(statements, again);
    if (again) this.body(statements, false);
  }
  #call({ func, buffers }: Stmt & { kind: "call" }, again: boolean): void {
    const outer = this.#given;
    this.#given = new Map(func.buffers.map((b, k) => [b, outer.get(buffers[k] as Buffer) ?? (buffers[k] as Buffer)]));
    this.body(func.body, again);
    this.#given = outer;
  }

  readonly #read = (e: Expr): void => {
    if (e.kind !== "load") return;
    const buffer = this.#given.get(e.buffer) ?? e.buffer;
    const by = this.#spoiled.get(buffer);
    if (by) throw new IrError(`${this.#name}: ${buffer.name} is read after ${by.name} was written over it`);
  };
  #write(written: Buffer): void {
    const buffer = this.#given.get(written) ?? written;
    const rivals = this.#rivals.get(buffer);
    if (!rivals) return;
    this.#spoiled.delete(buffer);
    for (const rival of rivals) this.#spoiled.set(rival, buffer);
  }
}

/** Throws where a plan lets buffers of a lowered module spoil each other. */
export function verifyPlan(module: Module, layout: ArenaLayout): void {
  const rivals = rivalsIn(module, extentsOf(module, layout));
  if (rivals.size > 0) new Walk(module.name, rivals).body(module.entry.body, true);
}
