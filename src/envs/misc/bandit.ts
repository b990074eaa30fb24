/**
 * @file What the agent sees of a bandit with two arms: the last reward, the last action, and the time.
 */
import type { KernelArray } from "../../kernel/declare.ts";

interface Bandit {
  readonly lastAction: number;
  readonly lastReward: number;
  readonly time: number;
}
interface TimeParams {
  /** Above 0: from -1 to 1 over `timeScale` steps. */
  readonly normalizeTime: number;
  readonly timeScale: number;
}

export function observeBandit(s: Bandit, obs: KernelArray, { params }: { readonly params: TimeParams }): void {
  const time = Math.fround(s.time);
  obs[0] = s.lastReward;
  obs[1] = s.lastAction === 0 ? 1 : 0;
  obs[2] = s.lastAction === 1 ? 1 : 0;
  obs[3] = params.normalizeTime > 0 ? (2 * time) / params.timeScale - 1 : time;
}
