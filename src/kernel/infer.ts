/**
 * @file The third stage: the type of every variable, array and term.
 *
 * A variable's type is the join of all its assignments. Types are recomputed from what is known until nothing changes;
 * ranges that keep growing become i32. While solving, a mix that needs a conversion counts as unknown; afterwards the
 * same rules report it, when the term is lowered.
 */
import { Refusal, type Span, textOf } from "./errors.ts";
import { functionType, productType } from "./functions.ts";
import {
  type Apply,
  type ArrayBase,
  type BinaryTerm,
  type Counting,
  drawnInto,
  eachStep,
  type FunctionName,
  operandsOf,
  readsVariable,
  type Step,
  stepTerms,
  type Term,
  type UnaryTerm,
  type Variable,
} from "./terms.ts";
import {
  arithmetic,
  asNumber,
  BOOL,
  bitwise,
  CONVERSION,
  common,
  comparison,
  F64,
  FRACTION,
  I32,
  integer,
  literalType,
  type Operation,
  printType,
  quotientRange,
  SCALAR_TYPES,
  sameType,
  type Type,
  wholeQuotient,
} from "./types.ts";

type Typed = Variable | ArrayBase;
const ROUNDING: ReadonlySet<FunctionName> = new Set<FunctionName>(["floor", "ceil", "trunc", "toInt32", "toUint32"]);
const MOST_PASSES = 100;
const MOST_GROWTH = 3;

export class Types {
  readonly #known = new Map<Typed, Type>();
  readonly #growth = new Map<Typed, number>();
  readonly #done = new Map<Term, Type>();
  readonly #checked = new Map<Typed, Type>();
  #reports = false;

  constructor(steps: readonly Step[]) {
    this.#solve(collect(steps));
    this.#reports = true;
  }

