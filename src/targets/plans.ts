/**
 * @file What became of modules, kept on disk: a module that was compiled before needs no passes, only its text.
 *
 * A note is found by all that lowering and generating code depend on: the module as exact text, the options of the
 * passes, whatever the target adds, and the version of this very code. It holds what the lowered form would tell the
 * runtime, and what the target says of the code it made.
 */
import { type ExactText, exactText } from "../ir/exact.ts";
import type { Buffer, Site } from "../ir/nodes.ts";
import { eachStmt } from "../ir/walk.ts";
import type { ArenaLayout, Origin } from "./target.ts";

/** One line each for texts, kept between processes; a note that is damaged is none. */
export interface Notes {
  readNote(text: string): string | undefined;
  writeNote(text: string, noted: string): void;
}

/** Where plans are kept between processes, and what tells this code from other versions that keep some. */
export interface NotesOfVersion {
  readonly notes: Notes;
  readonly version: string;
}

/** Statements from which on a program is large: making its code takes longer than reading it. */
const LARGE_STATEMENTS = 40;
export function isLarge({ module }: Origin): boolean {
  let count = 0;
  eachStmt(module.entry.body, () => {
    count++;
  });
  return count >= LARGE_STATEMENTS;
}

/** How a module was compiled: what the runtime needs to know, and the target's own. */
export interface Plan<Code> {
  readonly arena: ArenaLayout;
  readonly sites: readonly Site[];
  readonly code: Code;
}

/** A plan on disk: buffers by their places in the module's text. */
interface Noted<Code> extends Omit<Plan<Code>, "arena"> {
  readonly bytes: number;
  readonly offsets: readonly (readonly [buffer: number, offset: number])[];
}

/** Plans whose `Code` is made of what JSON can hold. */
export class PlanStore<Code> {
  readonly #notes: Notes;
  readonly #about: readonly string[];
  /** What is looked for in vain is kept afterwards: its text is written once. */
  readonly #described = new WeakMap<Origin, ExactText>();

  /** `about` is everything that plans depend on beside their origin. */
  constructor(notes: Notes, about: readonly string[]) {
    this.#notes = notes;
    this.#about = about;
  }

  find(origin: Origin): Plan<Code> | undefined {
    const { text, buffers } = this.#describe(origin);
    const noted = this.#notes.readNote(text);
    if (noted === undefined) return undefined;
    const { bytes, offsets, ...plan } = JSON.parse(noted) as Noted<Code>;
    return { ...plan, arena: { bytes, offsets: new Map(offsets.map(([k, at]) => [buffers[k] as Buffer, at])) } };
  }

  /** Buffers that passes made are known to the code alone and are not kept. */
  keep(origin: Origin, { arena, sites, code }: Plan<Code>): void {
    const { text, buffers } = this.#describe(origin);
    const offsets = buffers.flatMap((buffer, k): Noted<Code>["offsets"] => {
      const at = arena.offsets.get(buffer);
      return at === undefined ? [] : [[k, at]];
    });
    const noted: Noted<Code> = { code, bytes: arena.bytes, offsets, sites };
    this.#notes.writeNote(text, JSON.stringify(noted));
  }

  #describe(origin: Origin): ExactText {
    let found = this.#described.get(origin);
    if (!found) {
      const { text, buffers } = exactText(origin.module);
      const about = JSON.stringify([this.#about, Object.entries(origin.options).sort()]);
      found = { text: `${about}\n${text}`, buffers };
      this.#described.set(origin, found);
    }
    return found;
  }
}
