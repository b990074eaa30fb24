/**
 * @file The first look at a parsed function: every kind of node is either allowed or names the row that refuses it.
 */
import type { AnyNode } from "acorn";
import type { SourceText, Span } from "./errors.ts";
import { type RefusedName, refuse } from "./refusals.ts";

type Verdict = RefusedName | "allowed";

const NODES: { readonly [T in AnyNode["type"]]: Verdict } = {
  ArrayExpression: "allowed",
  ArrayPattern: "allowed",
  ArrowFunctionExpression: "allowed",
  AssignmentExpression: "allowed",
  AssignmentPattern: "allowed",
  AwaitExpression: "async",
  BinaryExpression: "allowed",
  BlockStatement: "allowed",
  BreakStatement: "allowed",
  CallExpression: "allowed",
  CatchClause: "try",
  ChainExpression: "optional",
  ClassBody: "class",
  ClassDeclaration: "class",
  ClassExpression: "class",
  ConditionalExpression: "allowed",
  ContinueStatement: "allowed",
  DebuggerStatement: "debugger",
  DoWhileStatement: "allowed",
  EmptyStatement: "allowed",
  ExportAllDeclaration: "module",
  ExportDefaultDeclaration: "module",
  ExportNamedDeclaration: "module",
  ExportSpecifier: "module",
  ExpressionStatement: "allowed",
  ForInStatement: "forIn",
  ForOfStatement: "allowed",
  ForStatement: "allowed",
  FunctionDeclaration: "allowed",
  FunctionExpression: "allowed",
  Identifier: "allowed",
  IfStatement: "allowed",
  ImportAttribute: "module",
  ImportDeclaration: "module",
  ImportDefaultSpecifier: "module",
  ImportExpression: "module",
  ImportNamespaceSpecifier: "module",
  ImportSpecifier: "module",
  LabeledStatement: "allowed",
  Literal: "allowed",
  LogicalExpression: "allowed",
  MemberExpression: "allowed",
  MetaProperty: "this",
  MethodDefinition: "class",
  NewExpression: "allowed",
  ObjectExpression: "allowed",
  ObjectPattern: "allowed",
  ParenthesizedExpression: "allowed",
  PrivateIdentifier: "class",
  Program: "allowed",
  Property: "allowed",
  PropertyDefinition: "class",
  RestElement: "spread",
  ReturnStatement: "allowed",
  SequenceExpression: "allowed",
  SpreadElement: "spread",
  StaticBlock: "class",
  Super: "class",
  SwitchCase: "allowed",
  SwitchStatement: "allowed",
  TaggedTemplateExpression: "template",
  TemplateElement: "template",
  TemplateLiteral: "template",
  ThisExpression: "this",
  ThrowStatement: "throw",
  TryStatement: "try",
  UnaryExpression: "allowed",
  UpdateExpression: "allowed",
  VariableDeclaration: "allowed",
  VariableDeclarator: "allowed",
  WhileStatement: "allowed",
  WithStatement: "with",
  YieldExpression: "generator",
};

const OPERATORS: { readonly [operator: string]: RefusedName } = {
  typeof: "typeof",
  delete: "delete",
  in: "in",
  instanceof: "in",
  "??": "optional",
  "??=": "optional",
};

/** What an allowed kind of node may still be refused for. */
function verdict(node: AnyNode): Verdict {
  switch (node.type) {
    case "Literal":
      return node.regex ? "regexp" : typeof node.value === "bigint" || node.bigint ? "bigint" : "allowed";
    case "UnaryExpression":
    case "BinaryExpression":
    case "LogicalExpression":
    case "AssignmentExpression":
      return OPERATORS[node.operator] ?? "allowed";
    case "ArrowFunctionExpression":
    case "FunctionExpression":
    case "FunctionDeclaration":
      return node.async ? "async" : node.generator ? "generator" : "allowed";
    case "ForOfStatement":
      return node.await ? "async" : "allowed";
    case "Property":
      return node.kind !== "init" || node.computed ? "accessor" : "allowed";
    case "ArrayExpression":
      // `[,,,]` is what minifiers make of `new Array(3)`.
      return node.elements.includes(null) && node.elements.some((e) => e) ? "arrayShape" : "allowed";
    default:
      return NODES[node.type];
  }
}

const CHILDREN = Symbol("children");

/** The nodes directly inside a node; remembered in it, because several steps walk the same tree. */
export function childrenOf(node: AnyNode): readonly AnyNode[] {
  const walked = node as AnyNode & { [CHILDREN]?: readonly AnyNode[] };
  walked[CHILDREN] ??= findChildren(node);
  return walked[CHILDREN];
}
/** The fields of each type of node: the parser gives all nodes of a type the same ones. */
const fieldNames = new Map<string, readonly string[]>();
function fieldsOf(node: AnyNode): readonly string[] {
  let names = fieldNames.get(node.type);
  if (!names) {
    names = Object.keys(node).filter((name) => name !== "type" && name !== "start" && name !== "end");
    fieldNames.set(node.type, names);
  }
  return names;
}
function findChildren(node: AnyNode): AnyNode[] {
  const found: AnyNode[] = [];
  const fields = node as unknown as { readonly [field: string]: unknown };
  for (const field of fieldsOf(node)) {
    const value = fields[field];
    if (Array.isArray(value)) for (const item of value as unknown[]) isNode(item) && found.push(item);
    else if (isNode(value)) found.push(value);
  }
  return found;
}
function isNode(item: unknown): item is AnyNode {
  return typeof item === "object" && item !== null && "type" in item && typeof item.type === "string";
}

/** Refuses what the shape of the code tells; `span` gives the place of a node. */
export function checkSyntax(root: AnyNode, span: (node: AnyNode) => Span): void {
  const verdictOfRoot = verdict(root);
  if (verdictOfRoot !== "allowed") refuse(verdictOfRoot, span(root));
  for (const child of childrenOf(root)) checkSyntax(child, span);
}

/** Coverage tools rewrite a function to count its lines in an outside object. */
export function checkInstrumentation(source: SourceText): void {
  const counter = /\bcov_\w+\(\)\.|\b__cov_\w+|\b__coverage__\b|\b_?__cxx?_\w*\.[sfb]\[/.exec(source.text);
  if (counter) refuse("coverage", { source, start: counter.index, end: counter.index + counter[0].length });
}