  #solve(all: readonly Typed[]): void {
    for (let pass = 0; pass < MOST_PASSES; pass++) {
      let changed = false;
      for (const typed of all) {
        const next = this.#next(typed);
        const before = this.#known.get(typed);
        if (!next || (before && sameType(before, next))) continue;
        this.#known.set(typed, next);
        changed = true;
      }
      if (!changed) return;
    }
  }

  /** What is known of a variable now. */
  #next(typed: Typed): Type | undefined {
    const declared = typed.kind === "variable" ? typed.declared : typed.element;
    if (declared) return SCALAR_TYPES[declared];
    if (typed.kind === "base" && typed.data) return tableType(typed.data);
    const counted = typed.kind === "variable" && typed.counts ? this.#counting(typed.counts) : undefined;
    return counted ?? this.#widened(typed, this.#join(typed));
  }
  #counting({ begin, bound, compare }: Counting): Type | undefined {
    const [first, last] = [this.#find(begin), this.#find(bound)];
    if (!first || !last) return undefined;
    const [a, b] = [asNumber(first), asNumber(last)];
    if (a.kind === "fraction") return common(a, b) ?? F64;
    if (a.kind !== "integer") return a;
    if (b.kind !== "integer") return I32;
    if (compare === "<" || compare === "<=") return integer(a.low, Math.max(a.low, b.high - (compare === "<" ? 1 : 0)));
    return integer(Math.min(a.high, b.low + (compare === ">" ? 1 : 0)), a.high);
  }
  #join(typed: Typed): Type | undefined {
    const terms = typed.kind === "variable" ? typed.assignments : typed.contents;
    const joined = this.#joinOf(terms);
    if (joined !== "clash") return joined;
    // What a variable feeds into itself follows its type and does not decide it.
    const outside = typed.kind === "variable" ? terms.filter((t) => !readsVariable(t, typed)) : terms;
    const rest = this.#joinOf(outside);
    return rest === "clash" ? undefined : rest;
  }
  #joinOf(terms: readonly Term[]): Type | undefined | "clash" {
    let type: Type | undefined;
    for (const t of terms) {
      const next = this.#find(t);
      if (!next) continue;
      const met = type ? common(type, next) : next;
      if (!met) return "clash";
      type = met;
    }
    return type;
  }
  #widened(typed: Typed, next: Type | undefined): Type | undefined {
    const before = this.#known.get(typed);
    if (next?.kind !== "integer" || !before || sameType(before, next)) return next;
    const growth = (this.#growth.get(typed) ?? 0) + 1;
    this.#growth.set(typed, growth);
    return growth > MOST_GROWTH ? I32 : next;
  }

  /** The type of a variable or array; an error when there is none or its assignments do not join. */
  typeOfVariable(typed: Typed): Type {
    const before = this.#checked.get(typed);
    if (before) return before;
    const type = this.#check(typed);
    this.#checked.set(typed, type);
    return type;
  }
  #check(typed: Typed): Type {
    const declared = typed.kind === "variable" ? typed.declared : typed.element;
    if (declared) return SCALAR_TYPES[declared];
    const terms = typed.kind === "variable" ? typed.assignments : typed.contents;
    const type = this.#known.get(typed);
    for (const t of terms) {
      const own = this.of(t);
      if (type && common(type, own) === undefined) this.#clash(typed, type, t, own);
    }
    if (!type || (terms.length > 1 && this.#joinOf(terms) === "clash")) return this.#unknown(typed, terms);
    return type;
  }
  #clash(typed: Typed, type: Type, term: Term, own: Type): never {
    throw new Refusal(
      {
        problem: `\`${typed.name}\` is ${printType(type)} elsewhere and ${printType(own)} here`,
        advice: `convert what is assigned, or start \`${typed.name}\` with a value of the type it is to have`,
      },
      term.span,
    );
  }
  #unknown(typed: Typed, terms: readonly Term[]): never {
    const types = terms.map((t) => printType(this.of(t)));
    const [first, second = "nothing"] = [...new Set(types)];
    const problem =
      first === undefined
        ? `nothing is ever assigned to \`${typed.name}\``
        : `\`${typed.name}\` is assigned ${first} and ${second}, which do not join`;
    throw new Refusal(
      { problem, advice: "convert one of them: Math.fround(x), Number(x), x | 0, x >>> 0" },
      typed.span,
    );
  }

  /** The type of a term; a mix that needs a conversion is an error. */
  of(term: Term): Type {
    const before = this.#done.get(term);
    if (before) return before;
    const type = this.#find(term);
    if (!type) {
      for (const part of operandsOf(term)) this.of(part);
      const problem = `the type of \`${textOf(term.span)}\` cannot be told from what is assigned`;
      throw new Refusal({ problem, advice: "give it a first value of the type it is to have" }, term.span);
    }
    this.#done.set(term, type);
    return type;
  }

  /** The type of a term as far as it is known. */
  #find(term: Term): Type | undefined {
    switch (term.kind) {
      case "literal":
        return literalType(term.value);
      case "truth":
        return BOOL;
      case "read":
        return this.#known.get(term.variable);
      case "element":
        return this.#known.get(term.view.base);
      case "length":
        return I32;
      case "unary":
        return this.#unary(term);
      case "binary":
        return this.#operation(term)?.result;
      case "logical":
        return this.#meet(term, term.a, term.b);
      case "conditional":
        return this.#meet(term, term.a, term.b);
      case "apply":
        return this.#application(term)?.result;
      default:
        return term satisfies never;
    }
  }

  #part(term: Term): Type | undefined {
    return this.#reports ? this.of(term) : this.#find(term);
  }

  #unary(term: UnaryTerm): Type | undefined {
    if (term.op === "!") return BOOL;
    const inner = this.#part(term.x);
    if (!inner) return undefined;
    const type = asNumber(inner);
    if (term.op === "+") return type;
    if (term.op === "-") return type.kind === "integer" ? integer(-type.high, -type.low, type.literal) : type;
    if (type.kind === "integer") return integer(-type.high - 1, -type.low - 1);
    return type.kind === "i32" || type.kind === "u32" ? type : this.#refuseBits(term.x, type);
  }

  /** What a binary operation works in; throws when the operands do not mix. */
  operation(term: BinaryTerm): Operation {
    return this.#operation(term) as Operation;
  }
  #operation(term: BinaryTerm): Operation | undefined {
    const [a, b] = [this.#part(term.a), this.#part(term.b)];
    if (!a || !b) return undefined;
    switch (term.op) {
      case "+":
      case "-":
      case "*":
      case "/":
      case "%":
      case "**":
        return arithmetic(term.op, a, b) ?? this.#mix(term.span, term.a, a, term.b, b);
      case "&":
      case "|":
      case "^":
      case "<<":
      case ">>":
      case ">>>": {
        if (a.kind === "bool" && b.kind === "bool" && term.op !== "<<" && term.op !== ">>" && term.op !== ">>>")
          return { operands: BOOL, result: BOOL };
        const found = bitwise(term.op, a, b);
        if (found) return found;
        const isFloat = (t: Type): boolean => t.kind === "f32" || t.kind === "f64" || t.kind === "fraction";
        if (isFloat(a)) return this.#refuseBits(term.a, a);
        if (isFloat(b)) return this.#refuseBits(term.b, b);
        return this.#mix(term.span, term.a, a, term.b, b);
      }
      default:
        return comparison(term.op, a, b) ?? this.#mix(term.span, term.a, a, term.b, b);
    }
  }

  #meet(term: Term, first: Term, second: Term): Type | undefined {
    const [a, b] = [this.#part(first), this.#part(second)];
    // While solving, one known arm is better than none: recursive definitions start from it.
    if (!a || !b) return a ?? b;
    return common(a, b) ?? this.#mix(term.span, first, a, second, b);
  }

  /** How a function is applied: the type of its arguments and of its value. */
  application(term: Apply): Operation {
    return this.#application(term) as Operation;
  }
  #application(term: Apply): Operation | undefined {
    const whole = this.wholeDivision(term);
    if (whole) return { operands: whole.operands, result: term.name === "toUint32" ? SCALAR_TYPES.u32 : whole.result };
    const types: Type[] = [];
    for (const arg of term.args) {
      const type = this.#part(arg);
      if (!type) return undefined;
      types.push(type);
    }
    const [base, exponent] = term.args;
    if (term.name === "pow" && exponent?.kind === "literal" && base) {
      const product = productType(types[0] as Type, exponent.value);
      if (product) return product;
    }
    return functionType(term.name, types) ?? this.#refuseArguments(term, types);
  }

  /** The integer division inside `Math.floor(a / b)` and the like, if it is one. */
  wholeDivision(
    term: Apply,
  ): { readonly quotient: BinaryTerm; readonly operands: Type; readonly result: Type } | undefined {
    const [arg] = term.args;
    if (!ROUNDING.has(term.name) || arg?.kind !== "binary" || arg.op !== "/") return undefined;
    const [a, b] = [this.#part(arg.a), this.#part(arg.b)];
    const operands = a && b && wholeQuotient(a, b);
    if (!operands || !a || !b) return undefined;
    const isUnsigned = operands.kind === "u32" && term.name !== "toInt32";
    return { quotient: arg, operands, result: quotientRange(a, b) ?? (isUnsigned ? operands : I32) };
  }

  #refuseArguments(term: Apply, types: readonly Type[]): undefined {
    if (!this.#reports) return undefined;
    const [a, b] = term.args;
    const [first, second] = types;
    if (a && b && first && second && !common(first, second)) return this.#mix(term.span, a, first, b, second);
    const given = types.map(printType).join(" and ");
    throw new Refusal(
      {
        problem: `\`${textOf(term.span)}\` does not take ${given}`,
        advice: "convert the arguments: Math.fround(x) makes an f32, x | 0 an i32, x >>> 0 a u32, Number(x) an f64",
      },
      term.span,
    );
  }
  #refuseBits(term: Term, type: Type): undefined {
    if (!this.#reports) return undefined;
    const text = textOf(term.span);
    throw new Refusal(
      {
        problem: `\`${text}\` is ${printType(type)}, and bit operations work on integers`,
        advice: `make it an integer first: (${text} | 0) or (${text} >>> 0)`,
      },
      term.span,
    );
  }
  #mix(span: Span, a: Term, first: Type, b: Term, second: Type): undefined {
    if (!this.#reports) return undefined;
    const [left, right] = [textOf(a.span), textOf(b.span)];
    throw new Refusal(
      {
        problem: `\`${left}\` is ${printType(first)} and \`${right}\` is ${printType(second)}: they do not mix`,
        advice: `convert one of them: ${convertTo(second, left)} or ${convertTo(first, right)}`,
      },
      span,
    );
  }
}

