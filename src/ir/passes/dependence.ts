/**
 * @file What the iterations of a parallel loop do to shared buffers: which elements are an iteration's own.
 *
 * A parallel loop promises independent iterations; this module says what follows from the subscripts alone: conflicts
 * that are certain (an error), stores through computed subscripts (kept in order, on one thread), and buffers of which
 * iteration i touches only elements base + i * stride (whose neighbours may be rewritten with what they held).
 */
import type { Buffer, Expr, For, Load, Local, Store } from "../nodes.ts";
import { assignedLocals, eachExpr, eachStmt, eachStmtExpr, filledLocals, structuralKey, usedBuffers } from "../walk.ts";

/** A subscript as base + i * stride, where base does not depend on the iteration: what is known of it. */
export interface Affine {
  /** Terms other than constants, as a key: equal keys are equal values at equal moments. */
  readonly key: string;
  readonly offset: number;
  readonly stride: number;
  /** Whether the promise of `own` was given of a part of it: base then differs between iterations. */
  readonly own?: boolean;
}

/** Reads subscripts as affine functions of a loop's index, looking through locals assigned once in its body. */
export class AffineForms {
  readonly #loop: For;
  readonly #inside: ReadonlySet<Local>;
  readonly #once = new Map<Local, Expr | undefined>();
  readonly #varying = new Map<Local, boolean>();
  readonly #serial = new Set<Local>();

  constructor(loop: For) {
    this.#loop = loop;
    this.#inside = assignedLocals(loop.body);
    eachStmt(loop.body, (s) => {
      if (s.kind === "assign") this.#once.set(s.local, this.#once.has(s.local) ? undefined : s.value);
      if (s.kind === "for") this.#serial.add(s.index);
    });
  }

  /** Undefined when the subscript is not of this form, or may not be. */
  of(e: Expr): Affine | undefined {
    switch (e.kind) {
      case "const":
        return { key: "", offset: e.value, stride: 0 };
      case "get":
        if (e.local === this.#loop.index) return { key: "", offset: 0, stride: 1 };
        return this.#local(e.local, e);
      case "binary":
        return this.#binary(e);
      case "unary":
        if (e.op === "own") return this.#promised(e.x, e);
        return this.#fixed(e) ? { key: structuralKey(e), offset: 0, stride: 0 } : undefined;
      default:
        return this.#fixed(e) ? { key: structuralKey(e), offset: 0, stride: 0 } : undefined;
    }
  }

  /**
   * Whether iterations reach rows of their own: the index times a stride, and a part that is masked to less than that.
   */
  isRowed(e: Expr): boolean {
    if (e.kind === "get") {
      const value = this.#once.get(e.local);
      return value !== undefined && this.isRowed(value);
    }
    if (e.kind !== "binary" || e.op !== "add") return false;
    return [[e.a, e.b] as const, [e.b, e.a] as const].some(([row, within]) => {
      const stride = Math.abs(this.of(row)?.stride ?? 0);
      const most = within.kind === "binary" && within.op === "and" && within.b.kind === "const" ? within.b.value : -1;
      // Products of larger numbers wrap.
      return most >= 0 && most < stride && stride < 2 ** 31;
    });
  }

  /** What moves with the index is known better than the promise says; what does not is no iteration's own. */
  #promised(x: Expr, e: Expr): Affine | undefined {
    return this.of(x) ?? { key: structuralKey(e), offset: 0, stride: 0, own: true };
  }

  #local(l: Local, e: Expr): Affine | undefined {
    const value = this.#once.get(l);
    if (value) {
      const form = this.of(value);
      if (form) return form;
    }
    return this.#fixed(e) ? { key: structuralKey(e), offset: 0, stride: 0 } : undefined;
  }

  #binary(e: Expr & { kind: "binary" }): Affine | undefined {
    const a = this.of(e.a);
    const b = this.of(e.b);
    if (!a || !b) return undefined;
    const own = a.own || b.own;
    if (own) return this.#ownBinary(e, a, b);
    if (a.stride === 0 && b.stride === 0 && (a.key || b.key)) {
      const sum = e.op === "add" && !(a.key && b.key);
      if (!sum) return { key: structuralKey(e), offset: 0, stride: 0 };
    }
    switch (e.op) {
      case "add":
        return {
          key: [a.key, b.key].filter(Boolean).sort().join("+"),
          offset: a.offset + b.offset,
          stride: a.stride + b.stride,
        };
      case "sub":
        return b.key ? undefined : { key: a.key, offset: a.offset - b.offset, stride: a.stride - b.stride };
      case "mul": {
        const [factor, other] = isNumber(b) ? [b, a] : [a, b];
        return isNumber(factor) ? scaled(other, factor.offset) : undefined;
      }
      case "shl":
        return isNumber(b) ? scaled(a, 2 ** (b.offset & 31)) : undefined;
      default:
        return undefined;
    }
  }

  /** Sums with what is promised, and its multiples, are an iteration's own as well. */
  #ownBinary(e: Expr & { kind: "binary" }, a: Affine, b: Affine): Affine | undefined {
    const [factor, other] = isNumber(b) ? [b, a] : [a, b];
    const scales = (e.op === "mul" && isNumber(factor) && factor.offset !== 0) || (e.op === "shl" && isNumber(b));
    const moves = (e.op === "add" || e.op === "sub") && a.stride === 0 && b.stride === 0 && !(a.own && b.own);
    if (!other.own && !moves) return undefined;
    return scales || moves ? { key: structuralKey(e), offset: 0, stride: 0, own: true } : undefined;
  }

  /** Whether a value is the same in all iterations (at the same moment of serial loops inside). */
  #fixed(e: Expr): boolean {
    let fixed = true;
    eachExpr(e, (x) => {
      if (x.kind === "load" && x.buffer.space !== "table") fixed = false;
      if (x.kind === "get") fixed &&= this.#fixedLocal(x.local);
    });
    return fixed;
  }

  #fixedLocal(l: Local): boolean {
    if (l === this.#loop.index) return false;
    if (!this.#inside.has(l)) return true;
    const known = this.#varying.get(l);
    if (known !== undefined) return !known;
    this.#varying.set(l, true);
    const value = this.#once.get(l);
    const fixed = value !== undefined ? this.#fixed(value) : this.#serial.has(l);
    this.#varying.set(l, !fixed);
    return fixed;
  }
}

