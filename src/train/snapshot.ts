/**
 * @file Everything that an exact continuation of an algorithm needs, as named tensors, and back.
 *
 * Parameters stand under their own names, so that the file serves other tools too; what optimisers remember and the
 * states stand under "optimizer/" and "state/". What does not fit in every name, type and shape changes nothing.
 */
import type { Algorithm } from "../algorithms/algorithm.ts";
import type { TypedArray } from "../ir/arrays.ts";
import { type FileTensor, TensorFileError } from "../nn/safetensors.ts";
import { fileTensor, fitting } from "../nn/saving.ts";
import { sha256 } from "../platform/sha256.ts";
import { describeShape, type Shape } from "../tensor/shape.ts";
import type { State } from "../tensor/state.ts";

export const OPTIMIZER_PREFIX = "optimizer/";
export const STATE_PREFIX = "state/";

interface Part {
  readonly name: string;
  readonly dtype: State["dtype"];
  readonly shape: Shape;
  readonly array: TypedArray;
}

/** All of an algorithm; it has to be loaded, since what optimisers remember is there from then on. */
function partsOf({ parameters, states }: Algorithm): Part[] {
  const part = (name: string, { dtype, shape, array }: State): Part => ({ name, dtype, shape, array });
  return [
    ...parameters.list.map(({ name, shape }) => ({
      name,
      dtype: parameters.dtype,
      shape,
      array: parameters.array(name),
    })),
    ...[...parameters.slots].map(([name, state]) => part(OPTIMIZER_PREFIX + name, state)),
    ...[...states].map(([name, state]) => part(STATE_PREFIX + name, state)),
  ];
}

export function tensorsOf(algorithm: Algorithm): Map<string, FileTensor> {
  return new Map(partsOf(algorithm).map(({ name, dtype, shape, array }) => [name, fileTensor(dtype, shape, array)]));
}
/** Bytes that the tensors of an algorithm take, without a file's header. */
export function tensorBytes(algorithm: Algorithm): number {
  return partsOf(algorithm).reduce((sum, { array }) => sum + array.byteLength, 0);
}

/** Checks tensors against an algorithm; the function that comes back puts them in place, but for those to be left out. */
export function restoring(
  algorithm: Algorithm,
  tensors: ReadonlyMap<string, FileTensor>,
  leaveOut: (name: string) => boolean = () => false,
): () => void {
  const parts = partsOf(algorithm);
  const known = new Set(parts.map(({ name }) => name));
  const found = parts.map(({ name, dtype, shape, array }) => {
    return { name, array, data: fitting(tensors.get(name), name, dtype, shape) };
  });
  const [unknown] = [...tensors].filter(([name]) => !known.has(name));
  if (unknown)
    throw new TensorFileError(
      `the file has "${unknown[0]}" ${describeShape(unknown[1].shape)}, which ${algorithm.name} here has not`,
    );
  return () => {
    for (const { name, array, data } of found) if (!leaveOut(name)) array.set(data);
  };
}

/** The hash of all parameters, byte by byte in their order. */
export function parametersHash({ parameters }: Algorithm): string {
  const { buffer, byteOffset, byteLength } = parameters.arena.array;
  // A copy: what hashes takes no memory that is shared.
  return sha256(new Uint8Array(buffer, byteOffset, byteLength).slice());
}
