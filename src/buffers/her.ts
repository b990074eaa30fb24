/**
 * @file HerBuffer: hindsight experience replay. Some of the sampled transitions get another goal, one that was achieved
 * in the same episode, and the reward that goes with it.
 *
 * One stream of episodes (environments that run side by side push whole episodes with `pushEpisode`). Only finished
 * episodes are sampled: the goal may be any later step. What an episode's oldest steps achieved stays available as long
 * as the steps do. `terminated` and `truncated` stay as they were stored.
 */
import { checkCount } from "../kernels/checks.ts";
import { DataError } from "../kernels/errors.ts";
import { HostStream } from "../random/host.ts";
import { Batches } from "./batches.ts";
import { type Column, type ColumnSpec, makeOrRelease } from "./columns.ts";
import { type SeedWords, seedWords, writeKey } from "./draws.ts";
import { GIVEN, Sampler } from "./gather.ts";
import type { ReplayOptions, ReplaySnapshot } from "./replay.ts";
import { type BatchArrays, checkSaved, needStored, type PushSlices, type Transition, TransitionRing } from "./ring.ts";

/** Which step of the episode the new goal is taken from. */
export type GoalStrategy = "final" | "future" | "episode";

export interface HerOptions<O extends ColumnSpec = ColumnSpec, A extends ColumnSpec = ColumnSpec>
  extends Omit<ReplayOptions<O, A>, "columns" | "environments" | "nextObservations" | "finalObservations"> {
  /** Numbers of a goal. */
  readonly goal: number;
  readonly strategy?: GoalStrategy;
  /** With "future": the transition's own step may be chosen too; otherwise only later ones. */
  readonly inclusive?: boolean;
  /** The share of a batch that gets new goals, rounded up; 0.8 unless given. */
  readonly ratio?: number;
  /** A goal is reached within this distance; 0.05 unless given. */
  readonly tolerance?: number;
  /** The reward for what was achieved against a goal; 0 within the tolerance and -1 otherwise unless given. */
  readonly reward?: (achieved: Float32Array, goal: Float32Array) => number;
}

/** A transition with what was achieved by it and what was wanted. */
export interface GoalTransition extends Transition {
  readonly observation: ArrayLike<number>;
  readonly nextObservation: ArrayLike<number>;
  /** The goal that is achieved after the step. */
  readonly achievedGoal: ArrayLike<number>;
  readonly desiredGoal: ArrayLike<number>;
}

interface GoalColumns {
  readonly achievedGoal: Column<"f32">;
  readonly desiredGoal: Column<"f32">;
  readonly [name: string]: Column;
}
export type HerBatch<O extends ColumnSpec, A extends ColumnSpec> = BatchArrays<O, A, GoalColumns> & {
  /** The first rows of the batch have new goals: so many. */
  readonly relabelled: number;
};

/** The step a goal is taken from, for step `step` of an episode of `length` and a uniform number u in [0, 1). */
export function goalStep(strategy: GoalStrategy, inclusive: boolean, step: number, length: number, u: number): number {
  switch (strategy) {
    case "final":
      return length - 1;
    case "episode":
      return Math.floor(u * length);
    case "future": {
      const low = inclusive ? step : Math.min(step + 1, length - 1);
      return low + Math.floor(u * (length - low));
    }
    default:
      throw new DataError(`there is no strategy "${String(strategy satisfies never)}"; use final, future or episode`);
  }
}

/** 0 within the tolerance, -1 outside. */
export function sparseReward(tolerance: number): (achieved: ArrayLike<number>, goal: ArrayLike<number>) => number {
  return (achieved, goal) => {
    let square = 0;
    for (let k = 0; k < goal.length; k++) square += ((achieved[k] as number) - (goal[k] as number)) ** 2;
    return Math.sqrt(square) < tolerance ? 0 : -1;
  };
}

/** What the buffer needs to continue exactly where it was. */
export interface HerSnapshot extends ReplaySnapshot {
  /** From the oldest transition to the newest: the step within its episode, and the episode's length once it ended. */
  readonly steps: Int32Array;
  readonly lengths: Int32Array;
  /** Steps of the episode that goes on. */
  readonly current: number;
}

const UNFINISHED = -1;
const FINISHED = "transitions of finished episodes";

