/**
 * @file Equivalence gates: both sides must have computed the same numbers before either is timed.
 */
import { LockstepError } from "../platform/errors.ts";

/** Two sides that were to be compared computed different numbers. */
export class GateError extends LockstepError {
  override readonly name = "GateError";
}

/** How far apart numbers may be: |a - b| <= absolute + relative * |b|. Both 0 asks for the same values. */
export interface Tolerance {
  readonly absolute: number;
  readonly relative: number;
}
export const EXACT: Tolerance = { absolute: 0, relative: 0 };

/** Throws a GateError at the first element that differs. NaN equals NaN; zeros of both signs are equal. */
export function gate(what: string, ours: ArrayLike<number>, theirs: ArrayLike<number>, tolerance: Tolerance): void {
  if (ours.length !== theirs.length) throw new GateError(`${what}: ${ours.length} numbers against ${theirs.length}`);
  for (let i = 0; i < ours.length; i++) {
    const a = ours[i] as number;
    const b = theirs[i] as number;
    if (a === b || (Number.isNaN(a) && Number.isNaN(b))) continue;
    if (Math.abs(a - b) <= tolerance.absolute + tolerance.relative * Math.abs(b)) continue;
    throw new GateError(`${what}: element ${i} is ${a}, the other side has ${b}`);
  }
}
