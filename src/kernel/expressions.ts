/**
 * @file Expressions: what each stands for, with its effects written as steps in JavaScript's order.
 */
import type { AnyNode, Expression, Identifier } from "acorn";
import { elementOf, fieldOf } from "./access.ts";
import { assignCell, assignLike, cellOf, destructure, emptyLike, isFresh, keyOf } from "./bind.ts";
import { call, callMethod, isMethodOwner, newArray } from "./calls.ts";
import { type Context, type Frame, numberOf, refuseUpdate, sizeOf, spanOf, valueFor } from "./context.ts";
import { apply, binary, conditional, known, literal, logical, truth, unary } from "./fold.ts";
import { GLOBAL_NUMBERS, HOST_NAMES, isKnownGlobal, isModuleObject } from "./globals.ts";
import { refuse } from "./refusals.ts";
import type { FunctionNode } from "./source.ts";
import { type BinaryOperator, isTerm, type Step, type Term, type UnaryOperator } from "./terms.ts";
import { type Cell, describe, type FunctionValue, type Value } from "./values.ts";

/** The number that an expression gives. */
export function term(cx: Context, frame: Frame, node: AnyNode): Term {
  return numberOf(expression(cx, frame, node), spanOf(frame, node));
}

export function expression(cx: Context, frame: Frame, node: AnyNode): Value {
  const span = spanOf(frame, node);
  switch (node.type) {
    case "Literal":
      if (typeof node.value === "number") return literal(node.value, span);
      if (typeof node.value === "boolean") return truth(node.value, span);
      return typeof node.value === "string"
        ? { kind: "text", value: node.value, span }
        : refuse("nothing", span, "null");
    case "Identifier":
      return nameValue(frame, node);
    case "MemberExpression":
      return valueFor(member(cx, frame, node), span);
    case "CallExpression":
      return callExpression(cx, frame, node, true);
    case "NewExpression":
      return newExpression(cx, frame, node);
    case "UnaryExpression":
      if (node.operator === "void") {
        effect(cx, frame, node.argument);
        return { kind: "nothing" };
      }
      return unary(node.operator as UnaryOperator, term(cx, frame, node.argument), span);
    case "UpdateExpression":
      return update(cx, frame, node);
    case "BinaryExpression":
      return binaryExpression(cx, frame, node);
    case "LogicalExpression":
      return logicalExpression(cx, frame, node);
    case "ConditionalExpression":
      return conditionalExpression(cx, frame, node);
    case "AssignmentExpression":
      return assignment(cx, frame, node, true);
    case "SequenceExpression":
      for (const part of node.expressions.slice(0, -1)) effect(cx, frame, part);
      return expression(cx, frame, node.expressions.at(-1) as Expression);
    case "ArrowFunctionExpression":
    case "FunctionExpression":
      return functionValue(frame, node, "function");
    case "ArrayExpression":
      if (node.elements[0] === null) return newArray(cx, "Array", [literal(node.elements.length, span)], span);
      return newArray(cx, undefined, evaluateAll(cx, frame, node.elements as AnyNode[]), span);
    case "ObjectExpression":
      return record(cx, frame, node);
    default:
      return refuseUpdate(frame, node);
  }
}

export function functionValue(frame: Frame, node: FunctionNode, fallback: string): FunctionValue {
  const name = node.id?.name ?? fallback;
  return { kind: "function", name, unit: frame.unit, node, home: frame.names, uses: undefined };
}

function nameValue(frame: Frame, id: Identifier): Value {
  const span = spanOf(frame, id);
  const binding = frame.unit.names.bindings.get(id);
  if (binding) return valueFor(frame.names.find(binding) ?? refuse("useBeforeDeclaration", span, id.name), span);
  const value = GLOBAL_NUMBERS.get(id.name);
  if (value !== undefined) return literal(value, span);
  if (id.name === "undefined") return { kind: "nothing" };
  if (id.name === "arguments") refuse("arguments", span);
  if (isKnownGlobal(id.name)) return { kind: "global", name: id.name };
  return refuse(HOST_NAMES.has(id.name) ? "host" : "closure", span, id.name);
}

