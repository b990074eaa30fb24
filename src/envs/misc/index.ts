/**
 * @file Environments that belong to no suite, as gymnax has them, and CartPole whose physics drift.
 */
export { BernoulliBandit } from "./bernoulliBandit.ts";
export { FourRooms } from "./fourRooms.ts";
export { FrozenLake } from "./frozenLake.ts";
export { GaussianBandit } from "./gaussianBandit.ts";
export { MetaMaze } from "./metaMaze.ts";
export { NonStationaryCartPole } from "./nonStationaryCartPole.ts";
export { PointRobot } from "./pointRobot.ts";
export { Pong } from "./pong.ts";
export { Reacher } from "./reacher.ts";
export { Swimmer } from "./swimmer.ts";
