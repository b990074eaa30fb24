/**
 * @file Cyclic checksums of bytes, to tell a torn or damaged block from a whole one: CRC-32 (the polynomial of zlib and
 * PNG) and CRC-32C (Castagnoli's, of TensorFlow's record files). Not against forgery.
 */

/** The bits of a polynomial are reversed: the highest power stands in the lowest bit. */
function makeTable(polynomial: number): Uint32Array {
  // Eight tables: eight bytes at a time.
  const table = new Uint32Array(8 * 256);
  for (let n = 0; n < 256; n++) {
    let c = n;
    for (let k = 0; k < 8; k++) c = c & 1 ? (c >>> 1) ^ polynomial : c >>> 1;
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

function checksum(bytes: Uint8Array, start: number, table: Uint32Array): number {
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

/** Tables are made at the first use. */
function checksumBy(polynomial: number): (bytes: Uint8Array, start?: number) => number {
  let table: Uint32Array | undefined;
  return (bytes, start = 0) => {
    table ??= makeTable(polynomial);
    return checksum(bytes, start, table);
  };
}

/** The CRC-32 of bytes; `start` continues an earlier one. */
export const crc32 = checksumBy(0xedb88320);

/** The CRC-32C of bytes; `start` continues an earlier one. */
export const crc32c = checksumBy(0x82f63b78);
