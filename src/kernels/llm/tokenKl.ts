/**
 * @file KL divergence between two language models from the log-probabilities they give to the same tokens.
 *
 * One formula per estimator, in two numbers: the log-probability under the first model of the divergence and under the
 * second. The direction is then the order in which the arrays are handed over. Each sequence is one vectorised
 * reduction; single precision rounds sums of products once (numerics "fused"), which is faster and more exact.
 */
import { i32, u8 } from "../../kernel/declare.ts";
import { kernel } from "../../kernel/kernel.ts";
import { needParts } from "../checks.ts";
import { DataError } from "../errors.ts";
import {
  BYTES,
  type FloatScalar,
  type Floats,
  floatType,
  needLike,
  output,
  type RunChoice,
  Variants,
} from "../inputs.ts";
import { type KlEstimator, klTerm } from "./klTerms.ts";

/**
 * KL(first || second). k1, k2 and k3 estimate it when the tokens were drawn from the first model. `k3` as rlox has it,
 * e^r - r - 1 with r = policy - reference, is k3 of "reference||policy".
 */
export type KlDirection = "policy||reference" | "reference||policy";
/** One number per sequence, or one per token. */
export type KlReduction = "sum" | "mean" | "none";

const sums = (type: FloatScalar, estimator: KlEstimator) =>
  kernel(
    {
      first: type.array(),
      second: type.array(),
      kl: type.array(),
      length: i32,
      divisor: type,
      term: klTerm(type, estimator),
    },
    ({ first, second, kl, length, divisor, term }, { parallel, bits, fromBits }) => {
      for (let s = 0; s < kl.length; s++) {
        const at = s * length;
        let sum = 0;
        parallel(length, (t) => {
          const { weight, rest } = term(first[at + t]!, second[at + t]!, bits, fromBits);
          sum += weight * rest;
        });
        kl[s] = sum / divisor;
      }
    },
    { name: `tokenKl_${estimator}`, numerics: "fused" },
  );

const maskedSums = (type: FloatScalar, estimator: KlEstimator) =>
  kernel(
    {
      first: type.array(),
      second: type.array(),
      mask: u8.array(),
      kl: type.array(),
      length: i32,
      mean: i32,
      one: type,
      term: klTerm(type, estimator),
    },
    ({ first, second, mask, kl, length, mean, one, term }, { parallel, bits, fromBits }) => {
      for (let s = 0; s < kl.length; s++) {
        const at = s * length;
        let sum = 0;
        let count = 0 * one;
        parallel(length, (t) => {
          const counts = mask[at + t]! !== 0;
          const { weight, rest } = term(first[at + t]!, second[at + t]!, bits, fromBits);
          sum += (counts ? weight : 0) * (counts ? rest : 0);
          count += counts ? one : 0;
        });
        kl[s] = mean !== 0 && count > 0 ? sum / count : sum;
      }
    },
    { name: `tokenKl_${estimator}_masked`, numerics: "fused" },
  );

const tokens = (type: FloatScalar, estimator: KlEstimator) =>
  kernel(
    { first: type.array(), second: type.array(), kl: type.array(), term: klTerm(type, estimator) },
    ({ first, second, kl, term }, { parallel, bits, fromBits }) => {
      parallel(kl.length, (t) => {
        const { weight, rest } = term(first[t]!, second[t]!, bits, fromBits);
        kl[t] = weight * rest;
      });
    },
    { name: `tokenKl_${estimator}_each`, numerics: "fused" },
  );

const maskedTokens = (type: FloatScalar, estimator: KlEstimator) =>
  kernel(
    { first: type.array(), second: type.array(), mask: u8.array(), kl: type.array(), term: klTerm(type, estimator) },
    ({ first, second, mask, kl, term }, { parallel, bits, fromBits }) => {
      parallel(kl.length, (t) => {
        const { weight, rest } = term(first[t]!, second[t]!, bits, fromBits);
        kl[t] = mask[t]! !== 0 ? weight * rest : 0;
      });
    },
    { name: `tokenKl_${estimator}_each_masked`, numerics: "fused" },
  );

