/**
 * @file OfflineDataset: transitions that were recorded before, for algorithms that learn from data alone.
 *
 * Columns are separate arrays in the order of time. An episode ends with terminated or truncated; the last one may be
 * open. Samples are single transitions, or windows of trajectories that are padded and masked. Its file format is its
 * own (see datasetFile.ts).
 */
import type { TypedArray } from "../ir/arrays.ts";
import { checkCount, kindOf, needLength } from "../kernels/checks.ts";
import { DataError } from "../kernels/errors.ts";
import { readWhole, writeWhole } from "../platform/files.ts";
import { HostStream } from "../random/host.ts";
import type { TargetChoice } from "../runtime/targets.ts";
import { Batches } from "./batches.ts";
import { type Column, type ColumnSpec, type ColumnType, checkFlags, makeOrRelease, Storage } from "./columns.ts";
import { decodeDataset, encodeDataset, type RawDataset } from "./datasetFile.ts";
import { type SeedWords, seedWords, writeKey, writeWindow } from "./draws.ts";
import { GIVEN, Sampler } from "./gather.ts";
import { UNIFORM } from "./replay.ts";
import { type BatchArrays, needStored } from "./ring.ts";

/** Recorded transitions: one array per column, row after row. */
export interface OfflineArrays {
  readonly observation: TypedArray;
  readonly action: TypedArray;
  readonly reward: ArrayLike<number>;
  readonly terminated: ArrayLike<number | boolean>;
  readonly truncated: ArrayLike<number | boolean>;
  /** The observation of the next row unless given, and 0 after a terminated one; truncated episodes need it. */
  readonly nextObservation?: TypedArray;
}
export interface OfflineOptions {
  readonly seed?: number;
  readonly target?: TargetChoice;
}
export type NormaliseRewards = "none" | "standard" | "return";

/** Windows of trajectories: arrays of size * length rows, one window after the other. */
export type TrajectoryBatch = BatchArrays<ColumnSpec, ColumnSpec, Record<never, never>> & {
  /** 1 where a row is data, 0 where it is padding (whose columns are 0). */
  readonly mask: Uint8Array;
  /** The step within the episode of every row. */
  readonly step: Int32Array;
  /** The sum of rewards from every row to the end of its episode, not discounted. */
  readonly returnToGo: Float32Array;
};

const LEAST_DEVIATION = 1e-8;

const typeOf = (name: string, array: TypedArray): ColumnType => {
  if (array instanceof Float32Array) return "f32";
  if (array instanceof Float64Array) return "f64";
  if (array instanceof Int32Array) return "i32";
  if (array instanceof Uint32Array) return "u32";
  if (array instanceof Uint8Array) return "u8";
  throw new DataError(
    `"${name}" is ${kindOf(array)}; give a Float32Array, Float64Array, Int32Array, Uint32Array or Uint8Array`,
  );
};

function columnFor(name: string, array: TypedArray, rows: number): Column {
  const dtype = typeOf(name, array);
  const size = array.length / rows;
  if (!Number.isInteger(size) || size < 1)
    throw new DataError(`"${name}" has ${array.length} elements: not a multiple of the ${rows} rewards`);
  return { dtype, size };
}

export class OfflineDataset<O extends ColumnSpec = ColumnSpec, A extends ColumnSpec = ColumnSpec> {
  readonly seed: number;
  readonly length: number;
  /** First rows of episodes. */
  readonly episodes: Int32Array;
  /** What observations were normalised by; undefined before `normalise`. */
  mean: Float64Array | undefined;
  deviation: Float64Array | undefined;
  /** The number of the next sample; may be set to take a sample again. */
  calls = 0;
  readonly #storage: Storage;
  readonly #uniform: Sampler;
  readonly #given: Sampler;
  readonly #batches: Batches<BatchArrays<O, A, Record<never, never>>>;
  readonly #trajectories = new Map<string, { batches: Batches<TrajectoryBatch>; batch: TrajectoryBatch }>();
  readonly #seed: SeedWords;
  readonly #step: Int32Array;
  readonly #toGo: Float32Array;
  readonly #key = new Int32Array(16);
  readonly #stream = new HostStream(0, 0);

  constructor(arrays: OfflineArrays, options: OfflineOptions = {}) {
    this.seed = checkCount("the seed", options.seed ?? 0, 0);
    this.#seed = seedWords(this.seed);
    this.length = checkCount("the number of transitions", arrays.reward?.length, 1);
    const columns = checkArrays(arrays, this.length);
    this.#storage = new Storage(columns, this.length, "separate");
    this.#fill(arrays);
    this.#step = new Int32Array(this.length);
    this.#toGo = new Float32Array(this.length);
    this.episodes = this.#findEpisodes();
    if (!arrays.nextObservation) this.#shiftObservations();
    this.#sumRewards();
    const sources = Object.entries(columns).map(([name, column]) => {
      return { name, column, view: this.#storage.view(name), by: "at" };
    });
    const target = options.target ?? "auto";
    this.#uniform = makeOrRelease([this.#storage], () => new Sampler(sources, UNIFORM, target));
    this.#given = makeOrRelease([this.#storage, this.#uniform], () => new Sampler(sources, GIVEN, target));
    this.#batches = new Batches(this.#uniform);
  }

  #fill(arrays: OfflineArrays): void {
    for (const name of ["observation", "action", "reward", "terminated", "truncated", "nextObservation"] as const) {
      const values = arrays[name];
      if (values) this.column(name).set(values as ArrayLike<number>);
    }
  }

