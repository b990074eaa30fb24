/**
 * @file Recorded behaviour of the reference environments, and how it is compared with ours.
 *
 * A file of recordings holds single steps: a state, an action, and what came of them. All steps of a file are put into
 * one VecEnv, one environment each, and stepped at once. Where a recorded value is null it depends on chance: those are
 * compared by distribution, with fixed seeds. `describeFixture` makes the tests of one file.
 */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { actionSize, type Environment, observationSize, type Params } from "../../src/envs/define.ts";
import { VecEnv } from "../../src/envs/vector/vecEnv.ts";
import type { TypedArray } from "../../src/ir/arrays.ts";
import { availability, TARGET_NAMES } from "../../src/runtime/targets.ts";
import { chiSquareBound, chiSquareOfTwo } from "./distributions.ts";

export const targets = TARGET_NAMES.filter((name) => availability(name).target);
/** Where many environments are stepped: the last of the targets, which replays have compiled for already. */
export const fastest = targets.at(-1) ?? "js";

type Tree = number | boolean | null | readonly Tree[];
interface Sparse {
  readonly index: readonly number[];
  readonly value: readonly number[];
  readonly varying?: readonly number[];
}
export type RecordedState = { readonly [field: string]: Tree };
/** One step: null where the outcome depends on chance. */
export interface Transition {
  readonly case: string;
  readonly state: RecordedState;
  readonly action: number | readonly number[];
  readonly next_state?: RecordedState;
  readonly obs?: readonly (number | null)[] | Sparse;
  readonly reward: number | boolean | null;
  readonly done?: boolean | null;
  readonly terminated?: boolean;
  readonly truncated?: boolean;
}
interface Statistic {
  readonly mean: number;
  readonly std: number;
  readonly values?: readonly (readonly [value: number, count: number])[];
  /** At 0.05, 0.25, 0.5, 0.75, 0.95. */
  readonly quantiles?: readonly number[];
}
/** What many keys gave: a statistic for each number that varies, and counts of their combinations where these are few. */
interface Spread {
  readonly keys: number;
  readonly varying: { readonly [path: string]: Statistic };
  readonly joint_names?: readonly string[];
  readonly joint?: readonly (readonly [values: readonly number[], count: number])[];
}
interface ResetRecord extends Spread {
  readonly state: RecordedState;
  readonly obs: readonly (number | null)[] | Sparse;
}
export interface Fixture {
  readonly spec: { readonly max_steps: number };
  readonly transitions: readonly Transition[];
  readonly partial_transitions: readonly Transition[];
  readonly random_transitions: readonly (Transition & Spread)[];
  readonly reset: ResetRecord | undefined;
  readonly variants: readonly { readonly params: Params; readonly transitions: readonly Transition[] }[];
}

/** How a recording is read for an environment. */
export interface FixtureOptions {
  readonly params?: Params;
  /** Fields of the recording that have another name here, or that are not kept (null). Others: snake case to camel case. */
  readonly fields?: { readonly [recorded: string]: string | null };
  /** Recorded states in the form they have here, where more than names differ; null stays null. */
  readonly convert?: (state: RecordedState) => RecordedState;
  /** Parameters of the recording's variants that have another name here. */
  readonly paramNames?: { readonly [recorded: string]: string };
  /** For floats, in units of max(1, |value|); 1e-6 unless given. */
  readonly tolerance?: number;
  /** Steps that are compared; all unless given. */
  readonly only?: (transition: Transition) => boolean;
}

/** A stored file of gymnax ("Catch-bsuite.gymnax") or Gymnasium ("CartPole-v1.gymnasium"). */
export function loadFixture(name: string): Fixture {
  const bytes = readFileSync(new URL(`../fixtures/envs/${name}.json.gz`, import.meta.url));
  const stored = JSON.parse(gunzipSync(bytes).toString());
  if (name.endsWith(".gymnasium")) return fromGymnasium(stored);
  return { partial_transitions: [], random_transitions: [], variants: [], ...stored };
}

