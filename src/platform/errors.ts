/**
 * @file The base of all errors that a user can cause. Each names the value, what was expected, and what to do.
 */
export class LockstepError extends Error {
  override readonly name: string = "LockstepError";
}
