/**
 * @file What is said when a step is refused: each message names the value, what was expected, and what to do.
 */
import { type ActionSpace, actionSize, EnvironmentError } from "../define.ts";
import { describeSpace } from "../spaces.ts";

/** What is said of an environment, compiled or not. */
interface Refused {
  readonly id: string;
  readonly action: ActionSpace;
}

export function wrongCount({ id, action }: Refused, n: number, count: number | undefined, k: number): EnvironmentError {
  const each = actionSize(action);
  const rows = k === 1 ? `${n} actions` : `${k} times ${n} actions`;
  const wanted = each === 1 ? rows : `${rows} of ${each} numbers`;
  const given = count === undefined ? "what was given is no list of" : `${count} numbers are not`;
  return new EnvironmentError(`${id}: ${given} ${wanted}; nothing was changed`);
}

/** The action at a place of rows of n. */
export function wrongAction(
  { id, action }: Refused,
  n: number,
  at: number,
  actions: ArrayLike<number>,
): EnvironmentError {
  const each = actionSize(action);
  const given = Array.from({ length: each }, (_, k) => actions[at * each + k]).join(", ");
  const where = `environment ${at % n}${at < n ? "" : ` in step ${Math.floor(at / n)}`}`;
  return new EnvironmentError(
    `${id}: action ${given} of ${where} is not in ${describeSpace(action)}; nothing was changed`,
  );
}

export function hasEnded({ id }: Refused, i: number): EnvironmentError {
  const advice = 'call reset(), or use autoreset "same-step" or "next-step"';
  return new EnvironmentError(`${id}: environment ${i} has ended; ${advice}. Nothing was changed`);
}
