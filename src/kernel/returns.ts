/**
 * @file What a function hands back: nothing, a number, or a record of numbers.
 */
import type { AnyNode, Expression, Statement } from "acorn";
import { assignLike, emptyLike, isFresh } from "./bind.ts";
import { type Context, type Frame, spanOf } from "./context.ts";
import type { Span } from "./errors.ts";
import { effect, expression } from "./expressions.ts";
import { refuse } from "./refusals.ts";
import type { FunctionNode } from "./source.ts";
import { childrenOf } from "./syntax.ts";
import { isTerm } from "./terms.ts";
import type { Value } from "./values.ts";

/** The `return` statements of a function, those of functions inside it left out. */
export function returnsOf(node: AnyNode): (AnyNode & { type: "ReturnStatement" })[] {
  const found: (AnyNode & { type: "ReturnStatement" })[] = [];
  const visit = (inner: AnyNode): void => {
    if (inner.type === "ReturnStatement") found.push(inner);
    else for (const child of childrenOf(inner)) if (!isFunction(child)) visit(child);
  };
  visit(node);
  return found;
}
const FUNCTIONS: ReadonlySet<string> = new Set<FunctionNode["type"]>([
  "ArrowFunctionExpression",
  "FunctionExpression",
  "FunctionDeclaration",
]);
const isFunction = (node: AnyNode): node is FunctionNode => FUNCTIONS.has(node.type);

/** Whether the only `return` is the last statement, so that its value needs no variable. */
export function hasPlainReturn(body: readonly Statement[]): boolean {
  const all = body.flatMap((s) => (isFunction(s) ? [] : returnsOf(s)));
  return all.length === 1 && body.at(-1) === all[0];
}

/** Whether every path through the statements ends in `return`. */
export function alwaysReturns(list: readonly Statement[]): boolean {
  return list.some((s) => {
    switch (s.type) {
      case "ReturnStatement":
        return true;
      case "BlockStatement":
        return alwaysReturns(s.body);
      case "IfStatement":
        return alwaysReturns([s.consequent]) && !!s.alternate && alwaysReturns([s.alternate]);
      case "SwitchStatement":
        return (
          s.cases.some((c) => !c.test) && s.cases.every((c) => c.consequent.length === 0 || alwaysReturns(c.consequent))
        );
      case "WhileStatement":
      case "ForStatement":
        return isEndless(s.test) && !hasBreak(s.body, true);
      default:
        return false;
    }
  });
}
function isEndless(test: Expression | null | undefined): boolean {
  if (!test) return true;
  return (test.type === "Literal" && !!test.value) || (test.type === "UnaryExpression" && test.operator === "!");
}
/** Whether a `break` may leave the loop around: an inner loop's own does not, a labelled one may. */
function hasBreak(node: AnyNode, isDirect: boolean): boolean {
  if (node.type === "BreakStatement") return isDirect || !!node.label;
  const isInner = /^(For|While|DoWhile|Switch)/.test(node.type);
  return childrenOf(node).some((child) => !isFunction(child) && hasBreak(child, isDirect && !isInner));
}

/** Whether an expression is written for what it does. */
function hasEffect(node: AnyNode): boolean {
  switch (node.type) {
    case "AssignmentExpression":
    case "UpdateExpression":
    case "CallExpression":
      return true;
    case "UnaryExpression":
      return node.operator === "void";
    case "SequenceExpression":
      return hasEffect(node.expressions.at(-1) as Expression);
    case "LogicalExpression":
      return hasEffect(node.right);
    case "ConditionalExpression":
      return hasEffect(node.consequent) || hasEffect(node.alternate);
    default:
      return false;
  }
}

/** An expression whose value the caller does not take: allowed for its effects. */
export function discard(cx: Context, frame: Frame, node: Expression): void {
  if (frame.isKernel && !hasEffect(node)) refuse("returnValue", spanOf(frame, node));
  effect(cx, frame, node);
}

/** Hands a value to the caller; the jump is the statement's business. */
export function returnStatement(cx: Context, frame: Frame, argument: Expression | null | undefined, span: Span): void {
  if (!argument) return;
  if (!frame.wantsValue) return discard(cx, frame, argument);
  const value = expression(cx, frame, argument);
  if (frame.plainReturn) frame.result = value;
  else if (!isTerm(value) && !isFresh(argument)) refuse("returnShape", span, frame.name);
  else keepResult(cx, frame, value, span);
}

/** Puts a value where all `return`s of the function put theirs. */
function keepResult(cx: Context, frame: Frame, value: Value, span: Span): void {
  const result = frame.result ?? emptyLike(cx, value, span) ?? refuse("returnShape", span, frame.name);
  frame.result = result;
  if (!assignLike(cx, result, value, span)) refuse("returnShape", span, frame.name);
}
