/**
 * @file What a check of an environment says: findings, each with its fix, and what was measured.
 */
import type { TargetName } from "../../targets/target.ts";

/** What is looked at, in order; later ones run only when the environment compiles. */
export const CHECKS = [
  "definition",
  "spaces",
  "compilation",
  "faults",
  "numbers",
  "observation space",
  "observation contract",
  "determinism",
  "seeding",
  "reset contract",
  "autoreset",
  "episode length",
  "targets",
  "drawing",
] as const;
export type CheckName = (typeof CHECKS)[number];

export interface Finding {
  readonly check: CheckName;
  /** What is wrong, with the values that show it. */
  readonly problem: string;
  /** What to do about it. */
  readonly fix: string;
}

export interface TargetSpeed {
  readonly target: TargetName;
  readonly nsPerStep: number;
}

export interface CheckReport {
  readonly id: string;
  readonly findings: readonly Finding[];
  /** Checks that were made; those behind a definition that does not compile are not. */
  readonly checks: readonly CheckName[];
  readonly speed: readonly TargetSpeed[];
  /** Targets that are not available here, and why. */
  readonly skipped: readonly { readonly target: TargetName; readonly reason: string }[];
  /** How much was tried. */
  readonly steps: number;
  readonly episodes: number;
}
