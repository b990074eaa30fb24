/**
 * @file The trainer: iterations of an algorithm with all that surrounds them: records, evaluations, checkpoints,
 * callbacks, and an end that is told, whatever it was.
 *
 * What happens after which iteration follows from the numbers of steps alone, and a checkpoint holds everything else
 * that the rest depends on: a run that was killed and resumed is, bit for bit, the run that was not.
 */
import type { Algorithm } from "../algorithms/algorithm.ts";
import type { PhaseSeconds } from "../algorithms/iteration.ts";
import { LockstepError, UsageError } from "../platform/errors.ts";
import { FileError } from "../platform/files.ts";
import { nextTurn } from "../platform/turns.ts";
import { defaultThreads } from "../runtime/targets.ts";
import { CallbackList } from "./callbackList.ts";
import type { RunContext } from "./callbacks.ts";
import type { CheckpointInfo } from "./checkpoints.ts";
import { NonFiniteError, nonFinite } from "./diagnostics.ts";
import { type EvaluateOptions, Evaluator } from "./evaluation.ts";
import { type Progress, type ProgressNow, RunKeeper } from "./keeper.ts";
import { combine } from "./loggers/combine.ts";
import { jsonlLogger } from "./loggers/jsonl.ts";
import { tensorBoardLogger } from "./loggers/tensorBoard.ts";
import { planNew, planResumed, type ResumeOptions, type RunPlan, type TrainOptions } from "./plan.ts";
import { type Policy, policyOf } from "./policy.ts";
import type { EvaluationRecord, EvaluationResult, IterationRecord, Logger, RunInfo, RunSummary } from "./records.ts";
import { documentHash, makeAlgorithm, type RunDocument } from "./runDocument.ts";
import type { RunFolder } from "./runFolder.ts";
import { writeRunReport } from "./runReport.ts";
import { parametersHash } from "./snapshot.ts";
import { FORGETTING, HostWorldKeeper } from "./world.ts";

/** Milliseconds after which signals and timers get their turn. */
const TURN = 20;

export class Trainer {
  readonly algorithm: Algorithm;
  readonly #plan: RunPlan;
  readonly #folder: RunFolder | undefined;
  readonly #world: HostWorldKeeper;
  readonly #callbacks: CallbackList;
  readonly #logger: Logger;
  readonly #keeper: RunKeeper | undefined;
  readonly #progress: Progress = { iteration: 0, steps: 0, train_s: 0, evaluated: null, best: null };
  /** What was told to the run; numerics are known when it has begun. */
  #document: RunDocument;
  #info: RunInfo | undefined;
  #policy: Policy | undefined;
  #evaluator: Evaluator | undefined;
  /** Seconds and crossings of the parts of the run before this one; when this one began. */
  #before = { wall_s: 0, crossings: 0 };
  #startedAt = 0;
  #turnAt = 0;
  #stage: "new" | "running" | "over" = "new";
  /** Whether states are those of the end of an iteration whose numbers are fine. */
  #isWhole = true;
  #stopping = false;
  #checkpointWanted = false;

