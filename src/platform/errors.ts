/**
 * @file The base of all errors that a user can cause. Each names the value, what was expected, and what to do.
 */
export class LockstepError extends Error {
  override readonly name: string = "LockstepError";
}

/** Something was asked for that does not exist or cannot be combined: a command ends with code 2. */
export class UsageError extends LockstepError {
  override readonly name = "UsageError";
}
