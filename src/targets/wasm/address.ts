/**
 * @file Addresses of elements: a register and a constant offset, computed once and used again while they hold.
 *
 * A subscript is read as a sum of terms times factors plus a constant. The terms make the register, the constant goes
 * into the instruction. That is right although addresses wrap at 2^32: nothing lives below GUARD_BYTES nor within as
 * much of the end of a 32-bit memory, and an element that is in range less a constant no larger than that cannot
 * cross zero.
 */
import type { Buffer, Expr, Get, Local } from "../../ir/nodes.ts";
import { STORAGE_BYTES } from "../../ir/types.ts";
import { eachExpr, structuralKey } from "../../ir/walk.ts";
import { addI32, i32, type LocalGet, type Node, op, scaleI32 } from "./code.ts";
import type { FunctionBuilder } from "./function.ts";
import { GUARD_BYTES } from "./layout.ts";

/** Where an element is: the value of a local (or constant) plus a constant that goes into the instruction. */
export interface Place {
  readonly base: Node;
  readonly offset: number;
}

interface Term {
  readonly expr: Expr;
  readonly factor: number;
}
interface LinearForm {
  readonly terms: readonly Term[];
  readonly constant: number;
}

/** By how many bytes, or a multiple of it, registers are lowered where constants are negative. */
const LOWERED = 1024;

/** What a local is known to hold. */
type Lookup = (local: Local) => LinearForm | undefined;

/** A subscript as terms times factors plus a constant, modulo 2^32. */
function linearForm(e: Expr, look: Lookup, factor = 1): LinearForm {
  if (e.kind === "const") return { terms: [], constant: Math.imul(e.value, factor) };
  if (e.kind === "get") {
    const held = look(e.local);
    if (held) return times(held, factor);
  }
  if (e.kind === "binary") {
    const { a, b } = e;
    if (e.op === "add") return sum(linearForm(a, look, factor), linearForm(b, look, factor));
    if (e.op === "sub") return sum(linearForm(a, look, factor), linearForm(b, look, Math.imul(factor, -1)));
    if (e.op === "mul" && b.kind === "const") return linearForm(a, look, Math.imul(factor, b.value));
    if (e.op === "mul" && a.kind === "const") return linearForm(b, look, Math.imul(factor, a.value));
    if (e.op === "shl" && b.kind === "const") return linearForm(a, look, factor << (b.value & 31));
  }
  return { terms: [{ expr: e, factor }], constant: 0 };
}
const times = ({ terms, constant }: LinearForm, factor: number): LinearForm => ({
  terms: terms.map((t) => ({ expr: t.expr, factor: Math.imul(t.factor, factor) })),
  constant: Math.imul(constant, factor),
});
const sum = (a: LinearForm, b: LinearForm): LinearForm => ({
  terms: [...a.terms, ...b.terms],
  constant: (a.constant + b.constant) | 0,
});

/** Something computed from locals: it holds while they have the versions that they had then. */
interface Derived<T> {
  readonly value: T;
  readonly from: readonly { readonly local: Local; readonly version: number }[];
}

/** What is known where code is being written, by the keys of K; what was learnt in a branch is forgotten after it. */
class Knowledge<K, T> {
  readonly #found = new Map<K, Derived<T>>();
  readonly #log: { readonly key: K; readonly before: Derived<T> | undefined }[] = [];
  readonly #versions: ReadonlyMap<Local, number>;

  constructor(versions: ReadonlyMap<Local, number>) {
    this.#versions = versions;
  }
  #version(local: Local): number {
    return this.#versions.get(local) ?? 0;
  }
  get(key: K): T | undefined {
    const entry = this.#found.get(key);
    return entry?.from.every(({ local, version }) => this.#version(local) === version) ? entry.value : undefined;
  }
  learn(key: K, value: T, from: Iterable<Local>): void {
    this.#log.push({ key, before: this.#found.get(key) });
    this.#found.set(key, { value, from: [...from].map((local) => ({ local, version: this.#version(local) })) });
  }
  get mark(): number {
    return this.#log.length;
  }
  forgetSince(mark: number): void {
    for (const { key, before } of this.#log.splice(mark).reverse()) {
      if (before) this.#found.set(key, before);
      else this.#found.delete(key);
    }
  }
}

export interface AddressSources {
  readonly build: FunctionBuilder;
  scalar(e: Expr): Node;
  /** Where a buffer begins. */
  begin(buffer: Buffer): Place;
}

export class Addresses {
  readonly #sources: AddressSources;
  readonly #numbers = new Map<Local, number>();
  readonly #versions = new Map<Local, number>();
  #changes = 0;
  /** Registers that hold addresses, by what they were computed from. */
  readonly #registers = new Knowledge<string, LocalGet>(this.#versions);
  /** Locals that hold a constant more than another. */
  readonly #sums = new Knowledge<Local, LinearForm>(this.#versions);
  /** What each enclosing loop assigns, innermost last. */
  readonly #loops: ReadonlySet<Local>[] = [];

  constructor(sources: AddressSources) {
    this.#sources = sources;
  }

