/**
 * @file NStepBuffer: a ring of transitions that is sampled with n-step returns.
 *
 * Returns are made when a sample is taken, so that n and gamma belong to the sample and transitions are stored once. A
 * window ends at the first terminated or truncated step, after n steps, or at the newest transition, whichever comes
 * first. A learner's target is `reward + discount * (1 - terminated) * value(nextObservation)` in all of these cases:
 * `terminated` is 1 only where the window ended by termination, and after a truncation the final observation counts.
 */
import { constant, f32, f64, i32, u8 } from "../kernel/declare.ts";
import { allocate, free, type Kernel, kernel } from "../kernel/kernel.ts";
import { checkCount } from "../kernels/checks.ts";
import { DataError } from "../kernels/errors.ts";
import { Batches } from "./batches.ts";
import { type ColumnSpec, type ColumnSpecs, type ColumnView, makeOrRelease } from "./columns.ts";
import { CONTROL, CONTROL_WORDS, drawRows, type SeedWords, seedWords, writeKey, writeWindow } from "./draws.ts";
import { type Chooser, Sampler } from "./gather.ts";
import type { ReplayOptions, ReplaySnapshot } from "./replay.ts";
import {
  type BatchArrays,
  checkSaved,
  needStored,
  type PushBatch,
  type PushSlices,
  type Transition,
  TransitionRing,
} from "./ring.ts";

export interface NStepOptions<
  O extends ColumnSpec = ColumnSpec,
  A extends ColumnSpec = ColumnSpec,
  X extends ColumnSpecs = ColumnSpecs,
> extends ReplayOptions<O, A, X> {
  /** Steps of a return, at most. */
  readonly n: number;
  /** The discount of one step; 0.99 unless given. */
  readonly gamma?: number;
}

/** A batch whose rewards are n-step returns and whose next observations stand at the end of the windows. */
export type NStepBatch<O extends ColumnSpec, A extends ColumnSpec, X extends ColumnSpecs> = BatchArrays<O, A, X> & {
  /** gamma to the power of the steps taken: the factor of the value after the window. */
  readonly discount: Float32Array;
  /** Steps taken. */
  readonly steps: Int32Array;
};

/** Words of the control array beside those of draws. */
const WORDS = { n: 8 } as const;

interface Offsets {
  readonly stride: number;
  readonly offset: number;
}

/** Walks from each drawn transition to the end of its window. */
function walkWindows(reward: Offsets, terminated: Offsets, truncated: Offsets): Kernel {
  const at = constant({
    stride: reward.stride,
    reward: reward.offset,
    byteStride: terminated.stride,
    terminated: terminated.offset,
    truncated: truncated.offset,
  });
  return kernel(
    {
      control: i32.array(CONTROL_WORDS),
      settings: f64.array(),
      rewards: f32.array(),
      flags: u8.array(),
      draws: i32.array(),
      after: i32.array(),
      reward: f32.array(),
      discount: f32.array(),
      terminated: u8.array(),
      truncated: u8.array(),
      steps: i32.array(),
      at,
    },
    ({ control, settings, rewards, flags, draws, after, reward, discount, terminated, truncated, steps, at }) => {
      const capacity = control[4]!;
      const stride = control[6]!;
      const newest = control[7]!;
      const n = control[8]!;
      const gamma = settings[0]!;
      for (let i = 0; i < draws.length; i++) {
        let slot = draws[i]!;
        const behind = newest - slot;
        let left = behind < 0 ? behind + capacity : behind;
        let sum = Number(rewards[slot * at.stride + at.reward]!);
        let factor = gamma;
        let taken = 1;
        let ended = flags[slot * at.byteStride + at.terminated]! | flags[slot * at.byteStride + at.truncated]!;
        while (ended === 0 && taken < n && left >= stride) {
          slot = slot + stride;
          if (slot >= capacity) slot = slot - capacity;
          left = left - stride;
          sum = sum + factor * Number(rewards[slot * at.stride + at.reward]!);
          factor = factor * gamma;
          taken = taken + 1;
          ended = flags[slot * at.byteStride + at.terminated]! | flags[slot * at.byteStride + at.truncated]!;
        }
        after[i] = slot;
        reward[i] = Math.fround(sum);
        discount[i] = Math.fround(factor);
        steps[i] = taken;
        terminated[i] = flags[slot * at.byteStride + at.terminated]!;
        truncated[i] = flags[slot * at.byteStride + at.truncated]!;
      }
    },
    { name: "walkWindows" },
  ) as unknown as Kernel;
}

const COMPUTED: ReadonlySet<string> = new Set(["reward", "terminated", "truncated"]);

export class NStepBuffer<
  O extends ColumnSpec = ColumnSpec,
  A extends ColumnSpec = ColumnSpec,
  X extends ColumnSpecs = Record<never, never>,
