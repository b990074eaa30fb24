/**
 * @file What the tests of estimators share: targets, fixtures, random rollouts, and a plain loop to compare with.
 */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { expect } from "vitest";
import { f32, f64, u8 } from "../../../src/kernel/declare.ts";
import { allocate } from "../../../src/kernel/kernel.ts";
import type { Floats, RunChoice } from "../../../src/kernels/inputs.ts";
import { CHOICES } from "../choices.ts";

export { CHOICES } from "../choices.ts";

export interface FixtureArray {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: readonly number[];
}
export interface FixtureCase {
  readonly name: string;
  readonly op: string;
  readonly inputs: { readonly [name: string]: unknown };
  readonly expected: { readonly [name: string]: unknown };
  readonly tolerance: { readonly f64: FixtureTolerance; readonly f32: FixtureTolerance };
}
export interface FixtureTolerance {
  readonly rtol: number;
  readonly atol: number;
}

export function fixtures(file: string, op: string): FixtureCase[] {
  const bytes = readFileSync(new URL(`../../fixtures/numeric/${file}.json.gz`, import.meta.url));
  const { cases } = JSON.parse(gunzipSync(bytes).toString()) as { cases: FixtureCase[] };
  return cases.filter((one) => one.op === op);
}

export const TYPES = ["f64", "f32"] as const;
export type TypeName = (typeof TYPES)[number];

/** Numbers as an array of a type in lockstep's memory. */
export function floats(type: TypeName, data: ArrayLike<number>): Floats {
  const array = type === "f64" ? allocate(f64, data.length) : allocate(f32, data.length);
  array.set(data);
  return array;
}
export function bytes(data: ArrayLike<number>): Uint8Array {
  const array = allocate(u8, data.length);
  array.set(data);
  return array;
}

export function expectNear(what: string, got: ArrayLike<number>, wanted: ArrayLike<number>, t: FixtureTolerance): void {
  expect(got.length, what).toBe(wanted.length);
  for (let i = 0; i < wanted.length; i++) {
    const [a, b] = [got[i] as number, wanted[i] as number];
    if (!(Object.is(a, b) || Math.abs(a - b) <= t.atol + t.rtol * Math.abs(b)))
      expect.fail(`${what}: element ${i} is ${a}, wanted ${b}`);
  }
}

export const bitsOf = (...arrays: readonly (Floats | Uint8Array)[]): string =>
  arrays.map((a) => Buffer.from(a.buffer, a.byteOffset, a.byteLength).toString("hex")).join(" ");

/** Runs on every choice; the results must have the same bits. Returns the first. */
export function sameBits<R>(
  run: (choice: RunChoice) => R,
  arraysOf: (result: R) => readonly (Floats | Uint8Array)[],
): R {
  const results = CHOICES.map((choice) => ({ choice, result: run(choice) }));
  const [first] = results;
  if (!first) throw new Error("no target");
  const wanted = bitsOf(...arraysOf(first.result));
  for (const { choice, result } of results) expect(bitsOf(...arraysOf(result)), JSON.stringify(choice)).toBe(wanted);
  return first.result;
}

/** A small generator, so that tests see the same numbers in every run. */
export function numbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

export interface RandomRollout {
  readonly rewards: Floats;
  readonly values: Floats;
  readonly terminated: Uint8Array;
  readonly truncated: Uint8Array;
  readonly finalValues: Floats;
  readonly lastValues: Floats;
}
/** A rollout with 5 % terminated and 5 % truncated steps; final values that nobody may look at are NaN. */
export function randomRollout(type: TypeName, environments: number, steps: number, seed: number): RandomRollout {
  const next = numbers(seed);
  const n = environments * steps;
  const list = (of: () => number, count = n): number[] => Array.from({ length: count }, of);
  const truncated = list(() => (next() < 0.05 ? 1 : 0));
  return {
    rewards: floats(
      type,
      list(() => next() * 2 - 1),
    ),
    values: floats(
      type,
      list(() => next() * 2 - 1),
    ),
    terminated: bytes(list(() => (next() < 0.05 ? 1 : 0))),
    truncated: bytes(truncated),
    finalValues: floats(
      type,
      truncated.map((cut) => (cut ? next() : Number.NaN)),
    ),
    lastValues: floats(type, list(next, environments)),
  };
}

/** The other layout of a column. */
export function transposed<A extends Floats | Uint8Array>(column: A, environments: number, steps: number): A {
  const out =
    column instanceof Uint8Array ? bytes(column) : floats(column instanceof Float32Array ? "f32" : "f64", column);
  for (let t = 0; t < steps; t++)
    for (let e = 0; e < environments; e++) out[e * steps + t] = column[t * environments + e] as number;
  return out as A;
}
export function transposedRollout(r: RandomRollout, environments: number, steps: number): RandomRollout {
  const turn = <A extends Floats | Uint8Array>(a: A): A => transposed(a, environments, steps);
  return {
    rewards: turn(r.rewards),
    values: turn(r.values),
    terminated: turn(r.terminated),
    truncated: turn(r.truncated),
    finalValues: turn(r.finalValues),
    lastValues: r.lastValues,
  };
}

/** Inputs of a fixture case of a rollout. */
export function fixtureRollout(one: FixtureCase, type: TypeName) {
  const array = (name: string): Floats => floats(type, (one.inputs[name] as FixtureArray).data);
  const flags = (name: string): Uint8Array => bytes((one.inputs[name] as FixtureArray).data);
  const last = one.inputs.last_values as number | FixtureArray;
  const shape = (one.inputs.rewards as FixtureArray).shape;
  return {
    rollout: {
      rewards: array("rewards"),
      values: array("values"),
      terminated: flags("terminated"),
      truncated: flags("truncated"),
      finalValues: array("final_values"),
      lastValues: typeof last === "number" ? last : floats(type, last.data),
    },
    steps: shape[0] as number,
    environments: shape[1] ?? 1,
    number: (name: string): number => one.inputs[name] as number,
    array,
    expected: (name: string): readonly number[] => (one.expected[name] as FixtureArray).data,
    tolerance: one.tolerance[type],
  };
}
