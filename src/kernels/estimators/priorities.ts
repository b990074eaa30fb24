/**
 * @file Priorities of loss-adjusted replay (LAP).
 */
import { kernel } from "../../kernel/kernel.ts";
import {
  type Floats,
  floatType,
  needArray,
  needLength,
  needNumber,
  output,
  type RunChoice,
  Variants,
} from "./inputs.ts";

export interface PriorityOptions extends RunChoice {
  /** What a unit of loss adds; 1 unless given. */
  readonly eta?: number;
  /** The smallest priority; 1e-6 unless given. */
  readonly least?: number;
}
export interface PriorityInput<A extends Floats> {
  /** Temporal-difference errors. */
  readonly errors: A;
  /** A further loss of each transition; none unless given. */
  readonly losses?: A;
  readonly out?: A;
}

const lapKernel = new Variants((type) =>
  kernel(
    { errors: type.array(), losses: type.array(), out: type.array(), eta: type, least: type },
    ({ errors, losses, out, eta, least }, { parallel }) => {
      parallel(errors.length, (i) => {
        out[i] = Math.max(Math.abs(errors[i]!) + eta * losses[i]!, least);
      });
    },
    { name: "lapPriorities" },
  ),
);
const plainKernel = new Variants((type) =>
  kernel(
    { errors: type.array(), out: type.array(), least: type },
    ({ errors, out, least }, { parallel }) => {
      parallel(errors.length, (i) => {
        out[i] = Math.max(Math.abs(errors[i]!), least);
      });
    },
    { name: "errorPriorities" },
  ),
);

/** max(|error| + eta loss, least). */
export function lapPriorities<A extends Floats>(input: PriorityInput<A>, options: PriorityOptions = {}): A {
  const who = "lapPriorities";
  const { errors, losses } = input;
  const { eta = 1, least = 1e-6 } = options;
  const type = floatType(who, "errors", errors);
  if (losses !== undefined)
    needLength(who, "losses", needArray(who, "losses", losses, errors), errors.length, '"errors"');
  needNumber(who, "eta", eta, eta >= 0, "a number from 0 on");
  needNumber(who, "least", least, least > 0, "a number above 0");
  const out = output(who, "out", input.out, errors);
  if (losses === undefined) plainKernel.runner(options, type)({ errors, out, least });
  else lapKernel.runner(options, type)({ errors, losses, out, eta, least });
  return out;
}
