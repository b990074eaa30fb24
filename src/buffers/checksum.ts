/**
 * @file CRC-32 (the polynomial of zlib and PNG) of bytes, to tell a torn or damaged block from a whole one. Not against
 * forgery.
 */
const POLYNOMIAL = 0xedb88320;

function makeTable(): Uint32Array {
  // Eight tables: eight bytes at a time.
  const table = new Uint32Array(8 * 256);
  for (let n = 0; n < 256; n++) {
    let c = n;
    for (let k = 0; k < 8; k++) c = c & 1 ? (c >>> 1) ^ POLYNOMIAL : c >>> 1;
    table[n] = c;
  }
  for (let n = 0; n < 256; n++) {
    let c = table[n] as number;
    for (let t = 1; t < 8; t++) {
      c = (c >>> 8) ^ (table[c & 255] as number);
      table[t * 256 + n] = c;
    }
  }
  return table;
}
let made: Uint32Array | undefined;

/** The CRC-32 of bytes; `start` continues an earlier one. */
export function crc32(bytes: Uint8Array, start = 0): number {
  made ??= makeTable();
  const table = made;
  const at = (t: number, n: number): number => table[t * 256 + n] as number;
  let c = ~start >>> 0;
  let i = 0;
  for (; i + 8 <= bytes.length; i += 8) {
    const byte = (k: number): number => bytes[i + k] as number;
    const low = c ^ (byte(0) | (byte(1) << 8) | (byte(2) << 16) | (byte(3) << 24));
    c =
      at(7, low & 255) ^
      at(6, (low >>> 8) & 255) ^
      at(5, (low >>> 16) & 255) ^
      at(4, low >>> 24) ^
      at(3, byte(4)) ^
      at(2, byte(5)) ^
      at(1, byte(6)) ^
      at(0, byte(7));
  }
  for (; i < bytes.length; i++) c = at(0, (c ^ (bytes[i] as number)) & 255) ^ (c >>> 8);
  return ~c >>> 0;
}