/** Steps count up within episodes that are stored whole but for overwritten first steps; goals are looked up by them. */
function checkEpisodes({ count, steps, lengths, current }: HerSnapshot): void {
  checkCount("restore: the steps of the current episode", current, 0);
  if (steps?.length !== count || lengths?.length !== count)
    throw new DataError("restore: the state lacks steps of its transitions");
  const finished = Math.max(0, count - current);
  for (let age = 0; age < count; age++) {
    const [step, length] = [steps[age] as number, lengths[age] as number];
    const starts = age === 0 || age === finished || step === 0;
    const follows = starts || (step === (steps[age - 1] as number) + 1 && length === lengths[age - 1]);
    const last = age === count - 1 || age === finished - 1 || steps[age + 1] === 0;
    const fits = age >= finished ? length === UNFINISHED : last ? step === length - 1 : step < length - 1;
    if (!(step >= 0 && follows && fits))
      throw new DataError(`restore: step ${step} of ${length} does not fit at ${age}`);
  }
}

export class HerBuffer<O extends ColumnSpec = ColumnSpec, A extends ColumnSpec = ColumnSpec> {
  readonly seed: number;
  readonly strategy: GoalStrategy;
  readonly ratio: number;
  /** The number of the next sample; may be set to take a sample again. */
  calls = 0;
  readonly #goal: number;
  readonly #inclusive: boolean;
  readonly #rewardOf: (achieved: Float32Array, goal: Float32Array) => number;
  readonly #ring: TransitionRing;
  readonly #write: PushSlices;
  #check: ((...args: Parameters<PushSlices>) => void) | undefined;
  readonly #sampler: Sampler;
  readonly #batches: Batches<HerBatch<O, A>>;
  readonly #seed: SeedWords;
  readonly #key = new Int32Array(16);
  readonly #stream = new HostStream(0, 0);
  /** By slot: the step within its episode, and the episode's length once it has ended. */
  readonly #step: Int32Array;
  readonly #length: Int32Array;
  readonly #achieved: Float32Array;
  readonly #wanted: Float32Array;
  /** Steps of the episode that goes on. */
  #current = 0;

