/**
 * @file Parameters, and what optimisers remember of them, to bytes and back; a file that does not fit changes nothing.
 */
import type { TypedArray } from "../ir/arrays.ts";
import type { TensorType } from "../tensor/nodes.ts";
import { describeShape, type Shape, sameShape } from "../tensor/shape.ts";
import type { Parameters } from "./parameters.ts";
import {
  type FileArray,
  type FileTensor,
  type FileType,
  readTensors,
  TensorFileError,
  writeTensors,
} from "./safetensors.ts";

const FILE_TYPES: { readonly [D in TensorType]: FileType } = {
  f32: "F32",
  f64: "F64",
  i32: "I32",
  u32: "U32",
  bool: "U8",
};
const SLOT = "optimizer/";

export interface SavingOptions {
  /** Whether what optimisers remember is part of it: on unless said otherwise. */
  readonly optimizer?: boolean;
}

/** A safetensors file of all parameters by their names, and of optimiser states under "optimizer/". */
export function saveParameters(
  parameters: Parameters,
  { optimizer = true, metadata = {} }: SavingOptions & { readonly metadata?: { readonly [key: string]: string } } = {},
): Uint8Array {
  const tensors = new Map<string, FileTensor>();
  for (const { name, shape } of parameters.list)
    tensors.set(name, fileTensor(parameters.dtype, shape, parameters.array(name)));
  if (optimizer)
    for (const [name, { dtype, shape, array }] of parameters.slots)
      tensors.set(SLOT + name, fileTensor(dtype, shape, array));
  return writeTensors(tensors, metadata);
}
/** An array as a tensor of a file. */
export const fileTensor = (dtype: TensorType, shape: Shape, array: TypedArray): FileTensor => {
  return { dtype: FILE_TYPES[dtype], shape, data: array as FileArray };
};

/** Takes the values of a file; it must have exactly these parameters, of these types and shapes. */
export function loadParameters(
  parameters: Parameters,
  bytes: Uint8Array,
  { optimizer = true }: SavingOptions = {},
): { readonly metadata: ReadonlyMap<string, string> } {
  const { tensors, metadata } = readTensors(bytes);
  const writes = parameters.list.map(({ name, shape }) => {
    return { array: parameters.array(name), data: fitting(tensors.get(name), name, parameters.dtype, shape) };
  });
  const known = new Set(parameters.list.map(({ name }) => name));
  const slots = [...tensors].filter(([name]) => name.startsWith(SLOT) && !known.has(name));
  const unknown = [...tensors.keys()].filter((name) => !known.has(name) && !name.startsWith(SLOT));
  if (unknown.length) throw new TensorFileError(`the file has "${unknown[0]}", which the ${parameters.name} have not`);
  if (optimizer) for (const [name, tensor] of slots) checkSlot(parameters, name.slice(SLOT.length), tensor);
  for (const { array, data } of writes) array.set(data);
  if (optimizer) for (const [name, tensor] of slots) restoreSlot(parameters, name.slice(SLOT.length), tensor);
  return { metadata };
}

/** The numbers of a tensor of a file, which has to be there with this type and shape. */
export function fitting(found: FileTensor | undefined, name: string, dtype: TensorType, shape: Shape): FileArray {
  if (!found) throw new TensorFileError(`the file has no "${name}"`);
  if (found.dtype !== FILE_TYPES[dtype] || !sameShape(found.shape, shape))
    throw new TensorFileError(
      `"${name}" is ${found.dtype} ${describeShape(found.shape)} in the file, ` +
        `${FILE_TYPES[dtype]} ${describeShape(shape)} here`,
    );
  return found.data;
}

const slotType = (tensor: FileTensor): TensorType | undefined =>
  (Object.keys(FILE_TYPES) as TensorType[]).find((dtype) => FILE_TYPES[dtype] === tensor.dtype);

/** A slot is one number or one for each parameter; one that is there already has to be the same. */
function checkSlot(parameters: Parameters, name: string, tensor: FileTensor): void {
  const { dtype, shape } = tensor;
  const known = parameters.slots.get(name);
  if (known) fitting(tensor, SLOT + name, known.dtype, known.shape);
  const fits = shape.length === 0 || sameShape(shape, [parameters.size]);
  if (!fits || slotType(tensor) === undefined)
    throw new TensorFileError(
      `"${SLOT}${name}" is ${dtype} ${describeShape(shape)} in the file: not what an optimiser of these remembers`,
    );
}
function restoreSlot(parameters: Parameters, name: string, tensor: FileTensor): void {
  const { shape } = tensor;
  parameters.slot(name, { dtype: slotType(tensor) as TensorType, shape }).array.set(tensor.data);
}
