/**
 * @file A layer of a configuration, translated into our keys: names of other tools, groups of keys, derived values.
 */
import { nearest } from "../../platform/suggest.ts";
import { Computed, DERIVED, isMapping, type Mapping, SPELLINGS, same, unquoted } from "./derived.ts";
import { ALIASES, camelCase, GROUPS, HARMLESS, ownName, snakeCase, UNSUPPORTED } from "./names.ts";
import { type Problem, ReadingError, type Source, shown } from "./problems.ts";

export interface Layer {
  readonly source: Source;
  /** How it is called: a file's name, "--set". */
  readonly name: string;
  readonly values: Mapping;
  /** Where a path of keys stands in it, in words; its name unless given. */
  readonly placeOf?: (path: readonly string[]) => string;
}

/** A key of ours and what a layer gives it. */
export interface Assignment {
  readonly key: string;
  readonly value: unknown;
  readonly source: Source;
  /** The name of the layer. */
  readonly from: string;
  readonly place: string;
  /** The key as it was written, with those around it. */
  readonly written: string;
}

export interface Translation {
  readonly assignments: readonly Assignment[];
  /** Changes of what a key already is, in this layer or one below. */
  readonly changes: readonly Assignment[];
  readonly problems: readonly Problem[];
  /** Keys that ask for what is not supported, and what to say when no layer above takes the wish back. */
  readonly unsupported: ReadonlyMap<string, Problem>;
  /** Keys of that kind that ask for nothing. */
  readonly harmless: ReadonlySet<string>;
}

/** Keys that an algorithm's schema and that of runs know, dotted for those inside of others. */
export type KnownKeys = ReadonlyMap<string, unknown>;

class Translator {
  readonly problems: Problem[] = [];
  readonly assignments = new Map<string, Assignment>();
  readonly changes: Assignment[] = [];
  readonly unsupported = new Map<string, Problem>();
  readonly harmless = new Set<string>();
  readonly #layer: Layer;
  readonly #known: KnownKeys;
  readonly #subject: string;

  constructor(layer: Layer, known: KnownKeys, subject: string) {
    this.#layer = layer;
    this.#known = known;
    this.#subject = subject;
  }

  all(values: Mapping, path: readonly string[] = [], prefix = ""): void {
    for (const [written, value] of Object.entries(values))
      if (value !== undefined) this.#one(prefix + camelCase(written), value, [...path, written]);
  }

