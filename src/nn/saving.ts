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
/** What optimisers remember, by the last part of its name: one whole number, or a number for each parameter. */
const REMEMBERED: { readonly [slot: string]: "count" | "each" } = {
  step: "count",
  first: "each",
  second: "each",
  velocity: "each",
  squares: "each",
  averages: "each",
};

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

/** What a slot has to be: what it is already, or what optimisers make it when they are recorded after the file was read. */
function slotLike(parameters: Parameters, name: string): { readonly dtype: TensorType; readonly shape: Shape } {
  const known = parameters.slots.get(name);
  if (known) return known;
  const suffix = name.slice(name.lastIndexOf(".") + 1);
  const kind = name.includes(".") && Object.hasOwn(REMEMBERED, suffix) ? REMEMBERED[suffix] : undefined;
  if (!kind)
    throw new TensorFileError(
      `the file has "${SLOT}${name}", which no optimiser of the ${parameters.name} remembers; ` +
        "a slot of your own has to be there before",
    );
  return kind === "count" ? { dtype: "i32", shape: [] } : { dtype: parameters.dtype, shape: [parameters.size] };
}
function checkSlot(parameters: Parameters, name: string, tensor: FileTensor): void {
  const { dtype, shape } = slotLike(parameters, name);
  fitting(tensor, SLOT + name, dtype, shape);
}
function restoreSlot(parameters: Parameters, name: string, tensor: FileTensor): void {
  const { dtype, shape } = slotLike(parameters, name);
  parameters.slot(name, { dtype, shape }).array.set(tensor.data);
}