  /** The place of element `index`, where elements stand `copies` apart. */
  of(buffer: Buffer, index: Expr, copies = 1): Place {
    const size = STORAGE_BYTES[buffer.storage] * copies;
    const begin = this.#sources.begin(buffer);
    const form = linearForm(index, (l) => this.#sums.get(l));
    const constant = form.constant * size;
    const offset = begin.offset + constant;
    if (Math.abs(constant) <= GUARD_BYTES && offset >= 0)
      return { base: this.#register(begin.base, form.terms, size, 0), offset };
    if (Math.abs(constant) <= GUARD_BYTES - LOWERED) {
      // An offset in an instruction is not negative: the register is lowered for all neighbours together.
      const lowered = Math.floor(offset / LOWERED) * LOWERED;
      return { base: this.#register(begin.base, form.terms, size, lowered), offset: offset - lowered };
    }
    const base = addI32(this.#register(begin.base, form.terms, size, 0), i32(constant));
    return { base: this.#sources.build.share(base, "address"), offset: begin.offset };
  }

  #register(base: Node, terms: readonly Term[], size: number, lowered: number): Node {
    if (terms.length === 0) return addI32(base, i32(lowered));
    let key = `${base.kind === "get" ? base.index : ""}*${size}${lowered || ""}:`;
    for (const t of terms) key += `${this.#termKey(t)}+`;
    const known = this.#registers.get(key);
    if (known) return known;
    const changing = this.#loops.at(-1);
    const varies = ({ expr }: Term): boolean => {
      if (expr.kind === "get") return changing?.has(expr.local) ?? false;
      return [...localsIn(expr)].some((l) => changing?.has(l)) || hasLoad(expr);
    };
    // What stays the same in the loop is summed first, so that it can be moved in front of it.
    const ordered = terms.length === 1 ? terms : [...terms.filter((t) => !varies(t)), ...terms.filter(varies)];
    let value = addI32(base, i32(lowered));
    for (const t of ordered) value = plusTerm(value, this.#sources.scalar(t.expr), Math.imul(t.factor, size));
    const at = this.#sources.build.keep(value, "address");
    if (!terms.some((t) => hasLoad(t.expr))) this.#registers.learn(key, at, localsIn(...terms.map((t) => t.expr)));
    return at;
  }

  #termKey({ factor, expr }: Term): string {
    if (expr.kind !== "get") return `${factor} ${structuralKey(expr)}`;
    let number = this.#numbers.get(expr.local);
    if (number === undefined) {
      number = this.#numbers.size;
      this.#numbers.set(expr.local, number);
    }
    return `${factor}#${number}`;
  }

  /** A local has changed, to `value` where that is known: what was computed from it is no longer known. */
  changed(local: Local, value?: Expr): void {
    const form = value?.dtype === "i32" && value.lanes === 1 ? this.#offsetForm(value) : undefined;
    this.#bump(local);
    const from = form?.terms.map((t) => (t.expr as Get).local) ?? [];
    // The local itself is among what the sum depends on: another assignment ends it.
    if (form && !from.includes(local)) this.#sums.learn(local, form, [local, ...from]);
  }
  #bump(local: Local): void {
    this.#versions.set(local, ++this.#changes);
  }
  /**
   * A value that is another local plus a constant, or one that stays the same in the loop less one that changes: worth
   * following, so that neighbours share a register.
   */
  #offsetForm(value: Expr): LinearForm | undefined {
    const form = linearForm(value, (l) => this.#sums.get(l));
    const [a, b, ...more] = form.terms;
    if (!a || more.length || form.terms.some((t) => t.expr.kind !== "get")) return undefined;
    if (!b) return a.factor === 1 ? form : undefined;
    const changes = (t: Term): boolean => this.#loops.at(-1)?.has((t.expr as Get).local) ?? false;
    return a.factor === 1 && b.factor === -1 && !changes(a) && changes(b) ? form : undefined;
  }

  /**
   * Runs `write` for code that is executed perhaps, or repeatedly, and that assigns `locals`. Its own assignments tell
   * what no longer holds after it; what it has learnt does not hold there either.
   */
  within(locals: ReadonlySet<Local>, kind: "branch" | "loop", write: () => void): void {
    const marks = [this.#registers.mark, this.#sums.mark] as const;
    if (kind === "loop") {
      for (const l of locals) this.#bump(l);
      this.#loops.push(locals);
    }
    write();
    if (kind === "loop") this.#loops.pop();
    this.#registers.forgetSince(marks[0]);
    this.#sums.forgetSince(marks[1]);
  }
}

function plusTerm(sum: Node, x: Node, factor: number): Node {
  return factor < 0 ? op("i32.sub", [sum, scaleI32(x, -factor)]) : addI32(sum, scaleI32(x, factor));
}

function localsIn(...expressions: readonly Expr[]): Set<Local> {
  const found = new Set<Local>();
  for (const e of expressions)
    eachExpr(e, (x) => {
      if (x.kind === "get") found.add(x.local);
    });
  return found;
}
function hasLoad(e: Expr): boolean {
  let found = false;
  eachExpr(e, (x) => {
    if (x.kind === "load") found = true;
  });
  return found;
}
