/**
 * @file What the sections of the suite `train` share: the recorder, the targets, how often things are repeated, and the
 * figures that the bars are stated with at the end.
 *
 * A section that fails takes its own figures with it, and no others: minutes of measuring are not lost to a peer that
 * ended early.
 */
import { LockstepError } from "../../platform/errors.ts";
import { GateError } from "../gate.ts";
import type { Recorder } from "../suite.ts";
import type { BenchTargets } from "../targets.ts";

export type SectionName = "training" | "command" | "iteration" | "start" | "peak" | "solved";

export class TrainRun {
  readonly recorder: Recorder;
  readonly targets: BenchTargets;
  readonly #figures = new Map<string, number>();
  readonly #reasons = new Map<string, string>();

  constructor(recorder: Recorder, targets: BenchTargets) {
    this.recorder = recorder;
    this.targets = targets;
  }

  /** How often something is done: so many times, or few when the suite is to be quick. */
  rounds(full: number, quick: number): number {
    return this.recorder.options.quick ? quick : full;
  }

  /** Runs a section; one that fails is noted, with the reason for its bars. */
  async section(name: SectionName, run: (run: TrainRun) => Promise<void>): Promise<void> {
    try {
      await run(this);
    } catch (error) {
      if (!(error instanceof LockstepError)) throw error;
      this.#reasons.set(name, error.message);
      if (error instanceof GateError) this.recorder.passes(name, () => fail(error));
      else this.recorder.skip(name, error.message);
    }
  }

  /** The figure of a bar, where there is one. */
  figure(id: string, value: number | undefined): void {
    if (value !== undefined) this.#figures.set(id, value);
  }
  /** Why one bar has no figure. */
  lacks(id: string, reason: string): void {
    this.#reasons.set(id, reason);
  }
  figureOf(id: string): number | undefined {
    return this.#figures.get(id);
  }
  reasonOf(id: string, section: SectionName): string | undefined {
    return this.#reasons.get(id) ?? this.#reasons.get(section);
  }
}

function fail(error: Error): never {
  throw error;
}
