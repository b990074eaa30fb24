/**
 * @file Differences of subscripts: `(r + 1) * n - r * n` is n, `(i + 4) - i` is 4.
 *
 * Terms are read as sums of products; wrapping arithmetic keeps this exact. It tells the length of a view that was cut
 * with computed limits, so that its subscripts can be proved.
 */
import type { Span } from "./errors.ts";
import { binary, literal } from "./fold.ts";
import type { ArrayBase, Term, Variable } from "./terms.ts";

/** A sum: for each product of atoms (its factors sorted) a coefficient. */
type Sum = Map<string, { readonly factors: readonly Term[]; readonly coefficient: number }>;

const numbers = new WeakMap<Variable | ArrayBase, number>();
let count = 0;
function numberOf(thing: Variable | ArrayBase): number {
  const known = numbers.get(thing);
  if (known !== undefined) return known;
  numbers.set(thing, ++count);
  return count;
}

/** A name for a term that cannot change and is not taken apart. */
function atomKey(term: Term): string | undefined {
  if (term.kind === "read" && term.variable.stable) return `v${numberOf(term.variable)}`;
  return term.kind === "length" ? `l${numberOf(term.base)}` : undefined;
}

function single(factors: readonly Term[], coefficient: number): Sum {
  const key = factors.map((f) => atomKey(f) ?? "").sort();
  return new Map(coefficient === 0 ? [] : [[key.join("*"), { factors, coefficient }]]);
}
function add(a: Sum, b: Sum, sign: number): Sum {
  const sum: Sum = new Map(a);
  for (const [key, { factors, coefficient }] of b) {
    const total = (sum.get(key)?.coefficient ?? 0) + sign * coefficient;
    if (total === 0) sum.delete(key);
    else sum.set(key, { factors, coefficient: total });
  }
  return sum;
}
function multiply(a: Sum, b: Sum): Sum {
  let product: Sum = new Map();
  for (const x of a.values()) {
    for (const y of b.values())
      product = add(product, single([...x.factors, ...y.factors], x.coefficient * y.coefficient), 1);
  }
  return product;
}

function sumOf(term: Term): Sum | undefined {
  if (term.kind === "literal") return Number.isInteger(term.value) ? single([], term.value) : undefined;
  if (atomKey(term)) return single([term], 1);
  if (term.kind !== "binary" || !["+", "-", "*"].includes(term.op)) return undefined;
  const [a, b] = [sumOf(term.a), sumOf(term.b)];
  if (!a || !b || a.size * b.size > 16) return undefined;
  return term.op === "*" ? multiply(a, b) : add(a, b, term.op === "+" ? 1 : -1);
}

/** a - b, as a number or a plain value where the two differ by one. */
export function difference(a: Term, b: Term, span: Span): Term {
  const [x, y] = [sumOf(a), sumOf(b)];
  const rest = x && y ? [...add(x, y, -1).values()] : undefined;
  if (rest?.length === 0) return literal(0, span);
  const [only] = rest ?? [];
  if (rest?.length !== 1 || !only) return binary("-", a, b, span);
  const [factor, ...more] = only.factors;
  if (!factor) return literal(only.coefficient, span);
  return more.length === 0 && only.coefficient === 1 ? factor : binary("-", a, b, span);
}
