/**
 * @file Actor and critic: from observations to a distribution of actions and to a value, for every kind of space.
 *
 * They are separate networks, or two heads on one trunk. Images may go through convolutions first; numbers that stand
 * for one of several things become a row with a single 1.
 */
import * as z from "zod";
import { categorical, gaussian, multiDiscrete } from "../distributions/index.ts";
import { choiceCount, EnvironmentError, maskSize, observationSize } from "../envs/define.ts";
import type { VectorEnv } from "../envs/vector/face.ts";
import {
  activate,
  type Conv,
  conv,
  filled,
  type Linear,
  linear,
  type Mlp,
  mlp,
  orthogonal,
  type Parameters,
} from "../nn/index.ts";
import { type Key, type Tensor, type TensorType, table } from "../tensor/index.ts";
import { actionShape } from "./world.ts";

/** What a policy needs to know of the world. */
export type Spaces = Pick<VectorEnv["env"], "id" | "observation" | "action">;

/** The keys of a configuration that say what the networks are like. */
export const networkKeys = {
  /** Widths of the hidden layers. */
  netArch: z.array(z.int().positive()).max(16).default([64, 64]),
  activation: z.enum(["tanh", "relu", "elu", "silu"]).default("tanh"),
  /** Whether actor and critic share all layers but the last. */
  shared: z.boolean().default(false),
  /** Channels of 3x3 convolutions in front of the hidden layers; for images [height, width, channels] only. */
  convFilters: z.array(z.int().positive()).max(8).default([]),
  /** The logarithm of the deviation of continuous actions at the beginning. */
  logStdInit: z.number().default(0),
};
export type NetworkConfig = z.output<z.ZodObject<typeof networkKeys>>;

/** A distribution of actions, whatever they are. */
export interface ActionDistribution {
  sample(key: Key): Tensor;
  mode(): Tensor;
  logProb(action: Tensor): Tensor;
  entropy(): Tensor;
}

const WINDOW = 3;

/** Layers between an observation and the heads. */
interface Body {
  apply(features: Tensor): Tensor;
  readonly outputs: number;
}

export class ActorCritic {
  readonly parameters: Parameters;
  readonly actionType: TensorType;
  /** The shape of one environment's action. */
  readonly actionShape: readonly number[];
  readonly #spaces: Spaces;
  readonly #config: NetworkConfig;
  readonly #actor: Body;
  readonly #critic: Body;
  readonly #heads: { readonly policy: Linear; readonly value: Linear };

  constructor(spaces: Spaces, config: NetworkConfig, parameters: Parameters) {
    this.#spaces = spaces;
    this.#config = config;
    this.parameters = parameters;
    this.actionType = spaces.action.kind === "box" ? "f32" : "i32";
    this.actionShape = actionShape(spaces.action);
    this.#actor = this.#body(config.shared ? "trunk" : "actor");
    this.#critic = config.shared ? this.#actor : this.#body("critic");
    const last = String(config.netArch.length);
    const head = (name: string, inputs: number, outputs: number, gain: number): Linear =>
      linear({ name, suffix: last, inputs, outputs, weights: orthogonal(gain), parameters });
    this.#heads = {
      policy: head("actor", this.#actor.outputs, logitsOf(spaces.action), 0.01),
      value: head("critic", this.#critic.outputs, 1, 1),
    };
    if (spaces.action.kind === "box") parameters.declare("logStd", this.actionShape, filled(config.logStdInit));
  }

  /** Convolutions and hidden layers. */
  #body(name: string): Body {
    const { parameters } = this;
    const { netArch, activation, convFilters } = this.#config;
    const convolutions = this.#convolutions(name);
    const inputs = convolutions?.outputs ?? featuresOf(this.#spaces);
    const [outputs = inputs, ...hidden] = [...netArch].reverse();
    const layers: Mlp | undefined = netArch.length
      ? mlp({
          name,
          inputs,
          hidden: hidden.reverse(),
          outputs,
          activation,
          outputActivation: activation,
          headGain: Math.SQRT2,
          parameters,
        })
      : undefined;
    const apply = (features: Tensor): Tensor => {
      const seen = convFilters.length ? (convolutions as Body).apply(features) : features;
      return layers?.apply(seen) ?? seen;
    };
    return { apply, outputs };
  }
  #convolutions(name: string): Body | undefined {
    const { convFilters, activation } = this.#config;
    const { id, observation } = this.#spaces;
    if (convFilters.length === 0) return undefined;
    const shape = observation.kind === "box" ? observation.shape : [];
    const shrunk = shape.slice(0, 2).map((size) => size - convFilters.length * (WINDOW - 1));
    if (shape.length !== 3 || shrunk.some((size) => size < 1))
      throw new EnvironmentError(
        `${id}: convFilters [${convFilters.join(", ")}] need images of at least ` +
          `${convFilters.length * (WINDOW - 1) + 1} by as many; observations are [${shape.join(", ")}]`,
      );
    let inputs = shape[2] as number;
    const layers: Conv[] = convFilters.map((outputs, k) => {
      const made = conv({ name: `${name}.conv${k}`, inputs, outputs, window: WINDOW, parameters: this.parameters });
      inputs = outputs;
      return made;
    });
    const outputs = (shrunk[0] as number) * (shrunk[1] as number) * inputs;
    const apply = (features: Tensor): Tensor => {
      const images = features.reshape([-1, ...shape]);
      const seen = layers.reduce((x, layer) => activate(layer.apply(x), activation), images);
      return seen.reshape([...features.shape.slice(0, -1), outputs]);
    };
    return { apply, outputs };
  }

