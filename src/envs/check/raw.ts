/**
 * @file The functions of a definition run as they stand, as JavaScript: what they write and draw can be watched there.
 *
 * Numbers are doubles here and their values are not compared with anything. A function that needs compiled code (one
 * with helpers of its own) cannot be watched; then nothing is said.
 */
import type { Inline } from "../../kernel/declare.ts";
import { HostStream } from "../../random/index.ts";
import { type Environment, observationSize } from "../define.ts";
import type { StateValues } from "../vector/arrays.ts";

/** A record that can be read, and that calls `wrote` with the path of what is written. */
function watched(value: StateValues, wrote: (path: string) => void, path = ""): StateValues {
  return new Proxy(value, {
    get: (target, name) => {
      const inner = Reflect.get(target, name) as StateValues[string];
      if (typeof name === "symbol" || typeof inner !== "object") return inner;
      return watched(inner as StateValues, wrote, `${path}${path ? "." : ""}${name}`);
    },
    set: (target, name, to) => {
      wrote(Array.isArray(target) ? path : `${path}${path ? "." : ""}${String(name)}`);
      return Reflect.set(target, name, to);
    },
  });
}

/** A copy, all the way down. */
export const copyOf = (state: StateValues): StateValues => JSON.parse(JSON.stringify(state)) as StateValues;

function call(helper: Inline, args: readonly unknown[]): boolean {
  if (helper.uses !== undefined) return false;
  try {
    (helper.fn as (...given: readonly unknown[]) => unknown)(...args);
    return true;
  } catch {
    return false;
  }
}

/** Fields of the state that `observe` writes. */
export function writtenByObserve(env: Environment, state: StateValues): readonly string[] {
  const written = new Set<string>();
  const row = new Float64Array(observationSize(env.observation));
  const view = watched(copyOf(state), (path) => written.add(path));
  call(env.functions.observe, [view, row, { params: env.params, tables: env.tables }]);
  return [...written];
}

/** Whether `reset` or `step` draws a random number, from this state with this action. */
export function drawsRandomNumbers(env: Environment, state: StateValues, action: readonly number[]): boolean {
  let drawn = false;
  const stream = new HostStream(1, 2);
  const rng: object = new Proxy(stream, {
    get: (_, name) => {
      if (name === "fold" || name === "at" || name === "split") return () => rng;
      drawn = true;
      if (name === "int") return (n: number) => stream.below(n);
      const value = Reflect.get(stream, name) as unknown;
      return typeof value === "function" ? value.bind(stream) : value;
    },
  });
  const context = { params: env.params, tables: env.tables, rng };
  const value = env.action.kind === "discrete" ? action[0] : action;
  call(env.functions.reset, [copyOf(state), context]);
  call(env.functions.step, [copyOf(state), value, context]);
  return drawn;
}
