/**
 * @file One environment of a VecEnv as a drawing.
 */
import type { Params } from "../define.ts";
import type { VecEnv } from "../vector/vecEnv.ts";
import { type Drawing, drawn } from "./shapes.ts";

/**
 * Environment i as it stands; undefined when its definition has no drawing. Parameters are those of the definition
 * unless others are given.
 */
export function drawEnvironment(vec: VecEnv, i = 0, params: Params = vec.env.params): Drawing | undefined {
  const { env } = vec;
  if (env.draw === undefined) return undefined;
  const { state } = vec.getState(i);
  return drawn((canvas) => env.draw?.(state as never, canvas, params));
}
