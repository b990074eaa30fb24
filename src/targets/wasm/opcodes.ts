/**
 * @file The WebAssembly instructions that lockstep emits: number, operand and result types, immediates.
 *
 * A row's signature is written in letters (i = i32, l = i64, f = f32, d = f64, v = v128) as "operands>result"; the
 * constructor of instructions checks against it, so that a wrong tree fails where it is made and not in the engine.
 * Prefixed instructions carry their prefix byte in bits 16 and up.
 */

export type ValueType = "i32" | "i64" | "f32" | "f64" | "v128";

/** What follows the opcode: nothing, an alignment and offset, a lane, both, 16 bytes, or a number of some type. */
export type ImmediateKind =
  | "none"
  | "memory"
  | "memoryLane"
  | "lane"
  | "bytes"
  | "i32"
  | "i64"
  | "f32"
  | "f64"
  | "fill";

export interface Opcode {
  readonly code: number;
  readonly operands: readonly ValueType[];
  readonly result: ValueType | undefined;
  readonly immediate: ImmediateKind;
  /** log2 of the alignment of a memory access: a hint for plain accesses, obligatory for atomic ones. */
  readonly align: number;
}

const LETTERS: { readonly [letter: string]: ValueType } = { i: "i32", l: "i64", f: "f32", d: "f64", v: "v128" };

function row(code: number, signature: string, immediate: ImmediateKind = "none", align = 0): Opcode {
  const [operands = "", result = ""] = signature.split(">");
  const types = [...operands].map((letter) => LETTERS[letter] as ValueType);
  return { code, operands: types, result: LETTERS[result], immediate, align };
}
const memory = (code: number, signature: string, align: number): Opcode => row(code, signature, "memory", align);

const MISC = 0xfc0000;
const SIMD = 0xfd0000;
const ATOMIC = 0xfe0000;
const simd = (code: number, signature: string, immediate: ImmediateKind = "none"): Opcode =>
  row(SIMD | code, signature, immediate);
const simdMemory = (code: number, signature: string, align: number): Opcode =>
  row(SIMD | code, signature, "memory", align);
const simdLane = (code: number, signature: string, align: number): Opcode =>
  row(SIMD | code, signature, "memoryLane", align);

