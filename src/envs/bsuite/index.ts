/**
 * @file Environments of bsuite, as gymnax has them.
 */
export { Catch, makeCatch } from "./catch.ts";
export { DeepSea, makeDeepSea } from "./deepSea.ts";
export { DiscountingChain } from "./discountingChain.ts";
export { MemoryChain, makeMemoryChain } from "./memoryChain.ts";
export { MNIST_BANDIT, mnistBandit } from "./mnistBandit.ts";
export { SimpleBandit } from "./simpleBandit.ts";
export { UmbrellaChain } from "./umbrellaChain.ts";
