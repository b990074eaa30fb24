/**
 * @file Attention: every query sees the values whose keys are like it.
 */
import { type OptionNames, strayOption } from "../platform/suggest.ts";
import { named, refuse } from "../tensor/build.ts";
import { FORBIDDEN, iota } from "../tensor/make.ts";
import { type Tensor, where } from "../tensor/tensor.ts";

export interface AttentionOptions {
  /** The query of step i sees the keys of steps 0 to i; there are as many keys as queries. */
  readonly causal?: boolean;
  /** Which keys a query may see: bool, [..., queries, keys]. What sees nothing is 0. */
  readonly mask?: Tensor;
  /** What scores are multiplied by; one over the root of the size of keys unless given. */
  readonly scale?: number;
}
const OPTIONS: OptionNames<AttentionOptions> = { causal: true, mask: true, scale: true };

/** Products of queries [..., queries, size] and keys [..., keys, size], as shares of values [..., keys, width]. */
export function attention(queries: Tensor, keys: Tensor, values: Tensor, options: AttentionOptions = {}): Tensor {
  const stray = strayOption(options, OPTIONS);
  if (stray) refuse("attention", stray);
  return named("attention", () => {
    const scores = queries.matmul(keys.transpose()).mul(options.scale ?? 1 / Math.sqrt(queries.size(-1)));
    const seen = seenIn(scores, options);
    if (!seen) return scores.softmax().matmul(values);
    return where(seen, where(seen, scores, FORBIDDEN).softmax(), 0).matmul(values);
  });
}

/** Which keys queries see; all unless something is said. */
function seenIn(scores: Tensor, { causal = false, mask }: AttentionOptions): Tensor | undefined {
  if (!causal) return mask;
  const [queries, keys] = [scores.size(-2), scores.size(-1)];
  if (queries !== keys)
    refuse("attention", `causal with ${queries} queries and ${keys} keys: which are earlier is for a mask to say`);
  const earlier = iota(keys).le(iota(queries).unsqueeze(-1));
  return mask ? mask.and(earlier) : earlier;
}
