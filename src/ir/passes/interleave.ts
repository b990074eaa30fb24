/**
 * @file The interleave pass: rows of a few numbers, one for each lane, are stored as they lie in memory.
 *
 * The vectoriser stores column k of all lanes' rows with a stride: one element at a time. Where the columns of a row are
 * all stored in one list of statements, or neighbours among those of a long row, their vectors are shuffled into rows
 * here, and stored side by side: a matrix is turned.
 */
import { add, assign, constant, get, i32, lane, local, shuffle, store } from "../build.ts";
import type { Expr, Module, Stmt, Store } from "../nodes.ts";
import { assignedLocals, eachExpr, eachStmtExpr, stmtBodies, structuralKey, usedBuffers, withBodies } from "../walk.ts";
import { rewriteFunctions } from "./rewrite.ts";

/** Columns of a row that are shuffled; more are as well stored one by one. */
const WIDTHS: ReadonlySet<number> = new Set([2, 3, 4, 6, 8]);

/** The same for rows at places of their own: each is then stored by itself, as one vector. */
const SCATTERED_WIDTH = 4;

/** Elements from which on rows are long: neighbours in them are stored together, as many as there are of these. */
const LONG_ROW = 16;
const NEIGHBOURS: readonly number[] = [8, 4];

/** A store of one column: the row's first element, as an expression and as a key, and the column's number. */
interface Column {
  readonly store: Store;
  /** How many columns may be stored together, most first. */
  readonly widths: readonly number[];
  readonly base: Expr;
  readonly key: string;
  readonly column: number;
}

function columnOf(s: Stmt): Column | undefined {
  if (s.kind !== "store" || s.mask || s.value.lanes === 1 || s.buffer.lanes > 1) return undefined;
  if (s.buffer.storage === "u8" || s.buffer.storage === "f64") return undefined;
  const { index, stride } = s;
  const isSum = index.kind === "binary" && index.op === "add" && index.b.kind === "const";
  const base = isSum ? index.a : index;
  const column = isSum && index.b.kind === "const" ? index.b.value : 0;
  const width = stride === undefined ? scatteredWidth(base) : stride.kind === "const" ? stride.value : 0;
  const widths = WIDTHS.has(width) ? [width] : width < LONG_ROW ? [] : NEIGHBOURS;
  return widths.length > 0 ? { store: s, widths, base, key: structuralKey(base), column } : undefined;
}
/** Lanes with subscripts of their own store rows where these are multiples of a row that is a vector itself. */
function scatteredWidth(base: Expr): number {
  const isMultiple = base.kind === "binary" && base.op === "mul" && base.b.kind === "const";
  return isMultiple && base.b.kind === "const" && base.b.value === SCATTERED_WIDTH ? SCATTERED_WIDTH : 0;
}

/** Units of `unit` lanes of each vector in turn: a0 b0 a1 b1 ... */
function zip(a: Expr, b: Expr, unit: number): Expr {
  const order = Array.from({ length: 2 * a.lanes }, (_, l) => {
    const at = Math.floor(l / (2 * unit)) * unit + (l % unit);
    return Math.floor(l / unit) % 2 === 0 ? at : a.lanes + at;
  });
  return shuffle(order, a, b);
}
/** The same of three: first and second one behind the other, then the third among them. */
function zipThree(a: Expr, b: Expr, c: Expr, unit: number): Expr {
  const { lanes } = a;
  const behind = Array.from({ length: 2 * lanes }, (_, l) => l);
  const order = Array.from({ length: 3 * lanes }, (_, l) => {
    const of = Math.floor(l / unit) % 3;
    return of * lanes + Math.floor(l / (3 * unit)) * unit + (l % unit);
  });
  return shuffle(order, shuffle(behind, a, b), shuffle(behind, c));
}

/** The columns of a row, one vector each, as rows one after the other. `name` keeps what is used twice. */
function rows(columns: readonly Expr[], name: (e: Expr) => Expr, unit = 1): Expr {
  const [a, b, c] = columns as [Expr, Expr, Expr];
  if (columns.length === 1) return a;
  if (columns.length === 3) return zipThree(a, b, c, unit);
  const half = columns.length / 2;
  if (half === 3) {
    const pairs = [0, 2, 4].map((k) => name(zip(columns[k] as Expr, columns[k + 1] as Expr, unit)));
    return rows(pairs, name, 2 * unit);
  }
  const zipped = columns.slice(0, half).map((x, k) => name(zip(x, columns[half + k] as Expr, unit)));
  return rows(zipped, name, unit);
}

