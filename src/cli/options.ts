/**
 * @file Values of options that several commands have, read and checked.
 */
import { InvalidArgumentError } from "commander";

/** A whole number within limits. */
export function whole(least: number, most: number) {
  return (text: string): number => {
    const value = Number(text);
    if (text.trim() !== "" && Number.isSafeInteger(value) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}

/** What an option that can be given several times has been given so far, and once more. */
export const several = (text: string, before: readonly string[] = []): readonly string[] => [...before, text];

/** Any number. */
export function number(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value)) return value;
  throw new InvalidArgumentError("It must be a number.");
}

/** Which checkpoint of a run. */
export function checkpoint(text: string): "last" | "best" | number {
  if (text === "last" || text === "best") return text;
  const steps = Number(text);
  if (text.trim() !== "" && Number.isSafeInteger(steps) && steps >= 0) return steps;
  throw new InvalidArgumentError('It must be "last", "best", or the number of steps of one.');
}