interface GymnasiumFile {
  readonly spec: { readonly max_steps: number; readonly state: readonly string[] };
  readonly transitions: readonly (Omit<Transition, "state" | "next_state"> & {
    readonly state: readonly number[];
    readonly next_state: readonly number[];
  })[];
  readonly time_limit: readonly (Omit<Transition, "state"> & {
    readonly state: readonly number[];
    readonly steps_taken: number;
  })[];
  readonly episodes: readonly {
    readonly states: readonly (readonly number[])[];
    readonly actions: readonly (number | readonly number[])[];
    readonly rewards: readonly number[];
    readonly terminated: readonly boolean[];
    readonly truncated: readonly boolean[];
  }[];
}
/** The same form for both sources: named fields, the number of steps taken as "time", episodes as single steps. */
function fromGymnasium(file: GymnasiumFile): Fixture {
  const named = (values: readonly number[], time: number): RecordedState => ({
    ...Object.fromEntries(file.spec.state.map((name, k) => [name, values[k] as number])),
    time,
  });
  const steps = file.episodes.flatMap((episode) =>
    episode.actions.map(
      (action, t): Transition => ({
        case: `episode step ${t}`,
        state: named(episode.states[t] as number[], t),
        action,
        next_state: named(episode.states[t + 1] as number[], t + 1),
        reward: episode.rewards[t] as number,
        terminated: episode.terminated[t] as boolean,
        truncated: episode.truncated[t] as boolean,
      }),
    ),
  );
  const single = file.transitions.map(
    (one): Transition => ({
      ...one,
      state: named(one.state, 0),
      next_state: named(one.next_state, 1),
    }),
  );
  const limits = file.time_limit.map(
    (one): Transition => ({
      ...one,
      case: "time limit",
      state: named(one.state, one.steps_taken),
    }),
  );
  return {
    spec: file.spec,
    transitions: [...single, ...limits, ...steps],
    partial_transitions: [],
    random_transitions: [],
    reset: undefined,
    variants: [],
  };
}

/** A recording whose states have been brought into another form. */
export function converted(fixture: Fixture, convert: (state: RecordedState) => RecordedState): Fixture {
  const one = <T extends Transition>(row: T): T => ({
    ...row,
    state: convert(row.state),
    ...(row.next_state ? { next_state: convert(row.next_state) } : {}),
  });
  const { reset } = fixture;
  return {
    ...fixture,
    transitions: fixture.transitions.map(one),
    partial_transitions: fixture.partial_transitions.map(one),
    random_transitions: fixture.random_transitions.map(one),
    reset: reset && { ...reset, state: convert(reset.state) },
    variants: fixture.variants.map((variant) => ({ ...variant, transitions: variant.transitions.map(one) })),
  };
}

const camel = (name: string): string => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
const flat = (tree: Tree): (number | null)[] =>
  Array.isArray(tree) ? tree.flatMap(flat) : [tree === null ? null : Number(tree)];

/** The arrays that a recorded field stands in here; undefined where it is not kept. */
function fieldOf(vec: VecEnv, recorded: string, options: FixtureOptions): TypedArray | undefined {
  const name = options.fields?.[recorded];
  if (name === null) return undefined;
  const array = vec.state[name ?? camel(recorded)];
  if (ArrayBuffer.isView(array)) return array as TypedArray;
  if (recorded === "time") return undefined;
  throw new Error(`${vec.env.id} has no field for "${recorded}"`);
}

function makeVec(env: Environment, n: number, fixture: Fixture, options: FixtureOptions, target: string): VecEnv {
  return new VecEnv(env, n, {
    seed: 7,
    autoreset: "disabled",
    maxSteps: fixture.spec.max_steps,
    params: options.params ?? {},
    target: target as (typeof targets)[number],
  });
}

/** Puts the recorded states and actions in place and steps once. */
function stepFrom(vec: VecEnv, rows: readonly Transition[], options: FixtureOptions): void {
  const size = actionSize(vec.env.action);
  const { n } = vec;
  rows.forEach((row, i) => {
    for (const [recorded, value] of Object.entries(row.state)) {
      if (recorded === "time") vec.steps[i] = Number(value);
      const array = fieldOf(vec, recorded, options);
      if (array)
        flat(value).forEach((x, k) => {
          array[k * n + i] = x as number;
        });
    }
    [row.action].flat().forEach((x, k) => {
      vec.actions[i * size + k] = x as number;
    });
  });
  vec.step(vec.actions);
}

