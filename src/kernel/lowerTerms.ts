/**
 * @file Terms as IR expressions, converted to the type that is asked for.
 *
 * Expressions are pure, so a branch of `?:` or the right side of `&&` may be computed although it is not taken, as a
 * select, when it is short and cannot fault; otherwise it becomes an `if` that assigns a local.
 */
import * as ir from "../ir/build.ts";
import type { Buffer, Expr, Load, Local, Site, Stmt, Store } from "../ir/nodes.ts";
import { setPlace } from "../ir/places.ts";
import { type BinaryOp, type DType, isFloat } from "../ir/types.ts";
import { eachExpr, operands, structuralKey } from "../ir/walk.ts";
import { MATH } from "../math/index.ts";
import { permutedIndex } from "../random/index.ts";
import { convertTo, divide, negate, once, toInt32, toUint32, truthOf } from "./conversions.ts";
import type { ScalarName } from "./declare.ts";
import { placeOfSpan, Refusal, type Span, textOf } from "./errors.ts";
import { known } from "./fold.ts";
import type { Types } from "./infer.ts";
import type { Apply, ArrayBase, BinaryTerm, Element, Logical, Term, Variable, View } from "./terms.ts";
import { asNumber, CONVERSION, heldAs, isAssignable, printType, type Type } from "./types.ts";

const BINARY: { readonly [O in Exclude<BinaryTerm["op"], "**">]: BinaryOp } = {
  "+": "add",
  "-": "sub",
  "*": "mul",
  "/": "div",
  "%": "rem",
  "&": "and",
  "|": "or",
  "^": "xor",
  "<<": "shl",
  ">>": "shr",
  ">>>": "shr",
  "<": "lt",
  "<=": "le",
  ">": "gt",
  ">=": "ge",
  "==": "eq",
  "!=": "ne",
};

/** The most operations of a branch that is computed whether taken or not. */
const SHORT = 12;
const COSTS: ReadonlyMap<string, number> = new Map([
  ["div", 4],
  ["rem", 20],
  ["sqrt", 4],
]);
function costOf(e: Expr): number {
  const own = e.kind === "unary" || e.kind === "binary" ? (COSTS.get(e.op) ?? 1) : e.kind === "const" ? 0 : 1;
  return operands(e).reduce((sum, x) => sum + costOf(x), own);
}

export interface Lowerings {
  readonly types: Types;
  readonly b: ir.Builder;
  readonly fused: boolean;
  readonly local: (variable: Variable) => Local;
  readonly buffer: (base: ArrayBase) => Buffer;
  readonly sites: Site[];
  /** Where accesses come from. */
  readonly spans: WeakMap<Load | Store, Span>;
}

export class TermLowering {
  readonly #types: Types;
  readonly #b: ir.Builder;
  readonly #to: Lowerings;
  /** Loads whose subscript the types prove to be in range. */
  readonly #safe = new WeakSet<Load>();
  constructor(to: Lowerings) {
    this.#to = to;
    this.#types = to.types;
    this.#b = to.b;
  }

