/**
 * @file Targets and fixtures for the tests of this folder.
 */
import { readFileSync } from "node:fs";
import { expect } from "vitest";
import type { Floats, RunChoice } from "../../../src/kernels/inputs.ts";
import { CHOICES } from "../choices.ts";

export const FLOATS = [Float32Array, Float64Array] as const;
export type FloatMaker = (typeof FLOATS)[number];

export interface StoredArray {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: readonly number[];
}
export interface FixtureCase {
  readonly name: string;
  readonly op: string;
  readonly tolerance: { readonly [precision: string]: { readonly rtol: number; readonly atol: number } };
  readonly inputs: { readonly [name: string]: StoredArray & number };
  readonly expected: { readonly [name: string]: StoredArray & number };
}

const stored = new URL("../../fixtures/numeric/llm.json", import.meta.url);
const { cases } = JSON.parse(readFileSync(stored, "utf8")) as { cases: readonly FixtureCase[] };
export const casesOf = (op: string): readonly FixtureCase[] => cases.filter((one) => one.op === op);

/** Holds an array against a stored one, to the tolerance of its case. */
export function expectNear(
  got: ArrayLike<number>,
  wanted: ArrayLike<number>,
  one: FixtureCase,
  type: FloatMaker,
): void {
  const limits = one.tolerance[type === Float32Array ? "f32" : "f64"];
  if (limits === undefined) throw new Error(`${one.name} has no tolerance`);
  expect(got.length).toBe(wanted.length);
  for (let i = 0; i < got.length; i++) {
    const [g, w] = [got[i] as number, wanted[i] as number];
    expect(Math.abs(g - w), `${one.name}[${i}]: ${g} for ${w}`).toBeLessThanOrEqual(
      limits.atol + limits.rtol * Math.abs(w),
    );
  }
}

/** The bytes of an array, for comparing bits; all NaNs count as one. */
export function bitsOf(array: Floats): string {
  const plain = array.map((v) => (Number.isNaN(v) ? Number.NaN : v));
  return Buffer.from(plain.buffer, plain.byteOffset, plain.byteLength).toString("hex");
}

/** Runs on every target and thread count; all must give the same bits. Returns the first result. */
export function onAll<R>(run: (choice: RunChoice) => R, arrays: (result: R) => readonly Floats[]): R {
  const [first, ...others] = CHOICES.map(run);
  if (first === undefined) throw new Error("no target works here");
  const bits = arrays(first).map(bitsOf);
  for (const [k, other] of others.entries())
    expect(arrays(other).map(bitsOf), JSON.stringify(CHOICES[k + 1])).toEqual(bits);
  return first;
}

/** Numbers between -1 and 1 without a visible pattern. */
export const noise = (type: FloatMaker, length: number, scale = 1, shift = 0): Floats =>
  new type(length).map((_, i) => shift + scale * Math.sin(i * 12.9898 + (i % 7) * 78.233));
