/**
 * @file Checkpoints in a folder: `<steps>.safetensors` with all numbers, and `<steps>.json`, which vouches for them.
 *
 * The tensors are written first, then the JSON with their length and hash, each beside its place and then into it: an
 * entry without a valid JSON file does not exist, whenever a process is killed. Files may come from anywhere: sizes,
 * forms and hashes are checked before anything is used.
 */
import * as z from "zod";
import { type FileTensor, readTensors, TensorFileError, writeTensors } from "../nn/safetensors.ts";
import { LockstepError } from "../platform/errors.ts";
import { DRAFT, disk, FileError, type FileStore } from "../platform/files.ts";
import { sha256 } from "../platform/sha256.ts";
import { PlainDataError, readPlain, writePlain } from "./plainData.ts";
import type { EvaluationResult } from "./records.ts";
import { count, evaluationOf } from "./schemas.ts";

/** A checkpoint that cannot be used. A damaged one may be passed over for the one before. */
export class CheckpointError extends LockstepError {
  override readonly name = "CheckpointError";
  readonly damaged: boolean;
  constructor(message: string, { damaged = false }: { readonly damaged?: boolean } = {}) {
    super(message);
    this.damaged = damaged;
  }
}

const FORMAT = 1;
const MOST_JSON_BYTES = 64 * 2 ** 20;
/** Room for the header of a file of tensors, besides their elements. */
const HEADER_BYTES = 2 ** 20;
const STEP_DIGITS = 12;
const ENTRY = /^(\d{12,16})\.json$/;
const OWN_FILE = /^\d{12,16}\.(json|safetensors)$/;

/** Any number: NaN and infinities are results too. */
const figure = z.custom<number>((value) => typeof value === "number", { error: "a number is missing" });
const evaluation: z.ZodType<EvaluationResult> = evaluationOf(figure);
const evaluated = z.object({ steps: count, evaluation });
const description = z.object({
  algo: z.string(),
  env: z.string(),
  /** What tells whether a configuration is the one that the checkpoint was made with. */
  config_sha256: z.string(),
  iteration: count,
  steps: count,
  /** Seconds of the run so far, and those in iterations alone. */
  wall_s: z.number().min(0),
  train_s: z.number().min(0),
  crossings: count,
  /** The last evaluation and the best one, each with the step that it was made at. */
  evaluated: evaluated.nullable(),
  best: evaluated.nullable(),
  /** Where environments of JavaScript objects stand, where they tell. */
  environments: z.array(z.unknown()).nullable(),
  /** What callbacks remember, by their names. */
  callbacks: z.record(z.string(), z.unknown()),
});
export type Evaluated = z.output<typeof evaluated>;
/** All that a checkpoint tells besides its tensors. */
export type CheckpointInfo = z.output<typeof description>;
const fileDescription = description.extend({
  tensors: z.object({ bytes: count, sha256: z.string() }),
});

export interface Checkpoint {
  readonly info: CheckpointInfo;
  readonly tensors: ReadonlyMap<string, FileTensor>;
}

export interface KeepPolicy {
  /** How many of the last ones stay. */
  readonly last: number;
  /** Of every so many steps the first one stays for good; 0 for none. */
  readonly every: number;
}

/** Which of some checkpoints stay, by their steps. */
export function keptSteps(all: readonly number[], best: number | undefined, { last, every }: KeepPolicy): Set<number> {
  const rising = [...all].sort((a, b) => a - b);
  const kept = new Set(rising.slice(-last));
  if (best !== undefined) kept.add(best);
  const periods = new Set<number>();
  for (const steps of every > 0 ? rising : []) {
    const period = Math.floor(steps / every);
    if (period > 0 && !periods.has(period)) kept.add(steps);
    periods.add(period);
  }
  return kept;
}

export class Checkpoints {
  readonly folder: string;
  readonly #files: FileStore;

  constructor(folder: string, files: FileStore = disk) {
    this.folder = folder;
    this.#files = files;
  }

