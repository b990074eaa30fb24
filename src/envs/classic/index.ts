/**
 * @file Classic control.
 */
export { Acrobot } from "./acrobot.ts";
export { CartPole } from "./cartPole.ts";
export { MountainCar } from "./mountainCar.ts";
export { MountainCarContinuous } from "./mountainCarContinuous.ts";
export { Pendulum } from "./pendulum.ts";
