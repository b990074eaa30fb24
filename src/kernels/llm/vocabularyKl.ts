/**
 * @file KL divergence between two models over the whole vocabulary, from their logits at each position.
 */
import { i32 } from "../../kernel/declare.ts";
import { kernel } from "../../kernel/kernel.ts";
import { needParts } from "../checks.ts";
import { type Floats, floatType, needLike, output, type RunChoice, Variants } from "../inputs.ts";
import { type KlDirection, needDirection } from "./tokenKl.ts";

const divergence = new Variants((type) =>
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
          // What the first model rules out (a logit of -Infinity) counts for nothing, whatever the second says.
          weighted += e > 0 ? e * (a - b) : 0;
        });
        // sum of p (log p - log q), where log p = a - log(sum) and log q = b - log(otherSum).
        kl[p] = weighted / sum - (Math.log(sum) - Math.log(otherSum));
      }
    },
    { name: "vocabularyKl" },
  ),
);

export interface VocabularyKlInput<F extends Floats> {
  /** Logits of the policy, position after position; they need not be normalised. */
  readonly policy: F;
  readonly reference: F;
  /** Logits per position. */
  readonly vocabulary: number;
  readonly out?: { readonly kl?: F | undefined } | undefined;
}

/** KL(first || second) at every position, `policy||reference` unless another direction is given. */
export function vocabularyKl<F extends Floats>(
  { policy, reference, vocabulary, out }: VocabularyKlInput<F>,
  options: RunChoice & { readonly direction?: KlDirection | undefined } = {},
): { kl: F } {
  const who = "vocabularyKl";
  const { direction = "policy||reference" } = options;
  const type = floatType(who, "policy", policy);
  needLike(who, "reference", reference, policy);
  needDirection(who, direction);
  const positions = needParts(who, "policy", policy, "vocabulary", vocabulary);
  const kl = output(who, "out.kl", out?.kl, policy, positions);
  const swapped = direction === "reference||policy";
  const [first, second] = swapped ? [reference, policy] : [policy, reference];
  if (positions > 0) divergence.runner(options, type)({ first, second, kl, size: vocabulary });
  return { kl };
}