  private constructor(plan: RunPlan) {
    this.#plan = plan;
    this.#callbacks = new CallbackList(plan.callbacks);
    this.#world = new HostWorldKeeper(plan.environment.playground, plan.resume?.newest);
    this.algorithm = makeAlgorithm(plan.document, this.#world.playground);
    const { id, observation, action } = this.algorithm.spaces;
    this.#document = { ...plan.document, spaces: { id, observation, action } };
    try {
      this.#checkSpaces(plan.document.spaces);
      this.#folder = plan.openFolder();
    } catch (error) {
      this.dispose();
      throw error;
    }
    this.#keeper = this.#folder && new RunKeeper(this.#folder, this.algorithm, this.#world, this.#callbacks);
    this.#logger = combine([...this.#folderLoggers(), ...plan.loggers]);
  }

  /** A new run. Everything that can be wrong with its options is told here. */
  static create(options: TrainOptions): Trainer {
    return new Trainer(planNew(options));
  }
  /** Goes on with the run in a folder, from its newest checkpoint that can be used. */
  static resume(folder: string, options: ResumeOptions = {}): Trainer {
    return new Trainer(planResumed(folder, options));
  }

  #checkSpaces(known: RunDocument["spaces"] | undefined): void {
    const { spaces } = this.#document;
    if (known === undefined || documentHash({ ...this.#document, spaces: known }) === documentHash(this.#document))
      return;
    throw new UsageError(
      `the environment ${spaces.id} is not the one that the run began with (${known.id}): its spaces are others`,
    );
  }
  #folderLoggers(): Logger[] {
    const folder = this.#folder;
    if (!folder) return [];
    return [jsonlLogger(folder.pathOf("metrics")), tensorBoardLogger(folder.pathOf("events"))];
  }

  /** The run folder, where there is one. */
  get folder(): string | undefined {
    return this.#folder?.path;
  }
  /** The policy as it is at every moment. */
  get policy(): Policy {
    const { target, numerics } = this.algorithm;
    const { seed, threads } = this.#document;
    this.#policy ??= policyOf(this.algorithm, { target, numerics, seed, ...(threads === null ? {} : { threads }) });
    return this.#policy;
  }
  /** Plays episodes with the policy as it is now. */
  evaluate(options: EvaluateOptions = {}): EvaluationResult {
    const { seed } = this.#document;
    const evaluator = new Evaluator(this.policy, this.#plan.environment, { seed, ...this.#where, ...options });
    try {
      return evaluator.run();
    } finally {
      evaluator.dispose();
    }
  }
  get #where(): Pick<EvaluateOptions, "target" | "threads"> {
    const { threads } = this.#document;
    return { target: this.algorithm.target, ...(threads === null ? {} : { threads }) };
  }

  /** Trains until all steps are done, or someone ends it. */
  async run(): Promise<RunSummary> {
    if (this.#stage !== "new") throw new UsageError("a trainer runs once; Trainer.resume goes on with a run folder");
    this.#stage = "running";
    try {
      this.#begin();
      await this.#callbacks.start(this.#context({}));
      const ended = await this.#loop();
      return await this.#end(ended);
    } catch (error) {
      await this.#fail(error);
      throw error;
    } finally {
      this.#stage = "over";
      this.#folder?.release();
    }
  }

  // The beginning

  #begin(): void {
    const { resume } = this.#plan;
    this.#startedAt = performance.now();
    this.algorithm.load();
    // What it took to begin is not part of iterations.
    this.#before.crossings = -this.algorithm.crossings;
    this.#document = { ...this.#document, numerics: this.algorithm.numerics };
    const early: string[] = [];
    const found = resume && this.#keeper?.restore(this.#document, resume.checkpoint, (text) => early.push(text));
    if (found) this.#takeOver(found);
    if (resume && this.#progress.iteration >= this.algorithm.iterations && this.#folder?.has("summary"))
      throw new UsageError(
        `the run in ${this.folder} is over: all ${this.#document.steps} steps are done; give more steps to go on`,
      );
    this.#folder?.removeSummary();
    this.#folder?.writeConfig(this.#document);
    const { iteration, steps } = this.#progress;
    this.#info = { ...this.#about(), ...(resume ? { resumed: { iteration, steps } } : {}) };
    this.#logger.start?.(this.#info);
    for (const text of [...this.#plan.notes, ...early]) this.#notice(text);
    if (found && this.#world.forgets) this.#notice(FORGETTING);
  }
  #about(): RunInfo {
    const { algo, env, seed, threads } = this.#document;
    const { target, numerics, stepsPerIteration } = this.algorithm;
    return {
      algo,
      env,
      seed,
      target,
      threads: threads ?? defaultThreads(),
      numerics,
      total_steps: this.algorithm.iterations * stepsPerIteration,
      config: this.#document,
      ...(this.folder === undefined ? {} : { folder: this.folder }),
    };
  }

  #takeOver({ iteration, steps, train_s, evaluated, best, wall_s, crossings }: CheckpointInfo): void {
    Object.assign(this.#progress, { iteration, steps, train_s, evaluated, best } satisfies Progress);
    this.#before = { wall_s, crossings: crossings - this.algorithm.crossings };
  }

  // Iterations

  async #loop(): Promise<RunSummary["ended"]> {
    while (this.#progress.iteration < this.algorithm.iterations) {
      if (this.#plan.signal?.aborted) return "interrupted";
      if (this.#stopping) return "stopped";
      await this.#step();
      if (performance.now() - this.#turnAt > TURN) {
        await nextTurn();
        this.#turnAt = performance.now();
      }
    }
    return "finished";
  }

  /** One iteration, and what is due after it. */
  async #step(): Promise<void> {
    const { evalEvery, checkpointEvery } = this.#document;
    const before = this.#progress.steps;
    const record = this.#iterate();
    this.#logger.record?.(record);
    await this.#callbacks.iteration(this.#context({ record }));
    const { steps, iteration } = this.#progress;
    const isDue = (every: number): boolean => every > 0 && Math.floor(steps / every) > Math.floor(before / every);
    const isLast = iteration === this.algorithm.iterations;
    const isBest = (isDue(evalEvery) || isLast || this.#stopping) && (await this.#evaluateNow());
    if (isDue(checkpointEvery) || isBest || isLast || this.#checkpointWanted) await this.#checkpoint({ isLast });
  }

  #iterate(): IterationRecord {
    const { algorithm } = this;
    const phases: PhaseSeconds | undefined = algorithm.phases && { ...algorithm.phases };
    const start = performance.now();
    this.#isWhole = false;
    const told = algorithm.iterate();
    const seconds = (performance.now() - start) / 1000;
    const progress = this.#progress;
    progress.iteration++;
    progress.steps += algorithm.stepsPerIteration;
    progress.train_s += seconds;
    const wrong = nonFinite(told);
    if (wrong) throw new NonFiniteError(progress, wrong.term, wrong.value, this.#whatIsKept());
    this.#isWhole = true;
    const metrics = {
      ...told,
      steps_per_s: algorithm.stepsPerIteration / seconds,
      ...phaseMetrics(phases, algorithm.phases),
    };
    return { kind: "iteration", ...this.#place(), metrics };
  }

  /** Evaluates, once for an iteration; whether it was the best evaluation so far. */
  async #evaluateNow(): Promise<boolean> {
    const { evalEpisodes: episodes, seed } = this.#document;
    const progress = this.#progress;
    if (episodes === 0 || progress.evaluated?.steps === progress.steps) return false;
    this.#evaluator ??= new Evaluator(this.policy, this.#plan.environment, { episodes, seed, ...this.#where });
    const evaluation = this.#evaluator.run();
    const isBest = progress.best === null || evaluation.mean > progress.best.evaluation.mean;
    progress.evaluated = { steps: progress.steps, evaluation };
    if (isBest) progress.best = progress.evaluated;
    const record: EvaluationRecord = { kind: "evaluation", ...this.#place(), evaluation };
    this.#logger.record?.(record);
    await this.#callbacks.evaluation(this.#context({ record, isBest }));
    return isBest;
  }

  /** Writes a checkpoint. One that cannot be written is told, and the run goes on; of the last one it is an error. */
  async #checkpoint({ isLast }: { readonly isLast: boolean }): Promise<void> {
    this.#checkpointWanted = false;
    if (!this.#keeper) return;
    const { steps } = this.#progress;
    let path: string;
    try {
      path = this.#keeper.write(this.#document, this.#progressNow());
    } catch (error) {
      if (error instanceof NonFiniteError) this.#isWhole = false;
      if (isLast || !(error instanceof FileError)) throw error;
      this.#notice(`no checkpoint at step ${steps}: ${error.message}; the run goes on. ${this.#keeper.whatIsKept()}`);
      return;
    }
    await this.#callbacks.checkpoint(this.#context({ path }));
  }

  // The end

  async #end(ended: RunSummary["ended"]): Promise<RunSummary> {
    // Who interrupts a run does not want to wait for episodes.
    if (ended !== "interrupted") await this.#evaluateNow();
    if (!this.#keeper?.isUpToDate(this.#progress)) await this.#checkpoint({ isLast: true });
    const summary = this.#summary(ended);
    await this.#callbacks.end(this.#context({ summary }));
    this.#folder?.writeSummary(summary);
    this.#report();
    await this.#logger.end?.(summary);
    return summary;
  }
  /** A page about the run; a run is not wasted for the want of it. */
  #report(): void {
    if (!this.#folder || !this.#plan.report) return;
    try {
      // What evaluations were played with is there; for a picture alone native code would be too dear.
      writeRunReport(this.#folder, this.#plan.environment, this.#evaluator && this.#where);
    } catch (error) {
      if (!(error instanceof LockstepError)) throw error;
      this.#notice(`there is no report: ${error.message}`);
    }
  }
  #summary(ended: RunSummary["ended"]): RunSummary {
    const { algo, env, seed, target, threads, numerics } = this.#info ?? this.#about();
    const { steps, iteration: iterations, train_s, evaluated } = this.#progress;
    const { wall_s } = this.#place();
    return {
      ...{ algo, env, seed, target, threads, numerics, steps, iterations, ended, wall_s, train_s },
      steps_per_s: train_s > 0 ? steps / train_s : 0,
      crossings: this.#crossings,
      evaluation: evaluated?.evaluation ?? null,
      parameters_sha256: parametersHash(this.algorithm),
      run: this.folder ?? null,
    };
  }

  /** Keeps what can be kept, and lets loggers write out what they hold. What goes wrong here is not the error to tell. */
  async #fail(error: unknown): Promise<void> {
    if (this.#info === undefined) return;
    const keeper = this.#keeper;
    try {
      if (this.#isWhole && !keeper?.isUpToDate(this.#progress)) keeper?.write(this.#document, this.#progressNow());
    } catch {
      // The reason why the run ends may be the same one.
    }
    try {
      this.#notice(`the run ends: ${error instanceof Error ? error.message : String(error)}`);
      if (!(error instanceof NonFiniteError)) this.#notice(this.#whatIsKept());
      await this.#logger.end?.(this.#summary("interrupted"));
    } catch {
      // As above.
    }
  }

  // For everyone

  #place(): { readonly iteration: number; readonly steps: number; readonly wall_s: number } {
    const { iteration, steps } = this.#progress;
    return { iteration, steps, wall_s: this.#before.wall_s + (performance.now() - this.#startedAt) / 1000 };
  }
  #progressNow(): ProgressNow {
    return { ...this.#progress, wall_s: this.#place().wall_s, crossings: this.#crossings };
  }
  #whatIsKept(): string {
    return this.#keeper?.whatIsKept() ?? "Nothing of the run is kept: it has no folder";
  }
  get #crossings(): number {
    return this.#before.crossings + this.algorithm.crossings;
  }
  #notice(text: string): void {
    this.#logger.notice?.(text);
  }
  /** What callbacks are told, and more. */
  #context<T extends object>(more: T): RunContext & T {
    const { iteration, steps } = this.#progress;
    const policy = (): Policy => this.policy;
    const context: RunContext = {
      info: this.#info as RunInfo,
      iteration,
      steps,
      get policy() {
        return policy();
      },
      notice: (text) => this.#notice(text),
      stop: (reason) => {
        if (!this.#stopping) this.#notice(`the run is ended: ${reason}`);
        this.#stopping = true;
      },
      checkpoint: () => {
        this.#checkpointWanted = true;
      },
    };
    return Object.assign(context, more);
  }

  /** Gives memory back; the policy cannot be used any more. */
  dispose(): void {
    this.#folder?.release();
    this.#evaluator?.dispose();
    this.#policy?.dispose();
    this.algorithm.dispose();
    this.#world.dispose();
  }
}

/** Seconds of each phase since a moment, as metrics. */
function phaseMetrics(before: PhaseSeconds | undefined, now: PhaseSeconds | undefined): { [name: string]: number } {
  const entries = Object.entries(now ?? {}) as [keyof PhaseSeconds, number][];
  return Object.fromEntries(entries.map(([phase, s]) => [`time_${phase}`, s - (before?.[phase] ?? 0)]));
}

/** Trains, from beginning to end. */
export async function train(options: TrainOptions): Promise<RunSummary> {
  return finished(Trainer.create(options));
}
/** Goes on with the run in a folder, to its end. */
export async function resume(folder: string, options: ResumeOptions = {}): Promise<RunSummary> {
  return finished(Trainer.resume(folder, options));
}
async function finished(trainer: Trainer): Promise<RunSummary> {
  try {
    return await trainer.run();
  } finally {
    trainer.dispose();
  }
}
