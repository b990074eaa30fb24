/**
 * @file The targets that a suite measures: those that there are here, and why the others, and their bars, have no figures.
 */
import { LockstepError } from "../platform/errors.ts";
import { availability } from "../runtime/targets.ts";
import type { TargetName } from "../targets/target.ts";
import type { Recorder } from "./suite.ts";

export class BenchTargets {
  readonly #recorder: Recorder;
  readonly #wanted: readonly TargetName[];
  readonly #missing = new Map<string, string>();

  constructor(recorder: Recorder, wanted: readonly TargetName[]) {
    this.#recorder = recorder;
    this.#wanted = wanted;
    for (const target of wanted) {
      const found = availability(target);
      if (!found.target) this.#leaveOut(target, found.reason);
    }
  }
  #leaveOut(target: TargetName, reason: string): void {
    this.#missing.set(target, reason);
    this.#recorder.skip(target, reason);
  }

  get present(): readonly TargetName[] {
    return this.#wanted.filter((target) => !this.#missing.has(target));
  }

  /** What `make` gives on each target; one on which it fails is left out from then on. */
  sides<T>(make: (target: TargetName) => T): T[] {
    return this.present.flatMap((target) => {
      try {
        return [make(target)];
      } catch (error) {
        if (!(error instanceof LockstepError)) throw error;
        this.#leaveOut(target, error.message);
        return [];
      }
    });
  }

  /** Why a target is not there; undefined for one that is, and for what is not a target. */
  missing(target: string): string | undefined {
    return this.#missing.get(target);
  }
  /** Why a bar against peers has no figure, as far as that is known. */
  reason(target: string): string | undefined {
    return this.missing(target) ?? (this.#recorder.options.peers ? undefined : "needs --peers");
  }
}
