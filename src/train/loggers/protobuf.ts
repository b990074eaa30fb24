/**
 * @file As much of the protocol-buffer encoding as event files need: fields written by number, and read back with every
 * length checked.
 */

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

const encoder = new TextEncoder();

/** Writes the fields of one message. */
export class MessageWriter {
  private bytes = new Uint8Array(64);
  private view = new DataView(this.bytes.buffer);
  private length = 0;

  integer(field: number, value: number): this {
    return this.varint(field * 8 + VARINT).varint(value);
  }

  double(field: number, value: number): this {
    const at = this.varint(field * 8 + FIXED64).take(8);
    this.view.setFloat64(at, value, true);
    return this;
  }

  float(field: number, value: number): this {
    const at = this.varint(field * 8 + FIXED32).take(4);
    this.view.setFloat32(at, value, true);
    return this;
  }

  text(field: number, value: string): this {
    return this.sized(field, () => {
      // No character takes more than three bytes.
      const at = this.take(3 * value.length);
      this.length = at + encoder.encodeInto(value, this.bytes.subarray(at)).written;
    });
  }

  /** A message inside of this one; `write` writes its fields. */
  message(field: number, write: (inner: MessageWriter) => void): this {
    return this.sized(field, () => write(this));
  }

  finish(): Uint8Array {
    return this.bytes.subarray(0, this.length);
  }

  /** A field that begins with its size, which is known when it is written: most are below 128, in one byte. */
  private sized(field: number, write: () => void): this {
    const at = this.varint(field * 8 + BYTES).take(1);
    write();
    const size = this.length - at - 1;
    if (size >= 128) {
      const further = Math.floor(Math.log2(size) / 7);
      this.take(further);
      this.bytes.copyWithin(at + 1 + further, at + 1, at + 1 + size);
    }
    const end = this.length;
    this.length = at;
    this.varint(size);
    this.length = end;
    return this;
  }

  /** Seven bits at a time, the lowest first; by division, since step counts pass 32 bits. */
  private varint(value: number): this {
    let left = value;
    while (left >= 128) {
      const at = this.take(1);
      this.bytes[at] = (left % 128) + 128;
      left = Math.floor(left / 128);
    }
    const at = this.take(1);
    this.bytes[at] = left;
    return this;
  }

  /** Where the next bytes are written; there is room for them. */
  private take(size: number): number {
    const at = this.length;
    this.length += size;
    if (this.length > this.bytes.length) {
      const larger = new Uint8Array(Math.max(this.length, 2 * this.bytes.length));
      larger.set(this.bytes);
      this.bytes = larger;
      this.view = new DataView(larger.buffer);
    }
    return at;
  }
}

/** A varint and the position after it; undefined when it does not end in the message or is too long. */
function readVarint(bytes: Uint8Array, at: number): { value: number; next: number } | undefined {
  let value = 0;
  for (let k = 0; k < 10; k++) {
    const byte = bytes[at + k];
    if (byte === undefined) return undefined;
    value += (byte % 128) * 2 ** (7 * k);
    if (byte < 128) return { value, next: at + k + 1 };
  }
  return undefined;
}

/** How many bytes a field's value takes from a position on; undefined for a kind that is not known. */
function sizeOfValue(kind: number, bytes: Uint8Array, at: number): number | undefined {
  if (kind === FIXED64) return 8;
  if (kind === FIXED32) return 4;
  const varint = kind === VARINT || kind === BYTES ? readVarint(bytes, at) : undefined;
  if (varint === undefined) return undefined;
  return varint.next - at + (kind === BYTES ? varint.value : 0);
}

/** The last value of an integer field of a message, 0 when it has none; undefined when the message is malformed. */
export function readInteger(bytes: Uint8Array, field: number): number | undefined {
  let found = 0;
  for (let at = 0; at < bytes.length; ) {
    const key = readVarint(bytes, at);
    if (key === undefined) return undefined;
    const kind = key.value % 8;
    const size = sizeOfValue(kind, bytes, key.next);
    if (size === undefined || key.next + size > bytes.length) return undefined;
    if (key.value === field * 8 + VARINT) found = readVarint(bytes, key.next)?.value ?? 0;
    at = key.next + size;
  }
  return found;
}
