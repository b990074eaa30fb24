/**
 * @file Which functions V8 may compile with its pass that joins pairs of vectors into 256-bit ones.
 *
 * The pass is an experiment. In V8 13.6 random programs have made it end the process (widening both halves of a
 * register whose value is joined itself, v128 arguments of calls) and give wrong results (shuffles, minimum and
 * maximum, the negative of doubles). So only functions made of instructions on whole lanes that stood the test are given
 * to it, in a module of their own; all others are compiled without.
 */
import { children, type Node } from "./code.ts";
import { OPCODES, type Opcode, type OpName } from "./opcodes.ts";
import type { FunctionCode } from "./writer.ts";

const names = (prefix: "f32x4" | "f64x2" | "i32x4", ops: string): OpName[] =>
  ops.split(" ").map((name) => `${prefix}.${name}` as OpName);

/** Instructions on vectors that the pass joins, or leaves alone, reliably. */
const JOINABLE: ReadonlySet<OpName> = new Set<OpName>([
  "v128.load",
  "v128.store",
  "v128.const",
  "v128.load32_splat",
  "v128.load64_splat",
  "v128.not",
  "v128.and",
  "v128.andnot",
  "v128.or",
  "v128.xor",
  "v128.bitselect",
  "v128.any_true",
  // Not min and max: joined they now and then give something else, depending on registers.
  ...names("f32x4", "splat add sub mul div pmin pmax abs neg sqrt ceil floor trunc nearest"),
  ...names("f32x4", "eq ne lt gt le ge convert_i32x4_s convert_i32x4_u relaxed_madd"),
  ...names("f64x2", "splat add sub mul div pmin pmax abs sqrt ceil floor trunc nearest"),
  ...names("f64x2", "eq ne lt gt le ge"),
  ...names("i32x4", "splat add sub mul abs neg shl shr_s shr_u min_s min_u max_s max_u"),
  ...names("i32x4", "eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u trunc_sat_f32x4_s trunc_sat_f32x4_u"),
  "i32x4.relaxed_laneselect",
  "i64x2.relaxed_laneselect",
  // Of a fused multiply-add in scalar code.
  "f32x4.extract_lane",
  // Bytes: both halves of a register that nothing else uses, and the way back to one register.
  "v128.load8x8_u",
  "i32x4.extend_low_i16x8_u",
  "i32x4.extend_high_i16x8_u",
  "i16x8.narrow_i32x4_u",
  "i8x16.narrow_i16x8_u",
  "v128.store64_lane",
]);

const usesVectors = ({ operands, result }: Opcode): boolean => result === "v128" || operands.includes("v128");

function isSafe(node: Node): boolean {
  if (node.kind === "call" || node.kind === "global") return false;
  if (node.kind === "op" && usesVectors(OPCODES[node.op]) && !JOINABLE.has(node.op)) return false;
  return children(node).every(isSafe);
}
const storesVectors = (node: Node): boolean =>
  (node.kind === "op" && node.op === "v128.store") || children(node).some(storesVectors);

/** Whether a function may be joined, and has something to join. */
export function isJoinable({ exported, ref, body }: FunctionCode): boolean {
  if (exported !== undefined || ref.params.includes("v128") || ref.result !== undefined) return false;
  return body.every(isSafe) && body.some(storesVectors);
}
