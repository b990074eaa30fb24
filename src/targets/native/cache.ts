/**
 * @file Compiled libraries on disk, found by the hash of all that went into them.
 *
 * Loading a library runs its code, so the folder must be private: it is refused when it belongs to another user or
 * others can write to it. An entry is a library and a record with the full source and the library's hash; both are
 * compared before use, and what does not match is built again. Writes go to a temporary name and are renamed. Of
 * several processes that want the same entry one builds and the others wait; should that one die or take very long,
 * another builds too, which is harmless as they make the same file. Notes are further files, found by the hash of a
 * text that they carry, with a hash of their own (../plans.ts says what they are for); so are bytes, which do not carry
 * the text.
 */
import { createHash, randomBytes } from "node:crypto";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { homedir, hostname } from "node:os";
import { basename, join } from "node:path";
import { NativeUnavailableError } from "./errors.ts";

type Environment = Readonly<Record<string, string | undefined>>;

const MEBIBYTE = 1 << 20;
const DEFAULT_LIMIT_MEBIBYTES = 512;
/** After this a waiting process no longer believes that the builder lives. */
const STALE_LOCK_MS = 30_000;
const STALE_TEMPORARY_MS = 3_600_000;

/** The folder for everything that lockstep keeps between runs. */
export function cacheFolder(env: Environment, platform: NodeJS.Platform): string {
  if (env.LOCKSTEP_CACHE) return env.LOCKSTEP_CACHE;
  const home = env.HOME || homedir();
  if (platform === "win32") return join(env.LOCALAPPDATA || join(home, "AppData", "Local"), "lockstep");
  if (platform === "darwin") return join(home, "Library", "Caches", "lockstep");
  return join(env.XDG_CACHE_HOME || join(home, ".cache"), "lockstep");
}

/** The size limit in bytes, from LOCKSTEP_CACHE_LIMIT in MiB. */
export function cacheLimit(env: Environment): number {
  const text = env.LOCKSTEP_CACHE_LIMIT;
  if (text === undefined || text === "") return DEFAULT_LIMIT_MEBIBYTES * MEBIBYTE;
  const limit = Number(text);
  if (!(limit >= 0)) throw new NativeUnavailableError(`LOCKSTEP_CACHE_LIMIT is "${text}"; it must be a number of MiB`);
  return limit * MEBIBYTE;
}

/** Creates a folder that only its owner can use, or says why an existing one cannot be trusted. */
function privateFolder(path: string): void {
  const refuse = (why: string): never => {
    throw new NativeUnavailableError(
      `the cache folder ${path} ${why}; set LOCKSTEP_CACHE to a private folder of yours`,
    );
  };
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    refuse(`cannot be made (${(error as Error).message})`);
  }
  if (process.platform === "win32") return;
  const user = process.getuid?.();
  for (const stat of [lstatSync(path), statSync(path)]) {
    if (user !== undefined && stat.uid !== user) refuse(`belongs to user ${stat.uid}, not to you (${user})`);
    if (!stat.isSymbolicLink() && (stat.mode & 0o022) !== 0)
      refuse(`can be written to by others (mode ${(stat.mode & 0o777).toString(8)})`);
  }
}

const sha256 = (data: string | Uint8Array): string => createHash("sha256").update(data).digest("hex");

const HASH_LETTERS = 64;
/** Bytes under a key, told from those under another by more than the name of their file. */
const hashUnder = (key: string, bytes: Uint8Array): Uint8Array =>
  createHash("sha256").update(key).update(bytes).digest();

/** What goes into a library, and into its key. */
interface Ingredients {
  readonly source: string;
  readonly flags: readonly string[];
  /** Compiler version and machine features. */
  readonly identity: string;
}
/** Something to build, and how. */
export interface Recipe extends Ingredients {
  readonly build: (target: string) => void;
}

/** JSON stands on one line: no other ingredients make the same text. */
const keyOf = ({ source, flags, identity }: Ingredients): string =>
  sha256(`${JSON.stringify([flags, identity])}\n${source}`);
/** The key of the entry that a library belongs to. */
export const keyOfLibrary = (path: string): string => basename(path, ".so");

const [BEFORE_FACTS, AFTER_FACTS] = ["/* ", " */\n"] as const;