/** Differences between what was recorded and what came out, in words. */
class Comparison {
  readonly differences: string[] = [];
  readonly vec: VecEnv;
  readonly options: FixtureOptions;
  constructor(vec: VecEnv, options: FixtureOptions) {
    this.vec = vec;
    this.options = options;
  }
  number(what: string, got: number, wanted: number | null, exact: boolean): void {
    if (wanted === null) return;
    const tolerance = exact ? 0 : (this.options.tolerance ?? 1e-6) * Math.max(1, Math.abs(wanted));
    if (!(Math.abs(got - wanted) <= tolerance)) this.differences.push(`${what}: ${got}, recorded ${wanted}`);
  }
  state(what: string, state: RecordedState, i: number): void {
    for (const [recorded, value] of Object.entries(state)) {
      const array = fieldOf(this.vec, recorded, this.options);
      if (!array) continue;
      const exact = !(array instanceof Float32Array);
      flat(value).forEach((x, k) => {
        this.number(`${what} ${recorded}[${k}]`, array[k * this.vec.n + i] as number, x, exact);
      });
    }
  }
  observation(what: string, obs: readonly (number | null)[] | Sparse, i: number): void {
    const size = observationSize(this.vec.env.observation);
    const wanted = dense(obs, size);
    const got = this.vec.out.obs.subarray(i * size, (i + 1) * size);
    wanted.forEach((x, k) => {
      this.number(`${what} obs[${k}]`, got[k] as number, x, !(got instanceof Float32Array));
    });
  }
  transition(row: Transition, i: number): void {
    const { reward, terminated, truncated } = this.vec.out;
    const what = `${i} (${row.case})`;
    if (row.next_state) this.state(what, row.next_state, i);
    if (row.obs) this.observation(what, row.obs, i);
    this.number(`${what} reward`, reward[i] as number, row.reward === null ? null : Number(row.reward), false);
    const flag = (name: string, got: number, wanted: boolean | null | undefined): void =>
      this.number(`${what} ${name}`, got, wanted === undefined || wanted === null ? null : Number(wanted), true);
    flag("terminated", terminated[i] as number, row.terminated);
    flag("truncated", truncated[i] as number, row.truncated);
    flag("done", (terminated[i] as number) | (truncated[i] as number), row.done);
  }
}
function dense(obs: readonly (number | null)[] | Sparse, size: number): (number | null)[] {
  if (!("index" in obs)) return [...obs];
  const out: (number | null)[] = new Array(size).fill(0);
  obs.index.forEach((at, k) => {
    out[at] = obs.value[k] as number;
  });
  for (const at of obs.varying ?? []) out[at] = null;
  return out;
}

/** Replays recorded steps on a target; what differs. */
export function replay(
  env: Environment,
  fixture: Fixture,
  rows: readonly Transition[],
  options: FixtureOptions,
  target: string,
): string[] {
  const vec = makeVec(env, rows.length, fixture, options, target);
  vec.reset();
  stepFrom(vec, rows, options);
  const comparison = new Comparison(vec, options);
  rows.forEach((row, i) => {
    comparison.transition(row, i);
  });
  vec.dispose();
  return comparison.differences;
}

/** Numbers of environments from..from + count - 1 under a recorded path: "reward", "obs[3]", "next_state.pos[0]". */
function column(vec: VecEnv, path: string, from: number, count: number, options: FixtureOptions): number[] | undefined {
  const [, name = "", element = "0"] = /^(?:next_state\.|state\.)?(\w+)(?:\[(\d+)\])?$/.exec(path) ?? [];
  const range = Array.from({ length: count }, (_, i) => from + i);
  const { reward, terminated, truncated, obs } = vec.out;
  if (!path.includes(".")) {
    const size = observationSize(vec.env.observation);
    if (name === "reward") return range.map((i) => reward[i] as number);
    if (name === "obs") return range.map((i) => obs[i * size + Number(element)] as number);
    if (name === "done") return range.map((i) => (terminated[i] as number) | (truncated[i] as number));
    throw new Error(`what is ${path}?`);
  }
  const array = fieldOf(vec, name, options);
  return array && range.map((i) => array[Number(element) * vec.n + i] as number);
}

const QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95] as const;
const rounded = (x: number): string => (Math.round(x * 1e5) / 1e5).toString();

