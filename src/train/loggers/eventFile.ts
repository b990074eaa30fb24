/**
 * @file TensorBoard's event files: events as protocol buffers, each in a frame with its length and two checksums.
 *
 * Only what is needed to write scalars and a text, and to find out how far a file goes: its frames are checked, and of
 * an event the step alone is read.
 */
import { crc32c } from "../../buffers/checksum.ts";
import { LockstepError } from "../../platform/errors.ts";
import { MessageWriter, readInteger } from "./protobuf.ts";

/** An event file that should be continued is damaged. */
export class EventFileError extends LockstepError {
  override readonly name = "EventFileError";
}

/** Fields of the messages, by their numbers. */
const EVENT = { wallTime: 1, step: 2, fileVersion: 3, summary: 5, sessionLog: 7 } as const;
const SUMMARY = { value: 1 } as const;
const VALUE = { tag: 1, simpleValue: 2, tensor: 8, metadata: 9 } as const;
const METADATA = { pluginData: 1 } as const;
const PLUGIN_DATA = { pluginName: 1 } as const;
const TENSOR = { type: 1, shape: 2, strings: 8 } as const;
const SHAPE = { dimension: 2 } as const;
const DIMENSION = { size: 1 } as const;
const SESSION_LOG = { status: 1 } as const;
const STRING_TYPE = 7;
const SESSION_STARTS = 1;

const LENGTH_BYTES = 8;
const CHECKSUM_BYTES = 4;
const HEAD_BYTES = LENGTH_BYTES + CHECKSUM_BYTES;

/** When something happened: seconds of the clock on the wall, and steps of the environment. */
export interface Moment {
  readonly wallTime: number;
  readonly step: number;
}

const eventAt = ({ wallTime, step }: Moment): MessageWriter =>
  new MessageWriter().double(EVENT.wallTime, wallTime).integer(EVENT.step, step);

/** The first event of every file. */
export const versionEvent = (moment: Moment): Uint8Array =>
  eventAt(moment).text(EVENT.fileVersion, "brain.Event:2").finish();

/** Tells a TensorBoard that watches the folder to forget what it has seen from this step on. */
export const restartEvent = (moment: Moment): Uint8Array =>
  eventAt(moment)
    .message(EVENT.sessionLog, (session) => session.integer(SESSION_LOG.status, SESSION_STARTS))
    .finish();

export function scalarsEvent(moment: Moment, scalars: readonly (readonly [tag: string, value: number])[]): Uint8Array {
  return eventAt(moment)
    .message(EVENT.summary, (summary) => {
      for (const [tag, value] of scalars) {
        summary.message(SUMMARY.value, (inner) => inner.text(VALUE.tag, tag).float(VALUE.simpleValue, value));
      }
    })
    .finish();
}

/** A tensor with one string. */
const stringTensor = (writer: MessageWriter, text: string): MessageWriter =>
  writer
    .integer(TENSOR.type, STRING_TYPE)
    .message(TENSOR.shape, (shape) => shape.message(SHAPE.dimension, (one) => one.integer(DIMENSION.size, 1)))
    .text(TENSOR.strings, text);

/** A text, shown as Markdown: a tensor marked for the plugin that shows texts. */
export function textEvent(moment: Moment, tag: string, text: string): Uint8Array {
  const value = (writer: MessageWriter): MessageWriter =>
    writer
      .text(VALUE.tag, tag)
      .message(VALUE.tensor, (tensor) => stringTensor(tensor, text))
      .message(VALUE.metadata, (metadata) =>
        metadata.message(METADATA.pluginData, (plugin) => plugin.text(PLUGIN_DATA.pluginName, "text")),
      );
  return eventAt(moment)
    .message(EVENT.summary, (summary) => summary.message(SUMMARY.value, value))
    .finish();
}

/** Checksums are stored rotated and shifted: those of data that holds checksums stay good. */
function maskedChecksum(bytes: Uint8Array): number {
  const crc = crc32c(bytes);
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** An event in its frame. */
export function framed(event: Uint8Array): Uint8Array {
  const frame = new Uint8Array(HEAD_BYTES + event.length + CHECKSUM_BYTES);
  const view = viewOf(frame);
  view.setBigUint64(0, BigInt(event.length), true);
  view.setUint32(LENGTH_BYTES, maskedChecksum(frame.subarray(0, LENGTH_BYTES)), true);
  frame.set(event, HEAD_BYTES);
  view.setUint32(HEAD_BYTES + event.length, maskedChecksum(event), true);
  return frame;
}

/**
 * How many bytes of an event file hold the events up to a step. A frame that the file ends in was torn by a kill and
 * does not count; one whose checksum is wrong is an error, since what follows it would be lost.
 */
export function bytesUpToStep(bytes: Uint8Array, step: number, path: string): number {
  const view = viewOf(bytes);
  const damaged = (at: number, what: string): EventFileError =>
    new EventFileError(`${path} is damaged at byte ${at}: ${what}; move the file away to go on without its curves`);
  let at = 0;
  while (at + HEAD_BYTES <= bytes.length) {
    if (view.getUint32(at + LENGTH_BYTES, true) !== maskedChecksum(bytes.subarray(at, at + LENGTH_BYTES))) {
      throw damaged(at, "the checksum of a length does not fit");
    }
    const begin = at + HEAD_BYTES;
    const length = Number(view.getBigUint64(at, true));
    if (length > bytes.length - begin - CHECKSUM_BYTES) break;
    const event = bytes.subarray(begin, begin + length);
    if (view.getUint32(begin + length, true) !== maskedChecksum(event)) {
      throw damaged(begin, "the checksum of an event does not fit");
    }
    const eventStep = readInteger(event, EVENT.step);
    if (eventStep === undefined) throw damaged(begin, "an event is malformed");
    if (eventStep > step) break;
    at = begin + length + CHECKSUM_BYTES;
  }
  return at;
}
