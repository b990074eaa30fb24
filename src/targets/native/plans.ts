/**
 * @file What became of modules, kept on disk beside their libraries: a module that was compiled before needs neither
 * passes nor C, only its text.
 *
 * A note of the cache is found by all that lowering and printing depend on: the module as exact text, the options of
 * the passes, the compiler with its flags, and the version of this very code. It names the library's entry, which is
 * checked as any other, and holds what the lowered form would tell the runtime.
 */

import { exactText } from "../../ir/exact.ts";
import type { Buffer, Site } from "../../ir/nodes.ts";
import type { ArenaLayout, Origin } from "../target.ts";
import type { LibraryCache } from "./cache.ts";

/** How a module was compiled: its library, and how that is called. */
export interface Plan {
  readonly arena: ArenaLayout;
  readonly sites: readonly Site[];
  /** Doubles in the argument block, the arena's address included. */
  readonly blockDoubles: number;
  /** The key of the library's entry. */
  readonly library: string;
}

/** A plan on disk: buffers by their places in the module's text. */
interface Noted extends Omit<Plan, "arena"> {
  readonly bytes: number;
  readonly offsets: readonly (readonly [buffer: number, offset: number])[];
}

export class PlanStore {
  readonly #cache: LibraryCache;
  readonly #about: readonly string[];

  /** `about` is everything that plans depend on beside their origin. */
  constructor(cache: LibraryCache, about: readonly string[]) {
    this.#cache = cache;
    this.#about = about;
  }

  find(origin: Origin): Plan | undefined {
    const { text, buffers } = this.#describe(origin);
    const noted = this.#cache.readNote(text);
    if (noted === undefined) return undefined;
    const { bytes, offsets, ...plan } = JSON.parse(noted) as Noted;
    return { ...plan, arena: { bytes, offsets: new Map(offsets.map(([k, at]) => [buffers[k] as Buffer, at])) } };
  }

  /** Buffers that passes made are known to the library alone and are not kept. */
  keep(origin: Origin, { arena, sites, blockDoubles, library }: Plan): void {
    const { text, buffers } = this.#describe(origin);
    const offsets = buffers.flatMap((buffer, k): Noted["offsets"] => {
      const at = arena.offsets.get(buffer);
      return at === undefined ? [] : [[k, at]];
    });
    const noted: Noted = { library, blockDoubles, bytes: arena.bytes, offsets, sites };
    this.#cache.writeNote(text, JSON.stringify(noted));
  }

  #describe({ module, options }: Origin): { readonly text: string; readonly buffers: readonly Buffer[] } {
    const { text, buffers } = exactText(module);
    return { text: `${JSON.stringify([this.#about, Object.entries(options).sort()])}\n${text}`, buffers };
  }
}
