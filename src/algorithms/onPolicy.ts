/**
 * @file What algorithms that learn from their last rollout have in common: networks, rollout, iterations, states.
 *
 * An algorithm adds its configuration and how it learns; everything else is the same for all of them.
 */
import * as z from "zod";
import type { Numerics } from "../ir/pipeline.ts";
import { Parameters } from "../nn/index.ts";
import type { TargetName } from "../targets/target.ts";
import { randomState, type State, StateScope, state, type Tensor } from "../tensor/index.ts";
import { ActorCritic, type NetworkConfig } from "./actorCritic.ts";
import type { Algorithm } from "./algorithm.ts";
import { Iteration, type IterationOptions, type PhaseSeconds, type Told } from "./iteration.ts";
import { Rollout, type RolloutConfig } from "./rollout.ts";
import type { World } from "./world.ts";

const LINEAR = /^lin_(\d+\.?\d*(e[+-]?\d+)?|\.\d+(e[+-]?\d+)?)$/i;
/** A number, or "lin_x": x at the beginning of the run, falling to 0 at its end. */
export const scheduled = z.union([
  z.number(),
  z.string().regex(LINEAR, { error: 'a number, or a text such as "lin_2.5e-4", which falls from it to 0' }),
]);
export type ScheduledNumber = z.output<typeof scheduled>;

export interface OnPolicyOptions extends IterationOptions {
  /** What the algorithm's states belong to; they go when it is disposed of. */
  readonly scope?: StateScope;
  /** What networks and choices follow from. */
  readonly seed?: number;
  /** Environment steps of the whole run: what falling numbers fall over. */
  readonly totalSteps: number;
}

export abstract class OnPolicy<C extends RolloutConfig & NetworkConfig> implements Algorithm {
  abstract readonly name: string;
  readonly config: C;
  readonly agent: ActorCritic;
  readonly rollout: Rollout;
  protected readonly random: State;
  /** How many iterations are done. */
  protected readonly done: State;
  /** How many there will be; and as a state, so that longer runs are the same programs. */
  readonly iterations: number;
  readonly #iterations: State;
  readonly #options: IterationOptions;
  readonly #scope: StateScope;
  #iteration: Iteration | undefined;

  constructor(world: World, config: C, options: OnPolicyOptions) {
    const { seed = 0, totalSteps, scope = new StateScope(), ...iterationOptions } = options;
    this.config = config;
    const round = config.rounding === "down" ? Math.floor : Math.ceil;
    this.iterations = Math.max(1, round(totalSteps / this.stepsPerIteration));
    this.#iterations = state("f32", [], { name: "allIterations", from: [this.iterations] });
    this.random = randomState(seed);
    this.done = state("i32", [], { name: "iterations" });
    this.agent = new ActorCritic(world.env, config, new Parameters({ seed }));
    this.rollout = new Rollout(world, this.agent, config, this.random);
    this.#options = iterationOptions;
    this.#scope = scope;
  }

  /** Records what follows a rollout; what it tells. */
  protected abstract learn(): Told;

  /** Compiles now instead of at the first iteration. */
  load(): this {
    this.#loaded();
    return this;
  }
  #loaded(): Iteration {
    this.#iteration ??= this.#scope.run(
      () => new Iteration(this.name, this.rollout, () => this.#record(), this.#options),
    );
    return this.#iteration;
  }
  #record(): Told {
    const { rollout } = this;
    const before = {
      explained_variance: rollout.explainedVariance(),
      reward_per_step: rollout.flat(rollout.world.rollout.reward).mean(),
      ...rollout.episodes.metrics(),
    };
    const told = this.learn();
    this.done.assign(this.done.value.add(1));
    return { ...told, ...before };
  }
  iterate(): { readonly [name: string]: number } {
    return this.#loaded().run();
  }

  /** What a number is when `done` iterations are done. */
  protected scheduledAt(value: ScheduledNumber, done: () => Tensor): number | Tensor {
    if (typeof value === "number") return value;
    const remaining = done().div(this.#iterations.value).minimum(1).neg().add(1);
    return remaining.mul(Number(value.slice("lin_".length)));
  }

  get parameters(): Parameters {
    return this.agent.parameters;
  }
  get spaces(): World["env"] {
    return this.rollout.world.env;
  }
  get stepsPerIteration(): number {
    return this.config.nEnvs * this.config.nSteps;
  }
  get states(): ReadonlyMap<string, State> {
    const { rollout } = this;
    const named = [...rollout.states, this.random, this.done].map((one): [string, State] => [one.name, one]);
    const world = [...rollout.world.states].map(([name, one]): [string, State] => [`world.${name}`, one]);
    return new Map([...world, ...named]);
  }
  get crossings(): number {
    return this.#iteration?.crossings ?? 0;
  }
  get phases(): PhaseSeconds | undefined {
    return this.#iteration?.seconds;
  }
  get target(): TargetName {
    return this.#loaded().last.target.name;
  }
  get numerics(): Numerics {
    return this.#loaded().last.numerics;
  }
  /** The loops that an iteration consists of; with `time`, how long each takes. */
  explain(options?: { readonly time?: boolean }): string {
    return this.#loaded().last.explain(options);
  }
  dispose(): void {
    this.#iteration?.dispose();
    this.#scope.dispose();
  }
}