/** How a text is converted to a type. */
function convertTo(type: Type, text: string): string {
  const to = type.kind === "integer" ? "i32" : type.kind === "fraction" ? "f64" : type.kind;
  return `\`${CONVERSION[to](text)}\``;
}

function tableType(data: readonly number[]): Type {
  const isWhole = data.every((v) => literalType(v).kind === "integer");
  return isWhole
    ? integer(
        data.reduce((a, b) => Math.min(a, b)),
        data.reduce((a, b) => Math.max(a, b)),
        true,
      )
    : FRACTION;
}

/** The variables and arrays of a program, in order of appearance. */
function collect(steps: readonly Step[]): Typed[] {
  const found = new Set<Typed>();
  const visit = (term: Term): void => {
    if (term.kind === "read") found.add(term.variable);
    if (term.kind === "element") found.add(term.view.base);
    for (const t of operandsOf(term)) visit(t);
  };
  eachStep(steps, (s) => {
    for (const t of stepTerms(s)) visit(t);
    if (s.kind === "assign" || s.kind === "clear" || s.kind === "recur") found.add(s.variable);
    if (s.kind === "store") found.add(s.view.base);
    if (s.kind === "array") found.add(s.base);
    if (s.kind === "count" || s.kind === "parallel") found.add(s.index);
    if (s.kind === "draw") for (const v of drawnInto(s)) found.add(v);
  });
  return [...found];
}
