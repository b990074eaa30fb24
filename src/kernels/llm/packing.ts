/**
 * @file Sequence packing: sequences of tokens put end to end into as few bins as first-fit-decreasing finds.
 *
 * Longest first, equal lengths in their order, each into the first bin with room. A tree over the room left in the bins
 * finds that bin in logarithmic time, so that many short sequences do not walk over many full bins.
 */
import { needCount, needTokens } from "../checks.ts";
import { DataError } from "../errors.ts";

export interface PackedBin {
  /** The tokens of its sequences, without padding. */
  readonly inputIds: Uint32Array;
  /** 1 for every token. */
  readonly attentionMask: Uint8Array;
  /** Counts from 0 in every sequence. */
  readonly positionIds: Uint32Array;
  /** Where each sequence begins. */
  readonly sequenceStarts: Uint32Array;
  /** Which of the given sequences these are, in this order. */
  readonly members: Uint32Array;
}

/** The room left in bins that are opened from left to right, as a tree of maxima. */
class Room {
  readonly #leaves: number;
  readonly #most: Float64Array;

  constructor(bins: number, each: number) {
    this.#leaves = 2 ** Math.ceil(Math.log2(Math.max(bins, 1)));
    this.#most = new Float64Array(2 * this.#leaves).fill(each);
  }

  /** Takes `length` from the first bin that has so much, and says which it is. */
  take(length: number): number {
    const most = this.#most;
    let node = 1;
    while (node < this.#leaves) node = (most[2 * node] as number) >= length ? 2 * node : 2 * node + 1;
    const bin = node - this.#leaves;
    most[node] = (most[node] as number) - length;
    for (node >>= 1; node >= 1; node >>= 1)
      most[node] = Math.max(most[2 * node] as number, most[2 * node + 1] as number);
    return bin;
  }
}

function fill(members: readonly number[], sequences: readonly ArrayLike<number>[]): PackedBin {
  const total = members.reduce((sum, index) => sum + (sequences[index]?.length ?? 0), 0);
  const inputIds = new Uint32Array(total);
  const positionIds = new Uint32Array(total);
  const sequenceStarts = new Uint32Array(members.length);
  let at = 0;
  members.forEach((index, k) => {
    const sequence = sequences[index] as ArrayLike<number>;
    inputIds.set(sequence, at);
    sequenceStarts[k] = at;
    for (let position = 0; position < sequence.length; position++) positionIds[at++] = position;
  });
  const attentionMask = new Uint8Array(total).fill(1);
  return { inputIds, attentionMask, positionIds, sequenceStarts, members: Uint32Array.from(members) };
}

/** Packs sequences into bins of at most `maxLength` tokens; a sequence is never cut. */
export function packSequences(
  sequences: readonly ArrayLike<number>[],
  { maxLength }: { readonly maxLength: number },
): PackedBin[] {
  const who = "packSequences";
  needCount(who, "maxLength", maxLength, 1);
  sequences.forEach((sequence, index) => {
    needTokens(who, `sequence ${index}`, sequence);
    if (sequence.length > maxLength)
      throw new DataError(
        `packSequences: sequence ${index} has ${sequence.length} tokens, more than maxLength ${maxLength}: cut it first`,
      );
  });
  const order = sequences.map((_, index) => index);
  const lengthOf = (index: number): number => sequences[index]?.length ?? 0;
  order.sort((a, b) => lengthOf(b) - lengthOf(a));
  const room = new Room(sequences.length, maxLength);
  const bins: number[][] = [];
  for (const index of order) {
    const bin = room.take(lengthOf(index));
    if (bin === bins.length) bins.push([index]);
    else bins[bin]?.push(index);
  }
  return bins.map((members) => fill(members, sequences));
}
