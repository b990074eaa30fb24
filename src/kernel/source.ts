/**
 * @file From a function to its syntax tree: text, acorn, names resolved, and what cannot be compiled refused.
 *
 * The text is what `fn.toString()` gives: as written, with types erased, bundled or minified. A method's text is not
 * an expression; it is parsed inside an object.
 */
import {
  type AnyNode,
  type ArrowFunctionExpression,
  type Expression,
  type FunctionDeclaration,
  type FunctionExpression,
  parseExpressionAt,
} from "acorn";
import type { CallSite } from "../platform/callsite.ts";
import type { AnyFunction } from "./declare.ts";
import { Refusal, type SourceText, type Span } from "./errors.ts";
import { refuse } from "./refusals.ts";
import { type Resolution, resolveNames } from "./scopes.ts";
import { checkInstrumentation, checkSyntax } from "./syntax.ts";

export type FunctionNode = ArrowFunctionExpression | FunctionExpression | FunctionDeclaration;

/** A function that has been read. */
export interface Unit {
  readonly source: SourceText;
  readonly node: FunctionNode;
  readonly names: Resolution;
  span(node: AnyNode): Span;
}

/** What is put around the text so that it is an expression: functions as they are, methods in an object. */
const WRAPPERS = [
  ["(", ")"],
  ["({", "})"],
] as const;

function tryParse(text: string, prefix: string, suffix: string): Expression | undefined {
  try {
    const options = { ecmaVersion: "latest", sourceType: "script", allowSuperOutsideMethod: true } as const;
    return parseExpressionAt(prefix + text + suffix, 0, options);
  } catch {
    return undefined;
  }
}

/** The function inside the parsed text: itself, or the only property of the object around a method. */
function functionIn(expression: Expression): AnyNode {
  if (expression.type !== "ObjectExpression") return expression;
  const [property] = expression.properties;
  return property?.type === "Property" && property.kind === "init" ? property.value : (property ?? expression);
}

const isFunction = (node: AnyNode): node is FunctionNode =>
  node.type === "ArrowFunctionExpression" || node.type === "FunctionExpression";

function unreadable(source: SourceText): never {
  const native = /\{\s*\[native code\]\s*\}\s*$/.test(source.text);
  const problem = native
    ? "the function has no source text (it is built in, or was made by bind)"
    : "the source text of the function cannot be read";
  const advice = "hand over the function itself: an arrow function, a function or a method, written in JavaScript";
  throw new Refusal({ problem, advice }, native ? undefined : { source, start: 0, end: 1 });
}

function noFunction(given: unknown, name: string): never {
  const problem = `${name} is given ${given === null ? "null" : `a value of type ${typeof given}`} instead of a function`;
  throw new Refusal(
    { problem, advice: "write `kernel({ ... }, ({ x }) => { ... })`, `inline((a) => ...)`" },
    undefined,
  );
}

const units = new WeakMap<AnyFunction, Unit>();

/** Reads a function; each is parsed once. */
export function readFunction(fn: AnyFunction, name: string, site: CallSite): Unit {
  if (typeof fn !== "function") return noFunction(fn, name);
  const known = units.get(fn);
  if (known) return known;
  const source: SourceText = { name, text: Function.prototype.toString.call(fn), site };
  checkInstrumentation(source);
  for (const [prefix, suffix] of WRAPPERS) {
    const parsed = tryParse(source.text, prefix, suffix);
    if (!parsed) continue;
    const node = functionIn(parsed);
    const span = (n: AnyNode): Span => ({ source, start: n.start - prefix.length, end: n.end - prefix.length });
    checkSyntax(node, span);
    if (!isFunction(node)) refuse("accessor", span(node));
    const unit: Unit = { source, node, names: resolveNames(node), span };
    units.set(fn, unit);
    return unit;
  }
  return unreadable(source);
}