const kernelsOf = (estimator: KlEstimator) => ({
  sums: new Variants((type) => sums(type, estimator)),
  maskedSums: new Variants((type) => maskedSums(type, estimator)),
  tokens: new Variants((type) => tokens(type, estimator)),
  maskedTokens: new Variants((type) => maskedTokens(type, estimator)),
});
const KERNELS: { readonly [E in KlEstimator]: ReturnType<typeof kernelsOf> } = {
  exact: kernelsOf("exact"),
  k1: kernelsOf("k1"),
  k2: kernelsOf("k2"),
  k3: kernelsOf("k3"),
};

export interface TokenKlInput<F extends Floats> {
  /** Log-probabilities of the tokens under the policy, sequence after sequence. */
  readonly policy: F;
  /** The same under the reference model. */
  readonly reference: F;
  /** 0 leaves a token out, whatever its log-probabilities are. */
  readonly mask?: Uint8Array | undefined;
  /** Tokens per sequence; all tokens are one sequence unless given. */
  readonly length?: number | undefined;
  readonly out?: { readonly kl?: F | undefined } | undefined;
}

export interface TokenKlOptions extends RunChoice {
  /** `exact` unless given. */
  readonly estimator?: KlEstimator | undefined;
  /** `policy||reference` unless given. */
  readonly direction?: KlDirection | undefined;
  /** `sum` unless given. Means are over the tokens that the mask leaves; 0 where it leaves none. */
  readonly reduce?: KlReduction | undefined;
}

/** Checks that a direction is one of the two. */
export function needDirection(who: string, direction: KlDirection): void {
  if (direction !== "policy||reference" && direction !== "reference||policy")
    throw new DataError(`${who}: there is no direction "${direction}"; use policy||reference or reference||policy`);
}

interface Checked<F extends Floats> {
  readonly type: FloatScalar;
  readonly length: number;
  readonly kl: F;
}

function check<F extends Floats>(input: TokenKlInput<F>, options: TokenKlOptions): Checked<F> {
  const { policy, reference, mask, out } = input;
  const { estimator = "exact", direction = "policy||reference", reduce = "sum" } = options;
  const who = "tokenKl";
  if (!Object.hasOwn(KERNELS, estimator))
    throw new DataError(`tokenKl: there is no estimator "${estimator}": use exact, k1, k2 or k3`);
  needDirection(who, direction);
  if (reduce !== "sum" && reduce !== "mean" && reduce !== "none")
    throw new DataError(`tokenKl: reduce is "${reduce}": use sum, mean or none`);
  const type = floatType(who, "policy", policy);
  needLike(who, "reference", reference, policy);
  if (mask !== undefined) needLike(who, "mask", mask, BYTES, policy.length);
  const length = input.length ?? policy.length;
  const sequences = input.length === undefined ? 1 : needParts(who, "policy", policy, "length", length);
  const kl = output(who, "out.kl", out?.kl, policy, reduce === "none" ? policy.length : sequences);
  return { type, length, kl };
}

/** KL divergence per sequence, or per token. NaN among the tokens that count makes their sequence's sum NaN. */
export function tokenKl<F extends Floats>(input: TokenKlInput<F>, options: TokenKlOptions = {}): { kl: F } {
  const { kl, length, type } = check(input, options);
  const { policy, reference, mask } = input;
  const { estimator = "exact", reduce = "sum" } = options;
  const kernels = KERNELS[estimator];
  const swapped = options.direction === "reference||policy";
  const first = swapped ? reference : policy;
  const second = swapped ? policy : reference;
  if (reduce === "none") {
    if (mask === undefined) kernels.tokens.runner(options, type)({ first, second, kl });
    else kernels.maskedTokens.runner(options, type)({ first, second, mask, kl });
  } else if (mask === undefined) {
    const divisor = reduce === "mean" ? Math.max(length, 1) : 1;
    kernels.sums.runner(options, type)({ first, second, kl, length, divisor });
  } else {
    const mean = reduce === "mean" ? 1 : 0;
    kernels.maskedSums.runner(options, type)({ first, second, mask, kl, length, mean, one: 1 });
  }
  return { kl };
}
