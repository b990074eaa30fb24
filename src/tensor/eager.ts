/**
 * @file Runs a recorded program step by step: each is a program of its own, on arrays of the heap.
 *
 * Eagerly nothing is fused, and every operation crosses into compiled code; the numbers are those of the whole program.
 * With the whole program's steps it is how their times are taken.
 */
import type { TypedArray } from "../ir/arrays.ts";
import { buffer, i32, load } from "../ir/build.ts";
import type { Buffer, Expr } from "../ir/nodes.ts";
import { usedBuffers } from "../ir/walk.ts";
import { Program, type ProgramOptions } from "../runtime/program.ts";
import { defaultThreads } from "../runtime/targets.ts";
import type { Target } from "../targets/target.ts";
import { emitModule } from "./emit/module.ts";
import type { TileMachine } from "./emit/tiles.ts";
import type { Block } from "./nodes.ts";
import type { Step } from "./plan.ts";
import { Scheduler } from "./schedule.ts";
import type { State } from "./state.ts";
import { argumentsOf, type Port, Wiring } from "./wiring.ts";

interface EagerOptions {
  readonly target: Target;
  readonly machine: TileMachine;
  readonly options: Partial<ProgramOptions>;
  /** Runs the steps of the whole program instead of one operation at a time. */
  readonly fuse?: boolean;
}

export class EagerRun {
  readonly #name: string;
  readonly #wiring: Wiring;
  readonly #plan: readonly Step[];
  readonly #options: EagerOptions;
  readonly #programs = new Map<Step, { readonly program: Program; readonly run: () => void }>();
  /** The number of the current iteration of each loop, in memory, where its operations read it. */
  readonly #counters = new Map<Block, { readonly buffer: Buffer; readonly array: TypedArray }>();
  #times: Map<Step, number> | undefined;

  constructor(name: string, root: Block, ports: ReadonlyMap<string, Port>, options: EagerOptions) {
    this.#name = name;
    this.#wiring = new Wiring(ports, "heap");
    this.#options = options;
    this.#plan = new Scheduler(root, this.#wiring, { fuse: options.fuse ?? false }).plan(root);
  }
  get plan(): readonly Step[] {
    return this.#plan;
  }
  /** Bytes of the values between inputs and outputs, each of which has memory of its own. */
  get bytes(): number {
    return this.#wiring.scratchBytes;
  }
  get states(): ReadonlySet<State> {
    return this.#wiring.states;
  }

  run(): void {
    this.#steps(this.#plan);
  }
  #steps(steps: readonly Step[]): void {
    for (const step of steps) {
      if (step.kind === "repeat") this.#repeat(step);
      else if (step.kind === "rows") this.#steps(step.steps);
      else this.#once(step);
    }
  }
  #once(step: Step): void {
    const { run } = this.#program(step);
    const start = performance.now();
    run();
    this.#times?.set(step, (this.#times.get(step) ?? 0) + performance.now() - start);
  }

  /** Milliseconds of each step, in all its iterations: the least of some runs, which leave all arrays as they were. */
  timed(runs: number): ReadonlyMap<Step, number> {
    const best = new Map<Step, number>();
    const before = [...this.#wiring.arrays.values()].map((array) => ({ array, copy: array.slice() }));
    try {
      this.run();
      for (let k = 0; k < runs; k++) {
        this.#times = new Map();
        this.run();
        for (const [step, ms] of this.#times) best.set(step, Math.min(ms, best.get(step) ?? ms));
      }
    } finally {
      this.#times = undefined;
      for (const { array, copy } of before) array.set(copy as never);
    }
    return best;
  }
  #repeat({ count, body, steps }: Step & { kind: "repeat" }): void {
    let counter = this.#counters.get(body);
    if (!counter) {
      counter = { buffer: buffer(`iteration${body.depth}`, "i32", "param", 1), array: this.#wiring.scratch("i32", 1) };
      this.#counters.set(body, counter);
      this.#wiring.arrays.set(counter.buffer, counter.array);
    }
    for (let i = 0; i < count; i++) {
      counter.array[0] = i;
      this.#steps(steps);
    }
  }

  #program(step: Step): { readonly program: Program; readonly run: () => void } {
    let found = this.#programs.get(step);
    if (!found) {
      const iterations = new Map<Block, Expr>([...this.#counters].map(([block, c]) => [block, load(c.buffer, i32(0))]));
      const { machine, target, options } = this.#options;
      const whole = emitModule(`${this.#name} ${step.kind}`, [step], [], machine, iterations);
      const used = [...usedBuffers(whole.entry.body)].filter((b) => b.space === "param");
      const module = { ...whole, entry: { ...whole.entry, buffers: used } };
      const program = new Program(module, target, { threads: defaultThreads(), unchecked: false, ...options });
      const arrays = new Map(used.map((b) => [b, this.#wiring.arrays.get(b) as TypedArray]));
      found = { program, run: program.bind(argumentsOf(arrays)) };
      this.#programs.set(step, found);
    }
    return found;
  }

  get crossings(): number {
    return [...this.#programs.values()].reduce((sum, { program }) => sum + program.crossings, 0);
  }
  get compiled(): number {
    return this.#programs.size;
  }
  dispose(): void {
    for (const { program } of this.#programs.values()) program.dispose();
    this.#wiring.dispose();
  }
}
