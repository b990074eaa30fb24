/**
 * @file The workloads of the suite `buffers` on our side: filled buffers, and calls on them.
 *
 * Transition n says n in each of its parts, so that a sampled batch can be checked row by row. What a call gives, on
 * our side and on the peers': observations, next observations, actions, rewards, terminated, truncated; prioritised
 * ones also weights and indices. rlox and SB3 make fresh arrays for every sample, lockstep fills the buffer's own.
 */
import { PrioritizedReplayBuffer } from "../../buffers/prioritized.ts";
import { ReplayBuffer } from "../../buffers/replay.ts";
import type { TargetName } from "../../targets/target.ts";
import { GateError } from "../gate.ts";

export const OBSERVATION = 4;
export const STORED = 100_000;
export const PUSHES = 10_000;
export const BATCHES = [32, 256, 1024] as const;
export const IMAGE = 84 * 84 * 4;
/** Rings of this many images are larger than any cache and still quick to fill. */
export const IMAGE_CAPACITY = 2000;
export const IMAGE_PUSHES = 2000;
export const PRIORITIZED_BATCH = 256;

const observation = new Float32Array(OBSERVATION);
const next = new Float32Array(OBSERVATION);
const action = new Float32Array(1);

function fillRow(n: number): void {
  observation.fill(n);
  next.fill(n + 1);
  action[0] = n;
}

export function filledReplay(target: TargetName) {
  const buffer = new ReplayBuffer({ capacity: STORED, observation: OBSERVATION, action: 1, seed: 1, target });
  for (let n = 0; n < STORED; n++) {
    fillRow(n);
    buffer.pushSlices(observation, action, n, n % 2 === 1, n % 3 === 1, next);
  }
  return buffer;
}

export function filledPrioritized(target: TargetName) {
  const options = { capacity: STORED, observation: OBSERVATION, action: 1, seed: 1, alpha: 0.6, beta: 0.4, target };
  const buffer = new PrioritizedReplayBuffer(options);
  for (let n = 0; n < STORED; n++) {
    fillRow(n);
    buffer.pushSlices(observation, action, n, n % 2 === 1, n % 3 === 1, next, undefined, 1 + (n % 7));
  }
  return buffer;
}

interface CheckedBatch {
  readonly size: number;
  readonly observation: ArrayLike<number>;
  readonly nextObservation: ArrayLike<number>;
  readonly action: ArrayLike<number>;
  readonly reward: ArrayLike<number>;
  readonly terminated: ArrayLike<number>;
  readonly truncated: ArrayLike<number>;
}

/** Throws a GateError when a row's parts do not belong together. */
export function checkBatch(what: string, batch: CheckedBatch): void {
  for (let i = 0; i < batch.size; i++) {
    const n = batch.reward[i] as number;
    const parts = [batch.action[i] === n, batch.terminated[i] === n % 2, batch.truncated[i] === (n % 3 === 1 ? 1 : 0)];
    for (let k = 0; k < OBSERVATION; k++) {
      parts.push(batch.observation[i * OBSERVATION + k] === n, batch.nextObservation[i * OBSERVATION + k] === n + 1);
    }
    if (parts.includes(false)) throw new GateError(`${what}: row ${i} mixes transitions`);
  }
}

/** Pushes of single transitions, from their parts or as objects. */
export function pushers(): { readonly slices: () => void; readonly records: () => void; readonly check: () => void } {
  const buffer = new ReplayBuffer({ capacity: STORED, observation: OBSERVATION, action: 1, seed: 1 });
  const { pushSlices } = buffer;
  fillRow(7);
  return {
    slices: () => {
      for (let n = 0; n < PUSHES; n++) pushSlices(observation, action, 7, true, true, next);
    },
    records: () => {
      for (let n = 0; n < PUSHES; n++)
        buffer.push({ observation, action, reward: 7, terminated: true, truncated: true, nextObservation: next });
    },
    check: () => checkBatch("push", buffer.sample(32)),
  };
}

type ImageType = "f32" | "u8";
/** Pushes of images with their next observations, each stored once or in columns of their own. */
export function imagePusher(dtype: ImageType, nextObservations: "once" | "separate") {
  const options = { capacity: IMAGE_CAPACITY, action: 1, nextObservations, finalObservations: 16 } as const;
  const buffer = new ReplayBuffer({ ...options, observation: { dtype, size: IMAGE } });
  const made = (value: number) => (dtype === "f32" ? new Float32Array(IMAGE) : new Uint8Array(IMAGE)).fill(value);
  const images = [made(1), made(2)] as const;
  const { pushSlices } = buffer;
  let begun = false;
  const run = (): void => {
    for (let n = 0; n < IMAGE_PUSHES; n++) {
      // The observation of a step that goes on is the next observation of the step before.
      const first = nextObservations === "separate" || !begun;
      pushSlices(first ? images[n & 1] : undefined, 0, 1, false, false, images[(n + 1) & 1]);
      begun = true;
    }
  };
  const check = (): void => {
    const batch = buffer.sample(8);
    for (let i = 0; i < 8; i++)
      if ((batch.observation[i * IMAGE] as number) + (batch.nextObservation[(i + 1) * IMAGE - 1] as number) !== 3)
        throw new GateError(`images in ${dtype}: an observation and its next one do not belong together`);
  };
  // Columns with narrow rows share one record per transition, which every one of them has as its array.
  const bytes = { all: buffer.bytes, observations: buffer.bytes - buffer.column("reward").array.byteLength };
  return { run, check, bytes, dispose: () => buffer.dispose() };
}