  /** A term in the type asked for, or in its own. */
  value(term: Term, to?: DType): Expr {
    switch (term.kind) {
      case "literal":
        return ir.constant(to ?? heldAs(this.#types.of(term)), term.value);
      case "truth":
        return ir.constant(to ?? "bool", term.value);
      case "conditional":
        return this.#conditional(term, to ?? heldAs(this.#types.of(term)));
      default: {
        const e = this.#plain(term);
        return to === undefined ? e : convertTo(to, e);
      }
    }
  }

  /** Refuses to put a number where a type is kept that may not hold it; `name` says where. */
  checkHolds(value: Term, to: ScalarName, name: string, span: Span): void {
    const type = this.#types.of(value);
    if (isAssignable(type, to)) return;
    const text = textOf(value.span);
    const problem = `\`${text}\` is ${printType(type)}, and \`${name}\` holds ${to}`;
    throw new Refusal({ problem, advice: `convert it: \`${CONVERSION[to](text)}\`` }, span);
  }
  /** An argument of a type that is fixed. */
  argument(value: Term, to: ScalarName, name: string): Expr {
    this.checkHolds(value, to, name, value.span);
    return this.value(value, to === "u8" ? "i32" : to);
  }
  /** An integer of either kind, as it is. */
  word(value: Term, name: string): Expr {
    const { kind } = this.#types.of(value);
    return this.argument(value, kind === "u32" || (value.kind === "literal" && value.value > 0) ? "u32" : "i32", name);
  }

  /** A term in its own type. */
  #plain(term: Exclude<Term, { kind: "literal" | "truth" | "conditional" }>): Expr {
    switch (term.kind) {
      case "read":
        return ir.get(this.#to.local(term.variable));
      case "element":
        return this.#element(term);
      case "length":
        return ir.lengthOf(this.#to.buffer(term.base));
      case "unary":
        if (term.op === "!") return negate(this.condition(term.x));
        return this.#unary(term.op, term.x, this.#types.of(term));
      case "binary":
        return this.#binary(term);
      case "logical":
        return this.#logical(term);
      case "apply":
        return this.#apply(term);
      default:
        return term satisfies never;
    }
  }

  #unary(op: "-" | "+" | "~", x: Term, type: Type): Expr {
    const e = this.value(x, heldAs(type));
    return op === "+" ? e : ir.unary(op === "-" ? "neg" : "not", e);
  }

  #binary(term: BinaryTerm): Expr {
    const { operands: within, result } = this.#types.operation(term);
    const dtype = heldAs(within);
    const e = ir.binary(
      BINARY[term.op as Exclude<BinaryTerm["op"], "**">],
      this.value(term.a, dtype),
      this.value(term.b, dtype),
    );
    return e.dtype === "bool" ? e : convertTo(heldAs(result), e);
  }

  /** A term as a condition: JavaScript's truth of it. */
  condition(term: Term): Expr {
    if (term.kind === "logical") {
      const a = this.condition(term.a);
      return this.#shortCircuit(term.op, a, () => this.condition(term.b));
    }
    if (term.kind === "unary" && term.op === "!") return negate(this.condition(term.x));
    return truthOf(this.value(term));
  }
  #shortCircuit(op: "&&" | "||", a: Expr, right: () => Expr): Expr {
    let b: Expr = a;
    const steps = this.#b.body(() => {
      b = right();
    });
    if (steps.length === 0 && this.#isFree(b, a)) return op === "&&" ? ir.and(a, b) : ir.or(a, b);
    const result = this.#b.local("both", "bool");
    this.#b.assign(result, a);
    const taken = [...steps, ir.assign(result, b)];
    const condition = op === "&&" ? ir.get(result) : negate(ir.get(result));
    this.#b.emit({ kind: "if", condition, then: taken, else: [] });
    return ir.get(result);
  }

  /** `a && b` and `a || b` as values: one of the two. */
  #logical(term: Logical): Expr {
    const type = this.#types.of(term);
    if (type.kind === "bool") return this.condition(term);
    const dtype = heldAs(type);
    const a = once(this.#b, "first", this.value(term.a, dtype));
    const other = (): Expr => this.value(term.b, dtype);
    const first = (): Expr => a;
    const isAnd = term.op === "&&";
    return this.#choose(truthOf(a), isAnd ? other : first, isAnd ? first : other);
  }

  #conditional(term: Term & { kind: "conditional" }, dtype: DType): Expr {
    this.#types.of(term);
    const arm = (t: Term) => (): Expr => (dtype === "bool" ? this.condition(t) : this.value(t, dtype));
    return this.#choose(this.condition(term.test), arm(term.a), arm(term.b));
  }

  #choose(condition: Expr, then: () => Expr, otherwise: () => Expr): Expr {
    if (condition.kind === "const") return condition.value ? then() : otherwise();
    const arm = (make: () => Expr): { steps: Stmt[]; value: Expr } => {
      let value: Expr = condition;
      const steps = this.#b.body(() => {
        value = make();
      });
      return { steps, value };
    };
    const [a, b] = [arm(then), arm(otherwise)];
    const isShort = a.steps.length + b.steps.length === 0;
    if (isShort && this.#isFree(a.value, condition) && this.#isFree(b.value, condition))
      return ir.select(condition, a.value, b.value);
    const result = this.#b.local("chosen", a.value.dtype);
    this.#b.emit({
      kind: "if",
      condition,
      then: [...a.steps, ir.assign(result, a.value)],
      else: [...b.steps, ir.assign(result, b.value)],
    });
    return ir.get(result);
  }

  /** Whether an expression is short and cannot fault once `evaluated` has been computed without a fault. */
  #isFree(e: Expr, evaluated: Expr): boolean {
    if (costOf(e) > SHORT) return false;
    const done = new Set<string>();
    eachExpr(evaluated, (x) => x.kind === "load" && done.add(structuralKey(x)));
    let free = true;
    eachExpr(e, (x) => {
      if (x.kind === "load") free &&= this.#safe.has(x) || done.has(structuralKey(x));
    });
    return free;
  }

  #element({ view, index, span }: Element): Expr {
    const isBool = this.#types.typeOfVariable(view.base).kind === "bool";
    const load = this.#load(view, this.index(view, index, span), span);
    if (this.#isProved(view, index)) this.#safe.add(load);
    return isBool ? truthOf(load) : load;
  }
  #load(view: View, index: Expr, span: Span): Load {
    const load = ir.load(this.#to.buffer(view.base), index);
    this.#to.spans.set(load, span);
    return setPlace(load, placeOfSpan(span));
  }
  /** The element of a view at a subscript that is already IR. */
  elementAt(view: View, index: Expr, span: Span): Expr {
    return this.#load(view, this.#inArray(view, index), span);
  }

  /** Whether a subscript is in range by its type, or as the index of a loop over the array. */
  #isProved(view: View, index: Term): boolean {
    if (view.offset !== undefined) return false;
    if (countsOver(view.base, index)) return true;
    const type = asNumber(this.#types.of(index));
    const length = known(view.length);
    return type.kind === "integer" && typeof length === "number" && type.low >= 0 && type.high < length;
  }

  /** The subscript of an array's own element, from one of a view. */
  index(view: View, index: Term, span: Span): Expr {
    const type = this.#types.of(index);
    if (isFloat(heldAs(type))) {
      const text = textOf(index.span);
      const problem = `the subscript \`${text}\` is ${printType(type)}`;
      throw new Refusal({ problem, advice: `make it an integer: \`[${text} | 0]\`` }, index.span);
    }
    const at = this.value(index, "i32");
    if (view.offset === undefined) return at;
    return this.#inArray(view, this.#checkView(view, at, asNumber(type), span));
  }
  /** Where in its array an element of a view lies. */
  #inArray(view: View, at: Expr): Expr {
    const step = view.stride ? ir.mul(at, this.value(view.stride, "i32")) : at;
    if (view.offset === undefined) return step;
    const offset = this.value(view.offset, "i32");
    return at.kind === "const" && at.value === 0 ? offset : ir.add(offset, step);
  }
  /** A view of known length is checked like an array; others are checked against the array they are cut from. */
  #checkView(view: View, at: Expr, type: Type, span: Span): Expr {
    const length = known(view.length);
    if (typeof length !== "number") return at;
    if (type.kind === "integer" && type.low >= 0 && type.high < length) return at;
    const own = once(this.#b, "subscript", at);
    const message = `a subscript of ${view.base.name} is outside its row of ${length}`;
    this.#to.sites.push({ reason: "bounds", message, place: placeOfSpan(span) });
    this.#b.fault(ir.binary("ge", ir.convert("u32", own), ir.constant("u32", length)), this.#to.sites.length);
    return own;
  }

  #apply(term: Apply): Expr {
    const whole = this.#types.wholeDivision(term);
    if (whole) return this.#division(term, whole);
    const { operands: within, result } = this.#types.application(term);
    if (term.name === "truth") return this.condition(term.args[0] as Term);
    const dtype = heldAs(within);
    const args = term.args.map((t) => this.value(t, dtype));
    return this.#function(term, args, dtype, heldAs(result));
  }

  #division(
    term: Apply,
    { quotient, operands: within, result }: NonNullable<ReturnType<Types["wholeDivision"]>>,
  ): Expr {
    const dtype = heldAs(within);
    const [a, b] = [asNumber(this.#types.of(quotient.a)), asNumber(this.#types.of(quotient.b))];
    const positive = a.kind === "integer" && b.kind === "integer" && a.low >= 0 && b.low >= 0;
    const divisorIsZero = b.kind === "integer" && (b.low > 0 || b.high < 0) ? false : undefined;
    const rounding = term.name === "floor" || term.name === "ceil" ? term.name : "trunc";
    const e = divide(this.#b, rounding, this.value(quotient.a, dtype), this.value(quotient.b, dtype), {
      positive,
      divisorIsZero,
    });
    return convertTo(term.name === "toUint32" ? "u32" : heldAs(result), e);
  }

  #function(term: Apply, args: readonly Expr[], dtype: DType, result: DType): Expr {
    const [x, y, z] = args as [Expr, Expr, Expr];
    const isWhole = !isFloat(dtype);
    switch (term.name) {
      case "abs":
        return dtype === "u32" ? x : ir.unary("abs", x);
      case "floor":
      case "ceil":
      case "trunc":
        return isWhole ? x : ir.unary(term.name, x);
      case "round":
        return isWhole ? x : this.#expand("round", args);
      case "sign":
        return isWhole
          ? ir.binary("min", ir.binary("max", convertTo("i32", x), ir.i32(-1)), ir.i32(1))
          : this.#expand("sign", args);
      case "sqrt":
        return ir.unary("sqrt", x);
      case "min":
      case "max":
        return ir.binary(term.name, x, y);
      case "imul":
        return ir.mul(x, y);
      case "clz32":
        return ir.unary("clz", x);
      case "fround":
      case "toF64":
        return convertTo(result, x);
      case "toInt32":
        return toInt32(this.#b, x);
      case "toUint32":
        return toUint32(this.#b, x);
      case "truth":
        return truthOf(x);
      case "isNaN":
        return isWhole ? ir.FALSE : this.#differs(x);
      case "isFinite":
        return isWhole ? ir.TRUE : hasSize(x);
      case "isInteger": {
        if (isWhole) return ir.TRUE;
        const n = once(this.#b, "x", x);
        return ir.and(ir.binary("eq", ir.unary("floor", n), n), hasSize(n));
      }
      case "fma":
        return ir.fma(x, y, z);
      case "mulAdd":
        return this.#to.fused && dtype === "f32" ? ir.fma(x, y, z) : ir.add(ir.mul(x, y), z);
      case "bits":
      case "fromBits":
      case "own":
        return ir.unary(term.name, x);
      case "mulHigh":
        return ir.binary("mulHigh", x, y);
      case "permuted": {
        const [key0, key1, i, n] = args.map((e) => once(this.#b, "x", e)) as [Expr, Expr, Expr, Expr];
        return permutedIndex(this.#b, key0, key1, i, n);
      }
      case "pow":
        return this.#power(term, x, y, result);
      default:
        return this.#expand(term.name, args);
    }
  }
  /** A function of src/math/, expanded in place; its arguments are computed once. */
  #expand(name: keyof typeof MATH, args: readonly Expr[]): Expr {
    return MATH[name](this.#b, ...args.map((x) => once(this.#b, "x", x)));
  }
  #differs(x: Expr): Expr {
    const n = once(this.#b, "x", x);
    return ir.binary("ne", n, n);
  }
  /** A power with a small whole exponent is a product where the types say so (see `productType`). */
  #power(term: Apply, x: Expr, y: Expr, result: DType): Expr {
    const exponent = term.args[1];
    const isProduct = !isFloat(x.dtype) || (exponent?.kind === "literal" && exponent.value === 2);
    if (!isProduct || exponent?.kind !== "literal") return this.#expand("pow", [x, y]);
    const base = once(this.#b, "base", x);
    let product = base;
    for (let k = 1; k < exponent.value; k++) product = ir.mul(product, base);
    return convertTo(result, product);
  }
}

/** Whether a term is the index of a loop from 0 (or more) to the length of an array, or of one as long. */
function countsOver(base: ArrayBase, index: Term): boolean {
  const counts = index.kind === "read" ? index.variable.counts : undefined;
  if (counts?.compare !== "<" || counts.bound.kind !== "length") return false;
  const over = counts.bound.base;
  const isAsLong = over === base || (over.group !== undefined && over.group === base.group);
  return isAsLong && counts.begin.kind === "literal" && counts.begin.value >= 0;
}

/** Neither infinite nor NaN. */
const hasSize = (x: Expr): Expr => ir.binary("lt", ir.unary("abs", x), ir.constant(x.dtype, Number.POSITIVE_INFINITY));
