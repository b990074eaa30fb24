/**
 * @file The configuration of a run out of its layers: defaults of the schemas, a preset, tuned values, a file, --set,
 * options. Each key comes from the last layer that gives it, and remembers which that was.
 */
import type { z } from "zod";
import { didYouMean } from "../../platform/suggest.ts";
import { Computed, type Mapping, unquoted } from "./derived.ts";
import { type Assignment, type Layer, type Translation, translate } from "./layer.ts";
import { type Problem, ReadingError, refuse, type Source } from "./problems.ts";
import { type RunConfig, runConfigSchema } from "./run.ts";
import { type ConfigFile, sectionFor } from "./sections.ts";
import { parseSets } from "./sets.ts";
import { lineAt } from "./tree.ts";
import { TUNED, type TunedTable } from "./tuned.ts";
import { expected, fitValue, leavesOf, nested } from "./values.ts";

export interface ResolveOptions<S extends z.ZodObject> {
  /** The algorithm's hyperparameters, all with defaults. */
  readonly schema: S;
  readonly algo: string;
  readonly env: string;
  /** What named presets change of the defaults. */
  readonly presets?: { readonly [name: string]: object };
  /** Tuned values to use; ours unless given, none with `false`. */
  readonly tuned?: TunedTable | false;
  readonly file?: ConfigFile;
  /** Texts "key=value". */
  readonly sets?: readonly string[];
  /** Options that were given by name; undefined ones were not. */
  readonly given?: Mapping;
}

/** One key of a configuration. */
export interface Setting {
  readonly key: string;
  readonly value: unknown;
  /** What the schema would have it be; undefined where the key has no default. */
  readonly default: unknown;
  readonly source: Source;
  /** The name of the layer: "preset sb3", "ppo.yml", "--set". */
  readonly from: string;
  /** The same with the line, where there are lines. */
  readonly place: string;
}

export interface ResolvedConfig<S extends z.ZodObject = z.ZodObject> {
  readonly run: RunConfig;
  readonly hyperparameters: z.output<S>;
  /** Every key, those of the run first. */
  readonly settings: readonly Setting[];
  /** What a user should be told of how it came about. */
  readonly notes: readonly string[];
}

const PRESET = "preset";
/** The preset whose defaults the files of rl-zoo3 are differences from. */
const ZOO_PRESET = "sb3";

/** Without what was not given. */
const said = (values: Mapping): Mapping =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));

class Resolution<S extends z.ZodObject> {
  readonly #problems: Problem[] = [];
  readonly #notes: string[] = [];
  readonly #options: ResolveOptions<S>;
  readonly #leaves: ReadonlyMap<string, z.ZodType>;
  readonly #merged = new Map<string, Assignment>();

  constructor(options: ResolveOptions<S>) {
    this.#options = options;
    // Where both have a key the algorithm's schema is the stricter one.
    this.#leaves = new Map([...leavesOf(runConfigSchema), ...leavesOf(options.schema)]);
  }

