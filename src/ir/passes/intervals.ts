/**
 * @file Intervals of integer expressions, as expressions themselves.
 *
 * The bounds pass asks: between which values does this subscript stay while that loop runs? The answer is a pair of
 * f64 expressions over what is known before the loop starts; with constant operands they fold to constants, so the
 * same code proves statically and builds run-time guards. f64 holds every i32 and every product of two exactly
 * enough: a rounded bound is far outside of any buffer.
 *
 * i32 arithmetic wraps. Sums, differences and products agree with the true value modulo 2^32, so it is enough that
 * the final interval lies inside the buffer. Other operations need their operands unwrapped: `conditions` says so.
 */
import { add, and, binary, constant, convert, lengthOf, mul, select, sub, unary } from "../build.ts";
import type { Expr, For, Local } from "../nodes.ts";
import { structuralKey } from "../walk.ts";

export interface Interval {
  readonly low: Expr;
  readonly high: Expr;
  /** What must hold for the bounds to be true, beyond the bounds themselves. */
  readonly conditions: readonly Expr[];
  /** Whether the value is an i32 as it stands, not the result of arithmetic that may have wrapped. */
  readonly whole?: boolean;
  /**
   * Loops over which the value runs from one bound to the other: when all of them run, both bounds are met. Undefined
   * when the interval is only an estimate.
   */
  readonly over?: ReadonlySet<For> | undefined;
}

/** What is known of a local at the point that asks. */
export type Knowledge =
  | { readonly kind: "invariant" }
  | { readonly kind: "index"; readonly loop: For }
  | { readonly kind: "alias"; readonly value: Expr }
  | { readonly kind: "unknown" };

const f64 = (value: number): Expr => constant("f64", value);
const minimum = (...xs: Expr[]): Expr => xs.reduce((a, b) => binary("min", a, b));
const maximum = (...xs: Expr[]): Expr => xs.reduce((a, b) => binary("max", a, b));
const exactly = (value: Expr): Interval => ({
  low: value,
  high: value,
  conditions: [],
  whole: true,
  over: new Set(),
});
const isPoint = (x: Interval): boolean => x.over?.size === 0;

/** The loops of two operands together; not known when they share one (i - i does not run from -n to n). */
function together(a: Interval, b: Interval): ReadonlySet<For> | undefined {
  if (!a.over || !b.over) return undefined;
  for (const loop of a.over) if (b.over.has(loop)) return undefined;
  return new Set([...a.over, ...b.over]);
}
const numberIn = (e: Expr): number | undefined => (e.kind === "const" ? e.value : undefined);

/** Conditions under which an operand did not wrap, so that operations other than + - * may look at its interval. */
function unwrapped(x: Interval): readonly Expr[] {
  if (x.whole) return x.conditions;
  return [...x.conditions, binary("ge", x.low, f64(-2147483648)), binary("le", x.high, f64(2147483647))];
}

/** The last value of an index: the bound less one, or the last step before that where the loop begins at one point. */
function lastIndex(step: number, begin: Interval, end: Interval): Expr {
  const before = step > 0 ? sub(end.high, f64(1)) : add(end.low, f64(1));
  if (Math.abs(step) === 1 || !isPoint(begin) || !isPoint(end)) return before;
  const steps = unary("floor", binary("div", sub(before, begin.low), f64(step)));
  return add(begin.low, mul(steps, f64(step)));
}

function product(a: Interval, b: Interval): Interval {
  const conditions = [...a.conditions, ...b.conditions];
  const over = isPoint(a) || isPoint(b) ? together(a, b) : undefined;
  const factor = numberIn(b.low) !== undefined && numberIn(b.low) === numberIn(b.high) ? b : undefined;
  if (factor) {
    const ends = [mul(a.low, factor.low), mul(a.high, factor.low)] as const;
    const positive = (numberIn(factor.low) as number) >= 0;
    return { low: ends[positive ? 0 : 1], high: ends[positive ? 1 : 0], conditions, over };
  }
  const corners = [mul(a.low, b.low), mul(a.low, b.high), mul(a.high, b.low), mul(a.high, b.high)];
  return { low: minimum(...corners), high: maximum(...corners), conditions, over };
}

/** Intervals of i32 expressions, given what is known of locals. */
export class Intervals {
  readonly #know: (l: Local) => Knowledge;
  constructor(know: (l: Local) => Knowledge) {
    this.#know = know;
  }

  /** The values that a loop's index takes while it runs (meaningless, but harmless, when it runs never). */
  ofIndex(loop: For): Interval | undefined {
    const begin = this.of(loop.begin);
    const end = this.of(loop.end);
    if (!begin || !end) return undefined;
    const conditions = [...unwrapped(begin), ...unwrapped(end)];
    const over = isPoint(begin) && isPoint(end) ? new Set([loop]) : undefined;
    const last = lastIndex(loop.step, begin, end);
    return loop.step > 0
      ? { low: begin.low, high: last, conditions, over }
      : { low: last, high: begin.high, conditions, over };
  }

  /** That a loop runs at least once, when its bounds are known before. */
  runs(loop: For): Expr | undefined {
    const begin = this.of(loop.begin);
    const end = this.of(loop.end);
    if (!begin || !end || !isPoint(begin) || !isPoint(end)) return undefined;
    return binary(loop.step > 0 ? "lt" : "gt", begin.low, end.low);
  }

