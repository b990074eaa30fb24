/**
 * @file Attention: every query sees the values whose keys are like it.
 */

import { named } from "../tensor/build.ts";
import { iota } from "../tensor/make.ts";
import { type Tensor, where } from "../tensor/tensor.ts";

export interface AttentionOptions {
  /** Steps see only themselves and earlier ones. */
  readonly causal?: boolean;
  /** Which keys a query may see: true or false for [..., queries, keys]. */
  readonly mask?: Tensor;
  /** What scores are multiplied by; one over the root of the size of keys unless given. */
  readonly scale?: number;
}

/** Scaled products of queries [..., queries, size] and keys [..., keys, size], as shares of values [..., keys, size]. */
export function attention(queries: Tensor, keys: Tensor, values: Tensor, options: AttentionOptions = {}): Tensor {
  const { causal = false, mask, scale = 1 / Math.sqrt(queries.size(-1)) } = options;
  return named("attention", () => {
    const scores = queries.matmul(keys.transpose()).mul(scale);
    const [rows, columns] = [iota(scores.size(-2)), iota(scores.size(-1))];
    const earlier = columns.le(rows.unsqueeze(-1));
    const seen = causal ? (mask ? mask.and(earlier) : earlier) : mask;
    const shares = (seen ? where(seen, scores, Number.NEGATIVE_INFINITY) : scores).softmax();
    return shares.matmul(values);
  });
}