/** Whether a statement must stay between stores to a row: it touches the buffer or the subscript, or leads elsewhere. */
function separates(s: Stmt, { store: { buffer: b }, base }: Column): boolean {
  const assigned = assignedLocals([s]);
  let moves = false;
  eachExpr(base, (x) => {
    moves ||= x.kind === "load" || (x.kind === "get" && assigned.has(x.local));
  });
  if (moves) return true;
  if (s.kind !== "assign" && s.kind !== "store" && s.kind !== "if" && s.kind !== "fault") return true;
  if (s.kind === "if") return usedBuffers([s]).has(b) || hasExit(s);
  if (s.kind === "store" && s.buffer === b) return true;
  let reads = false;
  eachStmtExpr(s, (e) =>
    eachExpr(e, (x) => {
      reads ||= x.kind === "load" && x.buffer === b;
    }),
  );
  return reads;
}
const hasExit = (s: Stmt): boolean => s.kind === "exit" || stmtBodies(s).some((body) => body.some(hasExit));

/** The positions of columns that can be stored with the one at `from`, and nothing between forbids it. */
function sameRow(body: readonly Stmt[], from: number, first: Column): ReadonlyMap<number, Column> {
  const found = new Map([[from, first]]);
  const seen = new Set([first.column]);
  for (let at = from + 1; at < body.length && found.size < (first.widths[0] as number); at++) {
    const s = body[at] as Stmt;
    const next = columnOf(s);
    const isNext = next && next.store.buffer === first.store.buffer && next.key === first.key && !seen.has(next.column);
    if (
      isNext &&
      next.widths[0] === first.widths[0] &&
      next.store.value.lanes === first.store.value.lanes &&
      sameStride(next.store, first.store)
    ) {
      found.set(at, next);
      seen.add(next.column);
    } else if (separates(s, first)) break;
  }
  return found;
}
const strideOf = ({ stride }: Store): number | undefined => (stride?.kind === "const" ? stride.value : undefined);
const sameStride = (a: Store, b: Store): boolean => !a.stride === !b.stride && strideOf(a) === strideOf(b);

/** As many of them, counted from the first, as make a row or neighbours in one. */
function rowFrom(body: readonly Stmt[], from: number, first: Column): ReadonlyMap<number, Column> | undefined {
  const found = [...sameRow(body, from, first)];
  for (const width of first.widths) {
    const row = found.slice(0, width);
    const columns = row.map(([, { column }]) => column);
    if (row.length === width && Math.max(...columns) - Math.min(...columns) === width - 1) return new Map(row);
  }
  return undefined;
}

/** Stores a row's columns together, where the last of them was stored. */
function together(columns: readonly Column[], values: readonly Expr[]): Stmt[] {
  const before: Stmt[] = [];
  const name = (e: Expr): Expr => {
    const kept = local("zipped", e.dtype, e.lanes);
    before.push(assign(kept, e));
    return get(kept);
  };
  const order = columns.map((_, k) => k).sort((x, y) => (columns[x] as Column).column - (columns[y] as Column).column);
  const { store: s, base, column } = columns[order[0] as number] as Column;
  const value = name(
    rows(
      order.map((k) => values[k] as Expr),
      name,
    ),
  );
  const first = column === 0 ? base : add(base, constant("i32", column, base.lanes));
  const [width, apart] = [columns.length, strideOf(s)];
  if (apart === width) return [...before, store(s.buffer, first, value, i32(1))];
  const at = name(first);
  const placeOf = (l: number): Expr => (apart === undefined ? lane(l, at) : add(at, i32(l * apart)));
  const stores = Array.from({ length: s.value.lanes }, (_, l) => {
    const row = Array.from({ length: width }, (__, k) => l * width + k);
    return store(s.buffer, placeOf(l), shuffle(row, value), i32(1));
  });
  return [...before, ...stores];
}

function interleaved(body: readonly Stmt[]): Stmt[] {
  const result: Stmt[] = [];
  /** What becomes of the stores that belong to a row found before. */
  const instead = new Map<number, Stmt[]>();
  for (const [at, s] of body.entries()) {
    const replaced = instead.get(at);
    const first = replaced ? undefined : columnOf(s);
    const row = first && rowFrom(body, at, first);
    if (row) {
      const last = [...row.keys()].at(-1);
      const kept = [...row.values()].map((c) => local("column", c.store.value.dtype, c.store.value.lanes));
      [...row].forEach(([place, c], k) => {
        const value = assign(kept[k] as (typeof kept)[0], c.store.value);
        instead.set(place, place === last ? [value, ...together([...row.values()], kept.map(get))] : [value]);
      });
    }
    result.push(...(instead.get(at) ?? [withBodies(s, interleaved)]));
  }
  return result;
}

export function interleave(module: Module): Module {
  return rewriteFunctions(module, (f) => ({ ...f, body: interleaved(f.body) }));
}
