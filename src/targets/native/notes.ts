/**
 * @file Notes on disk for targets that make code without a compiler of the system: where they are, and by which version
 * of this code they are told apart.
 */
import type { NotesOfVersion } from "../plans.ts";
import { LibraryCache } from "./cache.ts";
import { NativeUnavailableError } from "./errors.ts";
import { codeVersion } from "./version.ts";

/** Undefined where nothing can be kept: there is no private folder, or this code has no version. */
export function openNotes(
  target: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
  version = codeVersion(),
): NotesOfVersion | undefined {
  if (version === undefined) return undefined;
  try {
    const cache = LibraryCache.fromEnvironment(env, target);
    const writeNote = (text: string, noted: string): void => {
      cache.writeNote(text, noted);
      // Where libraries are built, that is when others go; here are notes alone.
      cache.evict();
    };
    return { notes: { readNote: (text) => cache.readNote(text), writeNote }, version };
  } catch (error) {
    if (error instanceof NativeUnavailableError) return undefined;
    throw error;
  }
}