const scaled = ({ key, offset, stride }: Affine, factor: number): Affine => ({
  key: key && `${factor}*(${key})`,
  offset: offset * factor,
  stride: stride * factor,
});
const isNumber = (a: Affine): boolean => a.key === "" && a.stride === 0;

export interface SharedAccess {
  readonly access: Load | Store;
  readonly form: Affine | undefined;
  /** Whether it lies in a row that is the iteration's own. */
  readonly rowed: boolean;
  /** Whether every iteration comes here. */
  readonly always: boolean;
}

/** The accesses to shared buffers in a parallel loop's body, by buffer. */
export function sharedAccesses(loop: For): Map<Buffer, SharedAccess[]> {
  const forms = new AffineForms(loop);
  const found = new Map<Buffer, SharedAccess[]>();
  const note = (access: Load | Store, always: boolean): void => {
    if (access.buffer.space === "local" || access.buffer.space === "table") return;
    const list = found.get(access.buffer) ?? [];
    const form = forms.of(access.index);
    list.push({ access, form, rowed: form === undefined && forms.isRowed(access.index), always });
    found.set(access.buffer, list);
  };
  const top = new Set(loop.body);
  eachStmt(loop.body, (s) => {
    const always = top.has(s);
    eachStmtExpr(s, (e) => eachExpr(e, (x) => x.kind === "load" && note(x, always)));
    if (s.kind === "store") note(s, always);
  });
  return found;
}

const isStore = (a: SharedAccess): boolean => a.access.kind === "store";
/** A subscript that moves with the iteration; that iterations reach different elements is the loop's promise. */
const isOwn = (a: SharedAccess): boolean =>
  a.rowed || (a.form !== undefined && (a.form.stride !== 0 || a.form.own === true));

/** Whether pieces of the loop may run at the same time: no stores through computed subscripts. */
export function mayThread(loop: For): boolean {
  return [...sharedAccesses(loop).values()].every((list) => list.every((a) => !isStore(a) || isOwn(a)));
}

/** Whether a loop reads a local array of the iteration around it: lanes have arrays of their own only. */
export function readsArraysAround(loop: For): boolean {
  const own = filledLocals(loop.body);
  return [...usedBuffers(loop.body)].some((b) => b.space === "local" && !own.has(b));
}

/** Whether lanes may run side by side: a buffer stored through computed subscripts is touched by nothing else. */
export function mayVectorise(loop: For): boolean {
  return [...sharedAccesses(loop).values()].every(
    (list) => (list.length === 1 && list[0]?.always) || list.every((a) => !isStore(a) || isOwn(a)),
  );
}

/** Whether a buffer's elements base + i belong to iteration i alone, so that a masked store may rewrite neighbours. */
export function ownsElements(list: readonly SharedAccess[]): boolean {
  const first = list[0]?.form;
  return first !== undefined && list.every((a) => a.form && a.form.stride === first.stride && sameBase(a.form, first));
}
const sameBase = (a: Affine, b: Affine): boolean => a.key === b.key && a.offset === b.offset;

export interface Conflict {
  readonly buffer: Buffer;
  readonly store: Store;
  readonly other: Load | Store;
}

/** A pair of accesses in which two iterations certainly meet, if there is one. */
export function findConflict(loop: For): Conflict | undefined {
  if (loop.end.kind === "const" && loop.begin.kind === "const" && loop.end.value - loop.begin.value < 2)
    return undefined;
  for (const [b, list] of sharedAccesses(loop)) {
    for (const s of list.filter((a) => isStore(a) && a.always)) {
      const other = list.find((o) => o.always && meets(s.form, o.form, s === o));
      if (other) return { buffer: b, store: s.access as Store, other: other.access };
    }
  }
  return undefined;
}

/** Element s of iteration i is element o of iteration j != i, for neighbouring iterations of any loop of two or more. */
function meets(s: Affine | undefined, o: Affine | undefined, same: boolean): boolean {
  if (!s || !o || s.own || o.own || s.key !== o.key || s.stride !== o.stride) return false;
  if (s.stride === 0) return s.offset === o.offset;
  return !same && Math.abs(s.offset - o.offset) === Math.abs(s.stride);
}
