/**
 * @file Keys whose values are translated: some say in one word what are several keys here, some are counted from others,
 * some write the same value in another way.
 */
import { literalIn } from "./literals.ts";
import { camelCase } from "./names.ts";
import { ReadingError, shown } from "./problems.ts";

/** A value that follows from those of other keys, known when all layers are. */
export class Computed {
  readonly needs: readonly string[];
  readonly compute: (...values: unknown[]) => unknown;

  constructor(needs: readonly string[], compute: (...values: unknown[]) => unknown) {
    this.needs = needs;
    this.compute = compute;
  }
}

/** What a value says in our keys. */
export type Said = readonly (readonly [key: string, value: unknown])[];

export interface Derived {
  /** For people: what it is here. */
  readonly meaning: string;
  readonly read: (value: unknown) => Said;
}

export type Mapping = { readonly [key: string]: unknown };
export const isMapping = (value: unknown): value is Mapping =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A value, also when it is written in a text. */
export function unquoted(value: unknown): unknown {
  const literal = typeof value === "string" ? literalIn(value) : undefined;
  return literal === undefined ? value : literal;
}

export const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

function needBoolean(given: unknown): boolean {
  const value = unquoted(given);
  if (typeof value === "boolean") return value;
  throw new ReadingError(`${shown(given)} must be true or false`);
}
function needCount(given: unknown): number {
  const value = unquoted(given);
  if (typeof value === "number" && Number.isInteger(value) && value > 0) return value;
  throw new ReadingError(`${shown(given)} must be a whole number above 0`);
}

/** Values that VecNormalize has anyway. */
const NORMALIZE_DEFAULTS: Mapping = { training: true, clipObs: 10, clipReward: 10, epsilon: 1e-8 };

function readNormalize(given: unknown): Said {
  const value = unquoted(given);
  if (!isMapping(value)) {
    const both = needBoolean(value);
    return [
      ["normalizeObs", both],
      ["normalizeReward", both],
    ];
  }
  const named = Object.entries(value).map(([name, member]) => [camelCase(name), member] as const);
  const { normObs = true, normReward = true, ...others }: Mapping = Object.fromEntries(named);
  for (const [name, other] of Object.entries(others))
    if (!Object.hasOwn(NORMALIZE_DEFAULTS, name) || NORMALIZE_DEFAULTS[name] !== other)
      throw new ReadingError(`${name} = ${shown(other)} is not supported; leave it out`);
  return [
    ["normalizeObs", normObs],
    ["normalizeReward", normReward],
  ];
}

/** One list of widths. Actor and critic have the same ones here. */
function widths(given: unknown): unknown {
  let value = unquoted(given);
  if (Array.isArray(value) && value.some(isMapping)) {
    if (value.length > 1) throw new ReadingError("layers that are shared in part are not supported; give one list");
    value = value[0];
  }
  if (!isMapping(value)) return Array.isArray(value) ? value : given;
  const [first, ...others] = Object.entries(value);
  for (const [name, list] of others)
    if (!same(list, first?.[1]))
      throw new ReadingError(`${first?.[0]} and ${name} must have the same widths: give one list`);
  return first?.[1] ?? [];
}

/** nn.ReLU, torch.nn.ReLU and ReLU are relu. */
const activation = (value: unknown): unknown =>
  typeof value === "string" ? value.replace(/^.*\./, "").toLowerCase() : value;

/** Keys of ours whose values others write in another way. */
export const SPELLINGS: {
  readonly [key: string]: { readonly meaning: string; readonly read: (value: unknown) => unknown };
} = {
  netArch: { meaning: "`dict(pi=[...], vf=[...])` where both are equal", read: widths },
  activation: { meaning: "`nn.ReLU` for `relu`", read: activation },
};

const LINEAR = "lin_";
const falling = (rate: unknown): unknown => (typeof rate === "number" ? `${LINEAR}${rate}` : rate);
const constant = (rate: unknown): unknown =>
  typeof rate === "string" && rate.startsWith(LINEAR) ? Number(rate.slice(LINEAR.length)) : rate;

function readMinibatches(given: unknown): Said {
  const minibatches = needCount(given);
  const size = new Computed(["nEnvs", "nSteps"], (nEnvs, nSteps) => {
    const rows = Number(nEnvs) * Number(nSteps);
    if (rows % minibatches === 0) return rows / minibatches;
    throw new ReadingError(`${nEnvs} environments times ${nSteps} steps are not ${minibatches} equal minibatches`);
  });
  return [["batchSize", size]];
}

function readIterations(given: unknown): Said {
  const iterations = needCount(given);
  const steps = new Computed(["nEnvs", "nSteps"], (nEnvs, nSteps) => iterations * Number(nEnvs) * Number(nSteps));
  return [["steps", steps]];
}

/** Classes of optimisers that are a form of one that an algorithm has. */
const OPTIMIZERS: ReadonlyMap<unknown, string> = new Map([
  ["RMSprop", "torch"],
  ["RMSpropTFLike", "tensorflow"],
]);
function readOptimizer(given: unknown): Said {
  if (given === null) return [];
  const form = OPTIMIZERS.get(typeof given === "string" ? given.replace(/^.*\./, "") : given);
  if (form === undefined)
    throw new ReadingError(`${shown(given)} is not supported: the optimiser belongs to the algorithm`);
  return [["rmsprop", form]];
}

/** Keys of others that are none of ours; a schema that has one of them itself comes first. */
export const DERIVED: { readonly [name: string]: Derived } = {
  normalize: { meaning: "`normalizeObs` and `normalizeReward`, both or as in a dict", read: readNormalize },
  numMinibatches: { meaning: "`batchSize` = nEnvs * nSteps / numMinibatches", read: readMinibatches },
  numIterations: { meaning: "`steps` = numIterations * nEnvs * nSteps", read: readIterations },
  optimizerClass: { meaning: "`RMSpropTFLike`: `rmsprop` = tensorflow", read: readOptimizer },
  annealLr: {
    meaning: "true: `learningRate` falls to 0 (`lin_...`); false: it stays",
    read: (value) => [["learningRate", new Computed(["learningRate"], needBoolean(value) ? falling : constant)]],
  },
  clipVloss: {
    meaning: "true: `clipRangeVf` = clipRange; false: null",
    read: (value) => [["clipRangeVf", needBoolean(value) ? new Computed(["clipRange"], (clip) => clip) : null]],
  },
};
