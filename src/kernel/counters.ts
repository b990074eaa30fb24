/**
 * @file Which `for` statements count: their index is set, compared and stepped in the head and nowhere else.
 */
import type { AnyNode, Expression, Identifier, Statement } from "acorn";
import type { Context, Frame } from "./context.ts";
import { term } from "./expressions.ts";
import { known } from "./fold.ts";
import type { Binding } from "./scopes.ts";
import { assignedIn, type Counting, type Step, someTerm, storedIn, type Term, type Variable } from "./terms.ts";

/** A `for` whose index is set, compared and stepped in its head and nowhere else. */
export interface Counter {
  readonly id: Identifier;
  readonly begin: Expression;
  readonly compare: Counting["compare"];
  readonly bound: Expression;
  readonly update: Expression;
  /** The part of the head that sets the index, and the other declarations. */
  readonly own: AnyNode;
  readonly others: readonly Statement[];
}
const FLIPPED: { readonly [C in Counting["compare"]]: Counting["compare"] } = {
  "<": ">",
  "<=": ">=",
  ">": "<",
  ">=": "<=",
};

export function counterOf(frame: Frame, node: AnyNode & { type: "ForStatement" }): Counter | undefined {
  const { init, test, update } = node;
  if (test?.type !== "BinaryExpression" || !(test.operator in FLIPPED) || !update) return undefined;
  const compare = test.operator as Counting["compare"];
  for (const [side, other, op] of [
    [test.left, test.right, compare],
    [test.right, test.left, FLIPPED[compare]],
  ] as const) {
    if (side.type !== "Identifier" || other.type === "PrivateIdentifier") continue;
    const head = headOf(init, side.name);
    const binding = frame.unit.names.bindings.get(side);
    if (!head || !binding || !isOnlyIn(binding, node)) continue;
    return { ...head, compare: op, bound: other, update };
  }
  return undefined;
}
/** The part of a loop's head that sets `name`. */
function headOf(
  init: AnyNode | null | undefined,
  name: string,
): Pick<Counter, "id" | "begin" | "own" | "others"> | undefined {
  if (init?.type === "AssignmentExpression" && init.operator === "=") {
    const { left: id, right: begin } = init;
    return id.type === "Identifier" && id.name === name ? { id, begin, own: init, others: [] } : undefined;
  }
  if (init?.type !== "VariableDeclaration") return undefined;
  const own = init.declarations.find((d) => d.id.type === "Identifier" && d.id.name === name);
  if (own?.id.type !== "Identifier" || !own.init) return undefined;
  const rest = init.declarations.filter((d) => d !== own);
  const others = rest.length > 0 ? [{ ...init, declarations: rest }] : [];
  return { id: own.id, begin: own.init, own: { ...init, declarations: [own] }, others };
}
/** Whether a name is used inside a loop only, and assigned by its head and its update alone. */
function isOnlyIn(binding: Binding, loop: AnyNode & { type: "ForStatement" }): boolean {
  const inside = (id: Identifier, part: AnyNode | null | undefined): boolean =>
    !!part && id.start >= part.start && id.end <= part.end;
  return (
    binding.references.every((id) => inside(id, loop) && !inside(id, loop.init)) &&
    binding.assignments.every((id) => inside(id, loop.update) || inside(id, loop.init))
  );
}

/** The constant that the update adds to the index. */
export function stepOf(cx: Context, frame: Frame, { id, update }: Counter): number | undefined {
  const isIndex = (node: AnyNode): boolean => node.type === "Identifier" && node.name === id.name;
  if (update.type === "UpdateExpression" && isIndex(update.argument)) return update.operator === "++" ? 1 : -1;
  if (update.type !== "AssignmentExpression" || !isIndex(update.left)) return undefined;
  const { operator, right } = update;
  if (operator === "+=" || operator === "-=") return wholeNumber(cx, frame, right, operator === "+=" ? 1 : -1);
  if (operator !== "=" || right.type !== "BinaryExpression") return undefined;
  if (!isIndex(right.left) || (right.operator !== "+" && right.operator !== "-")) return undefined;
  return wholeNumber(cx, frame, right.right, right.operator === "+" ? 1 : -1);
}
function wholeNumber(cx: Context, frame: Frame, node: AnyNode, sign: number): number | undefined {
  let value: number | boolean | undefined;
  const steps = cx.body(() => {
    value = known(term(cx, frame, node));
  });
  const whole = steps.length === 0 && Number.isInteger(value) && value !== 0;
  return whole ? sign * Number(value) : undefined;
}

/** Whether a loop's body leaves the value of a term alone. */
export function isInvariant(bound: Term, index: Variable, body: readonly Step[]): boolean {
  const assigned = assignedIn(body);
  const stored = storedIn(body);
  return !someTerm(
    bound,
    (t) =>
      (t.kind === "read" && (t.variable === index || assigned.has(t.variable))) ||
      (t.kind === "element" && stored.has(t.view.base)),
  );
}
