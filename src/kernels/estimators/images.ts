/**
 * @file Random shift of images (DrQ, Kostrikov et al. 2020): each image is padded on all sides and a window of the
 * original size is cut out at a random place.
 *
 * An image's place depends on the seed, the number of the call and the image's position only: the same on every
 * target, for bytes and floats.
 */
import { f32, i32, u8, u32 } from "../../kernel/declare.ts";
import { allocate, free, type Kernel, kernel } from "../../kernel/kernel.ts";
import { needCount, needNumber } from "../checks.ts";
import { DataError } from "../errors.ts";
import { output, type RunChoice, runOptions } from "../inputs.ts";

export type ImageArray = Uint8Array | Float32Array;
export interface ShiftOptions extends RunChoice {
  /** Planes per image (frames and colours), each of height x width. */
  readonly channels: number;
  readonly height: number;
  readonly width: number;
  /** By how many pixels an image moves at most in each direction; 4 unless given. */
  readonly pad?: number;
  /** What lies outside of an image: zeros, the default, or its border pixels. */
  readonly border?: "zero" | "edge";
  /** With `call`, decides all places. */
  readonly seed: number;
  /** The number of this call; a new one gives new places. */
  readonly call: number;
}

/** Places are 32-bit numbers, and no image is near this size. */
const MOST_PAD = 2 ** 24;

const placesKernel = kernel(
  { places: i32.array(), seed: u32, call: u32, pad: i32 },
  ({ places, seed, call, pad }, { parallel, rng }) => {
    const images = (places.length / 2) | 0;
    parallel(images, (k) => {
      const stream = rng(seed, call).fold(k);
      places[2 * k] = stream.int(2 * pad + 1) - pad;
      places[2 * k + 1] = stream.int(2 * pad + 1) - pad;
    });
  },
  { name: "shiftPlaces" },
);

const makeShift = (type: typeof u8 | typeof f32) =>
  kernel(
    {
      images: type.array(),
      places: i32.array(),
      out: type.array(),
      channels: i32,
      height: i32,
      width: i32,
      edge: i32,
    },
    ({ images, places, out, channels, height, width, edge }, { parallel }) => {
      const count = (places.length / 2) | 0;
      const rows = channels * height;
      for (let k = 0; k < count; k++) {
        const down = places[2 * k]!;
        const right = places[2 * k + 1]!;
        // Columns begin to end - 1 of a row come from the image; the others lie outside of it.
        const begin = Math.min(Math.max(-right, 0), width);
        const end = Math.max(begin, Math.min(width, width - right));
        for (let r = 0; r < rows; r++) {
          const y = (r % height) + down;
          const inside = Math.min(Math.max(y, 0), height - 1);
          const from = (k * rows + r - (r % height) + inside) * width;
          const to = (k * rows + r) * width;
          if (edge === 0 && inside !== y) {
            parallel(width, (i) => {
              out[to + i] = 0;
            });
          } else {
            parallel(end - begin, (i) => {
              out[to + begin + i] = images[from + begin + right + i]!;
            });
            for (let i = 0; i < begin; i++) out[to + i] = edge === 0 ? 0 : images[from]!;
            for (let i = end; i < width; i++) out[to + i] = edge === 0 ? 0 : images[from + width - 1]!;
          }
        }
      }
    },
    { name: "randomShift" },
  );
type ShiftKernel = ReturnType<typeof makeShift>;
const shifts = new Map<"u8" | "f32", ShiftKernel>();
function shiftKernel(image: ImageArray): Kernel {
  const type = image instanceof Uint8Array ? u8 : f32;
  let found = shifts.get(type.dtype);
  if (!found) {
    found = makeShift(type);
    shifts.set(type.dtype, found);
  }
  return found as unknown as Kernel;
}

let places: Int32Array | undefined;
function roomForPlaces(images: number): Int32Array {
  if (places?.length === 2 * images) return places;
  if (places !== undefined) free(places);
  places = allocate(i32, 2 * images);
  return places;
}

/** Shifts every image by its own random number of pixels. Images lie one after the other, plane by plane. */
export function randomShift<A extends ImageArray>(
  input: { readonly images: A; readonly out?: A },
  options: ShiftOptions,
): A {
  const who = "randomShift";
  const { images } = input;
  const { channels, height, width, pad = 4, border = "zero", seed, call } = options;
  if (!(images instanceof Uint8Array || images instanceof Float32Array))
    throw new DataError(`${who}: "images" must be a Uint8Array or a Float32Array`);
  for (const [name, value] of Object.entries({ channels, height, width })) needCount(who, name, value, 1);
  needCount(who, "pad", pad, 0);
  needNumber(who, "pad", pad, pad <= MOST_PAD, `at most ${MOST_PAD}`);
  needNumber(who, "seed", seed, seed >>> 0 === seed, "a whole number from 0 to 4294967295");
  needNumber(who, "call", call, call >>> 0 === call, "a whole number from 0 to 4294967295");
  if (border !== "zero" && border !== "edge")
    throw new DataError(`${who}: there is no border "${border}"; known are "zero" and "edge"`);
  const count = images.length / (channels * height * width);
  if (!Number.isInteger(count))
    throw new DataError(`${who}: ${images.length} pixels are not whole images of ${channels} x ${height} x ${width}`);
  const out = output(who, "out", input.out, images);
  if (count === 0) return out;
  const target = options.target ?? "auto";
  const at = roomForPlaces(count);
  placesKernel.on(target, runOptions(options))({ places: at, seed, call, pad });
  const edge = border === "edge" ? 1 : 0;
  const run = shiftKernel(images).on(target, runOptions(options)).program.run;
  run({ images, places: at, out, channels, height, width, edge });
  return out;
}