/** `a.b` or `a[i]` as something that may be read or assigned. */
function member(cx: Context, frame: Frame, node: AnyNode & { type: "MemberExpression" }): Value | Cell {
  const span = spanOf(frame, node);
  const { object, property } = node;
  const isFree = object.type === "Identifier" && !frame.unit.names.bindings.has(object);
  if (isFree && isModuleObject(object.name) && property.type === "Identifier") refuse("closure", span, property.name);
  if (!node.computed) return fieldOf(expression(cx, frame, object), keyOf(frame, property), span);
  if (property.type === "Literal" && typeof property.value === "string")
    return fieldOf(expression(cx, frame, object), property.value, span);
  const [of, index] = cx.inOrder([() => expression(cx, frame, object), () => expression(cx, frame, property)]);
  return elementOf(cx, of as Value, index as Value, span);
}

function evaluateAll(cx: Context, frame: Frame, nodes: readonly AnyNode[]): Value[] {
  return cx.inOrder(nodes.map((node) => () => expression(cx, frame, node)));
}

function binaryExpression(cx: Context, frame: Frame, node: AnyNode & { type: "BinaryExpression" }): Term {
  const span = spanOf(frame, node);
  const [a, b] = evaluateAll(cx, frame, [node.left, node.right]);
  const x = numberOf(a as Value, spanOf(frame, node.left));
  const y = numberOf(b as Value, spanOf(frame, node.right));
  return combine(node.operator as BinaryOperator | "===" | "!==", x, y, span);
}
/** A binary operation, with the conversions that JavaScript writes as operations. */
function combine(operator: BinaryOperator | "===" | "!==", a: Term, b: Term, span: Term["span"]): Term {
  const op = operator === "===" ? "==" : operator === "!==" ? "!=" : operator;
  if (op === "|" && b.kind === "literal" && b.value === 0) return apply("toInt32", [a], span);
  if (op === "|" && a.kind === "literal" && a.value === 0) return apply("toInt32", [b], span);
  if (op === ">>>" && b.kind === "literal" && b.value === 0) return apply("toUint32", [a], span);
  const folded = binary(op, a, b, span);
  return folded.kind === "binary" && op === "**" ? apply("pow", [a, b], span) : folded;
}

function logicalExpression(cx: Context, frame: Frame, node: AnyNode & { type: "LogicalExpression" }): Value {
  const span = spanOf(frame, node);
  const op = node.operator as "&&" | "||";
  const a = term(cx, frame, node.left);
  const value = known(a);
  if (value !== undefined) return Boolean(value) === (op === "&&") ? expression(cx, frame, node.right) : a;
  let b: Term = a;
  const steps = cx.body(() => {
    b = term(cx, frame, node.right);
  });
  if (steps.length === 0) return logical(op, a, b, span);
  const result = cx.variable("result", span, false);
  cx.assign(result, a, span);
  const rest = cx.body(() => cx.assign(result, b, span));
  const test: Term = { kind: "read", variable: result, span };
  const taken = [...steps, ...rest];
  cx.emit(op === "&&" ? { kind: "if", test, then: taken, else: [] } : { kind: "if", test, then: [], else: taken });
  return { kind: "read", variable: result, span };
}