> {
  readonly seed: number;
  readonly n: number;
  readonly gamma: number;
  /** The number of the next sample; may be set to take a sample again. */
  calls = 0;
  readonly pushSlices: PushSlices;
  /** With several environments: one row for each, in every call. */
  readonly pushBatch: PushBatch;
  readonly #ring: TransitionRing;
  readonly #sampler: Sampler;
  readonly #batches: Batches<NStepBatch<O, A, X>>;
  readonly #seed: SeedWords;
  readonly #settings: Float64Array;
  #disposed = false;

  constructor(options: NStepOptions<O, A, X>) {
    this.seed = checkCount("the seed", options.seed ?? 0, 0);
    this.#seed = seedWords(this.seed);
    this.n = checkCount("n", options.n, 1);
    this.gamma = options.gamma ?? 0.99;
    if (!(this.gamma >= 0 && this.gamma <= 1))
      throw new DataError(`gamma must be a number from 0 to 1, not ${this.gamma}`);
    this.#ring = new TransitionRing(options);
    this.pushSlices = this.#ring.environments === 1 ? this.#ring.pushSlices() : this.#refuseSingle;
    this.pushBatch = this.#inStep(this.#ring.pushBatch());
    this.#settings = makeOrRelease([this.#ring], () => allocate(f64, 1));
    this.#settings[0] = this.gamma;
    const taken = [this.#ring, { dispose: () => free(this.#settings) }];
    const sources = this.#ring.sources("after").filter(({ name }) => !COMPUTED.has(name));
    const chooser = this.#ring.chooser(this.#chooser());
    this.#sampler = makeOrRelease(taken, () => new Sampler(sources, chooser, options.target ?? "auto"));
    this.#batches = new Batches(this.#sampler);
  }

  #chooser(): Chooser {
    const { storage } = this.#ring;
    const [reward, terminated, truncated] = ["reward", "terminated", "truncated"].map((n) => storage.view(n)) as [
      ColumnView,
      ColumnView,
      ColumnView,
    ];
    return {
      name: `windows_${[reward, terminated, truncated].map((v) => `${v.stride}_${v.offset}`).join("_")}`,
      steps: [drawRows as never, walkWindows(reward, terminated, truncated)],
      inputs: { settings: this.#settings, rewards: reward.array, flags: terminated.array },
      outputs: { after: "i32", reward: "f32", discount: "f32", terminated: "u8", truncated: "u8", steps: "i32" },
      scratch: ["after"],
    };
  }

  #refuseSingle = (): never => {
    throw new DataError(`push: this buffer takes ${this.#ring.environments} environments in step; use pushBatch`);
  };

  /** Rows of one environment must lie a whole number of steps apart. */
  #inStep(push: PushBatch): PushBatch {
    const { environments } = this.#ring;
    return (batch, rows) => {
      if (rows % environments !== 0)
        throw new DataError(`pushBatch: ${rows} rows are not whole steps of ${environments} environments`);
      return push(batch, rows);
    };
  }

  get capacity(): number {
    return this.#ring.capacity;
  }
  get length(): number {
    return this.#ring.state.count;
  }
  get pushed(): number {
    return this.#ring.state.pushed;
  }

  push(t: Transition): number {
    return this.pushSlices(t.observation, t.action, t.reward, t.terminated, t.truncated, t.nextObservation, t);
  }

  createBatch(size: number): NStepBatch<O, A, X> {
    return this.#batches.create(size);
  }

  /** Draws `size` windows. The batch is the buffer's own: the next sample of this size overwrites it. */
  sample(size: number): NStepBatch<O, A, X> {
    needStored(size, this.length);
    return this.sampleInto(this.#batches.own(size));
  }

  sampleInto(batch: NStepBatch<O, A, X>): NStepBatch<O, A, X> {
    const bound = this.#batches.bound(batch);
    const { state, capacity, environments, oldest } = this.#ring;
    needStored(bound.size, state.count);
    const { control } = this.#sampler;
    writeKey(control, this.#seed, this.calls++);
    writeWindow(control, oldest, state.count, capacity);
    control[CONTROL.stride] = environments;
    control[CONTROL.newest] = (state.head - 1 + capacity) % capacity;
    // No window is longer than the ring, and words of the control array have 32 bits.
    control[WORDS.n] = Math.min(this.n, capacity);
    bound.run();
    return batch;
  }

  save(): ReplaySnapshot {
    return { ...this.#ring.save(), seed: this.seed, calls: this.calls };
  }

  restore(saved: ReplaySnapshot): void {
    checkSaved(saved, this.seed);
    this.#ring.restore(saved, this.#ring.environments);
    this.calls = saved.calls;
  }

  dispose(): void {
    this.#ring.dispose();
    this.#sampler.dispose();
    this.#batches.dispose();
    if (!this.#disposed) free(this.#settings);
    this.#disposed = true;
  }
}
