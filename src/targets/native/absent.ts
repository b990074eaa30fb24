/**
 * @file What stands for the native target where there is no Node: bundlers for browsers put it in its place, as
 * package.json's `browser` field says.
 */
import type { NotesOfVersion } from "../plans.ts";
import type { NativeOptions, NativeResult } from "./index.ts";

export function createNativeTarget(_options: NativeOptions): NativeResult {
  return { target: undefined, reason: "native code needs Node" };
}

export function openNotes(_target: string): NotesOfVersion | undefined {
  return undefined;
}