  #refuse(path: readonly string[], message: string): void {
    this.problems.push(this.#problem(path, message));
  }
  #problem(path: readonly string[], message: string): Problem {
    return { source: this.#layer.source, place: this.#placeOf(path), key: path.join("."), message };
  }
  #placeOf(path: readonly string[]): string {
    return this.#layer.placeOf?.(path) ?? this.#layer.name;
  }

  /** One key, in camelCase. What the schemas know comes before what other tools mean by the name. */
  #one(given: string, value: unknown, path: readonly string[]): void {
    const name = this.#known.has(given) ? given : ownName(given, this.#known);
    if (this.#known.has(name)) this.#spell(name, value, path);
    else if (Object.hasOwn(DERIVED, name)) this.#derive(name, value, path);
    else if (this.#isAround(name)) this.#inside(value, path, (members) => this.all(members, path, `${name}.`));
    else if (Object.hasOwn(GROUPS, name)) this.#group(name, value, path);
    else if (Object.hasOwn(UNSUPPORTED, name)) this.#unsupported(name, value, path);
    else if (!HARMLESS.includes(name)) this.#refuse(path, this.#unknown(path.at(-1) ?? name, name));
  }

  #isAround(name: string): boolean {
    return [...this.#known.keys()].some((key) => key.startsWith(`${name}.`));
  }

  #assign(key: string, value: unknown, path: readonly string[]): void {
    const { source, name: from } = this.#layer;
    const made = { key, value, source, from, place: this.#placeOf(path), written: path.join(".") };
    if (value instanceof Computed && value.needs.includes(key)) {
      this.changes.push(made);
      return;
    }
    const before = this.assignments.get(key);
    if (before && (value instanceof Computed || !same(before.value, value)))
      this.#refuse(path, `it says what ${before.written} says (${key}), and differs; keep one of the two`);
    this.assignments.set(key, made);
  }

  #spell(key: string, value: unknown, path: readonly string[]): void {
    const spelling = Object.hasOwn(SPELLINGS, key) ? SPELLINGS[key] : undefined;
    this.#reading(path, () => this.#assign(key, spelling ? spelling.read(value) : value, path));
  }
  #derive(name: string, value: unknown, path: readonly string[]): void {
    this.#reading(path, () => {
      for (const [key, said] of DERIVED[name]?.read(value) ?? []) {
        if (this.#known.has(key)) this.#assign(key, said, path);
        else this.#refuse(path, this.#unknown(path.at(-1) ?? name, key));
      }
    });
  }
  #reading(path: readonly string[], read: () => void): void {
    try {
      read();
    } catch (error) {
      if (!(error instanceof ReadingError)) throw error;
      this.#refuse(path, error.message);
    }
  }

  /** What stands in a mapping, also in one that is written as a text; nothing where it is null. */
  #inside(given: unknown, path: readonly string[], read: (members: Mapping) => void): void {
    const value = unquoted(given);
    if (isMapping(value)) read(value);
    else if (value !== null) this.#refuse(path, `${shown(given)} will not do; it must be a mapping of keys`);
  }
  #group(name: string, given: unknown, path: readonly string[]): void {
    const members = GROUPS[name]?.members;
    this.#inside(given, path, (values) => {
      if (!members) return this.all(values, path);
      for (const [written, value] of Object.entries(values)) {
        const meant = camelCase(written);
        const here = [...path, written];
        if (Object.hasOwn(members, meant)) this.#one(members[meant] ?? meant, value, here);
        else this.#refuse(here, `it is not supported.${suggestion(written, Object.keys(members))}`);
      }
    });
  }

  #unsupported(name: string, given: unknown, path: readonly string[]): void {
    const { harmless, why } = UNSUPPORTED[name] ?? { harmless: [], why: "" };
    const value = unquoted(given);
    if (harmless.some((one) => same(one, value))) {
      this.harmless.add(name);
      return;
    }
    const [instead] = harmless;
    const without = `${path.join(".")}=${typeof instead === "string" ? instead : JSON.stringify(instead)}`;
    const message = `${shown(value)} is not supported: ${why}. To do without: --set ${without}`;
    this.unsupported.set(name, this.#problem(path, message));
  }

  /** What to say of a key that nobody knows, or that the algorithm does not have. */
  #unknown(written: string, name: string): string {
    const prefix = name.slice(0, name.lastIndexOf(".") + 1);
    const isMeant = Object.hasOwn(ALIASES, name) || name !== prefix + camelCase(written);
    if (isMeant) return `${this.#subject} has no ${name}.`;
    const keys = [...this.#known.keys()].filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
    const others = prefix
      ? []
      : [...keys.flatMap((key) => ALIASES[key] ?? []), ...Object.keys({ ...DERIVED, ...GROUPS })];
    return `there is no such key.${suggestion(written, [...keys, ...others], keys)}`;
  }
}

/** The nearest name, written as the one that was given; all of them when none is near. */
function suggestion(written: string, candidates: readonly string[], listed = candidates): string {
  const spelled = written.includes("_") ? candidates.map(snakeCase) : candidates;
  const near = nearest(written, spelled);
  return near === undefined ? ` Known are ${listed.join(", ")}.` : ` Did you mean "${near}"?`;
}

/** What a layer says in our keys. `subject` is the algorithm, for messages. */
export function translate(layer: Layer, known: KnownKeys, subject: string): Translation {
  const translator = new Translator(layer, known, subject);
  translator.all(layer.values);
  const { assignments, changes, problems, unsupported, harmless } = translator;
  return { assignments: [...assignments.values()], changes, problems, unsupported, harmless };
}
