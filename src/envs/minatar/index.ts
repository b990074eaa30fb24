/**
 * @file The MinAtar family: five Atari games on ten by ten cells.
 */
export { Asterix } from "./asterix.ts";
export { Breakout } from "./breakout.ts";
export { Freeway } from "./freeway.ts";
export { Seaquest } from "./seaquest.ts";
export { SpaceInvaders } from "./spaceInvaders.ts";
