/**
 * @file Which declaration each name of a function means.
 *
 * JavaScript's scopes, resolved once per function: blocks, `var` and function hoisting, parameters. A name that no
 * scope of the function declares is free: a global such as `Math`, or a value from outside.
 */
import type { AnyNode, Identifier, Pattern } from "acorn";
import { childrenOf } from "./syntax.ts";

/** One declared name. */
export interface Binding {
  readonly name: string;
  readonly keyword: "const" | "let" | "var" | "parameter" | "function";
  /** Where it is declared, read and assigned (after its declaration). */
  readonly declarations: Identifier[];
  readonly references: Identifier[];
  readonly assignments: Identifier[];
}
export const isAssigned = (binding: Binding): boolean => binding.assignments.length > 0;

export interface Resolution {
  readonly bindings: ReadonlyMap<AnyNode, Binding>;
}

class Scope {
  readonly names = new Map<string, Binding>();
  readonly parent: Scope | undefined;
  constructor(parent: Scope | undefined) {
    this.parent = parent;
  }
  find(name: string): Binding | undefined {
    return this.names.get(name) ?? this.parent?.find(name);
  }
}

/** The identifiers that a pattern binds or assigns. */
function namesOf(pattern: Pattern | AnyNode): Identifier[] {
  switch (pattern.type) {
    case "Identifier":
      return [pattern];
    case "ObjectPattern":
      return pattern.properties.flatMap((p) => namesOf(p.type === "RestElement" ? p.argument : p.value));
    case "ArrayPattern":
      return pattern.elements.flatMap((e) => (e ? namesOf(e) : []));
    case "AssignmentPattern":
      return namesOf(pattern.left);
    case "RestElement":
      return namesOf(pattern.argument);
    default:
      return [];
  }
}

class Resolver {
  readonly bindings = new Map<Identifier, Binding>();

  declare(scope: Scope, id: Identifier, keyword: Binding["keyword"]): void {
    let binding = scope.names.get(id.name);
    if (!binding) {
      binding = { name: id.name, keyword, declarations: [], references: [], assignments: [] };
      scope.names.set(id.name, binding);
    }
    if (binding.declarations.includes(id)) return;
    // A second `var` of the same name assigns the first.
    if (binding.declarations.length > 0) binding.assignments.push(id);
    binding.declarations.push(id);
    this.bindings.set(id, binding);
  }

  /** Declares what stands directly in a list of statements; `var` is declared with its function. */
  hoist(statements: readonly AnyNode[], scope: Scope): void {
    for (const s of statements) {
      if (s.type === "FunctionDeclaration" && s.id) this.declare(scope, s.id, "function");
      if (s.type === "VariableDeclaration" && s.kind !== "var") this.declareAll(s, scope);
    }
  }
  declareAll(node: AnyNode & { type: "VariableDeclaration" }, scope: Scope): void {
    const keyword = node.kind === "let" || node.kind === "var" ? node.kind : "const";
    for (const d of node.declarations) for (const id of namesOf(d.id)) this.declare(scope, id, keyword);
  }
  /** Declares every `var` inside, wherever it stands. */
  hoistVar(node: AnyNode, scope: Scope): void {
    if (node.type.includes("Function")) return;
    if (node.type === "VariableDeclaration" && node.kind === "var") this.declareAll(node, scope);
    else for (const child of childrenOf(node)) this.hoistVar(child, scope);
  }

  refer(id: Identifier, scope: Scope, assigns: boolean): void {
    if (this.bindings.has(id)) return;
    const binding = scope.find(id.name);
    if (!binding) return;
    this.bindings.set(id, binding);
    (assigns ? binding.assignments : binding.references).push(id);
  }

  walkAll(nodes: readonly (AnyNode | null | undefined)[], scope: Scope): void {
    for (const node of nodes) if (node) this.walk(node, scope);
  }

  function(
    node: AnyNode & { type: "ArrowFunctionExpression" | "FunctionExpression" | "FunctionDeclaration" },
    outer: Scope,
  ): void {
    const scope = new Scope(outer);
    if (node.type === "FunctionExpression" && node.id) this.declare(scope, node.id, "function");
    for (const p of node.params) for (const id of namesOf(p)) this.declare(scope, id, "parameter");
    for (const p of node.params) this.pattern(p, scope, false);
    if (node.body.type !== "BlockStatement") return this.walk(node.body, scope);
    this.hoistVar(node.body, scope);
    this.hoist(node.body.body, scope);
    this.walkAll(node.body.body, scope);
  }

  block(statements: readonly AnyNode[], outer: Scope): void {
    const scope = new Scope(outer);
    this.hoist(statements, scope);
    this.walkAll(statements, scope);
  }

  /** A pattern: its names are targets, its defaults and keys are expressions. */
  pattern(node: AnyNode, scope: Scope, assigns: boolean): void {
    switch (node.type) {
      case "Identifier":
        return this.refer(node, scope, assigns);
      case "ObjectPattern":
        for (const p of node.properties) this.pattern(p.type === "RestElement" ? p.argument : p.value, scope, assigns);
        return;
      case "ArrayPattern":
        for (const e of node.elements) if (e) this.pattern(e, scope, assigns);
        return;
      case "AssignmentPattern":
        this.pattern(node.left, scope, assigns);
        return this.walk(node.right, scope);
      case "RestElement":
        return this.pattern(node.argument, scope, assigns);
      default:
        return this.walk(node, scope);
    }
  }

  loop(node: AnyNode & { type: "ForStatement" | "ForOfStatement" | "ForInStatement" }, outer: Scope): void {
    const scope = new Scope(outer);
    const head = node.type === "ForStatement" ? node.init : node.left;
    if (head?.type === "VariableDeclaration" && head.kind !== "var") this.declareAll(head, scope);
    if (node.type === "ForStatement") return this.walkAll([node.init, node.test, node.update, node.body], scope);
    this.walk(node.right, scope);
    if (head?.type === "VariableDeclaration") this.walk(head, scope);
    else if (head) this.pattern(head, scope, true);
    this.walk(node.body, scope);
  }

  walk(node: AnyNode, scope: Scope): void {
    switch (node.type) {
      case "Identifier":
        return this.refer(node, scope, false);
      case "MemberExpression":
        this.walk(node.object, scope);
        if (node.computed) this.walk(node.property, scope);
        return;
      case "Property":
        return this.walk(node.value, scope);
      case "LabeledStatement":
        return this.walk(node.body, scope);
      case "BreakStatement":
      case "ContinueStatement":
        return;
      case "ArrowFunctionExpression":
      case "FunctionExpression":
      case "FunctionDeclaration":
        return this.function(node, scope);
      case "BlockStatement":
        return this.block(node.body, scope);
      case "SwitchStatement":
        this.walk(node.discriminant, scope);
        return this.block(node.cases, scope);
      case "ForStatement":
      case "ForOfStatement":
      case "ForInStatement":
        return this.loop(node, scope);
      case "VariableDeclarator":
        this.pattern(node.id, scope, false);
        return node.init ? this.walk(node.init, scope) : undefined;
      case "AssignmentExpression":
        this.pattern(node.left, scope, true);
        return this.walk(node.right, scope);
      case "UpdateExpression":
        return this.pattern(node.argument, scope, true);
      default:
        for (const child of childrenOf(node)) this.walk(child, scope);
    }
  }
}

export function resolveNames(root: AnyNode): Resolution {
  const resolver = new Resolver();
  resolver.walk(root, new Scope(undefined));
  return { bindings: resolver.bindings };
}
