/**
 * @file MNISTBandit-bsuite: each episode shows one picture, and the action names its digit (bsuite, as in gymnax). The
 * pictures are the user's: the bytes of two IDX files, as the MNIST database has them.
 *
 * The pictures lie in the heap once, as bytes, and every environment of the definition reads them there: 47 MB for the
 * 60,000 of the training set. As constants of the kernels they would have to be compiled.
 */
import { bool, i32, u8 } from "../../kernel/declare.ts";
import { allocateFrom } from "../../kernel/kernel.ts";
import { drawCell, drawGrid } from "../cells.ts";
import { defineEnv, EnvironmentError } from "../define.ts";
import { box, discrete } from "../spaces.ts";

/** What is known of the environment before there are pictures. */
export const MNIST_BANDIT = Object.freeze({
  id: "MNISTBandit-bsuite",
  observation: box([28, 28], { low: 0, high: 1 }),
  action: discrete(10),
  maxSteps: 1,
  solved: "a return of 1 in every episode",
});

interface Idx {
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

/** Reads an IDX file of bytes with so many dimensions; nothing in it is believed before it is checked. */
function parseIdx(file: Uint8Array, what: string, dimensions: number): Idx {
  const wrong = (problem: string): EnvironmentError =>
    new EnvironmentError(`${MNIST_BANDIT.id}: the ${what} are no IDX file of bytes: ${problem}`);
  if (!(file instanceof Uint8Array)) throw wrong("give the file's content as a Uint8Array");
  if (file[0] === 0x1f && file[1] === 0x8b) throw wrong("it is compressed; unpack it first (gunzip)");
  const header = 4 + 4 * dimensions;
  if (file.length < header) throw wrong(`it has ${file.length} bytes, a header has ${header}`);
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const wanted = 0x800 + dimensions;
  const magic = view.getUint32(0);
  if (magic !== wanted)
    throw wrong(`it begins with 0x${magic.toString(16)}, not 0x${wanted.toString(16)} (${dimensions} dimensions)`);
  const shape = Array.from({ length: dimensions }, (_, k) => view.getUint32(4 + 4 * k));
  const count = shape.reduce((product, side) => product * side, 1);
  const bytes = file.subarray(header);
  if (count !== bytes.length)
    throw wrong(`its header promises ${shape.join(" x ")} bytes, ${bytes.length} follow; the file is cut or damaged`);
  if (count === 0) throw wrong("it is empty");
  return { shape, bytes };
}

function checkedLabels(images: Idx, labels: Idx): Uint8Array {
  const [count, given] = [images.shape[0], labels.shape[0]];
  if (count !== given)
    throw new EnvironmentError(
      `${MNIST_BANDIT.id}: ${count} images with ${given} labels; give the two files of one set`,
    );
  const digits = MNIST_BANDIT.action.n;
  const bad = labels.bytes.findIndex((label) => label >= digits);
  if (bad >= 0)
    throw new EnvironmentError(
      `${MNIST_BANDIT.id}: label ${bad} is ${labels.bytes[bad]}; labels are digits from 0 to ${digits - 1}`,
    );
  return labels.bytes;
}

/**
 * The environment of the pictures in an IDX file and the labels in another, given as their bytes. Both are copied to
 * the heap, where they stay.
 */
export function mnistBandit(images: Uint8Array, labels: Uint8Array) {
  const pictures = parseIdx(images, "images", 3);
  const digits = checkedLabels(pictures, parseIdx(labels, "labels", 1));
  const [, rows = 1, columns = 1] = pictures.shape;
  const tables = { images: allocateFrom(u8, pictures.bytes), labels: allocateFrom(u8, digits) };
  return defineEnv({
    ...MNIST_BANDIT,
    observation: box([rows, columns], { low: 0, high: 1 }),
    params: {},
    tables,
    state: { image: i32, answered: bool, totalRegret: i32 },
    reset(s, { tables, rng }) {
      s.image = rng.int(tables.labels.length);
      s.answered = false;
      s.totalRegret = 0;
    },
    step(s, action, { tables }) {
      const right = action === tables.labels[s.image]!;
      s.answered = true;
      s.totalRegret += right ? 0 : 2;
      return { reward: right ? 1 : -1, terminated: true };
    },
    observe(s, obs, { tables }) {
      const first = s.image * obs.length;
      for (let k = 0; k < obs.length; k++) obs[k] = s.answered ? 0 : Math.fround(tables.images[first + k]!) / 255;
    },
    draw(s, canvas) {
      drawGrid(canvas, rows, columns);
      const first = s.image * rows * columns;
      for (let k = 0; k < rows * columns; k++) {
        const shade = tables.images[first + k] as number;
        if (shade > 60) drawCell(canvas, rows, Math.floor(k / columns), k % columns, shade > 150 ? "ink" : "grey");
      }
    },
  });
}