  resolve(): ResolvedConfig<S> {
    const upper = this.#upperLayers().map((layer) => this.#translated(layer));
    this.#refuseUnsupported(upper);
    for (const translation of [...this.#lowerLayers(upper), ...upper]) this.#merge(translation);
    for (const assignment of [...this.#merged.values()]) this.#settle(assignment);
    refuse(this.#problems);
    const run = this.#checked(runConfigSchema) as RunConfig;
    const hyperparameters = this.#checked(this.#options.schema) as z.output<S>;
    refuse(this.#problems);
    return { run, hyperparameters, settings: this.#settings(run, hyperparameters), notes: this.#notes };
  }

  #translated(layer: Layer): Translation {
    const translation = translate(layer, this.#leaves, this.#options.algo);
    this.#problems.push(...translation.problems);
    return translation;
  }

  /** What is not supported is refused, unless a layer above asks for nothing in its place. */
  #refuseUnsupported(layers: readonly Translation[]): void {
    for (const [k, { unsupported }] of layers.entries()) {
      const above = layers.slice(k + 1);
      for (const [name, problem] of unsupported)
        if (!above.some(({ harmless }) => harmless.has(name))) this.#problems.push(problem);
    }
  }

  /** What the user says. */
  #upperLayers(): Layer[] {
    const { file, sets = [], given = {}, algo, env } = this.#options;
    return [
      ...(file ? this.#fileLayers(file) : []),
      { source: "set", name: "--set", values: parseSets(sets) },
      { source: "option", name: "option", values: { ...said(given), algo, env } },
    ];
  }

  #fileLayers(file: ConfigFile): Layer[] {
    const { algo, env } = this.#options;
    const { name } = file;
    const message = `the file is for ${file.algo}, not for ${algo}`;
    if (file.algo !== undefined && file.algo !== algo)
      this.#problems.push({ source: "file", place: name, key: "", message });
    const section = sectionFor(file, env);
    const placeOf = (path: readonly string[]): string => `${name}, line ${lineAt(section, path)}`;
    const own: Layer = { source: "file", name, values: section.value as Mapping, placeOf };
    const isZoo = file.form === "environments" && Object.hasOwn(this.#options.presets ?? {}, ZOO_PRESET);
    return isZoo ? [{ source: "file", name, values: { [PRESET]: ZOO_PRESET } }, own] : [own];
  }

  /** What is known without the user: the preset and the tuned values. Who chooses a preset wants that, not a mixture. */
  #lowerLayers(upper: readonly Translation[]): Translation[] {
    const { algo, env, tuned: table = TUNED } = this.#options;
    const row = table === false ? undefined : table[algo]?.[env];
    const wish = upper.flatMap(({ assignments }) => assignments).findLast(({ key }) => key === PRESET);
    const said = unquoted(wish?.value);
    const chosen = typeof said === "string" ? said : undefined;
    const runOnly = Object.entries(row ?? {}).filter(([key]) => key in runConfigSchema.shape && key !== PRESET);
    if (row && chosen)
      this.#notes.push(`tuned hyperparameters for ${algo} on ${env} are not used: preset ${chosen} was chosen`);
    const layers: Layer[] = [];
    const preset = chosen ?? row?.[PRESET];
    if (typeof preset === "string") layers.push(...this.#presetLayer(preset, wish));
    const values = chosen ? Object.fromEntries(runOnly) : row;
    if (values) layers.push({ source: "tuned", name: `tuned for ${algo} on ${env}`, values });
    return layers.map((layer) => this.#translated(layer));
  }

  #presetLayer(preset: string, wish: Assignment | undefined): Layer[] {
    const { presets = {}, algo } = this.#options;
    const name = `preset ${preset}`;
    const values = Object.hasOwn(presets, preset) ? presets[preset] : undefined;
    if (values) return [{ source: "preset", name, values: { ...values } }];
    const known = Object.keys(presets);
    const list = known.length > 0 ? `there are ${known.join(", ")}` : "there is none";
    const message = `${algo} has no preset "${preset}"; ${list}.${didYouMean(preset, known)}`;
    this.#problems.push({ source: wish?.source ?? "tuned", place: wish?.place ?? name, key: PRESET, message });
    return [];
  }

  #merge({ assignments, changes }: Translation): void {
    for (const assignment of assignments) {
      if (assignment.value instanceof Computed) this.#merged.set(assignment.key, assignment);
      else this.#keep(assignment, assignment.value);
    }
    for (const change of changes) this.#settle(change);
  }

  /** Keeps a value that fits; one that does not is a problem. */
  #keep(assignment: Assignment, value: unknown): void {
    const { key, source, place, written } = assignment;
    const fitted = fitValue(this.#leaves.get(key)!, value, source === "set" || source === "option");
    if ("value" in fitted) this.#merged.set(key, { ...assignment, value: fitted.value });
    else this.#problems.push({ source, place, key: written, message: fitted.message });
  }

  #settle(assignment: Assignment): void {
    const { value, source, place, written } = assignment;
    if (!(value instanceof Computed)) return;
    try {
      this.#keep(assignment, value.compute(...value.needs.map((key) => this.#valueOf(key))));
    } catch (error) {
      if (!(error instanceof ReadingError)) throw error;
      this.#problems.push({ source, place, key: written, message: error.message });
    }
  }

  #valueOf(key: string): unknown {
    const kept = this.#merged.get(key);
    return kept ? kept.value : this.#defaultOf(key);
  }
  #defaultOf(key: string): unknown {
    return this.#leaves.get(key)?.safeParse(undefined).data;
  }

  /** The values of a schema's keys as the schema makes them, with what it asks of several keys together. */
  #checked(schema: z.ZodObject): unknown {
    const values = [...leavesOf(schema).keys()]
      .filter((key) => this.#merged.has(key))
      .map((key) => [key, this.#valueOf(key)] as const);
    const { data, error } = schema.safeParse(nested(values));
    for (const issue of error?.issues ?? []) {
      const key = issue.path.join(".");
      const { source = "default", place = "the configuration", written = key } = this.#merged.get(key) ?? {};
      const leaf = this.#merged.has(key) || issue.code === "custom" ? undefined : this.#leaves.get(key);
      const message = leaf ? `it must be given, ${expected(leaf)}` : issue.message;
      this.#problems.push({ source, place, key: written, message });
    }
    return data;
  }

  #settings(run: RunConfig, hyperparameters: z.output<S>): Setting[] {
    const both = { ...run, ...(hyperparameters as Mapping) };
    return [...this.#leaves.keys()].map((key) => {
      const value = key.split(".").reduce<unknown>((at, part) => (at as Mapping | undefined)?.[part], both);
      const { source = "default", from = "default", place = "default" } = this.#merged.get(key) ?? {};
      return { key, value, default: this.#defaultOf(key), source, from, place };
    });
  }
}

/** Resolves a configuration; all that is wrong with it is told at once. */
export const resolveConfig = <S extends z.ZodObject>(options: ResolveOptions<S>): ResolvedConfig<S> =>
  new Resolution(options).resolve();