  /** A column, in place. */
  column(name: string): TypedArray {
    return this.#storage.view(name).array;
  }

  #findEpisodes(): Int32Array {
    const terminated = this.column("terminated");
    const truncated = this.column("truncated");
    const starts: number[] = [];
    let step = 0;
    for (let row = 0; row < this.length; row++) {
      if (step === 0) starts.push(row);
      this.#step[row] = step;
      step = terminated[row] || truncated[row] ? 0 : step + 1;
    }
    return Int32Array.from(starts);
  }

  #endOf(episode: number): number {
    return this.episodes[episode + 1] ?? this.length;
  }

  #shiftObservations(): void {
    const { array, size } = this.#storage.view("observation");
    const next = this.column("nextObservation");
    next.set(array.subarray(size), 0);
    for (let e = 0; e < this.episodes.length; e++) next.fill(0, (this.#endOf(e) - 1) * size, this.#endOf(e) * size);
  }

  #sumRewards(): void {
    const reward = this.column("reward");
    for (let e = 0; e < this.episodes.length; e++) {
      let sum = 0;
      for (let row = this.#endOf(e) - 1; row >= (this.episodes[e] as number); row--) {
        sum += reward[row] as number;
        this.#toGo[row] = sum;
      }
    }
  }

  /**
   * Brings observations to mean 0 and deviation 1 by element, in place, and rewards to deviation 1 ("standard") or by
   * the range of episode returns to 1000 ("return"). Observations must be floating-point numbers.
   */
  normalise(options: { readonly observations?: boolean; readonly rewards?: NormaliseRewards } = {}): void {
    if (this.mean) throw new DataError("normalise: this dataset is normalised already");
    const { array, size } = this.#storage.view("observation");
    const wanted = options.observations ?? true;
    if (wanted && !(array instanceof Float32Array || array instanceof Float64Array))
      throw new DataError(
        `normalise: observations of type ${this.#storage.columns.observation?.dtype} cannot hold fractions`,
      );
    this.#scaleRewards(options.rewards ?? "none");
    const mean = new Float64Array(size);
    const deviation = new Float64Array(size).fill(1);
    if (wanted) {
      for (let k = 0; k < size; k++) {
        let sum = 0;
        for (let i = k; i < array.length; i += size) sum += array[i] as number;
        const m = sum / this.length;
        let square = 0;
        for (let i = k; i < array.length; i += size) square += ((array[i] as number) - m) ** 2;
        mean[k] = m;
        deviation[k] = Math.max(Math.sqrt(square / this.length), LEAST_DEVIATION);
      }
      for (const name of ["observation", "nextObservation"]) {
        const values = this.column(name);
        for (let i = 0; i < values.length; i++)
          values[i] = ((values[i] as number) - (mean[i % size] as number)) / (deviation[i % size] as number);
      }
    }
    this.mean = mean;
    this.deviation = deviation;
  }

  #scaleRewards(how: NormaliseRewards): void {
    const reward = this.column("reward") as Float32Array;
    let factor = 1;
    if (how === "standard") {
      const mean = reward.reduce((a, b) => a + b, 0) / this.length;
      const square = reward.reduce((a, b) => a + (b - mean) ** 2, 0) / this.length;
      factor = 1 / Math.max(Math.sqrt(square), LEAST_DEVIATION);
    } else if (how === "return") {
      const returns = Array.from(this.episodes, (row) => this.#toGo[row] as number);
      const range = returns.reduce((a, b) => Math.max(a, b)) - returns.reduce((a, b) => Math.min(a, b));
      factor = 1000 / Math.max(range, LEAST_DEVIATION);
    } else if (how !== "none") {
      throw new DataError(
        `normalise: rewards can be "none", "standard" or "return", not "${String(how satisfies never)}"`,
      );
    }
    if (factor === 1) return;
    for (let row = 0; row < this.length; row++) reward[row] = (reward[row] as number) * factor;
    this.#sumRewards();
  }

  /** Draws `size` transitions. The batch is the dataset's own: the next sample of this size overwrites it. */
  sample(size: number): BatchArrays<O, A, Record<never, never>> {
    needStored(size, this.length);
    const batch = this.#batches.own(size);
    const { control } = this.#uniform;
    writeKey(control, this.#seed, this.calls++);
    writeWindow(control, 0, this.length, this.length);
    this.#batches.bound(batch).run();
    return batch;
  }

  /**
   * Draws `size` windows of `window` steps. A window begins at any transition, all equally likely, and ends with its
   * episode: what is missing is padded with zeros and masked. The batch is the dataset's own.
   */
  sampleTrajectories(size: number, window: number): TrajectoryBatch {
    checkCount("the size of a batch", size, 1);
    const { batches, batch } = this.#ownTrajectories(size, checkCount("the window", window, 1));
    const bound = batches.bound(batch);
    writeKey(this.#key, this.#seed, this.calls++);
    const stream = this.#stream;
    stream.restart(this.#key[0] as number, this.#key[1] as number);
    for (let w = 0; w < size; w++) {
      const first = stream.below(this.length);
      const end = this.#endOf(this.#episodeOf(first));
      for (let t = 0; t < window; t++) {
        const inside = first + t < end;
        bound.index[w * window + t] = inside ? first + t : first;
        batch.mask[w * window + t] = inside ? 1 : 0;
      }
    }
    bound.run();
    this.#finishTrajectories(batch);
    return batch;
  }

  /** The last episode that begins at a row or before it. */
  #episodeOf(row: number): number {
    let [low, high] = [0, this.episodes.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.episodes[middle] as number) <= row) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #finishTrajectories(batch: TrajectoryBatch): void {
    const arrays = batch as unknown as { readonly [name: string]: TypedArray };
    for (let i = 0; i < batch.mask.length; i++) {
      const row = batch.index[i] as number;
      const inside = batch.mask[i] === 1;
      batch.step[i] = inside ? (this.#step[row] as number) : 0;
      batch.returnToGo[i] = inside ? (this.#toGo[row] as number) : 0;
      if (inside) continue;
      for (const [name, { size }] of Object.entries(this.#storage.columns))
        arrays[name]?.fill(0, i * size, (i + 1) * size);
    }
  }

  #ownTrajectories(size: number, window: number): { batches: Batches<TrajectoryBatch>; batch: TrajectoryBatch } {
    const key = `${size} ${window}`;
    let found = this.#trajectories.get(key);
    if (!found) {
      const batches = new Batches<TrajectoryBatch>(this.#given, (n) => n * window);
      const rows = size * window;
      const extra = { mask: new Uint8Array(rows), step: new Int32Array(rows), returnToGo: new Float32Array(rows) };
      found = { batches, batch: Object.assign(batches.create(size), extra) };
      this.#trajectories.set(key, found);
    }
    return found;
  }

  #raw(): RawDataset {
    const arrays = Object.keys(this.#storage.columns).map((name) => [name, this.column(name)] as const);
    return { rows: this.length, columns: this.#storage.columns, arrays: Object.fromEntries(arrays) };
  }

  /** The dataset as bytes. */
  encode(): Uint8Array {
    return encodeDataset(this.#raw());
  }

  static decode(bytes: Uint8Array, options: OfflineOptions = {}): OfflineDataset {
    const { arrays } = decodeDataset(bytes);
    return new OfflineDataset(arrays as unknown as OfflineArrays, options);
  }

  /**
   * Writes a file; one of this name is replaced only when the new one is whole. What observations were normalised by is
   * not part of it: keep `mean` and `deviation`.
   */
  save(path: string): void {
    writeWhole(path, [this.encode()]);
  }

  static load(path: string, options: OfflineOptions = {}): OfflineDataset {
    return OfflineDataset.decode(readWhole(path), options);
  }

  dispose(): void {
    for (const { batches } of this.#trajectories.values()) batches.dispose();
    this.#batches.dispose();
    this.#storage.dispose();
    this.#uniform.dispose();
    this.#given.dispose();
  }
}

/** Without next observations every episode must be terminated: what came after a truncation must not be made up. */
function checkEnds({ terminated, truncated }: OfflineArrays, rows: number): void {
  for (let row = 0; row < rows; row++)
    if (!terminated[row] && (truncated[row] || row === rows - 1))
      throw new DataError(
        `row ${row} ends an episode that was not terminated, and its next observation is not known; give nextObservation`,
      );
}

/** The columns of arrays that belong together; a DataError when they do not. */
function checkArrays(arrays: OfflineArrays, rows: number): { readonly [name: string]: Column } {
  const observation = columnFor("observation", arrays.observation, rows);
  const action = columnFor("action", arrays.action, rows);
  for (const name of ["terminated", "truncated"] as const) {
    needLength("OfflineDataset", name, arrays[name], rows, "the number of rewards");
    checkFlags("OfflineDataset", name, arrays[name]);
  }
  if (!arrays.nextObservation) checkEnds(arrays, rows);
  else {
    const next = columnFor("nextObservation", arrays.nextObservation, rows);
    if (next.size !== observation.size || next.dtype !== observation.dtype)
      throw new DataError(
        `"nextObservation" has ${next.size} ${next.dtype} a row, "observation" ${observation.size} ${observation.dtype}`,
      );
  }
  const flag: Column = { dtype: "u8", size: 1 };
  const reward: Column = { dtype: "f32", size: 1 };
  return { observation, nextObservation: observation, action, reward, terminated: flag, truncated: flag };
}
