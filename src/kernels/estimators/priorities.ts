/**
 * @file Priorities of loss-adjusted replay (LAP).
 */
import { kernel } from "../../kernel/kernel.ts";
import { needAmount, needNumber } from "../checks.ts";
import { type Floats, floatType, needLike, output, type RunChoice, Variants } from "../inputs.ts";

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
  if (losses !== undefined) needLike(who, "losses", losses, errors);
  needAmount(who, "eta", eta);
  needNumber(who, "least", least, least > 0, "a number above 0");
  const out = output(who, "out", input.out, errors);
  if (losses === undefined) plainKernel.runner(options, type)({ errors, out, least });
  else lapKernel.runner(options, type)({ errors, losses, out, eta, least });
  return out;
}