function conditionalExpression(cx: Context, frame: Frame, node: AnyNode & { type: "ConditionalExpression" }): Value {
  const span = spanOf(frame, node);
  const test = term(cx, frame, node.test);
  const value = known(test);
  if (value !== undefined) return expression(cx, frame, value ? node.consequent : node.alternate);
  const [a, b] = [arm(cx, frame, node.consequent), arm(cx, frame, node.alternate)];
  if (isTerm(a.value) && isTerm(b.value) && a.steps.length + b.steps.length === 0)
    return conditional(test, a.value, b.value, span);
  const isWhole = isTerm(a.value) || (isFresh(node.consequent) && isFresh(node.alternate));
  const result = isWhole ? emptyLike(cx, a.value, span) : undefined;
  if (!result) return refuse("choice", span, "", describe(a.value).replace(/^an? /, ""));
  const fill = ({ steps, value }: Arm): Step[] => [
    ...steps,
    ...cx.body(() => {
      if (!assignLike(cx, result, value, span)) refuse("choice", span, "", describe(value).replace(/^an? /, ""));
    }),
  ];
  cx.emit({ kind: "if", test, then: fill(a), else: fill(b) });
  return result;
}
interface Arm {
  readonly steps: Step[];
  readonly value: Value;
}
function arm(cx: Context, frame: Frame, node: Expression): Arm {
  let value: Value = { kind: "nothing" };
  const steps = cx.body(() => {
    value = expression(cx, frame, node);
  });
  return { steps, value };
}

/** A record literal: each number gets a variable of its own, so that fields can be assigned. */
function record(cx: Context, frame: Frame, node: AnyNode & { type: "ObjectExpression" }): Value {
  const properties = node.properties.map((p) => (p.type === "SpreadElement" ? refuse("spread", spanOf(frame, p)) : p));
  const values = evaluateAll(
    cx,
    frame,
    properties.map((p) => p.value),
  );
  const fields = new Map<string, Value | Cell>();
  for (const [k, p] of properties.entries()) {
    const value = values[k] as Value;
    fields.set(keyOf(frame, p.key), isTerm(value) ? newCell(cx, keyOf(frame, p.key), value, spanOf(frame, p)) : value);
  }
  return { kind: "record", fields };
}

function newCell(cx: Context, name: string, value: Term, span: Term["span"]): Cell {
  const variable = cx.variable(name, span, false);
  cx.assign(variable, value, span);
  return { kind: "variableCell", variable };
}

function newExpression(cx: Context, frame: Frame, node: AnyNode & { type: "NewExpression" }): Value {
  const span = spanOf(frame, node);
  const named = node.callee.type === "Identifier" ? node.callee.name : "object";
  const isBound = node.callee.type === "Identifier" && frame.unit.names.bindings.has(node.callee);
  if (isBound || !isKnownGlobal(named)) refuse("new", span, named);
  return newArray(cx, named, evaluateAll(cx, frame, node.arguments), span);
}

/** esbuild's `__name(fn, "name")`, whatever a minifier calls it: only the function counts. */
function namedFunction(frame: Frame, node: AnyNode & { type: "CallExpression" }): AnyNode | undefined {
  const [fn, name] = node.arguments;
  const isFree = node.callee.type === "Identifier" && !frame.unit.names.bindings.has(node.callee);
  const isNaming = name?.type === "Literal" && typeof name.value === "string";
  return isFree && isNaming && node.arguments.length === 2 ? fn : undefined;
}

function callExpression(
  cx: Context,
  frame: Frame,
  node: AnyNode & { type: "CallExpression" },
  wantsValue: boolean,
): Value {
  const span = spanOf(frame, node);
  const named = namedFunction(frame, node);
  if (named) return expression(cx, frame, named);
  // `(0, module.helper)(x)`: bundlers drop `this` this way.
  const callee =
    node.callee.type === "SequenceExpression" ? (node.callee.expressions.at(-1) as Expression) : node.callee;
  const spans = node.arguments.map((a) => spanOf(frame, a));
  const evaluations = node.arguments.map((a) => () => expression(cx, frame, a));
  if (callee.type === "MemberExpression" && callee.property.type === "Identifier" && !callee.computed) {
    const name = callee.property.name;
    const isFree = callee.object.type === "Identifier" && !frame.unit.names.bindings.has(callee.object);
    const owner = isFree ? undefined : expression(cx, frame, callee.object);
    if (owner && isMethodOwner(owner))
      return callMethod(cx, owner, name, { args: cx.inOrder(evaluations), spans, span, wantsValue });
    if (owner) {
      const target = valueFor(fieldOf(owner, name, spanOf(frame, callee)), span);
      return call(cx, target, { args: cx.inOrder(evaluations), spans, span, wantsValue });
    }
  }
  const target = expression(cx, frame, callee as AnyNode);
  return call(cx, target, { args: cx.inOrder(evaluations), spans, span, wantsValue });
}

