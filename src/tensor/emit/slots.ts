/**
 * @file Memory for the rows that are under way: what only a group of steps sees needs no memory for all rows.
 *
 * The blocks of a group are dealt out in shares, at least one for each thread, and those of a share follow each other.
 * Values that nothing outside of the group reads then lie in a slot of their share, of as many rows as a block: the next
 * block finds it in the nearest caches, where memory for all rows would be fetched and written back for every block.
 */
import { assertIr, assign, buffer, get, local } from "../../ir/build.ts";
import type { Assign, Buffer, Expr, For, Load, Local, Stmt, Store } from "../../ir/nodes.ts";
import { eachStmt, mapExprsIn, mapStmts, operands, usedBuffers, withOperands } from "../../ir/walk.ts";
import { type RowStep, valuesOf } from "../plan.ts";
import { elementsOf } from "../shape.ts";

/** The loop of a group over its shares. */
export interface SharedRows {
  readonly loop: For;
  readonly steps: readonly RowStep[];
  readonly count: number;
  readonly block: number;
  readonly shares: number;
  /** The first row of a block, and of its slot. */
  readonly first: Local;
  readonly slot: Local;
}

/** Shares of equal length, as few as there can be for all threads to have one. */
export function sharesOf(blocks: number, threads: number): number {
  for (let shares = Math.min(threads, blocks); shares < blocks; shares++) if (blocks % shares === 0) return shares;
  return blocks;
}

/** A group's values that fill memory of their own, and the elements of their rows. */
function filledBuffers({ steps, count }: SharedRows): Map<Buffer, number> {
  const found = new Map<Buffer, number>();
  for (const { node, into } of steps.flatMap(valuesOf)) {
    const elements = elementsOf(node.shape);
    const fills = into.offset === 0 && into.buffer.length === elements && node.shape[0] === count;
    if (fills && into.buffer.space === "temp") found.set(into.buffer, elements / count);
  }
  return found;
}

/** The statements of a program, with slots for what only one of the groups sees. */
export function withSlots(body: readonly Stmt[], groups: readonly SharedRows[]): readonly Stmt[] {
  const loops = new Map<Stmt, SharedRows>(groups.map((group) => [group.loop, group]));
  const outside = usedBuffers(mapStmts(body, (s) => (loops.has(s) ? [] : s)));
  const seen = new Map<Buffer, number>();
  for (const { loop } of groups) for (const b of usedBuffers(loop.body)) seen.set(b, (seen.get(b) ?? 0) + 1);
  const isOwn = (b: Buffer): boolean => seen.get(b) === 1 && !outside.has(b);
  return mapStmts(body, (s) => {
    const group = loops.get(s);
    if (!group || group.shares === group.count / group.block) return s;
    const own = [...filledBuffers(group)].filter(([b]) => isOwn(b));
    return { ...group.loop, body: moved(group, new Map(own)) };
  });
}

/**
 * Locals that stand for rows, each with one that stands for the same row of the slot. What is loaded is a value, whatever
 * row it comes from.
 */
class Twins {
  readonly #twins: Map<Local, Local>;

  constructor({ loop, first, slot }: SharedRows) {
    this.#twins = new Map([[first, slot]]);
    eachStmt(loop.body, (s) => {
      if (s.kind === "assign" && s.local.dtype === "i32" && s.local !== first && this.#follows(s.value))
        this.#twins.set(s.local, local(s.local.name, "i32"));
      if (s.kind !== "for") return;
      // Its index would have no twin.
      const moves = this.#follows(s.begin) || this.#follows(s.end);
      assertIr(!moves, () => `the loop ${s.index.name} begins or ends with a block's rows`);
    });
  }
  #follows(e: Expr): boolean {
    if (e.kind === "get") return this.#twins.has(e.local);
    return e.kind !== "load" && operands(e).some((x) => this.#follows(x));
  }
  of(l: Local): Local | undefined {
    return this.#twins.get(l);
  }
  /** An expression in terms of the slot's rows. */
  within(e: Expr): Expr {
    if (e.kind === "get") return get(this.of(e.local) ?? e.local);
    return e.kind === "load" ? e : withOperands(e, (x) => this.within(x));
  }
}

function moved(group: SharedRows, own: ReadonlyMap<Buffer, number>): readonly Stmt[] {
  const { loop, block, shares, first } = group;
  const slots = new Map(
    [...own].map(([b, columns]) => [b, buffer(b.name, b.storage, b.space, shares * block * columns)] as const),
  );
  const twins = new Twins(group);
  const placed = <T extends Load | Store>(x: T): T => {
    const slot = slots.get(x.buffer);
    return slot ? { ...x, buffer: slot, index: twins.within(x.index) } : x;
  };
  const withTwin = (s: Assign): Stmt[] => {
    const twin = s.local === first ? undefined : twins.of(s.local);
    return twin ? [s, assign(twin, twins.within(s.value))] : [s];
  };
  return mapStmts(
    mapExprsIn(loop.body, (e) => (e.kind === "load" ? placed(e) : e)),
    (s) => (s.kind === "store" ? placed(s) : s.kind === "assign" ? withTwin(s) : s),
  );
}
