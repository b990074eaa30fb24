/**
 * @file Networks: layers over named parameters in one arena, initial values, losses, and files of parameters.
 */
export * from "./activations.ts";
export { type AttentionOptions, attention } from "./attention.ts";
export { Conv, type ConvOptions, conv } from "./convolution.ts";
export {
  filled,
  gaussianValues,
  type Initializer,
  kaimingNormal,
  kaimingUniform,
  orthogonal,
  uniformBetween,
  xavierNormal,
  xavierUniform,
} from "./initializers.ts";
export {
  Embedding,
  type EmbeddingOptions,
  embedding,
  LayerNorm,
  type LayerOptions,
  Linear,
  type LinearOptions,
  layerNorm,
  linear,
  Mlp,
  type MlpOptions,
  mlp,
  type Network,
  type NormOptions,
  RmsNorm,
  rmsNorm,
} from "./layers.ts";
export * from "./losses.ts";
export {
  type Parameter,
  ParameterError,
  Parameters,
  type ParametersOptions,
  type ParameterType,
} from "./parameters.ts";
export {
  Gru,
  gru,
  Lstm,
  type LstmState,
  lstm,
  type RecurrentOptions,
  type SequenceOptions,
} from "./recurrent.ts";
export {
  type FileArray,
  type FileTensor,
  type FileType,
  readTensors,
  type TensorFile,
  TensorFileError,
  writeTensors,
} from "./safetensors.ts";
export { loadParameters, type SavingOptions, saveParameters } from "./saving.ts";
