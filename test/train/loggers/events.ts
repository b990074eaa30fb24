/**
 * @file A decoder of event files that shares nothing with the writer: bits instead of tables for the checksum, and the
 * wire format read into plain objects.
 */

/** CRC-32C, bit by bit. */
export function slowChecksum(bytes: Uint8Array): number {
  let register = 0xffffffff;
  for (const byte of bytes) {
    register ^= byte;
    for (let bit = 0; bit < 8; bit++) register = register & 1 ? (register >>> 1) ^ 0x82f63b78 : register >>> 1;
  }
  return ~register >>> 0;
}

const masked = (crc: number): number => Number((BigInt((crc >>> 15) | (crc << 17)) + 0xa282ead8n) & 0xffffffffn);

/** The payloads of the frames of a file; every frame must be whole and its checksums right. */
export function readFrames(bytes: Buffer): Buffer[] {
  const frames: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32;
    if (bytes.readUInt32LE(at + 8) !== masked(slowChecksum(bytes.subarray(at, at + 8)))) throw new Error("length");
    const payload = bytes.subarray(at + 12, at + 12 + length);
    if (payload.length !== length) throw new Error("torn");
    if (bytes.readUInt32LE(at + 12 + length) !== masked(slowChecksum(payload))) throw new Error("payload");
    frames.push(payload);
    at += 16 + length;
  }
  return frames;
}

type Field = bigint | number | Buffer;

/** Fields of a message by number, in the order they stand. */
export function readMessage(bytes: Buffer): Map<number, Field[]> {
  const fields = new Map<number, Field[]>();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at++);
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  const take = (length: number): Buffer => {
    at += length;
    return bytes.subarray(at - length, at);
  };
  const readers: { [kind: number]: () => Field } = {
    0: varint,
    1: () => take(8).readDoubleLE(),
    2: () => take(Number(varint())),
    5: () => take(4).readFloatLE(),
  };
  while (at < bytes.length) {
    const key = Number(varint());
    const value = readers[key & 7]?.();
    if (value === undefined) throw new Error(`kind ${key & 7}`);
    fields.set(key >> 3, [...(fields.get(key >> 3) ?? []), value]);
  }
  return fields;
}

export interface DecodedEvent {
  readonly wallTime: number;
  readonly step: number;
  readonly version?: string;
  readonly restarts?: boolean;
  readonly scalars: { readonly [tag: string]: number };
  readonly texts: { readonly [tag: string]: string };
}

const inside = (field: Field | undefined): Map<number, Field[]> => readMessage(field as Buffer);

/** The one string of a tensor of strings with one element. */
function textOf(value: Map<number, Field[]>): string {
  const plugin = inside(inside(value.get(9)?.[0]).get(1)?.[0]).get(1)?.[0];
  if (String(plugin) !== "text") throw new Error("not a text");
  const tensor = inside(value.get(8)?.[0]);
  const dimension = inside(inside(tensor.get(2)?.[0]).get(2)?.[0]).get(1)?.[0];
  if (tensor.get(1)?.[0] !== 7n || dimension !== 1n) throw new Error("not one string");
  return String(tensor.get(8)?.[0]);
}

export function decodeEvent(bytes: Buffer): DecodedEvent {
  const event = readMessage(bytes);
  // Without a prototype: any tag is a key of its own.
  const scalars: { [tag: string]: number } = Object.create(null);
  const texts: { [tag: string]: string } = Object.create(null);
  for (const summary of event.get(5) ?? []) {
    for (const field of inside(summary).get(1) ?? []) {
      const value = inside(field);
      const tag = String(value.get(1)?.[0]);
      if (value.has(2)) scalars[tag] = value.get(2)?.[0] as number;
      else texts[tag] = textOf(value);
    }
  }
  return {
    wallTime: event.get(1)?.[0] as number,
    step: Number(event.get(2)?.[0]),
    ...(event.has(3) ? { version: String(event.get(3)?.[0]) } : {}),
    ...(event.has(7) ? { restarts: inside(event.get(7)?.[0]).get(1)?.[0] === 1n } : {}),
    scalars,
    texts,
  };
}
