/**
 * @file Operations of language-model post-training: advantages, divergences, preferences, packing.
 */
export { type BestOfInput, bestOfN } from "./bestOf.ts";
export { AdaptiveKlController, type KlControllerOptions } from "./controller.ts";
export { type DpoArrays, type DpoInput, type DpoOptions, type DpoResult, dpoLoss } from "./dpo.ts";
export { type GroupInput, type GroupOptions, groupAdvantages } from "./groups.ts";
export type { KlEstimator } from "./klTerms.ts";
export { type PackedBin, packSequences } from "./packing.ts";
export { type DpoPair, DpoPairs, type PairTokens } from "./pairs.ts";
export {
  type KlDirection,
  type KlReduction,
  type TokenKlInput,
  type TokenKlOptions,
  tokenKl,
} from "./tokenKl.ts";
export { type VocabularyKlInput, vocabularyKl } from "./vocabularyKl.ts";
