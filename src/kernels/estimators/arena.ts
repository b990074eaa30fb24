/**
 * @file Weights as one flat arena: Polyak averaging, the Reptile step, and the mean of several weight vectors.
 */
import { kernel } from "../../kernel/kernel.ts";
import { needNumber, needShare } from "../checks.ts";
import { DataError } from "../errors.ts";
import { type Floats, floatType, needLike, output, type RunChoice, sharesMemory, Variants } from "../inputs.ts";

const polyakKernel = new Variants((type) =>
  kernel(
    { target: type.array(), source: type.array(), tau: type },
    ({ target, source, tau }, { parallel }) => {
      const kept = 1 - tau;
      parallel(target.length, (i) => {
        target[i] = tau * source[i]! + kept * target[i]!;
      });
    },
    { name: "polyak" },
  ),
);

/** Moves a target network's weights: target = tau source + (1 - tau) target, in place. */
export function polyakUpdate<A extends Floats>(
  input: { readonly target: A; readonly source: A },
  options: RunChoice & { readonly tau: number },
): A {
  const who = "polyakUpdate";
  const { target } = input;
  const type = floatType(who, "target", target);
  const source = needLike(who, "source", input.source, target);
  needShare(who, "tau", options.tau);
  polyakKernel.runner(options, type)({ target, source, tau: options.tau });
  return target;
}

const reptileKernel = new Variants((type) =>
  kernel(
    { parameters: type.array(), adapted: type.array(), rate: type },
    ({ parameters, adapted, rate }, { parallel }) => {
      parallel(parameters.length, (i) => {
        parameters[i] = parameters[i]! + rate * (adapted[i]! - parameters[i]!);
      });
    },
    { name: "reptile" },
  ),
);

/** A step of Reptile (Nichol et al. 2018) towards weights adapted to one task, in place. */
export function reptileStep<A extends Floats>(
  input: { readonly parameters: A; readonly adapted: A },
  options: RunChoice & { readonly rate: number },
): A {
  const who = "reptileStep";
  const { parameters } = input;
  const type = floatType(who, "parameters", parameters);
  const adapted = needLike(who, "adapted", input.adapted, parameters);
  needNumber(who, "rate", options.rate, Number.isFinite(options.rate), "a finite number");
  reptileKernel.runner(options, type)({ parameters, adapted, rate: options.rate });
  return parameters;
}

const addKernel = new Variants((type) =>
  kernel(
    { out: type.array(), more: type.array() },
    ({ out, more }, { parallel }) => {
      parallel(out.length, (i) => {
        out[i] = out[i]! + more[i]!;
      });
    },
    { name: "addWeights" },
  ),
);
const divideKernel = new Variants((type) =>
  kernel(
    { out: type.array(), count: type },
    ({ out, count }, { parallel }) => {
      parallel(out.length, (i) => {
        out[i] = out[i]! / count;
      });
    },
    { name: "divideWeights" },
  ),
);

/** The mean of several weight vectors of equal length. */
export function averageWeights<A extends Floats>(
  input: { readonly vectors: readonly A[]; readonly out?: A },
  options: RunChoice = {},
): A {
  const who = "averageWeights";
  const { vectors } = input;
  const [first] = vectors;
  if (first === undefined) throw new DataError(`${who}: "vectors" is empty; give at least one vector`);
  const type = floatType(who, "vectors[0]", first);
  vectors.forEach((vector, k) => {
    needLike(who, `vectors[${k}]`, vector, first);
  });
  const out = output(who, "out", input.out, first);
  if (vectors.some((vector) => sharesMemory(vector, out)))
    throw new DataError(`${who}: "out" shares memory with one of the vectors; hand over a separate array`);
  const [add, divide] = [addKernel.runner(options, type), divideKernel.runner(options, type)];
  out.set(first);
  for (const more of vectors.slice(1)) add({ out, more });
  divide({ out, count: vectors.length });
  return out;
}
