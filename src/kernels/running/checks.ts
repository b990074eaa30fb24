/**
 * @file Checks of what comes from outside: stored states are not trusted.
 */
import { DataError } from "../errors.ts";

/** The record behind a stored state; `kind` must be what it says it is. */
export function storedRecord(kind: string, value: unknown): { readonly [name: string]: unknown } {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new DataError(
      `${kind}: a stored state is a record, this is ${Array.isArray(value) ? "a list" : String(value)}`,
    );
  const record = value as { readonly [name: string]: unknown };
  if (record.kind !== kind)
    throw new DataError(
      `${kind}: the stored state says it is ${JSON.stringify(record.kind) ?? "nothing"}, not "${kind}"`,
    );
  return record;
}

interface Limits {
  readonly from?: number;
  readonly to?: number;
  readonly whole?: boolean;
}

/** A finite number of a stored state, between limits. */
export function storedNumber(kind: string, name: string, value: unknown, limits: Limits = {}): number {
  const { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY, whole = false } = limits;
  const fine = typeof value === "number" && Number.isFinite(value) && value >= from && value <= to;
  if (fine && (!whole || Number.isSafeInteger(value))) return value;
  const range = Number.isFinite(from) ? ` from ${from} on` : "";
  throw new DataError(
    `${kind}: "${name}" of the stored state must be a ${whole ? "whole" : "finite"} number${range}, it is ${JSON.stringify(value)}`,
  );
}

/** A list of finite numbers of a stored state, of a known length. */
export function storedNumbers(
  kind: string,
  name: string,
  value: unknown,
  length: number,
  limits: Limits = {},
): number[] {
  if (!Array.isArray(value) || value.length !== length)
    throw new DataError(`${kind}: "${name}" of the stored state must be a list of ${length} numbers`);
  return value.map((x: unknown, i) => storedNumber(kind, `${name}[${i}]`, x, limits));
}

export function storedFlag(kind: string, name: string, value: unknown): boolean {
  if (typeof value !== "boolean") throw new DataError(`${kind}: "${name}" of the stored state must be true or false`);
  return value;
}
