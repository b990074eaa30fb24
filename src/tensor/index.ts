/**
 * @file Tensors and programs: static shapes, recorded once, differentiated, fused and compiled whole.
 */
export { gradients } from "./gradients.ts";
export type { TensorType } from "./nodes.ts";
export { type Outputs, program, repeat, TensorProgram, type TensorProgramOptions } from "./program.ts";
export { type Shape, TensorError } from "./shape.ts";
export { State, state } from "./state.ts";
export { concat, constant, input, iota, type Operand, stack, Tensor, table, where } from "./tensor.ts";
