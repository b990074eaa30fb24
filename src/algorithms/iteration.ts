/**
 * @file An iteration of an on-policy algorithm as programs: one program for all of it, or one for each phase.
 *
 * The whole one is a single crossing. Phases apart are for worlds of JavaScript objects, which have to be stepped in
 * between, and for measuring where the time goes; the numbers are the same, bit for bit.
 */
import { input, program, repeat, type Tensor, type TensorProgram, type TensorProgramOptions } from "../tensor/index.ts";
import { concat } from "../tensor/make.ts";
import type { Rollout } from "./rollout.ts";
import type { CompiledWorldParts } from "./world.ts";

/** Scalars by name; recorded in the last phase. */
export type Told = { readonly [name: string]: Tensor };

/** Where the time of an iteration goes. */
export const PHASES = ["policy", "environment", "gae", "update", "other"] as const;
export type Phase = (typeof PHASES)[number];
export type PhaseSeconds = { [P in Phase]: number };

export interface IterationOptions extends TensorProgramOptions {
  /** Whether each phase is a program of its own. */
  readonly split?: boolean;
}

type NamedProgram = TensorProgram<{ readonly told: Tensor }>;

export class Iteration {
  /** Seconds of all iterations so far, by phase; only when they are split. */
  readonly seconds: PhaseSeconds | undefined;
  /** The program that ends an iteration: all of it, or its update. */
  readonly last: NamedProgram;
  readonly #name: string;
  readonly #rollout: Rollout;
  readonly #options: IterationOptions;
  readonly #programs: TensorProgram[] = [];
  readonly #run: () => void;
  #names: readonly string[] = [];

  /** `learn` records what follows a rollout, and gives what an iteration tells. */
  constructor(name: string, rollout: Rollout, learn: () => Told, options: IterationOptions = {}) {
    const { split = rollout.world.kind === "host", ...programOptions } = options;
    this.#name = name;
    this.#rollout = rollout;
    this.#options = programOptions;
    this.seconds = split ? { policy: 0, environment: 0, gae: 0, update: 0, other: 0 } : undefined;
    const told = (): { readonly told: Tensor } => {
      const named = learn();
      this.#names = Object.keys(named);
      return { told: concat(Object.values(named).map((x) => x.to("f32").reshape([1]))) };
    };
    if (rollout.observationNorm) this.#make("first", () => this.#nothing(() => rollout.first())).run();
    this.last = split ? this.#make("update", told) : this.#make("iteration", () => this.#record(told));
    this.#run = split ? this.#phases() : () => this.last.run();
  }

  #make<O extends { readonly [name: string]: Tensor }>(part: string, build: () => O): TensorProgram<O> {
    const made = program(`${this.#name} ${part}`, build, this.#options).load();
    this.#programs.push(made);
    return made;
  }
  #nothing(record: () => void): Record<never, Tensor> {
    record();
    return {};
  }

  #record(told: () => { readonly told: Tensor }): { readonly told: Tensor } {
    const { world, steps } = this.#rollout;
    if (world.kind === "host") throw new TypeError("a world of JavaScript objects cannot be stepped in a program");
    this.#rollout.begin();
    repeat(steps, (t) => {
      world.step(this.#rollout.act(t), t);
      this.#rollout.observe(t);
    });
    this.#rollout.estimate();
    return told();
  }

  /** A program for each phase, and the loop over them. */
  #phases(): () => void {
    const rollout = this.#rollout;
    const { world, steps, agent, actions } = rollout;
    const row = (): Tensor => input("t", "i32", []);
    const begin = this.#make("begin", () => this.#nothing(() => rollout.begin()));
    const act = this.#make("act", () => ({ action: rollout.act(row()) }));
    const observe = this.#make("observe", () => this.#nothing(() => rollout.observe(row())));
    const estimate = this.#make("estimate", () => this.#nothing(() => rollout.estimate()));
    const compiledStep = (inner: CompiledWorldParts): ((t: number) => void) => {
      const inside = (t: Tensor): void => inner.step(agent.toWorld(actions.value.gather(t)), t);
      const made = this.#make("step", () => this.#nothing(() => inside(row())));
      return (t) => void made.run({ t });
    };
    const step =
      world.kind === "compiled" ? compiledStep(world) : (t: number): void => world.step(act.outputs.action, t);
    return () => {
      this.#time("other", () => begin.run());
      for (let t = 0; t < steps; t++) {
        this.#time("policy", () => act.run({ t }));
        this.#time("environment", () => step(t));
        this.#time("other", () => observe.run({ t }));
      }
      this.#time("gae", () => estimate.run());
      this.#time("update", () => this.last.run());
    };
  }
  #time(phase: Phase, run: () => void): void {
    const start = performance.now();
    run();
    if (this.seconds) this.seconds[phase] += (performance.now() - start) / 1000;
  }

  /** One iteration; what it tells. */
  run(): { readonly [name: string]: number } {
    const start = performance.now();
    const before = this.seconds && total(this.seconds);
    this.#run();
    if (this.seconds)
      this.seconds.other += (performance.now() - start) / 1000 - (total(this.seconds) - (before as number));
    const told = this.last.outputs.told;
    return Object.fromEntries(this.#names.map((name, k) => [name, told[k] as number]));
  }
  get crossings(): number {
    return this.#programs.reduce((sum, one) => sum + one.crossings, 0);
  }
  dispose(): void {
    for (const one of this.#programs) one.dispose();
  }
}

const total = (seconds: PhaseSeconds): number => PHASES.reduce((sum, phase) => sum + seconds[phase], 0);