  /** Observations as the first layer takes them. */
  #features(obs: Tensor): Tensor {
    const { observation } = this.#spaces;
    if (observation.kind !== "discrete") return obs;
    return obs.reshape(obs.shape.slice(0, -1)).to("i32").sub(observation.start).oneHot(observation.n);
  }

  /** Which choices are allowed, where observations say so. */
  #mask(obs: Tensor): { readonly mask?: Tensor } {
    const { observation, action } = this.#spaces;
    const count = maskSize(observation, action);
    const size = observationSize(observation);
    return count === 0 ? {} : { mask: obs.slice(-1, size - count, size).gt(0.5) };
  }

  policy(obs: Tensor): ActionDistribution {
    return this.#distribution(this.#actor.apply(this.#features(obs)), obs);
  }
  /** One number for each observation. */
  value(obs: Tensor): Tensor {
    return this.#valueOf(this.#critic.apply(this.#features(obs)));
  }
  both(obs: Tensor): { readonly policy: ActionDistribution; readonly value: Tensor } {
    const features = this.#features(obs);
    const hidden = this.#actor.apply(features);
    const other = this.#critic === this.#actor ? hidden : this.#critic.apply(features);
    return { policy: this.#distribution(hidden, obs), value: this.#valueOf(other) };
  }
  #valueOf(hidden: Tensor): Tensor {
    return this.#heads.value.apply(hidden).reshape(hidden.shape.slice(0, -1));
  }
  #distribution(hidden: Tensor, obs: Tensor): ActionDistribution {
    const { action } = this.#spaces;
    const head = this.#heads.policy.apply(hidden);
    switch (action.kind) {
      case "discrete":
        return categorical(head, this.#mask(obs));
      case "multiDiscrete":
        return multiDiscrete(head, action.counts, this.#mask(obs));
      case "box":
        return gaussian(head, this.parameters.value("logStd"));
      default:
        return action satisfies never;
    }
  }

  /** Actions as the world takes them: counted from where it counts, continuous ones within its bounds. */
  toWorld(action: Tensor): Tensor {
    const space = this.#spaces.action;
    switch (space.kind) {
      case "discrete":
        return space.start === 0 ? action : action.add(space.start);
      case "multiDiscrete":
        return action;
      case "box":
        return action.clamp(limit(space.low), limit(space.high));
      default:
        return space satisfies never;
    }
  }
}

const limit = (of: number | readonly number[]): number | Tensor => (typeof of === "number" ? of : table(of));

/** Numbers that the first layer takes. */
function featuresOf({ observation }: Spaces): number {
  return observation.kind === "discrete" ? observation.n : observationSize(observation);
}
/** Numbers that the last layer of the actor gives. */
const logitsOf = (action: Spaces["action"]): number => choiceCount(action) || (actionShape(action)[0] as number);
