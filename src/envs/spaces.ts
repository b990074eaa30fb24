/**
 * @file Spaces: what observations and actions look like.
 */
export {
  type Box,
  type BoxType,
  box,
  contains,
  type Dict,
  type Discrete,
  describeSpace,
  dict,
  discrete,
  flatSize,
  limitAt,
  type MaskOf,
  type MultiBinary,
  type MultiDiscrete,
  masked,
  multiBinary,
  multiDiscrete,
  type Space,
  SpaceError,
  type Tuple,
  tuple,
  type ValueOf,
} from "./spaceKinds.ts";
export { type FlatNumbers, flattenInto, flattenValue, sample, unflatten } from "./spaceValues.ts";
