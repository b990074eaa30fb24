/**
 * @file The file that all code of this process runs from, where that is one: the command line as it is built
 * (scripts/bundle.mjs, cli/start.ts). Elsewhere each module is a file of its own and there is no bundle.
 */

export interface Bundle {
  /** The hash of its text, which tells this code from all other versions of itself. */
  readonly version: string;
  /**
   * The address of a folder of modules that give what the package gives, out of the bundle: what a user's module
   * imports is then what the command uses, and not a second instance.
   */
  readonly library: string;
  /** Loads a module: what is no module itself, but a script, cannot. */
  readonly load: (address: string) => Promise<unknown>;
}

let running: Bundle | undefined;

/** Says what this process runs from. */
export function setBundle(bundle: Bundle | undefined): void {
  running = bundle;
}
export const runningBundle = (): Bundle | undefined => running;

/** A module whose address or name is known at run time only: bundlers leave such imports alone. */
export const importModule = (address: string): Promise<unknown> =>
  running ? running.load(address) : import(/* @vite-ignore */ address);
