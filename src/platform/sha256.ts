/**
 * @file SHA-256 of bytes, at once and everywhere: Node's own where there is a Node, and otherwise the one below, since
 * what browsers offer answers later, and only on secure pages. A test holds both against each other.
 */

const ROUNDS = 64;
const BLOCK_BYTES = 64;
const LENGTH_BYTES = 8;

/** The first 32 bits behind the point of roots of the first primes: square roots to begin with, cube roots by round. */
function rootBits(count: number, power: number): Int32Array {
  const bits = new Int32Array(count);
  for (let candidate = 2, found = 0; found < count; candidate++) {
    let isPrime = true;
    for (let d = 2; d * d <= candidate; d++) if (candidate % d === 0) isPrime = false;
    if (isPrime) bits[found++] = (candidate ** power % 1) * 2 ** 32;
  }
  return bits;
}
const BEGINNING = rootBits(8, 1 / 2);
const CONSTANTS = rootBits(ROUNDS, 1 / 3);

const rotated = (x: number, by: number): number => (x >>> by) | (x << (32 - by));

/** Takes one block of 64 bytes into the state. */
function compress(state: Int32Array, words: Int32Array, view: DataView, at: number): void {
  for (let t = 0; t < 16; t++) words[t] = view.getInt32(at + 4 * t);
  for (let t = 16; t < ROUNDS; t++) {
    const early = words[t - 15] as number;
    const late = words[t - 2] as number;
    const first = rotated(early, 7) ^ rotated(early, 18) ^ (early >>> 3);
    const second = rotated(late, 17) ^ rotated(late, 19) ^ (late >>> 10);
    words[t] = (words[t - 16] as number) + first + (words[t - 7] as number) + second;
  }
  // Variables, moved on one by one: engines keep them in registers, which they do not do for elements of a list.
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let t = 0; t < ROUNDS; t++) {
    const mixed = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
    const one = (h + mixed + ((e & f) ^ (~e & g)) + (CONSTANTS[t] as number) + (words[t] as number)) | 0;
    const other = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = (d + one) | 0;
    d = c;
    c = b;
    b = a;
    a = (one + other) | 0;
  }
  [a, b, c, d, e, f, g, h].forEach((x, k) => {
    state[k] = (state[k] as number) + x;
  });
}

/** The hash of bytes, as 64 hexadecimal digits. */
export function sha256(bytes: Uint8Array): string {
  const crypto = globalThis.process?.getBuiltinModule?.("node:crypto");
  return crypto ? crypto.createHash("sha256").update(bytes).digest("hex") : portableSha256(bytes);
}

/** The same without Node. */
export function portableSha256(bytes: Uint8Array): string {
  const state = BEGINNING.slice();
  const words = new Int32Array(ROUNDS);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const whole = bytes.length - (bytes.length % BLOCK_BYTES);
  for (let at = 0; at < whole; at += BLOCK_BYTES) compress(state, words, view, at);
  // The rest, a single 1 bit, zeros, and the length in bits at the end of a block.
  const rest = bytes.subarray(whole);
  const end = new Uint8Array(Math.ceil((rest.length + 1 + LENGTH_BYTES) / BLOCK_BYTES) * BLOCK_BYTES);
  end.set(rest);
  end[rest.length] = 0x80;
  const endView = new DataView(end.buffer);
  endView.setBigUint64(end.length - LENGTH_BYTES, BigInt(bytes.length) * 8n);
  for (let at = 0; at < end.length; at += BLOCK_BYTES) compress(state, words, endView, at);
  return Array.from(state, (x) => (x >>> 0).toString(16).padStart(8, "0")).join("");
}
