/**
 * @file The packs pass: a serial loop that lists what meets a condition looks at a vector of iterations at a time.
 *
 * Such a loop stores a value at every iteration, at a place that moves on only where the condition holds, so that what
 * was not wanted is overwritten. The place must be a count behind a mask of low bits, which tells where it wraps; the
 * last places before that, like the last iterations, are left to the loop itself.
 */
import { add, and, Builder, binary, get, i32 } from "../build.ts";
import type { Expr, For, Local, Module, Stmt, Store } from "../nodes.ts";
import { eachExpr, mapStmts } from "../walk.ts";
import { LaneCode, LaneFacts } from "./lanes.ts";
import { rewriteFunctions } from "./rewrite.ts";
import { wholeSteps } from "./vectorise.ts";

/** `buffer[base + (count & places - 1)] = value; count = count + (condition ? 1 : 0)` */
interface Listing {
  readonly store: Store;
  readonly count: Local;
  readonly places: number;
  readonly condition: Expr;
}

function mentions(e: Expr, found: (x: Expr) => boolean): boolean {
  let any = false;
  eachExpr(e, (x) => {
    any ||= found(x);
  });
  return any;
}

/** The number of places that `count & (places - 1)` reaches, somewhere in a sum. */
function placesOf(e: Expr, count: Local): number | undefined {
  if (e.kind !== "binary") return undefined;
  const isCount = (x: Expr): boolean => x.kind === "get" && x.local === count;
  if (e.op === "and" && isCount(e.a) && e.b.kind === "const") {
    const places = e.b.value + 1;
    return places > 0 && (places & (places - 1)) === 0 ? places : undefined;
  }
  if (e.op !== "add") return undefined;
  const [a, b] = [e.a, e.b].map((x) => mentions(x, isCount));
  return a === b ? undefined : placesOf(a ? e.a : e.b, count);
}

function listingOf(s: Stmt): Listing | undefined {
  if (s.kind !== "for" || s.axis !== "serial" || s.step !== 1) return undefined;
  const [kept, counted, ...more] = s.body;
  if (kept?.kind !== "store" || counted?.kind !== "assign" || more.length > 0) return undefined;
  const { buffer: to, index, value } = kept;
  if (kept.mask || to.space === "local" || to.storage === "u8" || to.storage === "f64") return undefined;
  const { local: count } = counted;
  const condition = countedWhere(counted.value, count);
  const places = placesOf(index, count);
  if (!condition || !places) return undefined;
  if (mentions(index, (x) => x.kind === "load" || (x.kind === "get" && x.local === s.index))) return undefined;
  const depends = (x: Expr): boolean =>
    x.kind === "load" ? x.buffer === to || x.buffer.space === "local" : x.kind === "get" && x.local === count;
  return mentions(value, depends) || mentions(condition, depends)
    ? undefined
    : { store: kept, count, places, condition };
}

/** The condition of `count + (condition ? 1 : 0)`. */
function countedWhere(e: Expr, count: Local): Expr | undefined {
  if (e.kind !== "binary" || e.op !== "add" || e.b.kind !== "select") return undefined;
  const isCount = e.a.kind === "get" && e.a.local === count;
  return isCount && isNumber(e.b.a, 1) && isNumber(e.b.b, 0) ? e.b.condition : undefined;
}
const isNumber = (e: Expr, value: number): boolean => e.kind === "const" && e.value === value;

/** The loop over vectors, and the one that goes on where it ends. */
function packed(s: For, { store, count, places, condition }: Listing, lanes: number): Stmt[] {
  const b = new Builder();
  const next = b.local("next", "i32");
  b.assign(next, s.begin);
  const end = b.let("to", s.end);
  const body = b.body(() => {
    b.if(binary("gt", and(get(count), i32(places - 1)), i32(places - lanes)), () => b.exit(s.label));
    const code = new LaneCode(b, new LaneFacts({ ...s, body: [] }), lanes);
    const found = b.local("found", "i32");
    const [value, mask] = [code.value(store.value), code.value(condition)];
    b.emit({ kind: "pack", buffer: store.buffer, index: store.index, value, mask, found });
    b.assign(count, add(get(count), get(found)));
    b.assign(next, add(get(s.index), i32(lanes)));
  });
  const middle = b.let("middle", wholeSteps(get(next), end, lanes));
  b.emit({ ...s, axis: "vector", end: middle, step: lanes, body });
  b.emit({ ...s, begin: get(next), end });
  return b.statements;
}

export function packListings(module: Module, { vectorBytes }: { readonly vectorBytes: number }): Module {
  const lanes = vectorBytes / 4;
  return rewriteFunctions(module, (f) => ({
    ...f,
    body: mapStmts(f.body, (s) => {
      const listing = listingOf(s);
      return listing && listing.places >= lanes && s.kind === "for" ? packed(s, listing, lanes) : s;
    }),
  }));
}
