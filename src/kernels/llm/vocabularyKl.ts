/**
 * @file KL divergence between two models over the whole vocabulary, from their logits at each position.
 */
import { i32 } from "../../kernel/declare.ts";
import { kernel } from "../../kernel/kernel.ts";
import {
  checkFloats,
  checkLike,
  countParts,
  type FloatArray,
  type FloatType,
  outputLike,
  perFloat,
  type RunChoice,
} from "./arguments.ts";
import type { KlDirection } from "./tokenKl.ts";

const kernelFor = perFloat((type: FloatType) =>
  kernel(
    { first: type.array(), second: type.array(), kl: type.array(), size: i32 },
    ({ first, second, kl, size }, { parallel }) => {
      for (let p = 0; p < kl.length; p++) {
        const at = p * size;
        let most = -Infinity;
        let otherMost = -Infinity;
        parallel(size, (v) => {
          most = Math.max(most, first[at + v]!);
          otherMost = Math.max(otherMost, second[at + v]!);
        });
        let sum = 0;
        let otherSum = 0;
        let weighted = 0;
        parallel(size, (v) => {
          const a = first[at + v]! - most;
          const b = second[at + v]! - otherMost;
          const e = Math.exp(a);
          sum += e;
          otherSum += Math.exp(b);
          weighted += e * (a - b);
        });
        // sum of p (log p - log q), where log p = a - log(sum) and log q = b - log(otherSum).
        kl[p] = weighted / sum - (Math.log(sum) - Math.log(otherSum));
      }
    },
    { name: "vocabularyKl" },
  ),
);

export interface VocabularyKlInput<F extends FloatArray> {
  /** Logits of the policy, position after position; they need not be normalised. */
  readonly policy: F;
  readonly reference: F;
  /** Logits per position. */
  readonly vocabulary: number;
  readonly out?: { readonly kl?: F | undefined } | undefined;
}

/** KL(first || second) at every position, `policy||reference` unless another direction is given. */
export function vocabularyKl<F extends FloatArray>(
  { policy, reference, vocabulary, out }: VocabularyKlInput<F>,
  options: RunChoice & { readonly direction?: KlDirection | undefined } = {},
): { kl: F } {
  checkFloats("vocabularyKl: policy", policy);
  checkLike("vocabularyKl: reference", reference, policy, policy.length);
  const positions = countParts("vocabularyKl: policy", policy, "vocabulary", vocabulary);
  const kl = outputLike("vocabularyKl: out.kl", out?.kl, policy, positions);
  const swapped = options.direction === "reference||policy";
  const [first, second] = swapped ? [reference, policy] : [policy, reference];
  if (positions > 0) kernelFor(policy, options)({ first, second, kl, size: vocabulary });
  return { kl };
}
