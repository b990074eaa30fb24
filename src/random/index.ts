/**
 * @file The random generator: Threefry and what is drawn from it, as IR (`Stream`) and on the host (`HostStream`).
 */
export { HostPermutation, HostStream, threefry } from "./host.ts";
export { Permutation, permutedIndex, shuffle } from "./permutation.ts";
export { createStream, Stream } from "./stream.ts";
export { threefry2x32 } from "./threefry.ts";
