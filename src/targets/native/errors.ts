/**
 * @file What can go wrong between C source and a loaded library.
 */
import { LockstepError } from "../../platform/errors.ts";

/** The native target cannot be used here at all; the message says why and what would help. */
export class NativeUnavailableError extends LockstepError {
  override readonly name = "NativeUnavailableError";
}

/** The compiler refused a program or could not be run; `output` is what it printed. */
export class NativeBuildError extends LockstepError {
  override readonly name = "NativeBuildError";
  readonly output: string;
  constructor(message: string, output: string) {
    super(output.trim() === "" ? message : `${message}\n${excerpt(output)}`);
    this.output = output;
  }
}

/** The first lines of a compiler's output. */
function excerpt(output: string): string {
  const lines = output.trim().split("\n");
  return lines.length <= 12
    ? lines.join("\n")
    : `${lines.slice(0, 12).join("\n")}\n... ${lines.length - 12} more lines`;
}
