/**
 * @file What a token adds to a KL divergence, for each estimator and float type.
 *
 * In double precision the formulas are written as they are in books. In single precision e^x is worked out here, because
 * both places know more about it than a general function may assume: a probability is a factor and never needs the
 * denormal numbers, and e^d - d - 1 keeps all its digits near 0 when 1 and d are taken away before anything is rounded.
 */
import { constant, type Inline, inline } from "../../kernel/declare.ts";
import type { FloatScalar } from "../inputs.ts";

/**
 * What is computed of each token, with a and b its log-probabilities under the first and the second model:
 * `exact` e^a (a - b), `k1` a - b, `k2` (a - b)^2 / 2, `k3` e^(b - a) - (b - a) - 1.
 */
export type KlEstimator = "exact" | "k1" | "k2" | "k3";

type Bits = (x: number) => number;
/** A product, handed over as its two factors so that a sum of such products can take both in one operation. */
interface Product {
  readonly weight: number;
  readonly rest: number;
}
/** `bits` and `fromBits` are those of the kernel, and used in single precision only. */
export type KlTerm = Inline<(a: number, b: number, bits: Bits, fromBits: Bits) => Product>;

/** Adding 1.5 to a multiple of this leaves the multiple in the low bits of the sum. */
const STEP = 2 ** -23;
/** x = n ln 2 + r with |r| <= ln 2 / 2, n in steps of STEP; e^r = 1 + r + r^2 (c2 + c3 r + ...). */
const EXPONENTIAL = constant({
  log2e: Math.LOG2E * STEP,
  ln2: Math.LN2 / STEP,
  c2: 0.49999991059303284,
  c3: 0.16666510701179504,
  c4: 0.041668519377708435,
  c5: 0.00836985930800438,
  c6: 0.0013829712988808751,
});

/** Probabilities below 2^-127 count as 0. Logarithms above 88.3, which are none of probabilities, count as that. */
const exactInSingle: KlTerm = inline(
  { e: EXPONENTIAL, rounder: constant(1.5 + 127 * STEP) },
  ({ e, rounder }, a: number, b: number, bits: Bits, fromBits: Bits) => {
    const limited = 88.3 < a ? 88.3 : a;
    const x = -88 > limited ? -88 : limited;
    const rounded = x * e.log2e + rounder;
    const n = rounded - rounder;
    const r = x - n * e.ln2;
    const s = r * r;
    const q = s * (e.c2 + s * (e.c4 + s * e.c6) + r * (e.c3 + s * e.c5)) + r;
    const power = fromBits(bits(rounded) << 23);
    return { weight: q * power + power, rest: a - b };
  },
);

/** With p = 2^(n-1), half of it is p (e^r - 1 - r) + (p r - d / 2) + (p - 1/2); the last two are 0 when n is. */
const k3InSingle: KlTerm = inline(
  { e: EXPONENTIAL, rounder: constant(1.5 + 126 * STEP) },
  ({ e, rounder }, a: number, b: number, bits: Bits, fromBits: Bits) => {
    const d = b - a;
    const limited = 89 < d ? 89 : d;
    const x = -80 > limited ? -80 : limited;
    const rounded = x * e.log2e + rounder;
    const n = rounded - rounder;
    const r = x - n * e.ln2;
    const s = r * r;
    const bend = s * (e.c2 + s * (e.c4 + s * e.c6) + r * (e.c3 + s * e.c5));
    const power = fromBits(bits(rounded) << 23);
    const half = power * bend + (power * r - 0.5 * limited) + (power - 0.5);
    return { weight: 2, rest: half };
  },
);

const k1: KlTerm = inline((a: number, b: number) => ({ weight: 1, rest: a - b }));
const k2: KlTerm = inline((a: number, b: number) => ({ weight: 0.5 * (a - b), rest: a - b }));

const TERMS: { readonly [D in FloatScalar["dtype"]]: { readonly [E in KlEstimator]: KlTerm } } = {
  f32: { exact: exactInSingle, k1, k2, k3: k3InSingle },
  f64: {
    exact: inline((a: number, b: number) => ({ weight: Math.exp(a), rest: a - b })),
    k1,
    k2,
    k3: inline((a: number, b: number) => {
      // From 710 on e^d is infinite, and must not meet a d that is infinite too.
      const d = 710 < b - a ? 710 : b - a;
      return { weight: 1, rest: Math.expm1(d) - d };
    }),
  },
};

export const klTerm = (type: FloatScalar, estimator: KlEstimator): KlTerm => TERMS[type.dtype][estimator];
