/**
 * @file What tests of buffers share: targets found here, fixtures, a chi-square test, a count of memory.
 */
import { readFileSync } from "node:fs";
import { vi } from "vitest";
import { heap } from "../../src/runtime/heap.ts";
import { availability, TARGET_NAMES } from "../../src/runtime/targets.ts";

export const targets = TARGET_NAMES.filter((name) => availability(name).target);

interface WireArray {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: readonly (number | string)[];
}
export interface Case {
  readonly name: string;
  readonly op: string;
  readonly inputs: { readonly [name: string]: unknown };
  readonly expected: { readonly [name: string]: unknown };
  readonly tolerance: { readonly [type: string]: { readonly rtol: number; readonly atol: number } };
}

const fixture = new URL("../fixtures/numeric/per.json", import.meta.url);
const { cases } = JSON.parse(readFileSync(fixture, "utf8")) as { readonly cases: readonly Case[] };
export const casesOf = (op: string): readonly Case[] => cases.filter((c) => c.op === op);

/** Numbers of a fixture: a plain list, or an array with its type. */
export function numbers(value: unknown): number[] {
  const list = Array.isArray(value) ? value : (value as WireArray).data;
  return (list as readonly (number | string)[]).map(Number);
}

/** Whether all values are near the expected ones. */
export function isNear(
  got: ArrayLike<number>,
  expected: readonly number[],
  { rtol, atol }: { readonly rtol: number; readonly atol: number },
): boolean {
  if (got.length !== expected.length) return false;
  return expected.every((e, k) => got[k] === e || Math.abs((got[k] as number) - e) <= atol + rtol * Math.abs(e));
}

/** The chi-square statistic in deviations from its mean: a few at most when `counts` follow `chances`. */
export function chiSquareDeviations(counts: ArrayLike<number>, chances: ArrayLike<number>): number {
  let total = 0;
  for (let k = 0; k < counts.length; k++) total += counts[k] as number;
  let statistic = 0;
  for (let k = 0; k < counts.length; k++) {
    const expected = total * (chances[k] as number);
    statistic += ((counts[k] as number) - expected) ** 2 / expected;
  }
  const freedom = counts.length - 1;
  return (statistic - freedom) / Math.sqrt(2 * freedom);
}

/** Blocks of the heap that `run` takes and does not give back. */
export function kept(run: () => void): number {
  const [allocate, release] = [vi.spyOn(heap(), "allocate"), vi.spyOn(heap(), "release")];
  run();
  const taken = allocate.mock.results.filter(({ type }) => type === "return").length;
  const given = release.mock.calls.length;
  allocate.mockRestore();
  release.mockRestore();
  return taken - given;
}
