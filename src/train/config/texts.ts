/**
 * @file YAML and JSON texts to trees.
 *
 * Texts are written by anyone: their size, their depth and the number of values they unfold to are limited, and tags that
 * are not YAML's own are refused. The tree is unfolded here rather than by the parser: that way aliases and merge keys
 * count towards the limit, and a key that stands twice is found at no cost.
 */
import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type ParsedNode,
  parseDocument,
  type ScalarTag,
  visit,
} from "yaml";
import { ReadingError } from "./problems.ts";
import type { ConfigFormat, Tree } from "./tree.ts";

export const MOST_CHARACTERS = 128 * 1024;
const MOST_VALUES = 20_000;
const MOST_DEPTH = 16;
const MERGE = "<<";

type Node = ParsedNode | null;

/** What aliases stand for: the nearest anchor of the name before each. One pass; the parser looks for each anew. */
function meanings(document: Document.Parsed): Map<Alias, Node> {
  const anchors = new Map<string, Node>();
  const found = new Map<Alias, Node>();
  visit(document, {
    Alias(_, alias) {
      const node = anchors.get(alias.source);
      if (node) found.set(alias, node);
    },
    Value(_, node) {
      if (node.anchor) anchors.set(node.anchor, node as ParsedNode);
    },
  });
  return found;
}

class Unfolding {
  readonly #meanings: ReadonlyMap<Alias, Node>;
  readonly #counter: LineCounter;
  #left = MOST_VALUES;

  constructor(document: Document.Parsed, counter: LineCounter) {
    this.#meanings = meanings(document);
    this.#counter = counter;
  }

  tree(node: Node, line: number, depth = 0): Tree {
    if (--this.#left < 0) throw new ReadingError(`the text unfolds to more than ${MOST_VALUES} values`);
    if (depth > MOST_DEPTH) throw new ReadingError(`line ${line}: values are nested more than ${MOST_DEPTH} deep`);
    if (isAlias(node)) return this.tree(this.#meant(node), line, depth + 1);
    if (isSeq(node)) return { value: node.items.map((item) => this.tree(item as Node, line, depth + 1).value), line };
    if (!isMap(node)) return { value: isScalar(node) ? node.value : null, line };
    const members = new Map<string, Tree>();
    const pairs = node.items as readonly { readonly key: ParsedNode; readonly value: Node }[];
    const isMerge = ({ key }: { readonly key: ParsedNode }): boolean => isScalar(key) && key.value === MERGE;
    // What is merged comes first: a mapping's own values take its place.
    for (const pair of pairs.filter(isMerge)) this.#merge(members, pair.value, this.#line(pair.key), depth);
    for (const [name, tree] of this.#own(
      pairs.filter((pair) => !isMerge(pair)),
      depth,
    ))
      members.set(name, tree);
    return { value: Object.fromEntries([...members].map(([name, { value }]) => [name, value])), line, members };
  }

  #line(node: ParsedNode): number {
    return this.#counter.linePos(node.range[0]).line;
  }
  #meant(node: Node): Node {
    if (!isAlias(node)) return node;
    const meant = this.#meanings.get(node);
    if (meant) return meant;
    throw new ReadingError(`line ${this.#line(node)}: there is no anchor &${node.source} above`);
  }

  #own(pairs: readonly { readonly key: ParsedNode; readonly value: Node }[], depth: number): Map<string, Tree> {
    const own = new Map<string, Tree>();
    for (const { key, value } of pairs) {
      const line = this.#line(key);
      if (!isScalar(key)) throw new ReadingError(`line ${line}: a key must be a word`);
      const name = String(key.value);
      if (own.has(name)) throw new ReadingError(`line ${line}: the key "${name}" stands twice`);
      own.set(name, this.tree(value, line, depth + 1));
    }
    return own;
  }

  /** Adds the members of a mapping, or of several of which the first wins. */
  #merge(into: Map<string, Tree>, given: Node, line: number, depth: number): void {
    const node = this.#meant(given);
    const parts = isSeq(node) ? (node.items as Node[]).toReversed() : [node];
    for (const part of parts) {
      const { members } = this.tree(part, line, depth + 1);
      if (!members) throw new ReadingError(`line ${line}: ${MERGE} takes a mapping, or a list of them`);
      for (const [name, tree] of members) into.set(name, tree);
    }
  }
}

/** Numbers under a tag: `!!float 20000` is one, though it is not written as YAML writes floats. */
const numberTag = (kind: "float" | "int"): ScalarTag => ({
  tag: `tag:yaml.org,2002:${kind}`,
  resolve(text, complain) {
    const value = text.trim() === "" ? Number.NaN : Number(text.replaceAll("_", ""));
    if (Number.isNaN(value)) complain(`"${text}" is not a number`);
    return value;
  },
});
const TAGS = [numberTag("float"), numberTag("int")];

function parsed(text: string, counter: LineCounter): Document.Parsed {
  try {
    return parseDocument(text, { lineCounter: counter, uniqueKeys: false, schema: "core", customTags: TAGS });
  } catch (error) {
    // The parser descends into what is nested: too deep is an overflow of the stack.
    throw new ReadingError(`the text cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** What the parser complains about, in one line each. */
function complaints(document: Document.Parsed): string[] {
  return [...document.errors, ...document.warnings].map(({ message, linePos }) => {
    const what = message.split("\n", 1)[0]?.replace(/ at line \d+, column \d+:?$/, "");
    return `${linePos ? `line ${linePos[0].line}: ` : ""}${what}`;
  });
}

function needJson(text: string): void {
  try {
    JSON.parse(text);
  } catch (error) {
    throw new ReadingError(`the text is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** The tree of a text. */
export function readTree(text: string, format: ConfigFormat): Tree {
  if (text.length > MOST_CHARACTERS)
    throw new ReadingError(`the text has ${text.length} characters; ${MOST_CHARACTERS} are the most that are read`);
  const counter = new LineCounter();
  const document = parsed(text, counter);
  const found = complaints(document);
  if (found.length > 0) throw new ReadingError(found.slice(0, 10).join("; "));
  // JSON is YAML, which knows lines and keys that stand twice; not all YAML is JSON.
  if (format === "json") needJson(text);
  return new Unfolding(document, counter).tree(document.contents, 1);
}
