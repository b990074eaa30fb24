/**
 * @file Reads the import graph of src/: static, type-only, dynamic, and the other doors to Node's modules.
 *
 * esbuild takes the types away and acorn parses the rest, so that comments and strings cannot be mistaken for
 * imports. Type-only imports are turned into ordinary ones first: a type is a dependency as well.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { parse } from "acorn";
import { transformSync } from "esbuild";

export interface ImportFound {
  /** A path from the root of the sources for a file, otherwise the module's name; `?` when it is computed. */
  readonly target: string;
  readonly line: string;
  /** Loaded when the importing file is, not later by a call. */
  readonly isStatic: boolean;
}
/** Files by path from the root of the sources, with what each imports. */
export type ImportGraph = ReadonlyMap<string, readonly ImportFound[]>;

type Json = { readonly [key: string]: unknown };
const isNode = (value: unknown): value is Json => typeof value === "object" && value !== null;

/** The names of functions that load a module when called. */
const LOADERS: ReadonlySet<unknown> = new Set(["require", "getBuiltinModule", "createRequire", "binding"]);

function literalOf(value: unknown): string {
  return isNode(value) && value.type === "Literal" && typeof value.value === "string" ? value.value : "?";
}

export interface NameFound {
  readonly name: string;
  readonly isStatic: boolean;
}

/** All module names that a piece of TypeScript mentions. */
export function importsOf(source: string): NameFound[] {
  const plain = source.replace(/^(\s*)(import|export) type (?=[{*]|\w+ from)/gm, "$1$2 ");
  const options = { loader: "ts", tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } } } as const;
  const code = transformSync(plain, options).code;
  const found: NameFound[] = [];
  const add = (node: unknown, isStatic: boolean): void => {
    found.push({ name: literalOf(node), isStatic });
  };
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) for (const item of node) visit(item);
    if (!isNode(node) || Array.isArray(node)) return;
    switch (node.type) {
      case "ImportDeclaration":
      case "ExportAllDeclaration":
        add(node.source, true);
        break;
      case "ImportExpression":
        add(node.source, false);
        break;
      case "ExportNamedDeclaration":
        if (node.source) add(node.source, true);
        break;
      case "CallExpression": {
        const callee = isNode(node.callee) ? node.callee : {};
        const name = isNode(callee.property) ? callee.property.name : callee.name;
        if (LOADERS.has(name)) add(Array.isArray(node.arguments) ? node.arguments[0] : undefined, false);
        break;
      }
    }
    for (const value of Object.values(node)) visit(value);
  };
  visit(parse(code, { ecmaVersion: "latest", sourceType: "module" }));
  return found;
}

export function readGraph(root: string): ImportGraph {
  const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  return new Map(
    files.map((name) => {
      const file = name.replaceAll("\\", "/");
      const imports = importsOf(readFileSync(join(root, name), "utf8")).map(
        ({ name: target, isStatic }): ImportFound => {
          const local = target.startsWith(".") ? relative(root, join(root, dirname(file), target)) : target;
          return { target: local.replaceAll("\\", "/"), line: `${file} imports ${target}`, isStatic };
        },
      );
      return [file, imports] as const;
    }),
  );
}
