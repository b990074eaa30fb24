/**
 * @file Numbers as C text: exact (hexadecimal floats), typed by suffix, and free of warnings.
 */
import type { DType, StorageType } from "../../ir/types.ts";

const bytes = new DataView(new ArrayBuffer(8));

/** The digits of a finite non-zero double as `0x1.8p+1`; subnormals are written without normalising them. */
function hexFloat(value: number): string {
  bytes.setFloat64(0, value);
  const high = bytes.getUint32(0);
  const exponent = (high >>> 20) & 0x7ff;
  const digits = (
    (high & 0xfffff).toString(16).padStart(5, "0") + bytes.getUint32(4).toString(16).padStart(8, "0")
  ).replace(/0+$/, "");
  const lead = exponent === 0 ? 0 : 1;
  const power = exponent === 0 ? -1022 : exponent - 1023;
  return `0x${lead}${digits ? `.${digits}` : ""}p${power}`;
}

function floatLiteral(value: number, suffix: string): string {
  if (Number.isNaN(value)) return `__builtin_nan${suffix}("")`;
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  const size = Math.abs(value);
  const short = size < 1e6 && Number.isInteger(size * 1024);
  const text =
    size === Number.POSITIVE_INFINITY
      ? `__builtin_inf${suffix}()`
      : short
        ? decimal(size) + suffix
        : hexFloat(size) + suffix;
  return sign ? `(-${text})` : text;
}
/** A multiple of 1/1024 below 10^6: its decimal digits are exact and never in exponent form. */
function decimal(size: number): string {
  return Number.isInteger(size) ? `${size}.0` : `${size}`;
}

const LITERAL: { readonly [D in DType]: (value: number) => string } = {
  f32: (v) => floatLiteral(v, "f"),
  f64: (v) => floatLiteral(v, ""),
  i32: (v) => (v === -2147483648 ? "(-2147483647 - 1)" : v < 0 ? `(${v})` : `${v}`),
  u32: (v) => `${v}u`,
  bool: (v) => (v ? "1" : "0"),
};

/** Floats already written: coefficients come again in every copy of a loop. Zeros differ by sign and are not kept. */
const written = { f32: new Map<number, string>(), f64: new Map<number, string>() };

export function literal(dtype: DType, value: number): string {
  if ((dtype !== "f32" && dtype !== "f64") || value === 0) return LITERAL[dtype](value);
  let text = written[dtype].get(value);
  if (text === undefined) {
    text = LITERAL[dtype](value);
    written[dtype].set(value, text);
  }
  return text;
}

/** An element of a constant table. */
export function elementLiteral(storage: StorageType, value: number): string {
  return storage === "u8" ? `${value & 255}` : LITERAL[storage](storage === "f32" ? Math.fround(value) : value);
}
