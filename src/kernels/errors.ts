/**
 * @file The error of the data plane: input that does not fit, refused before anything is written.
 */
import { LockstepError } from "../platform/errors.ts";

/** Wrong lengths, values out of range, mixed types: the message names the value, what was expected and what to do. */
export class DataError extends LockstepError {
  override readonly name: string = "DataError";
}