  constructor(options: HerOptions<O, A>) {
    this.seed = checkCount("the seed", options.seed ?? 0, 0);
    this.#seed = seedWords(this.seed);
    this.#goal = checkCount("the size of a goal", options.goal, 1);
    this.strategy = options.strategy ?? "future";
    this.#inclusive = options.inclusive ?? false;
    goalStep(this.strategy, this.#inclusive, 0, 1, 0);
    this.ratio = options.ratio ?? 0.8;
    if (!(this.ratio >= 0 && this.ratio <= 1))
      throw new DataError(`the ratio must be a number from 0 to 1, not ${this.ratio}`);
    const tolerance = options.tolerance ?? 0.05;
    if (!(tolerance > 0)) throw new DataError(`the tolerance must be above 0, not ${tolerance}`);
    this.#rewardOf = options.reward ?? sparseReward(tolerance);
    const goals = { achievedGoal: this.#goal, desiredGoal: this.#goal };
    this.#ring = new TransitionRing({ ...options, columns: goals, environments: 1, nextObservations: "separate" });
    this.#write = this.#ring.pushSlices();
    this.#step = new Int32Array(this.capacity);
    this.#length = new Int32Array(this.capacity).fill(UNFINISHED);
    this.#achieved = new Float32Array(this.#goal);
    this.#wanted = new Float32Array(this.#goal);
    const sources = this.#ring.sources();
    this.#sampler = makeOrRelease([this.#ring], () => new Sampler(sources, GIVEN, options.target ?? "auto"));
    this.#batches = new Batches(this.#sampler);
  }

  get capacity(): number {
    return this.#ring.capacity;
  }
  get length(): number {
    return this.#ring.state.count;
  }
  /** Transitions of finished episodes: those that can be sampled. */
  get finished(): number {
    return Math.max(0, this.#ring.state.count - this.#current);
  }

  /** Pushes one transition; its slot. An episode ends with terminated or truncated. */
  push(t: GoalTransition): number {
    const { observation, action, reward, terminated, truncated, nextObservation } = t;
    const slot = this.#write(observation, action, reward, terminated, truncated, nextObservation, t);
    this.#step[slot] = this.#current++;
    this.#length[slot] = UNFINISHED;
    if (t.terminated || t.truncated) this.#finish(slot);
    return slot;
  }

  /** Ends the episode, such as one that was given up: its transitions can be sampled from now on. */
  endEpisode(): void {
    if (this.#current > 0) this.#finish((this.#ring.state.head - 1 + this.capacity) % this.capacity);
  }

  #finish(last: number): void {
    const { capacity } = this;
    for (let k = 0; k < Math.min(this.#current, capacity); k++)
      this.#length[(last - k + capacity) % capacity] = this.#current;
    this.#current = 0;
  }

  /** Pushes an episode; the last transition must be terminated or truncated. */
  pushEpisode(transitions: readonly GoalTransition[]): void {
    const last = transitions.at(-1);
    if (!last || !(last.terminated || last.truncated))
      throw new DataError("pushEpisode: the last transition must be terminated or truncated");
    if (transitions.some((t) => t !== last && (t.terminated || t.truncated)))
      throw new DataError("pushEpisode: the episode ends before its last transition; push one episode at a time");
    if (this.#current > 0) throw new DataError("pushEpisode: another episode goes on; end it first");
    this.#check ??= this.#ring.checkSlices();
    for (const t of transitions)
      this.#check(t.observation, t.action, t.reward, t.terminated, t.truncated, t.nextObservation, t);
    for (const t of transitions) this.push(t);
  }

  createBatch(size: number): HerBatch<O, A> {
    return this.#made(size, this.#batches.create(size));
  }

  #made(size: number, batch: HerBatch<O, A>): HerBatch<O, A> {
    if (!("relabelled" in batch)) Object.assign(batch, { relabelled: Math.ceil(size * this.ratio) });
    return batch;
  }

  /** Draws `size` transitions of finished episodes. The batch is the buffer's own. */
  sample(size: number): HerBatch<O, A> {
    needStored(size, this.finished, FINISHED);
    return this.sampleInto(this.#made(size, this.#batches.own(size)));
  }

  sampleInto(batch: HerBatch<O, A>): HerBatch<O, A> {
    const bound = this.#batches.bound(batch);
    const { finished } = this;
    needStored(bound.size, finished, FINISHED);
    writeKey(this.#key, this.#seed, this.calls++);
    const stream = this.#stream;
    stream.restart(this.#key[0] as number, this.#key[1] as number);
    const { oldest } = this.#ring;
    for (let i = 0; i < batch.size; i++) bound.index[i] = (oldest + stream.below(finished)) % this.capacity;
    bound.run();
    for (let i = 0; i < batch.relabelled; i++) this.#relabel(batch, i, stream.bits() / 2 ** 32);
    return batch;
  }

  /** The slot that the goal of a slot is taken from, for a uniform number. */
  goalSlot(slot: number, u: number): number {
    const step = this.#step[slot] as number;
    const length = this.#length[slot] as number;
    const age = (slot - this.#ring.oldest + this.capacity) % this.capacity;
    // Steps of the episode that are overwritten by now cannot be chosen.
    const gone = Math.max(0, step - age);
    const chosen = gone + goalStep(this.strategy, this.#inclusive, step - gone, length - gone, u);
    return (slot + chosen - step + this.capacity) % this.capacity;
  }

  #relabel(batch: HerBatch<O, A>, i: number, u: number): void {
    const size = this.#goal;
    const { array, offset, stride } = this.#ring.storage.view("achievedGoal");
    const from = offset + this.goalSlot(batch.index[i] as number, u) * stride;
    for (let k = 0; k < size; k++) {
      const wanted = array[from + k] as number;
      batch.desiredGoal[i * size + k] = wanted;
      this.#wanted[k] = wanted;
      this.#achieved[k] = batch.achievedGoal[i * size + k] as number;
    }
    batch.reward[i] = this.#rewardOf(this.#achieved, this.#wanted);
  }

  save(): HerSnapshot {
    const ring = this.#ring.save();
    const slots = Array.from({ length: ring.count }, (_, age) => (this.#ring.oldest + age) % this.capacity);
    const steps = Int32Array.from(slots, (slot) => this.#step[slot] as number);
    const lengths = Int32Array.from(slots, (slot) => this.#length[slot] as number);
    return { ...ring, seed: this.seed, calls: this.calls, steps, lengths, current: this.#current };
  }

  restore(saved: HerSnapshot): void {
    checkSaved(saved, this.seed);
    checkEpisodes(saved);
    const { steps, lengths, current, calls } = saved;
    this.#ring.restore(saved);
    for (let age = 0; age < saved.count; age++) {
      const slot = (this.#ring.oldest + age) % this.capacity;
      this.#step[slot] = steps[age] as number;
      this.#length[slot] = lengths[age] as number;
    }
    this.#current = current;
    this.calls = calls;
  }

  dispose(): void {
    this.#ring.dispose();
    this.#sampler.dispose();
    this.#batches.dispose();
  }
}