/** The cell that the left side of an assignment means. */
function target(cx: Context, frame: Frame, node: AnyNode): Cell {
  if (node.type === "Identifier") return cellOf(frame, node);
  if (node.type !== "MemberExpression") return refuseUpdate(frame, node);
  const found = member(cx, frame, node);
  if (found.kind === "variableCell" || found.kind === "elementCell") return found;
  return refuseUpdate(frame, node);
}

function assignment(
  cx: Context,
  frame: Frame,
  node: AnyNode & { type: "AssignmentExpression" },
  wantsValue: boolean,
): Value {
  const { left, right, operator } = node;
  const span = spanOf(frame, node);
  if (left.type === "ArrayPattern" || left.type === "ObjectPattern") return assignPattern(cx, frame, left, right);
  const named = left.type === "Identifier" && operator === "=" ? nameOnce(cx, frame, left, right) : undefined;
  if (named) return named;
  const cell = target(cx, frame, left);
  if (operator === "&&=" || operator === "||=") return assignIf(cx, frame, fixedCell(cx, cell), operator, right, span);
  if (operator === "=") {
    const { to, value } = rightSide(cx, frame, cell, undefined, right);
    return settle(cx, to, value, span, wantsValue);
  }
  const read = cell.kind === "elementCell" && sizeOf(cell.index) > 5 ? fixedCell(cx, cell) : cell;
  const { to, before, value } = rightSide(cx, frame, read, valueFor(read, spanOf(frame, left)) as Term, right);
  const combined = combine(operator.slice(0, -1) as BinaryOperator, before as Term, value, span);
  return settle(cx, to, combined, span, wantsValue);
}
/** `let a; a = array;`, as transpilers write it: the only assignment of a name makes it stand for the array. */
function nameOnce(cx: Context, frame: Frame, left: Identifier, right: AnyNode): Value | undefined {
  const binding = frame.unit.names.bindings.get(left);
  if (right.type !== "Identifier" && right.type !== "MemberExpression") return undefined;
  if (binding?.assignments.length !== 1 || binding.keyword === "parameter") return undefined;
  const bound = frame.names.find(binding);
  if (bound && (bound.kind !== "variableCell" || bound.variable.assignments.length > 0)) return undefined;
  const value = expression(cx, frame, right);
  if (isTerm(value)) return undefined;
  frame.names.set(binding, value);
  return value;
}
/** The right side, evaluated after the subscript (and, for `+=`, the value before) on the left. */
function rightSide(
  cx: Context,
  frame: Frame,
  cell: Cell,
  current: Term | undefined,
  right: AnyNode,
): { to: Cell; before: Term | undefined; value: Term } {
  const index = cell.kind === "elementCell" ? [() => cell.index] : [];
  const read = current ? [() => current] : [];
  const values = cx.inOrder([...index, ...read, () => term(cx, frame, right)]) as Term[];
  const to = cell.kind === "elementCell" ? { ...cell, index: values[0] as Term } : cell;
  return { to, before: current && values.at(-2), value: values.at(-1) as Term };
}
/** A cell whose subscript no later effect changes. */
function fixedCell(cx: Context, cell: Cell): Cell {
  return cell.kind === "elementCell" ? { ...cell, index: cx.fixed("at", cell.index) } : cell;
}
/** Assigns; what the expression then stands for is the value assigned. */
function settle(cx: Context, cell: Cell, value: Term, span: Term["span"], wantsValue: boolean): Value {
  const kept = wantsValue && cell.kind === "elementCell" ? cx.fixed("stored", value) : value;
  assignCell(cx, cell, kept, span);
  return cell.kind === "elementCell" ? kept : { kind: "read", variable: cell.variable, span };
}

