/**
 * @file Values as Python and JSON write them: numbers, texts, lists, tuples, dicts, `dict(a=1)`, and names.
 *
 * Hyperparameter files hold such texts ("dict(net_arch=[64, 64], activation_fn=nn.ReLU)"). They are read, never run:
 * the one call that is understood is dict(...), and a name stands for its own text.
 */
import { ReadingError } from "./problems.ts";

export type Literal = number | boolean | string | null | readonly Literal[] | { readonly [key: string]: Literal };

const MOST_CHARACTERS = 10_000;
const MOST_DEPTH = 16;

/** Spaces, then one token. */
const TOKEN = new RegExp(
  `\\s*(?:${[
    String.raw`(?<number>[-+]?(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][-+]?\d+)?(?![\w.]))`,
    String.raw`(?<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')`,
    String.raw`(?<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)`,
    String.raw`(?<sign>[[\](){},:=])`,
  ].join("|")})`,
  "y",
);
const ESCAPES: { readonly [letter: string]: string } = { n: "\n", t: "\t", r: "\r" };
const NAMED: ReadonlyMap<string, Literal> = new Map<string, Literal>([
  ["True", true],
  ["true", true],
  ["False", false],
  ["false", false],
  ["None", null],
  ["null", null],
]);

interface Token {
  readonly kind: "number" | "text" | "name" | "sign" | "end";
  readonly text: string;
}

function tokens(source: string): Token[] {
  const found: Token[] = [];
  const end = source.trimEnd().length;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < end) {
    const at = TOKEN.lastIndex;
    const groups = TOKEN.exec(source)?.groups;
    const [kind, text] = Object.entries(groups ?? {}).find(([, part]) => part !== undefined) ?? [];
    if (kind === undefined || text === undefined)
      throw new ReadingError(`"${source.slice(at, at + 20).trim()}" is not understood`);
    found.push({ kind: kind as Token["kind"], text });
  }
  found.push({ kind: "end", text: "" });
  return found;
}

class LiteralReader {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(source: string) {
    this.#tokens = tokens(source);
  }

  whole(): Literal {
    const value = this.#value(0);
    if (this.#next.kind !== "end") throw new ReadingError(`"${this.#next.text}" stands after the end of the value`);
    return value;
  }

  get #next(): Token {
    return this.#tokens[this.#at]!;
  }
  #take(): Token {
    const token = this.#next;
    if (token.kind !== "end") this.#at++;
    return token;
  }
  #need(sign: string): void {
    const { text } = this.#take();
    if (text !== sign)
      throw new ReadingError(`there must be a "${sign}" where ${text ? `"${text}"` : "the end"} stands`);
  }

  #value(depth: number): Literal {
    if (depth > MOST_DEPTH) throw new ReadingError(`values are nested more than ${MOST_DEPTH} deep`);
    const { kind, text } = this.#take();
    if (kind === "number") return Number(text.replaceAll("_", ""));
    if (kind === "text") return text.slice(1, -1).replace(/\\(.)/gs, (_, letter: string) => ESCAPES[letter] ?? letter);
    if (kind === "name") return this.#named(text, depth);
    if (text === "[") return this.#items("]", depth);
    if (text === "(") return this.#items(")", depth);
    if (text === "{") return this.#members("}", ":", depth);
    throw new ReadingError(text ? `there must be a value where "${text}" stands` : "there must be a value at the end");
  }

  #named(name: string, depth: number): Literal {
    if (this.#next.text !== "(") {
      const known = NAMED.get(name);
      return known === undefined ? name : known;
    }
    if (name !== "dict") throw new ReadingError(`${name}(...) is a call; only dict(...) is read, nothing is run`);
    this.#take();
    return this.#members(")", "=", depth);
  }

  #items(close: string, depth: number): Literal[] {
    const items: Literal[] = [];
    while (this.#next.text !== close) {
      items.push(this.#value(depth + 1));
      if (this.#next.text !== close) this.#need(",");
    }
    this.#take();
    return items;
  }

  /** Members of {"a": 1} and of dict(a=1). */
  #members(close: string, between: string, depth: number): { [key: string]: Literal } {
    const members = new Map<string, Literal>();
    while (this.#next.text !== close) {
      const { kind, text } = this.#take();
      if (kind !== (between === "=" ? "name" : "text")) throw new ReadingError(`"${text}" is not the name of a member`);
      const key = kind === "text" ? text.slice(1, -1) : text;
      if (members.has(key)) throw new ReadingError(`"${key}" stands twice`);
      this.#need(between);
      members.set(key, this.#value(depth + 1));
      if (this.#next.text !== close) this.#need(",");
    }
    this.#take();
    return Object.fromEntries(members);
  }
}

/** The value of a text. */
export function readLiteral(source: string): Literal {
  if (source.length > MOST_CHARACTERS)
    throw new ReadingError(`the text has ${source.length} characters; ${MOST_CHARACTERS} are the most that are read`);
  return new LiteralReader(source).whole();
}

/** The value of a text, or nothing where it is none. */
export function literalIn(source: string): Literal | undefined {
  try {
    return readLiteral(source);
  } catch (error) {
    if (error instanceof ReadingError) return undefined;
    throw error;
  }
}
