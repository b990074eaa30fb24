/**
 * @file Checks of numbers and lengths, for everything in the data plane: each is a DataError that names the value, what
 * was expected and what to do. Needs no compiler, so that code which only moves data does not load one.
 */
import { DataError } from "./errors.ts";

/** What a value is, for messages. */
export const kindOf = (value: unknown): string => {
  if (ArrayBuffer.isView(value) || Array.isArray(value)) {
    const { name } = value.constructor;
    return `${/^[AI]/.test(name) ? "an" : "a"} ${name}`;
  }
  return value === undefined ? "missing" : typeof value === "object" ? String(value) : typeof value;
};

/** A whole number from `least` on. */
export function checkCount(what: string, value: number, least: number): number {
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new DataError(`${what} must be a whole number from ${least} on, it is ${String(value)}`);
}

/** Checks a number against a condition put in words. */
export function needNumber(who: string, name: string, value: number, fine: boolean, wanted: string): void {
  if (typeof value !== "number" || !fine) throw new DataError(`${who}: "${name}" must be ${wanted}, it is ${value}`);
}

/** Checks a whole number of at least `least`. */
export function needCount(who: string, name: string, value: number, least: number): void {
  checkCount(`${who}: "${name}"`, value, least);
}

/** Checks a discount or another share. */
export function needShare(who: string, name: string, value: number): void {
  needNumber(who, name, value, value >= 0 && value <= 1, "a number from 0 to 1");
}

/** Checks a finite number that is not negative. */
export function needAmount(who: string, name: string, value: number): void {
  needNumber(who, name, value, value >= 0 && value < Number.POSITIVE_INFINITY, "a finite number from 0 on");
}

/** Checks an array's length; `what` says where the wanted length comes from. */
export function needLength(
  who: string,
  name: string,
  array: ArrayLike<unknown> | undefined | null,
  length: number,
  what: string,
): void {
  if (array?.length === length) return;
  const found = array?.length === undefined ? "is missing" : `has ${array.length} elements`;
  throw new DataError(`${who}: "${name}" ${found}, ${what} asks for ${length}; hand over equal lengths`);
}

/** How many parts of `size` an array has; an error when the last one would not be whole. */
export function needParts(
  who: string,
  name: string,
  array: ArrayLike<unknown>,
  sizeName: string,
  size: number,
): number {
  needCount(who, sizeName, size, 1);
  if (array.length % size === 0) return array.length / size;
  throw new DataError(
    `${who}: "${name}" has ${array.length} elements, which "${sizeName}" ${size} does not divide; ` +
      "pad or cut it to whole parts",
  );
}

/** Checks that all tokens are whole numbers that 32 bits hold. */
export function needTokens(who: string, name: string, tokens: ArrayLike<number>): void {
  if (tokens instanceof Uint32Array || tokens instanceof Uint8Array) return;
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i] as number;
    if (token >>> 0 !== token)
      throw new DataError(`${who}: token ${i} of ${name} is ${token}; tokens are whole numbers from 0 to 4294967295`);
  }
}