function assignIf(
  cx: Context,
  frame: Frame,
  cell: Cell,
  operator: "&&=" | "||=",
  right: AnyNode,
  span: Term["span"],
): Value {
  const steps = cx.body(() => assignCell(cx, cell, term(cx, frame, right), span));
  const test = valueFor(cell, span) as Term;
  cx.emit(
    operator === "&&=" ? { kind: "if", test, then: steps, else: [] } : { kind: "if", test, then: [], else: steps },
  );
  return valueFor(cell, span);
}

/** `[a, b] = [b, a]`: all values first, then the assignments. */
function assignPattern(cx: Context, frame: Frame, left: AnyNode, right: Expression): Value {
  if (left.type === "ArrayPattern" && right.type === "ArrayExpression") {
    const values = evaluateAll(cx, frame, right.elements as AnyNode[]).map((v, k) =>
      cx.keep("swapped", numberOf(v, spanOf(frame, right.elements[k] as AnyNode))),
    );
    left.elements.forEach((element, k) => {
      const value = values[k];
      if (element && value) assignCell(cx, target(cx, frame, element), value, spanOf(frame, element));
    });
    return { kind: "nothing" };
  }
  const value = expression(cx, frame, right);
  destructure(
    cx,
    frame,
    left,
    value,
    (node) => expression(cx, frame, node),
    (to, item) => {
      const span = spanOf(frame, to);
      assignCell(cx, target(cx, frame, to), numberOf(item ?? { kind: "nothing" }, span), span);
    },
  );
  return value;
}

function update(cx: Context, frame: Frame, node: AnyNode & { type: "UpdateExpression" }): Value {
  const span = spanOf(frame, node);
  const cell = target(cx, frame, node.argument);
  const current = valueFor(cell, span) as Term;
  const before = node.prefix ? current : cx.keep("before", current);
  const after = binary(node.operator === "++" ? "+" : "-", before, literal(1, span), span);
  const settled = settle(cx, cell, after, span, node.prefix);
  return node.prefix ? settled : before;
}

/** An expression as a statement: only what it does counts. */
export function effect(cx: Context, frame: Frame, node: AnyNode): void {
  switch (node.type) {
    case "SequenceExpression":
      for (const part of node.expressions) effect(cx, frame, part);
      return;
    case "LogicalExpression": {
      const run = (): void => effect(cx, frame, node.right);
      const skip = (): void => {};
      const isAnd = node.operator === "&&";
      return branch(cx, term(cx, frame, node.left), isAnd ? run : skip, isAnd ? skip : run);
    }
    case "ConditionalExpression":
      return branch(
        cx,
        term(cx, frame, node.test),
        () => effect(cx, frame, node.consequent),
        () => effect(cx, frame, node.alternate),
      );
    case "AssignmentExpression":
      assignment(cx, frame, node, false);
      return;
    case "UpdateExpression": {
      const span = spanOf(frame, node);
      const cell = target(cx, frame, node.argument);
      const one = literal(1, span);
      return assignCell(
        cx,
        cell,
        binary(node.operator === "++" ? "+" : "-", valueFor(cell, span) as Term, one, span),
        span,
      );
    }
    case "CallExpression":
      callExpression(cx, frame, node, false);
      return;
    case "UnaryExpression":
      return effect(cx, frame, node.argument);
    default:
      expression(cx, frame, node);
  }
}

/** An `if`, or the taken branch alone where the test is known. */
export function branch(cx: Context, test: Term, then: () => void, otherwise: () => void): void {
  const value = known(test);
  if (value !== undefined) return value ? then() : otherwise();
  const [a, b] = [cx.body(then), cx.body(otherwise)];
  if (a.length + b.length > 0) cx.emit({ kind: "if", test, then: a, else: b });
}