  of(e: Expr): Interval | undefined {
    switch (e.kind) {
      case "const":
        return exactly(f64(e.value));
      case "length":
        return exactly(convert("f64", lengthOf(e.buffer)));
      case "get":
        return this.#local(e.local, e);
      case "binary":
        return this.#binary(e.op, e.a, e.b);
      case "unary": {
        if (e.op === "own") return this.of(e.x);
        const x = e.op === "neg" ? this.of(e.x) : undefined;
        return x && { low: unary("neg", x.high), high: unary("neg", x.low), conditions: x.conditions, over: x.over };
      }
      case "select": {
        const a = this.of(e.a);
        const b = this.of(e.b);
        if (!a || !b) return undefined;
        const conditions = [...unwrapped(a), ...unwrapped(b)];
        return { low: minimum(a.low, b.low), high: maximum(a.high, b.high), conditions };
      }
      case "convert":
        return e.x.dtype === "bool" ? { low: f64(0), high: f64(1), conditions: [] } : undefined;
      case "load":
        return e.buffer.storage === "u8" ? { low: f64(0), high: f64(255), conditions: [] } : undefined;
      default:
        return undefined;
    }
  }

  #local(l: Local, read: Expr): Interval | undefined {
    const known = this.#know(l);
    switch (known.kind) {
      case "invariant":
        return l.dtype === "i32" ? exactly(convert("f64", read)) : undefined;
      case "index":
        return this.ofIndex(known.loop);
      case "alias":
        return this.of(known.value);
      case "unknown":
        return undefined;
      default:
        return known satisfies never;
    }
  }

  #binary(op: string, ea: Expr, eb: Expr): Interval | undefined {
    if (op === "and") return this.#mask(ea, eb);
    const b = this.of(eb);
    const a = this.of(ea);
    if ((op === "min" || op === "max") && !(a && b)) return this.#clamp(op, a ? eb : ea, a ?? b);
    if (op === "rem") return b && this.#remainder(a, b);
    if (!a || !b) return undefined;
    const conditions = [...a.conditions, ...b.conditions];
    const divisor = numberIn(b.low) === numberIn(b.high) ? numberIn(b.low) : undefined;
    switch (op) {
      case "add":
        return { low: add(a.low, b.low), high: add(a.high, b.high), conditions, over: together(a, b) };
      case "sub":
        return { low: sub(a.low, b.high), high: sub(a.high, b.low), conditions, over: together(a, b) };
      case "mul":
        return product(a, b);
      case "min":
      case "max": {
        const low = binary(op, a.low, b.low);
        const high = binary(op, a.high, b.high);
        return { low, high, conditions: [...unwrapped(a), ...unwrapped(b)] };
      }
      case "div": {
        if (divisor === undefined || divisor <= 0) return undefined;
        const part = (x: Expr): Expr => unary("trunc", binary("div", x, f64(divisor)));
        return { low: part(a.low), high: part(a.high), conditions: unwrapped(a) };
      }
      case "shl":
        return divisor === undefined ? undefined : product(a, exactly(f64(2 ** (divisor & 31))));
      case "shr": {
        if (divisor === undefined) return undefined;
        const part = (x: Expr): Expr => unary("floor", mul(x, f64(2 ** -(divisor & 31))));
        return { low: part(a.low), high: part(a.high), conditions: unwrapped(a) };
      }
      default:
        return undefined;
    }
  }

  /** min(max(x, low), high), or the other way round, lies between the two, whatever x is. */
  #clamp(op: "min" | "max", inner: Expr, outer: Interval | undefined): Interval | undefined {
    if (!outer || inner.kind !== "binary" || inner.op !== (op === "min" ? "max" : "min")) return undefined;
    const other = this.of(inner.a) ?? this.of(inner.b);
    if (!other) return undefined;
    const [low, high] = op === "min" ? [other, outer] : [outer, other];
    const conditions = [...unwrapped(low), ...unwrapped(high), binary("le", low.high, high.low)];
    return { low: low.low, high: high.high, conditions };
  }

  /** x & m with m >= 0 lies in 0..m, whatever x is. */
  #mask(a: Expr, b: Expr): Interval | undefined {
    const mask = numberIn(b) ?? numberIn(a);
    if (mask !== undefined) return mask >= 0 ? { low: f64(0), high: f64(mask), conditions: [] } : undefined;
    const limit = this.of(b) ?? this.of(a);
    if (!limit) return undefined;
    return { low: f64(0), high: limit.high, conditions: [...unwrapped(limit), binary("ge", limit.low, f64(0))] };
  }

  /** |x % m| < |m|, with the sign of x. */
  #remainder(a: Interval | undefined, b: Interval): Interval | undefined {
    const modulus = maximum(unary("neg", b.low), b.high);
    const most = maximum(sub(modulus, f64(1)), f64(0));
    const conditions = [...unwrapped(b), ...(a ? unwrapped(a) : [])];
    if (!a) return { low: unary("neg", most), high: most, conditions };
    const low = select(binary("ge", a.low, f64(0)), f64(0), unary("neg", most));
    return { low, high: most, conditions };
  }
}

/** Everything true at once; folds what is constant. */
export function allOf(conditions: readonly Expr[]): Expr {
  let result: Expr = constant("bool", true);
  const seen = new Set<string>();
  for (const c of conditions) {
    if (c.kind === "const" && c.value) continue;
    if (c.kind === "const") return constant("bool", false);
    const key = structuralKey(c);
    if (seen.has(key)) continue;
    seen.add(key);
    result = result.kind === "const" ? c : and(result, c);
  }
  return result;
}