/** Compares environments from..from + keys - 1 with a recorded spread; deviations beyond five sigma, in words. */
function spreadDifferences(vec: VecEnv, spread: Spread, from: number, options: FixtureOptions): string[] {
  const found: string[] = [];
  const counts = (what: string, got: readonly string[], recorded: readonly (readonly [string, number])[]): void => {
    const ours = new Map<string, number>();
    for (const key of got) ours.set(key, (ours.get(key) ?? 0) + 1);
    const { statistic, freedom } = chiSquareOfTwo(ours, new Map(recorded));
    if (statistic > chiSquareBound(freedom)) found.push(`${what}: chi-square ${statistic} with ${freedom} degrees`);
  };
  for (const [path, { values, quantiles }] of Object.entries(spread.varying)) {
    const got = column(vec, path, from, spread.keys, options);
    if (!got) continue;
    if (values)
      counts(
        path,
        got.map(rounded),
        values.map(([value, count]) => [rounded(value), count]),
      );
    quantiles?.forEach((at, q) => {
      const p = QUANTILES[q] as number;
      const share = got.filter((x) => x <= at).length / spread.keys;
      // Recorded quantiles are estimates from as many numbers: twice the variance.
      if (Math.abs(share - p) > 5 * Math.sqrt((2 * p * (1 - p)) / spread.keys))
        found.push(`${path}: ${share} of the numbers are up to ${at}, recorded ${p}`);
    });
  }
  const columns = spread.joint_names?.map((path) => column(vec, path, from, spread.keys, options));
  if (columns && spread.joint && columns.every((c) => c !== undefined))
    counts(
      "joint",
      Array.from({ length: spread.keys }, (_, i) => columns.map((c) => rounded(c[i] as number)).join()),
      spread.joint.map(([values, count]) => [values.map(rounded).join(), count]),
    );
  return found;
}

/** Resets and random steps against their recorded distributions, and the parts of a reset that are not random. */
export function distributionDifferences(env: Environment, fixture: Fixture, options: FixtureOptions): string[] {
  const { reset } = fixture;
  if (!reset) return [];
  const random = fixture.random_transitions.filter((row) => options.only?.(row) ?? true);
  const each = Math.max(reset.keys, ...random.map((row) => row.keys));
  const vec = makeVec(env, each * Math.max(1, random.length), fixture, options, fastest);
  vec.reset();
  const comparison = new Comparison(vec, options);
  for (let i = 0; i < reset.keys; i++) {
    comparison.state(`reset ${i}`, reset.state, i);
    comparison.observation(`reset ${i}`, reset.obs, i);
  }
  const found = [...comparison.differences, ...spreadDifferences(vec, reset, 0, options)];
  if (random.length > 0) {
    stepFrom(
      vec,
      random.flatMap((row) => new Array<Transition>(each).fill(row)),
      options,
    );
    random.forEach((row, k) => {
      const differences = spreadDifferences(vec, row, k * each, options);
      found.push(...differences.map((text) => `${k} (${row.case}) ${text}`));
    });
  }
  vec.dispose();
  return found;
}

const some = (differences: readonly string[]): readonly string[] => differences.slice(0, 8);

/** The tests of one file of recordings. */
export function describeFixture(env: Environment, name: string, options: FixtureOptions = {}): void {
  const fixture = converted(loadFixture(name), options.convert ?? ((state) => state));
  const wanted = (row: Transition): boolean => options.only?.(row) ?? true;
  const rows = [...fixture.transitions, ...fixture.partial_transitions].filter(wanted);
  describe(name, () => {
    for (const target of rows.length ? targets : [])
      test(`${rows.length} recorded steps on ${target}`, () => {
        expect(some(replay(env, fixture, rows, options, target))).toEqual([]);
      });
    for (const variant of fixture.variants)
      test.each(targets)(`steps with ${JSON.stringify(variant.params)} on %s`, (target) => {
        const renamed = Object.entries(variant.params).map(([key, x]) => [options.paramNames?.[key] ?? camel(key), x]);
        const params = { ...options.params, ...Object.fromEntries(renamed) };
        expect(some(replay(env, fixture, variant.transitions, { ...options, params }, target))).toEqual([]);
      });
    if (fixture.reset)
      test("resets and random steps by distribution", () => {
        expect(some(distributionDifferences(env, fixture, options))).toEqual([]);
      });
  });
}
