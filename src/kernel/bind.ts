/**
 * @file Giving names to values and values to cells: declarations, parameters, destructuring, assignment.
 */
import type { AnyNode, Expression, Identifier, Pattern } from "acorn";
import { elementOf, fieldOf } from "./access.ts";
import { type Context, type Frame, isCheap, numberOf, refuseUpdate, spanOf, valueFor } from "./context.ts";
import type { Span } from "./errors.ts";
import { literal } from "./fold.ts";
import { refuse } from "./refusals.ts";
import { type Binding, isAssigned } from "./scopes.ts";
import { isTerm, type Term } from "./terms.ts";
import { type Cell, describe, type Value } from "./values.ts";

export function bindingOf(frame: Frame, id: Identifier): Binding {
  return frame.unit.names.bindings.get(id) ?? refuse("closure", spanOf(frame, id), id.name);
}

/** Names a value: a number gets a variable unless it can stand for itself, anything else is only a name. */
export function declare(cx: Context, frame: Frame, id: Identifier, value: Value | undefined): void {
  const binding = bindingOf(frame, id);
  const span = spanOf(frame, id);
  // A second `var` of the same name, or a `var` in a loop, assigns the same variable.
  const before = binding.keyword === "var" ? frame.names.find(binding) : undefined;
  if (before?.kind === "variableCell" && value) return assignCell(cx, before, numberOf(value, span), span);
  if (value === undefined || value.kind === "nothing") {
    const variable = cx.variable(id.name, span, false);
    cx.emit({ kind: "clear", variable });
    return frame.names.set(binding, { kind: "variableCell", variable });
  }
  if (!isTerm(value)) {
    if (isAssigned(binding)) refuse("rebinding", span, id.name, describe(value));
    return frame.names.set(binding, value);
  }
  if (!isAssigned(binding) && isCheap(value)) return frame.names.set(binding, value);
  const variable = cx.variable(id.name, span, !isAssigned(binding));
  cx.assign(variable, value, span);
  frame.names.set(binding, { kind: "variableCell", variable });
}

/** Evaluates the default of a pattern; handed in, because it is an expression. */
export type Evaluate = (node: Expression) => Value;

/** Takes a value apart along a pattern; `bind` receives the names. */
export function destructure(
  cx: Context,
  frame: Frame,
  pattern: Pattern | AnyNode,
  value: Value | undefined,
  evaluate: Evaluate,
  bind: (target: AnyNode, value: Value | undefined) => void,
): void {
  switch (pattern.type) {
    case "AssignmentPattern":
      return destructure(cx, frame, pattern.left, value ?? evaluate(pattern.right), evaluate, bind);
    case "ObjectPattern":
      for (const property of pattern.properties) {
        if (property.type === "RestElement") refuse("spread", spanOf(frame, property));
        const name = keyOf(frame, property.key);
        const span = spanOf(frame, property);
        const field = value && hasField(value, name) ? valueFor(fieldOf(value, name, span), span) : undefined;
        if (!field && property.value.type !== "AssignmentPattern") refuse("field", span, name);
        destructure(cx, frame, property.value, field, evaluate, bind);
      }
      return;
    case "ArrayPattern":
      pattern.elements.forEach((element, k) => {
        if (!element || !value) return;
        const span = spanOf(frame, element);
        const item = valueFor(elementOf(cx, value, literal(k, span), span), span);
        destructure(cx, frame, element, item, evaluate, bind);
      });
      return;
    default:
      return bind(pattern, value);
  }
}
function hasField(value: Value, name: string): boolean {
  return value.kind !== "record" || value.fields.has(name);
}
/** The name of a property key. */
export function keyOf(frame: Frame, key: AnyNode): string {
  if (key.type === "Identifier") return key.name;
  if (key.type === "Literal" && (typeof key.value === "string" || typeof key.value === "number"))
    return String(key.value);
  return refuse("accessor", spanOf(frame, key));
}

export function declarePattern(
  cx: Context,
  frame: Frame,
  pattern: Pattern,
  value: Value | undefined,
  evaluate: Evaluate,
): void {
  destructure(cx, frame, pattern, value, evaluate, (target, item) => {
    if (target.type !== "Identifier") return refuseUpdate(frame, target);
    declare(cx, frame, target, item);
  });
}

export function assignCell(cx: Context, cell: Cell, value: Term, span: Span): void {
  if (cell.kind === "variableCell") cx.assign(cell.variable, value, span);
  else cx.store(cell.view, cell.index, value, span);
}

/** The cell that a name stands for. */
export function cellOf(frame: Frame, id: Identifier): Cell {
  const span = spanOf(frame, id);
  const binding = frame.unit.names.bindings.get(id) ?? refuse("closure", span, id.name);
  if (binding.keyword === "const") refuse("constantStore", span, id.name);
  const bound = frame.names.find(binding) ?? refuse("useBeforeDeclaration", span, id.name);
  if (bound.kind === "variableCell" || bound.kind === "elementCell") return bound;
  return refuse("rebinding", span, id.name, describe(bound));
}

/** Whether an expression makes its value anew, so that a copy cannot be told from it. */
export function isFresh(node: AnyNode): boolean {
  switch (node.type) {
    case "ObjectExpression":
    case "CallExpression":
      return true;
    case "ConditionalExpression":
      return isFresh(node.consequent) && isFresh(node.alternate);
    case "SequenceExpression":
      return isFresh(node.expressions.at(-1) as Expression);
    default:
      return false;
  }
}
/** Variables for a value that is decided at run time: a number, or a record of numbers; undefined for anything else. */
export function emptyLike(cx: Context, value: Value, span: Span): Value | undefined {
  if (isTerm(value)) return { kind: "read", variable: cx.variable("chosen", span, true), span };
  if (value.kind !== "record") return undefined;
  const fields = new Map<string, Value | Cell>();
  for (const [name, field] of value.fields) {
    // An array's element is a place of its own, which a copy would not write to.
    const inner = field.kind === "elementCell" ? undefined : valueFor(field, span);
    const made = inner && !isTerm(inner) ? emptyLike(cx, inner, span) : undefined;
    if (!inner || (!isTerm(inner) && !made)) return undefined;
    fields.set(name, made ?? { kind: "variableCell", variable: cx.variable(name, span, false) });
  }
  return { kind: "record", fields };
}
/** Assigns a value to what `emptyLike` made; false when it has another shape. */
export function assignLike(cx: Context, to: Value | Cell, value: Value, span: Span): boolean {
  if (to.kind === "read" || to.kind === "variableCell") {
    if (isTerm(value)) cx.assign(to.variable, value, span);
    return isTerm(value);
  }
  if (to.kind !== "record" || value.kind !== "record" || to.fields.size !== value.fields.size) return false;
  return [...to.fields].every(([name, cell]) => {
    const field = value.fields.get(name);
    return field !== undefined && assignLike(cx, cell, valueFor(field, span), span);
  });
}
