/**
 * @file All environments by their ids, which are those of Gymnasium and gymnax. Definitions are read-only.
 *
 * MNISTBandit-bsuite is made of the user's pictures: it is listed, and asking for it says how to make it.
 */
import { didYouMean, nearest } from "../platform/suggest.ts";
import {
  Catch,
  DeepSea,
  DiscountingChain,
  MemoryChain,
  MNIST_BANDIT,
  SimpleBandit,
  UmbrellaChain,
} from "./bsuite/index.ts";
import { Acrobot, CartPole, MountainCar, MountainCarContinuous, Pendulum } from "./classic/index.ts";
import { type Environment, EnvironmentError } from "./define.ts";
import { Asterix, Breakout, Freeway, Seaquest, SpaceInvaders } from "./minatar/index.ts";
import {
  BernoulliBandit,
  FourRooms,
  FrozenLake,
  GaussianBandit,
  MetaMaze,
  NonStationaryCartPole,
  PointRobot,
  Pong,
  Reacher,
  Swimmer,
} from "./misc/index.ts";

/** Asked for by an id that no environment has. */
export class UnknownEnvironmentError extends EnvironmentError {
  override readonly name: string = "UnknownEnvironmentError";
}

/** Every environment that needs nothing but its definition. */
export const environments = Object.freeze({
  "CartPole-v1": CartPole,
  "Acrobot-v1": Acrobot,
  "MountainCar-v0": MountainCar,
  "MountainCarContinuous-v0": MountainCarContinuous,
  "Pendulum-v1": Pendulum,
  "Catch-bsuite": Catch,
  "DeepSea-bsuite": DeepSea,
  "DiscountingChain-bsuite": DiscountingChain,
  "MemoryChain-bsuite": MemoryChain,
  "SimpleBandit-bsuite": SimpleBandit,
  "UmbrellaChain-bsuite": UmbrellaChain,
  "BernoulliBandit-misc": BernoulliBandit,
  "FourRooms-misc": FourRooms,
  "FrozenLake-misc": FrozenLake,
  "GaussianBandit-misc": GaussianBandit,
  "MetaMaze-misc": MetaMaze,
  "PointRobot-misc": PointRobot,
  "Pong-misc": Pong,
  "Reacher-misc": Reacher,
  "Swimmer-misc": Swimmer,
  "Asterix-MinAtar": Asterix,
  "Breakout-MinAtar": Breakout,
  "Freeway-MinAtar": Freeway,
  "Seaquest-MinAtar": Seaquest,
  "SpaceInvaders-MinAtar": SpaceInvaders,
  NonStationaryCartPole,
});
export type EnvironmentId = keyof typeof environments;

/** What a listing shows of an environment. */
export type EnvironmentOutline = Pick<Environment, "id" | "observation" | "action" | "maxSteps" | "solved"> & {
  /** What the environment is made of, where that is more than its definition. */
  readonly needs?: string;
};
const MNIST_OUTLINE: EnvironmentOutline = Object.freeze({
  ...MNIST_BANDIT,
  needs: "pictures: mnistBandit(images, labels) takes the bytes of two IDX files",
});

/** Every environment there is, families together, with those that need data. */
export const environmentOutlines: readonly EnvironmentOutline[] = Object.freeze(
  Object.values<EnvironmentOutline>(environments).flatMap((env) =>
    env.id === MemoryChain.id ? [env, MNIST_OUTLINE] : [env],
  ),
);

const isKnown = (id: string): id is EnvironmentId => Object.hasOwn(environments, id);

/** The environment of an id. */
export function environment<I extends EnvironmentId>(id: I): (typeof environments)[I];
export function environment(id: string): Environment;
export function environment(id: string): Environment {
  if (isKnown(id)) return environments[id];
  if (id === MNIST_OUTLINE.id) throw new EnvironmentError(`${id} needs ${MNIST_OUTLINE.needs}`);
  const known = environmentOutlines.map((outline) => outline.id);
  // People leave the family or the version out: what is left is nearer than any count of letters.
  const short = new Map(known.map((name) => [name.replace(/-[^-]*$/, ""), name]));
  const near = short.get(nearest(id, short.keys()) ?? "");
  const hint = id.includes("-") || near === undefined ? didYouMean(id, known) : ` Did you mean "${near}"?`;
  throw new UnknownEnvironmentError(`There is no environment "${id}".${hint} "lockstep envs" lists them all.`);
}