export const OPCODES = {
  unreachable: row(0x00, ">"),
  select_i32: row(0x1b, "iii>i"),
  select_f32: row(0x1b, "ffi>f"),
  select_f64: row(0x1b, "ddi>d"),
  "memory.fill": row(MISC | 11, "iii>", "fill"),

  "i32.const": row(0x41, ">i", "i32"),
  "i64.const": row(0x42, ">l", "i64"),
  "f32.const": row(0x43, ">f", "f32"),
  "f64.const": row(0x44, ">d", "f64"),
  "v128.const": simd(12, ">v", "bytes"),

  "i32.load": memory(0x28, "i>i", 2),
  "f32.load": memory(0x2a, "i>f", 2),
  "f64.load": memory(0x2b, "i>d", 3),
  "i32.load8_u": memory(0x2d, "i>i", 0),
  "i32.load16_u": memory(0x2f, "i>i", 0),
  "i32.store": memory(0x36, "ii>", 2),
  "f32.store": memory(0x38, "if>", 2),
  "f64.store": memory(0x39, "id>", 3),
  "i32.store8": memory(0x3a, "ii>", 0),

  "i32.eqz": row(0x45, "i>i"),
  "i32.eq": row(0x46, "ii>i"),
  "i32.ne": row(0x47, "ii>i"),
  "i32.lt_s": row(0x48, "ii>i"),
  "i32.lt_u": row(0x49, "ii>i"),
  "i32.gt_s": row(0x4a, "ii>i"),
  "i32.gt_u": row(0x4b, "ii>i"),
  "i32.le_s": row(0x4c, "ii>i"),
  "i32.le_u": row(0x4d, "ii>i"),
  "i32.ge_s": row(0x4e, "ii>i"),
  "i32.ge_u": row(0x4f, "ii>i"),
  "i64.eqz": row(0x50, "l>i"),
  "i64.eq": row(0x51, "ll>i"),
  "i64.gt_u": row(0x56, "ll>i"),
  "i64.le_u": row(0x58, "ll>i"),
  "f32.eq": row(0x5b, "ff>i"),
  "f32.ne": row(0x5c, "ff>i"),
  "f32.lt": row(0x5d, "ff>i"),
  "f32.gt": row(0x5e, "ff>i"),
  "f32.le": row(0x5f, "ff>i"),
  "f32.ge": row(0x60, "ff>i"),
  "f64.eq": row(0x61, "dd>i"),
  "f64.ne": row(0x62, "dd>i"),
  "f64.lt": row(0x63, "dd>i"),
  "f64.gt": row(0x64, "dd>i"),
  "f64.le": row(0x65, "dd>i"),
  "f64.ge": row(0x66, "dd>i"),

  "i32.clz": row(0x67, "i>i"),
  "i32.add": row(0x6a, "ii>i"),
  "i32.sub": row(0x6b, "ii>i"),
  "i32.mul": row(0x6c, "ii>i"),
  "i32.div_s": row(0x6d, "ii>i"),
  "i32.div_u": row(0x6e, "ii>i"),
  "i32.rem_s": row(0x6f, "ii>i"),
  "i32.rem_u": row(0x70, "ii>i"),
  "i32.and": row(0x71, "ii>i"),
  "i32.or": row(0x72, "ii>i"),
  "i32.xor": row(0x73, "ii>i"),
  "i32.shl": row(0x74, "ii>i"),
  "i32.shr_s": row(0x75, "ii>i"),
  "i32.shr_u": row(0x76, "ii>i"),
  "i64.clz": row(0x79, "l>l"),
  "i64.add": row(0x7c, "ll>l"),
  "i64.sub": row(0x7d, "ll>l"),
  "i64.mul": row(0x7e, "ll>l"),
  "i64.rem_u": row(0x82, "ll>l"),
  "i64.and": row(0x83, "ll>l"),
  "i64.or": row(0x84, "ll>l"),
  "i64.shl": row(0x86, "ll>l"),
  "i64.shr_u": row(0x88, "ll>l"),
  "f32.abs": row(0x8b, "f>f"),
  "f32.neg": row(0x8c, "f>f"),
  "f32.ceil": row(0x8d, "f>f"),
  "f32.floor": row(0x8e, "f>f"),
  "f32.trunc": row(0x8f, "f>f"),
  "f32.nearest": row(0x90, "f>f"),
  "f32.sqrt": row(0x91, "f>f"),
  "f32.add": row(0x92, "ff>f"),
  "f32.sub": row(0x93, "ff>f"),
  "f32.mul": row(0x94, "ff>f"),
  "f32.div": row(0x95, "ff>f"),
  "f32.min": row(0x96, "ff>f"),
  "f32.max": row(0x97, "ff>f"),
  "f64.abs": row(0x99, "d>d"),
  "f64.neg": row(0x9a, "d>d"),
  "f64.ceil": row(0x9b, "d>d"),
  "f64.floor": row(0x9c, "d>d"),
  "f64.trunc": row(0x9d, "d>d"),
  "f64.nearest": row(0x9e, "d>d"),
  "f64.sqrt": row(0x9f, "d>d"),
  "f64.add": row(0xa0, "dd>d"),
  "f64.sub": row(0xa1, "dd>d"),
  "f64.mul": row(0xa2, "dd>d"),
  "f64.div": row(0xa3, "dd>d"),
  "f64.min": row(0xa4, "dd>d"),
  "f64.max": row(0xa5, "dd>d"),

  "i32.wrap_i64": row(0xa7, "l>i"),
  "i64.extend_i32_s": row(0xac, "i>l"),
  "i64.extend_i32_u": row(0xad, "i>l"),
  "f32.convert_i32_s": row(0xb2, "i>f"),
  "f32.convert_i32_u": row(0xb3, "i>f"),
  "f32.demote_f64": row(0xb6, "d>f"),
  "f64.convert_i32_s": row(0xb7, "i>d"),
  "f64.convert_i32_u": row(0xb8, "i>d"),
  "f64.promote_f32": row(0xbb, "f>d"),
  "i32.reinterpret_f32": row(0xbc, "f>i"),
  "i64.reinterpret_f64": row(0xbd, "d>l"),
  "f32.reinterpret_i32": row(0xbe, "i>f"),
  "f64.reinterpret_i64": row(0xbf, "l>d"),
  "i32.trunc_sat_f32_s": row(MISC | 0, "f>i"),
  "i32.trunc_sat_f32_u": row(MISC | 1, "f>i"),
  "i32.trunc_sat_f64_s": row(MISC | 2, "d>i"),
  "i32.trunc_sat_f64_u": row(MISC | 3, "d>i"),

  "v128.load": simdMemory(0, "i>v", 2),
  "v128.load8x8_u": simdMemory(2, "i>v", 0),
  "v128.load32_splat": simdMemory(9, "i>v", 2),
  "v128.load64_splat": simdMemory(10, "i>v", 3),
  "v128.store": simdMemory(11, "iv>", 2),
  "v128.load32_lane": simdLane(86, "iv>v", 2),
  "v128.load64_lane": simdLane(87, "iv>v", 3),
  "v128.store8_lane": simdLane(88, "iv>", 0),
  "v128.store16_lane": simdLane(89, "iv>", 0),
  "v128.store32_lane": simdLane(90, "iv>", 0),
  "v128.store64_lane": simdLane(91, "iv>", 0),
  "v128.load32_zero": simdMemory(92, "i>v", 0),
  "v128.load64_zero": simdMemory(93, "i>v", 0),

  "i8x16.shuffle": simd(13, "vv>v", "bytes"),
  "i32x4.splat": simd(17, "i>v"),
  "i64x2.splat": simd(18, "l>v"),
  "f32x4.splat": simd(19, "f>v"),
  "f64x2.splat": simd(20, "d>v"),
  "i32x4.extract_lane": simd(27, "v>i", "lane"),
  "i32x4.replace_lane": simd(28, "vi>v", "lane"),
  "f32x4.extract_lane": simd(31, "v>f", "lane"),
  "f32x4.replace_lane": simd(32, "vf>v", "lane"),
  "f64x2.extract_lane": simd(33, "v>d", "lane"),
  "f64x2.replace_lane": simd(34, "vd>v", "lane"),

  "i32x4.eq": simd(55, "vv>v"),
  "i32x4.ne": simd(56, "vv>v"),
  "i32x4.lt_s": simd(57, "vv>v"),
  "i32x4.lt_u": simd(58, "vv>v"),
  "i32x4.gt_s": simd(59, "vv>v"),
  "i32x4.gt_u": simd(60, "vv>v"),
  "i32x4.le_s": simd(61, "vv>v"),
  "i32x4.le_u": simd(62, "vv>v"),
  "i32x4.ge_s": simd(63, "vv>v"),
  "i32x4.ge_u": simd(64, "vv>v"),
  "f32x4.eq": simd(65, "vv>v"),
  "f32x4.ne": simd(66, "vv>v"),
  "f32x4.lt": simd(67, "vv>v"),
  "f32x4.gt": simd(68, "vv>v"),
  "f32x4.le": simd(69, "vv>v"),
  "f32x4.ge": simd(70, "vv>v"),
  "f64x2.eq": simd(71, "vv>v"),
  "f64x2.ne": simd(72, "vv>v"),
  "f64x2.lt": simd(73, "vv>v"),
  "f64x2.gt": simd(74, "vv>v"),
  "f64x2.le": simd(75, "vv>v"),
  "f64x2.ge": simd(76, "vv>v"),
  "i64x2.eq": simd(214, "vv>v"),

  "v128.not": simd(77, "v>v"),
  "v128.and": simd(78, "vv>v"),
  "v128.andnot": simd(79, "vv>v"),
  "v128.or": simd(80, "vv>v"),
  "v128.xor": simd(81, "vv>v"),
  "v128.bitselect": simd(82, "vvv>v"),
  "v128.any_true": simd(83, "v>i"),
  "i32x4.bitmask": simd(164, "v>i"),
  "i64x2.bitmask": simd(196, "v>i"),

  "i8x16.narrow_i16x8_u": simd(102, "vv>v"),
  "i16x8.narrow_i32x4_u": simd(134, "vv>v"),
  "i16x8.extend_low_i8x16_u": simd(137, "v>v"),
  "i32x4.extend_low_i16x8_u": simd(169, "v>v"),
  "i32x4.extend_high_i16x8_u": simd(170, "v>v"),
  "i64x2.extend_low_i32x4_s": simd(199, "v>v"),
  "i64x2.extend_high_i32x4_s": simd(200, "v>v"),
  "i64x2.extmul_low_i32x4_u": simd(222, "vv>v"),
  "i64x2.extmul_high_i32x4_u": simd(223, "vv>v"),

  "i32x4.abs": simd(160, "v>v"),
  "i32x4.neg": simd(161, "v>v"),
  "i32x4.shl": simd(171, "vi>v"),
  "i32x4.shr_s": simd(172, "vi>v"),
  "i32x4.shr_u": simd(173, "vi>v"),
  "i32x4.add": simd(174, "vv>v"),
  "i32x4.sub": simd(177, "vv>v"),
  "i32x4.mul": simd(181, "vv>v"),
  "i32x4.min_s": simd(182, "vv>v"),
  "i32x4.min_u": simd(183, "vv>v"),
  "i32x4.max_s": simd(184, "vv>v"),
  "i32x4.max_u": simd(185, "vv>v"),
  "i64x2.add": simd(206, "vv>v"),

  "f32x4.ceil": simd(103, "v>v"),
  "f32x4.floor": simd(104, "v>v"),
  "f32x4.trunc": simd(105, "v>v"),
  "f32x4.nearest": simd(106, "v>v"),
  "f32x4.abs": simd(224, "v>v"),
  "f32x4.neg": simd(225, "v>v"),
  "f32x4.sqrt": simd(227, "v>v"),
  "f32x4.add": simd(228, "vv>v"),
  "f32x4.sub": simd(229, "vv>v"),
  "f32x4.mul": simd(230, "vv>v"),
  "f32x4.div": simd(231, "vv>v"),
  "f32x4.min": simd(232, "vv>v"),
  "f32x4.max": simd(233, "vv>v"),
  "f32x4.pmin": simd(234, "vv>v"),
  "f32x4.pmax": simd(235, "vv>v"),
  "f64x2.ceil": simd(116, "v>v"),
  "f64x2.floor": simd(117, "v>v"),
  "f64x2.trunc": simd(122, "v>v"),
  "f64x2.nearest": simd(148, "v>v"),
  "f64x2.abs": simd(236, "v>v"),
  "f64x2.sqrt": simd(239, "v>v"),
  "f64x2.add": simd(240, "vv>v"),
  "f64x2.sub": simd(241, "vv>v"),
  "f64x2.mul": simd(242, "vv>v"),
  "f64x2.div": simd(243, "vv>v"),
  "f64x2.min": simd(244, "vv>v"),
  "f64x2.max": simd(245, "vv>v"),
  "f64x2.pmin": simd(246, "vv>v"),
  "f64x2.pmax": simd(247, "vv>v"),

  "f32x4.demote_f64x2_zero": simd(94, "v>v"),
  "f64x2.promote_low_f32x4": simd(95, "v>v"),
  "i32x4.trunc_sat_f32x4_s": simd(248, "v>v"),
  "i32x4.trunc_sat_f32x4_u": simd(249, "v>v"),
  "f32x4.convert_i32x4_s": simd(250, "v>v"),
  "f32x4.convert_i32x4_u": simd(251, "v>v"),
  "i32x4.trunc_sat_f64x2_s_zero": simd(252, "v>v"),
  "i32x4.trunc_sat_f64x2_u_zero": simd(253, "v>v"),
  "f64x2.convert_low_i32x4_s": simd(254, "v>v"),
  "f64x2.convert_low_i32x4_u": simd(255, "v>v"),

  "f32x4.relaxed_madd": simd(0x105, "vvv>v"),
  "i32x4.relaxed_laneselect": simd(0x10b, "vvv>v"),
  "i64x2.relaxed_laneselect": simd(0x10c, "vvv>v"),

  "memory.atomic.notify": memory(ATOMIC | 0x00, "ii>i", 2),
  "i32.atomic.load": memory(ATOMIC | 0x10, "i>i", 2),
  "i32.atomic.store": memory(ATOMIC | 0x17, "ii>", 2),
  "i32.atomic.rmw.add": memory(ATOMIC | 0x1e, "ii>i", 2),
  "i32.atomic.rmw.cmpxchg": memory(ATOMIC | 0x48, "iii>i", 2),
} as const satisfies { readonly [name: string]: Opcode };

export type OpName = keyof typeof OPCODES;