/** A record: the source, then how and into what it was compiled. */
function recordText({ source, flags, identity }: Ingredients, library: Uint8Array): string {
  return source + BEFORE_FACTS + JSON.stringify({ flags, identity, library: sha256(library) }) + AFTER_FACTS;
}
function readRecord(record: string): { readonly recipe: Ingredients; readonly library: string } {
  const end = record.lastIndexOf(BEFORE_FACTS);
  const facts = JSON.parse(record.slice(end + BEFORE_FACTS.length, -AFTER_FACTS.length));
  const { flags, identity, library } = facts as Omit<Ingredients, "source"> & { readonly library: string };
  return { recipe: { source: record.slice(0, end), flags, identity }, library };
}

/** Marks a file as used now. */
function touch(path: string): void {
  const now = new Date();
  utimesSync(path, now, now);
}

/** Sleeps without spinning; there is no asynchronous way, since compiling is synchronous. */
function pause(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

export class LibraryCache {
  readonly folder: string;
  readonly #limit: number;
  /** Entries that this process has handed out; eviction leaves them alone. */
  readonly #inUse = new Set<string>();

  /** `part` of the folder `root` is this cache's own. */
  constructor(root: string, limit: number, part = "native") {
    this.folder = join(root, part);
    this.#limit = limit;
    privateFolder(root);
    privateFolder(this.folder);
  }

  static fromEnvironment(env: Environment, part?: string): LibraryCache {
    return new LibraryCache(cacheFolder(env, process.platform), cacheLimit(env), part);
  }

  readText(name: string): string | undefined {
    try {
      return readFileSync(join(this.folder, name), "utf8");
    } catch {
      return undefined;
    }
  }

  writeText(name: string, text: string): void {
    this.#write(name, text);
  }
  #write(name: string, content: string | Uint8Array): void {
    const temporary = this.#temporary(name);
    writeFileSync(temporary, content, { mode: 0o600 });
    renameSync(temporary, join(this.folder, name));
  }

  /** The path of the library for a recipe, built if needed; `built` tells whether a compiler ran. */
  obtain(recipe: Recipe): { readonly path: string; readonly built: boolean } {
    const key = keyOf(recipe);
    this.#inUse.add(key);
    const path = this.#library(key);
    if (this.#isIntact(key, recipe)) return { path, built: false };
    const lock = this.#lock(key, () => this.#isIntact(key, recipe));
    if (lock === undefined) return { path, built: false };
    try {
      this.#build(key, recipe);
    } finally {
      lock();
    }
    this.evict();
    return { path, built: true };
  }

  /** The library and source of an entry that was built before; undefined when it is gone or damaged. */
  reuse(key: string): { readonly path: string; readonly source: string } | undefined {
    try {
      const { recipe, library } = readRecord(readFileSync(this.#record(key), "utf8"));
      if (keyOf(recipe) !== key || sha256(readFileSync(this.#library(key))) !== library) return undefined;
      this.#inUse.add(key);
      touch(this.#record(key));
      return { path: this.#library(key), source: recipe.source };
    } catch {
      return undefined;
    }
  }

  /** What was noted of a text; undefined when nothing was, or the note is damaged. */
  readNote(text: string): string | undefined {
    const key = sha256(text);
    try {
      const note = readFileSync(this.#note(key), "utf8");
      const end = note.indexOf("\n", HASH_LETTERS + 1);
      const noted = note.slice(HASH_LETTERS + 1, end);
      if (note.slice(end + 1) !== text || note.slice(0, HASH_LETTERS) !== sha256(`${key} ${noted}`)) return undefined;
      this.#inUse.add(key);
      touch(this.#note(key));
      return noted;
    } catch {
      return undefined;
    }
  }

  /** Notes one line of a text. */
  writeNote(text: string, noted: string): void {
    const key = sha256(text);
    this.#inUse.add(key);
    this.writeText(`${key}.note`, `${sha256(`${key} ${noted}`)}\n${noted}\n${text}`);
  }

  /** The bytes that were kept under a text; undefined when there are none, or they are damaged. */
  readBytes(text: string): Uint8Array | undefined {
    const key = sha256(text);
    try {
      const file = readFileSync(this.#bytes(key));
      const bytes = file.subarray(HASH_LETTERS / 2);
      if (!file.subarray(0, HASH_LETTERS / 2).equals(hashUnder(key, bytes))) return undefined;
      this.#inUse.add(key);
      touch(this.#bytes(key));
      return bytes;
    } catch {
      return undefined;
    }
  }

  /** Keeps bytes under a text. */
  writeBytes(text: string, bytes: Uint8Array): void {
    const key = sha256(text);
    this.#inUse.add(key);
    this.#write(basename(this.#bytes(key)), Buffer.concat([hashUnder(key, bytes), bytes]));
  }

  #library(key: string): string {
    return join(this.folder, `${key}.so`);
  }
  #record(key: string): string {
    return join(this.folder, `${key}.c`);
  }
  #note(key: string): string {
    return join(this.folder, `${key}.note`);
  }
  #bytes(key: string): string {
    return join(this.folder, `${key}.bytes`);
  }
  #temporary(name: string): string {
    return join(this.folder, `${name}.${process.pid}.${randomBytes(6).toString("hex")}.tmp`);
  }

  #isIntact(key: string, recipe: Recipe): boolean {
    try {
      const record = readFileSync(this.#record(key), "utf8");
      if (record !== recordText(recipe, readFileSync(this.#library(key)))) return false;
      touch(this.#record(key));
      return true;
    } catch {
      return false;
    }
  }

  /** The library first and the record last: a record without its library cannot be seen. */
  #build(key: string, recipe: Recipe): void {
    const library = this.#temporary(`${key}.so`);
    const record = this.#temporary(`${key}.c`);
    try {
      recipe.build(library);
      chmodSync(library, 0o700);
      writeFileSync(record, recordText(recipe, readFileSync(library)), { mode: 0o600 });
      renameSync(library, this.#library(key));
      renameSync(record, this.#record(key));
    } finally {
      rmSync(library, { force: true });
      rmSync(record, { force: true });
    }
  }

  /** Takes the right to build an entry; undefined when another process finished it meanwhile. */
  #lock(key: string, ready: () => boolean): (() => void) | undefined {
    const path = join(this.folder, `${key}.lock`);
    const mine = `${process.pid} ${hostname()} ${randomBytes(6).toString("hex")}`;
    for (let wait = 2; ; wait = Math.min(wait * 2, 20)) {
      try {
        writeFileSync(path, mine, { flag: "wx", mode: 0o600 });
        break;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
      if (isStale(path)) rmSync(path, { force: true });
      else pause(wait);
      if (ready()) return undefined;
    }
    const release = (): void => {
      if (textOf(path) === mine) rmSync(path, { force: true });
    };
    if (!ready()) return release;
    release();
    return undefined;
  }

  /** Removes the entries that were not used for longest until the folder is within its limit again. */
  evict(): void {
    const entries = new Map<string, { bytes: number; used: number }>();
    let total = 0;
    for (const name of readdirSync(this.folder)) {
      const stat = statSync(join(this.folder, name), { throwIfNoEntry: false });
      if (!stat) continue;
      if (name.endsWith(".tmp") && Date.now() - stat.mtimeMs > STALE_TEMPORARY_MS) {
        rmSync(join(this.folder, name), { force: true });
        continue;
      }
      total += stat.size;
      const key = /^([0-9a-f]{64})\.(so|c|note|bytes)$/.exec(name)?.[1];
      if (key === undefined) continue;
      const entry = entries.get(key) ?? { bytes: 0, used: 0 };
      entries.set(key, { bytes: entry.bytes + stat.size, used: Math.max(entry.used, stat.mtimeMs) });
    }
    for (const [key, { bytes }] of [...entries].sort((a, b) => a[1].used - b[1].used)) {
      if (total <= this.#limit) return;
      if (this.#inUse.has(key)) continue;
      const files = [this.#record(key), this.#library(key), this.#note(key), this.#bytes(key)];
      for (const path of files) rmSync(path, { force: true });
      total -= bytes;
    }
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** A lock whose process is gone, or that is older than any ordinary build. */
function isStale(path: string): boolean {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat) return false;
  if (Date.now() - stat.mtimeMs > STALE_LOCK_MS) return true;
  const [pid, host] = textOf(path).split(" ");
  if (host !== hostname() || !/^\d+$/.test(pid ?? "")) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}
