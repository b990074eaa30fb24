/**
 * @file What a run keeps in its checkpoints, and how it is put back: tensors, environments of objects, counts, and what
 * callbacks remember.
 */
import type { Algorithm } from "../algorithms/algorithm.ts";
import type { CallbackList } from "./callbackList.ts";
import { type Checkpoint, CheckpointError, type CheckpointInfo, type Evaluated } from "./checkpoints.ts";
import { NonFiniteError } from "./diagnostics.ts";
import { documentHash, type RunDocument } from "./runDocument.ts";
import type { RunFolder } from "./runFolder.ts";
import { restoring, tensorBytes, tensorsOf } from "./snapshot.ts";
import type { HostWorldKeeper } from "./world.ts";

/** How far a run is. */
export interface Progress {
  iteration: number;
  steps: number;
  train_s: number;
  evaluated: Evaluated | null;
  best: Evaluated | null;
}
/** The same with what goes on by itself. */
export interface ProgressNow extends Readonly<Progress> {
  readonly wall_s: number;
  readonly crossings: number;
}

export class RunKeeper {
  readonly #folder: RunFolder;
  readonly #algorithm: Algorithm;
  readonly #world: HostWorldKeeper;
  readonly #callbacks: CallbackList;
  /** What the newest checkpoint holds. */
  #kept: Pick<Progress, "steps" | "evaluated"> | undefined;

  constructor(folder: RunFolder, algorithm: Algorithm, world: HostWorldKeeper, callbacks: CallbackList) {
    this.#folder = folder;
    this.#algorithm = algorithm;
    this.#world = world;
    this.#callbacks = callbacks;
  }

  /** Whether there is nothing that a checkpoint would add. */
  isUpToDate({ steps, evaluated }: Readonly<Progress>): boolean {
    if (this.#kept === undefined) return steps === 0;
    return this.#kept.steps === steps && this.#kept.evaluated?.steps === evaluated?.steps;
  }

  /** Writes a checkpoint and removes those that need not stay; the path of its tensors. */
  write(document: RunDocument, progress: ProgressNow): string {
    const { checkpoints } = this.#folder;
    const { steps, evaluated, best } = progress;
    this.#checkParameters(progress);
    checkpoints.write(
      {
        algo: document.algo,
        env: document.env,
        config_sha256: documentHash(document),
        ...progress,
        environments: this.#world.save(),
        callbacks: this.#callbacks.save(),
      },
      tensorsOf(this.#algorithm),
    );
    this.#kept = { steps, evaluated };
    checkpoints.keep({ last: document.keepCheckpoints, every: document.keepEvery }, best?.steps);
    return checkpoints.pathOf(steps);
  }
  /** Parameters that are no numbers must not take the place of good ones. */
  #checkParameters(progress: Readonly<Progress>): void {
    const { parameters } = this.#algorithm;
    const values = parameters.arena.array;
    const wrong = values.findIndex((x) => !Number.isFinite(x));
    if (wrong < 0) return;
    const name = parameters.list.find(({ offset, size }) => wrong < offset + size)?.name ?? parameters.name;
    throw new NonFiniteError(progress, name, values[wrong] as number, this.whatIsKept());
  }
  /** In words, for who has to go on from it. */
  whatIsKept(): string {
    const { checkpoints, path } = this.#folder;
    const newest = checkpoints.list().at(-1);
    if (newest === undefined) return `There is no checkpoint in ${path} yet`;
    return `The checkpoint of step ${newest} is kept in ${path}`;
  }

  /** Puts everything where a checkpoint found it; undefined when there is none yet, and the run begins anew. */
  restore(
    document: RunDocument,
    wanted: number | undefined,
    notice: (text: string) => void,
  ): CheckpointInfo | undefined {
    const { checkpoints } = this.#folder;
    const most = tensorBytes(this.#algorithm);
    const found = wanted === undefined ? checkpoints.newest(notice, most) : checkpoints.read(wanted, most);
    if (!found && checkpoints.list().length > 0)
      throw new CheckpointError(`no checkpoint in ${checkpoints.folder} can be used; train anew in another folder`);
    if (found) this.#putBack(document, found);
    // What came after it is not part of the run any more.
    checkpoints.remove((steps) => steps > (found?.info.steps ?? 0));
    return found?.info;
  }
  #putBack(document: RunDocument, { info, tensors }: Checkpoint): void {
    if (info.config_sha256 !== documentHash(document))
      throw new CheckpointError(
        `the checkpoint of ${info.steps} steps belongs to another configuration than the config.json beside it`,
      );
    const put = restoring(this.#algorithm, tensors, (name) => this.#world.leavesOut(name));
    this.#world.restore(info.environments);
    put();
    this.#callbacks.load(info.callbacks);
    this.#kept = info;
  }
}
