/**
 * @file Tensors and programs: static shapes, recorded once, differentiated, fused and compiled whole.
 */
export { flip, scatterAddAlong, scatterAlong, takeAlong } from "./along.ts";
export { call, type TensorArguments, type TensorResults } from "./call.ts";
export { type ConvolutionOptions, conv2d, windows } from "./convolution.ts";
export { fold, scan } from "./fold.ts";
export { gradients } from "./gradients.ts";
export { concat, constant, input, iota, stack, table, tile } from "./make.ts";
export type { TensorType } from "./nodes.ts";
export { type Outputs, program, repeat, TensorProgram, type TensorProgramOptions } from "./program.ts";
export { Key, keyOf, normal, permutation, randomBits, randomKey, randomState, uniform } from "./random.ts";
export { type Shape, TensorError } from "./shape.ts";
export { State, StateScope, state } from "./state.ts";
export { type Operand, Tensor, where } from "./tensor.ts";
