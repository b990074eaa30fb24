/**
 * @file What tests of runs share: small settings, folders that go away, files that fail, and a game of JavaScript.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { box, discrete, type Game, type GameKind } from "../../src/envs/index.ts";
import { disk, FileError, type FileStore } from "../../src/platform/files.ts";
import type { Logger, RunInfo, RunRecord, RunSummary, TrainOptions } from "../../src/train/index.ts";

const made: string[] = [];
afterAll(() => {
  for (const path of made) rmSync(path, { recursive: true, force: true });
});

/** A path in a new folder, where nothing is yet. */
export function newPath(name = "run"): string {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-train-"));
  made.push(folder);
  return join(folder, name);
}

/** 40 steps an iteration; compiled in a moment. */
export const SMALL = {
  algo: "a2c",
  env: "CartPole-v1",
  hyperparameters: { nEnvs: 8, nSteps: 5, netArch: [8] },
  steps: 400,
  seed: 3,
  target: "js",
  numerics: "unfused",
  tuned: false,
  evalEpisodes: 2,
  evalEvery: 0,
  checkpointEvery: 0,
  report: false,
} as const satisfies TrainOptions;

/** Writes down what a run tells. */
export class Listener implements Logger {
  info: RunInfo | undefined;
  summary: RunSummary | undefined;
  readonly records: RunRecord[] = [];
  readonly notices: string[] = [];
  start(info: RunInfo): void {
    this.info = info;
  }
  record(record: RunRecord): void {
    this.records.push(record);
  }
  notice(text: string): void {
    this.notices.push(text);
  }
  end(summary: RunSummary): void {
    this.summary = summary;
  }
}

/** Files of which some cannot be written. */
export function failingFiles(fails: (path: string) => boolean, reason = "ENOSPC: no space left on device"): FileStore {
  return {
    ...disk,
    writeWhole(path, parts) {
      if (fails(path)) throw new FileError(`${path} cannot be written: ${reason}`);
      disk.writeWhole(path, parts);
    },
  };
}

/** A walk on a line of whole numbers: +1 for the right end, and steps that depend on the seed. */
class Walk implements Game {
  #at = 0;
  #noise = 1;
  reset({ seed }: { readonly seed: number }): number[] {
    this.#at = 0;
    this.#noise = (seed % 2147483646) + 1;
    return this.#seen();
  }
  step(action: number) {
    this.#noise = (this.#noise * 16807) % 2147483647;
    this.#at += (action === 1 ? 1 : -1) * (this.#noise % 5 === 0 ? -1 : 1);
    const ended = Math.abs(this.#at) >= 4;
    return { observation: this.#seen(), reward: this.#at >= 4 ? 1 : -0.1, terminated: ended };
  }
  #seen(): number[] {
    return [this.#at / 4, 1];
  }
  getState(): unknown {
    return { at: this.#at, noise: this.#noise };
  }
  setState({ at, noise }: { readonly at: number; readonly noise: number }): void {
    this.#at = at;
    this.#noise = noise;
  }
}
const spaces = { id: "walk", observation: box([2], { low: -1, high: 1 }), action: discrete(2), maxSteps: 30 };
/** Games that tell where they stand. */
export const WALK: GameKind = { ...spaces, make: () => new Walk() };
/** The same games, without that. */
export const FORGETFUL: GameKind = {
  ...spaces,
  id: "forgetful walk",
  make: () => {
    const walk = new Walk();
    return { reset: (start) => walk.reset(start), step: (action) => walk.step(action as number) };
  },
};