  /** The steps of all entries, in rising order. */
  list(): number[] {
    const names = this.#files.listFolder(this.folder);
    return names
      .flatMap((name) => ENTRY.exec(name)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => a - b);
  }
  /** The path of an entry's tensors. */
  pathOf(steps: number): string {
    return `${this.#stem(steps)}.safetensors`;
  }
  #stem(steps: number): string {
    return `${this.folder}/${String(steps).padStart(STEP_DIGITS, "0")}`;
  }

  write(info: CheckpointInfo, tensors: ReadonlyMap<string, FileTensor>): void {
    const json = `${this.#stem(info.steps)}.json`;
    const bytes = writeTensors(tensors, { algo: info.algo, env: info.env, steps: String(info.steps) });
    const vouched = { format: FORMAT, ...info, tensors: { bytes: bytes.length, sha256: sha256(bytes) } };
    const text = writePlain(vouched, "the checkpoint");
    this.#files.makeFolder(this.folder);
    // An entry of the same step must not vouch for tensors that are not its own.
    this.#files.removeFile(json);
    this.#files.writeWhole(this.pathOf(info.steps), [bytes]);
    this.#files.writeWhole(json, [new TextEncoder().encode(text)]);
  }

  /** What an entry tells besides its tensors. */
  info(steps: number): z.output<typeof fileDescription> {
    const json = `${this.#stem(steps)}.json`;
    const damaged = (reason: string): CheckpointError =>
      new CheckpointError(`the checkpoint ${json} cannot be used: ${reason}`, { damaged: true });
    let value: unknown;
    try {
      value = readPlain(new TextDecoder().decode(this.#files.readWhole(json, MOST_JSON_BYTES)));
    } catch (error) {
      if (error instanceof PlainDataError || error instanceof FileError) throw damaged(error.message);
      throw error;
    }
    const { format } = { format: undefined, ...(value as object | null) };
    if (typeof format === "number" && format > FORMAT)
      throw new CheckpointError(
        `the checkpoint ${json} has format ${format}, this version reads ${FORMAT}; use the version that wrote it`,
      );
    const result = fileDescription.safeParse(value);
    if (result.success && result.data.steps === steps && format === FORMAT) return result.data;
    const [issue] = result.error?.issues ?? [];
    throw damaged(issue ? `${issue.path.join(".")}: ${issue.message}` : "it describes another one");
  }

  /** An entry, checked; it must not have more than so many bytes of elements. */
  read(steps: number, mostBytes = Number.POSITIVE_INFINITY): Checkpoint {
    const path = this.pathOf(steps);
    const known = this.list();
    if (!known.includes(steps))
      throw new CheckpointError(
        `${this.folder} has no checkpoint of ${steps} steps; there are those of ${known.join(", ") || "none"}`,
      );
    const { tensors: vouched, ...info } = this.info(steps);
    const damaged = (reason: string): CheckpointError =>
      new CheckpointError(`the checkpoint ${path} cannot be used: ${reason}`, { damaged: true });
    try {
      const bytes = this.#files.readWhole(path, mostBytes + HEADER_BYTES);
      if (bytes.length !== vouched.bytes) throw damaged(`it has ${bytes.length} bytes instead of ${vouched.bytes}`);
      if (sha256(bytes) !== vouched.sha256) throw damaged("its bytes are not those that were written");
      return { info, tensors: readTensors(bytes).tensors };
    } catch (error) {
      if (error instanceof TensorFileError || error instanceof FileError) throw damaged(error.message);
      throw error;
    }
  }

  /** The newest entry that is not damaged; of each that is, a notice. */
  newest(notice: (text: string) => void, mostBytes?: number): Checkpoint | undefined {
    for (const steps of this.list().reverse()) {
      try {
        return this.read(steps, mostBytes);
      } catch (error) {
        if (!(error instanceof CheckpointError && error.damaged)) throw error;
        notice(`${error.message}; the one before is used`);
      }
    }
    return undefined;
  }

  /** Removes entries by their steps. */
  remove(which: (steps: number) => boolean): void {
    for (const steps of this.list().filter(which)) {
      // The JSON first: from then on there is no entry.
      this.#files.removeFile(`${this.#stem(steps)}.json`);
      this.#files.removeFile(this.pathOf(steps));
    }
  }
  keep(policy: KeepPolicy, best: number | undefined): void {
    const kept = keptSteps(this.list(), best, policy);
    this.remove((steps) => !kept.has(steps));
  }

  /** Removes what killed processes left behind; only for who alone writes here. */
  tidy(): void {
    const names = this.#files.listFolder(this.folder);
    const vouched = new Set(
      names.filter((name) => ENTRY.test(name)).map((name) => name.replace(/json$/, "safetensors")),
    );
    for (const name of names) {
      const isDraft = name.endsWith(DRAFT) && OWN_FILE.test(name.slice(0, -DRAFT.length));
      const isOrphan = OWN_FILE.test(name) && name.endsWith("safetensors") && !vouched.has(name);
      if (isDraft || isOrphan) this.#files.removeFile(`${this.folder}/${name}`);
    }
  }
}
