/**
 * @file Choosing a target: `auto` takes the fastest that works, and says why.
 *
 * Order: native (a C compiler and koffi), wasm, js. LOCKSTEP_TARGET overrides `auto`. Bundlers for browsers replace the
 * native target by `native/absent.ts` (package.json, `browser`), so that everything else loads there.
 */
import { coreCount } from "../platform/cores.ts";
import { LockstepError } from "../platform/errors.ts";
import { didYouMean } from "../platform/suggest.ts";
import { createJsTarget } from "../targets/js/index.ts";
import { createNativeTarget, openNotes } from "../targets/native/index.ts";
import type { NotesOfVersion } from "../targets/plans.ts";
import type { Target, TargetName } from "../targets/target.ts";
import { createWasmTarget } from "../targets/wasm/index.ts";
import { heap } from "./heap.ts";

export class TargetError extends LockstepError {
  override readonly name = "TargetError";
}

export const TARGET_NAMES: readonly TargetName[] = ["native", "wasm", "js"];
export type TargetChoice = TargetName | "auto";

/** A target, or the reason why there is none here. */
export type Availability = { readonly target: Target } | { readonly target: undefined; readonly reason: string };

const inNode = typeof process !== "undefined" && process.versions?.node !== undefined;

/** Threads to use unless told otherwise: LOCKSTEP_THREADS, or one per core. */
export function defaultThreads(): number {
  const wanted = Number.parseInt(globalThis.process?.env?.LOCKSTEP_THREADS ?? "", 10);
  if (wanted >= 1) return wanted;
  return coreCount();
}

const notesOf = (name: TargetName): NotesOfVersion | undefined => (inNode ? openNotes(name) : undefined);

const MAKERS: { readonly [N in TargetName]: () => Availability } = {
  js: () => ({ target: createJsTarget(heap().memory, notesOf("js")) }),
  wasm: () => createWasmTarget({ memory: heap().memory, kept: notesOf("wasm") }),
  native: () => createNativeTarget({ memory: heap().memory, threads: defaultThreads() }),
};
const made = new Map<TargetName, Availability>();

/** The target of a name, made when it is first asked for. */
export function availability(name: TargetName): Availability {
  let found = made.get(name);
  if (!found) {
    found = MAKERS[name]();
    made.set(name, found);
  }
  return found;
}

/** The targets that this process has asked for so far. */
export const usedTargets = (): readonly TargetName[] => [...made.keys()];

export interface Choice {
  readonly target: Target;
  /** Why this one, in words. */
  readonly why: string;
}

/** Reads a target's name; the empty string and undefined mean `auto`. */
export function parseTarget(text: string | undefined, from: string): TargetChoice {
  if (!text || text === "auto") return "auto";
  const found = TARGET_NAMES.find((n) => n === text);
  if (!found) {
    const names = ["auto", ...TARGET_NAMES];
    throw new TargetError(
      `${from}: there is no target "${text}"; known are ${names.join(", ")}.${didYouMean(String(text), names)}`,
    );
  }
  return found;
}

/** The target for a wish. */
export function chooseTarget(wish: TargetChoice = "auto"): Choice {
  const environment = globalThis.process?.env?.LOCKSTEP_TARGET;
  const fromEnvironment = wish === "auto" ? parseTarget(environment, "LOCKSTEP_TARGET") : parseTarget(wish, "target");
  if (fromEnvironment !== "auto") {
    const found = availability(fromEnvironment);
    if (!found.target) throw new TargetError(`the target "${fromEnvironment}" is not available: ${found.reason}`);
    return { target: found.target, why: wish === "auto" ? "LOCKSTEP_TARGET asks for it" : "it was asked for" };
  }
  return automatic();
}

function automatic(): Choice {
  const passed: string[] = [];
  for (const name of TARGET_NAMES) {
    const found = availability(name);
    if (found.target) {
      const why = passed.length ? `the fastest that works here: ${passed.join("; ")}` : "the fastest";
      return { target: found.target, why };
    }
    passed.push(`no ${name} (${found.reason})`);
    if (name === "native" && inNode) notice(`native code is not available (${found.reason}); using WebAssembly`);
  }
  throw new TargetError("no target works here");
}

/** Takes a target out of `auto` after it failed, for the rest of the process. */
export function giveUpOn(name: TargetName, reason: string): void {
  made.set(name, { target: undefined, reason });
}

const said = new Set<string>();
/** Tells the user something once. */
export function notice(text: string): void {
  if (said.has(text)) return;
  said.add(text);
  console.error(`lockstep: ${text}`);
}
