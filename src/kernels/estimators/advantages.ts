/**
 * @file Advantages as a batch: normalised to mean 0 and deviation 1, and how much of the returns the values explain.
 *
 * Sums run in double precision whatever the arrays hold, in the fixed order of the compiler's reductions.
 */
import { f64 } from "../../kernel/declare.ts";
import { allocate, kernel } from "../../kernel/kernel.ts";
import { needAmount, needNumber } from "../checks.ts";
import { DataError } from "../errors.ts";
import { type Floats, floatType, needLike, output, type RunChoice, rounding, Variants } from "../inputs.ts";
import { momentsOf } from "../moments.ts";

export interface NormaliseOptions extends RunChoice {
  /** What is taken off the count under the variance: 1 (PyTorch, the default) or 0 (JAX, NumPy). */
  readonly ddof?: 0 | 1;
  /** Added to the deviation; 1e-8 unless given. */
  readonly epsilon?: number;
}

const normaliseKernel = new Variants((type) =>
  kernel(
    { values: type.array(), ddof: f64, epsilon: f64, round: rounding(type), momentsOf },
    ({ values, ddof, epsilon, round, momentsOf }, { parallel }) => {
      const n = values.length;
      const { mean, squares } = momentsOf(values, parallel);
      const scale = 1 / (Math.sqrt(squares / (n - ddof)) + epsilon);
      parallel(n, (i) => {
        values[i] = round((Number(values[i]!) - mean) * scale);
      });
    },
    { name: "normalise" },
  ),
);

/** (x - mean) / (deviation + epsilon); with `out` equal to `advantages` in place. */
export function normaliseAdvantages<A extends Floats>(
  input: { readonly advantages: A; readonly out?: A },
  options: NormaliseOptions = {},
): A {
  const who = "normaliseAdvantages";
  const { advantages } = input;
  const { ddof = 1, epsilon = 1e-8 } = options;
  const type = floatType(who, "advantages", advantages);
  needNumber(who, "ddof", ddof, ddof === 0 || ddof === 1, "0 or 1");
  needAmount(who, "epsilon", epsilon);
  const values = output(who, "out", input.out, advantages);
  if (advantages.length === 0) return values;
  if (advantages.length <= ddof)
    throw new DataError(
      `${who}: ${advantages.length} element has no deviation with ddof ${ddof}; give more, or ddof 0`,
    );
  const run = normaliseKernel.runner(options, type);
  if (values !== advantages) values.set(advantages);
  run({ values, ddof, epsilon });
  return values;
}

const momentsKernel = new Variants((type) =>
  kernel(
    { predictions: type.array(), targets: type.array(), out: f64.array(2) },
    ({ predictions, targets, out }, { parallel }) => {
      const n = targets.length;
      // Distances from the first target: of equal targets all are 0, where a rounded mean would differ from them.
      const first = Number(targets[0]!);
      let sum = 0;
      let sumOfErrors = 0;
      parallel(n, (i) => {
        const target = Number(targets[i]!);
        sum += target - first;
        sumOfErrors += target - Number(predictions[i]!);
      });
      const mean = sum / n;
      const meanError = sumOfErrors / n;
      let squares = 0;
      let squaresOfErrors = 0;
      parallel(n, (i) => {
        const target = Number(targets[i]!);
        const d = target - first - mean;
        const error = target - Number(predictions[i]!) - meanError;
        squares += d * d;
        squaresOfErrors += error * error;
      });
      out[0] = squares;
      out[1] = squaresOfErrors;
    },
    { name: "explainedVariance" },
  ),
);
let moments: Float64Array | undefined;

/**
 * 1 - variance of (target - prediction) / variance of targets: 1 is perfect, 0 no better than a constant, below 0
 * worse. NaN when the targets do not vary, or there are none.
 */
export function explainedVariance<A extends Floats>(
  input: { readonly predictions: A; readonly targets: A },
  options: RunChoice = {},
): number {
  const who = "explainedVariance";
  const { targets } = input;
  const type = floatType(who, "targets", targets);
  const predictions = needLike(who, "predictions", input.predictions, targets);
  if (targets.length === 0) return Number.NaN;
  moments ??= allocate(f64, 2);
  momentsKernel.runner(options, type)({ predictions, targets, out: moments });
  const [squares, squaresOfErrors] = moments as unknown as [number, number];
  return squares === 0 ? Number.NaN : 1 - squaresOfErrors / squares;
}
