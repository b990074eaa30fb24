/**
 * @file Sampling programs: rows are chosen and all their columns gathered in one call of compiled code.
 *
 * The gather of a layout is a kernel whose text is written here, because it names the columns: narrow columns of one
 * row are moved together in one loop, wide ones row by row with vector moves. Columns are moved in the widest words
 * that fit (eight bytes; four in JavaScript, where a number does not keep the bits of every NaN). Programs are kept by
 * layout, so that buffers alike share them.
 */
import { newArray, type TypedArray, viewArray } from "../ir/arrays.ts";
import { STORAGE_BYTES } from "../ir/types.ts";
import { type Declaration, f32, f64, i32, type KernelFunction, u8 } from "../kernel/declare.ts";
import { allocate, free, type Kernel, kernel } from "../kernel/kernel.ts";
import { type ArrayHandle, type KernelProgram, program } from "../kernel/program.ts";
import { DataError } from "../kernels/errors.ts";
import { heap } from "../runtime/heap.ts";
import { chooseTarget, type TargetChoice } from "../runtime/targets.ts";
import { type Column, type Columns, type ColumnType, type ColumnView, makeOrRelease, rowBytes } from "./columns.ts";
import { CONTROL_WORDS, drawsLength } from "./draws.ts";

const WORDS = { f64, f32, i32, u8 } as const;
type Word = "f64" | "i32" | "u8";

/** A column to be gathered: rows of `view`, chosen by the number in `by`. */
export interface GatherSource {
  readonly name: string;
  readonly column: Column;
  readonly view: ColumnView;
  /** "at": the drawn row. Others are arrays of the step that chose rows (see `Chooser`). */
  readonly by: string;
}

/** The steps before the gather: kernels that write the rows to `draws`, and the arrays they need. */
export interface Chooser {
  /** Tells programs apart: choosers of one name must have the same steps. */
  readonly name: string;
  /** None where the caller writes the rows. Each takes `control`, `draws` and the arrays below by their names. */
  readonly steps: readonly Kernel[];
  /** Arrays that belong to the buffer, by the kernel's names (control and draws excepted). */
  readonly inputs: { readonly [name: string]: TypedArray };
  /** Arrays of one value per row, by the kernel's names, made for every batch. */
  readonly outputs: { readonly [name: string]: "f32" | "f64" | "i32" | "u8" };
  /** Those of them that are no part of a batch. */
  readonly scratch?: readonly string[];
}

/** Rows that the caller has written to the batch's index. */
export const GIVEN: Chooser = { name: "given", steps: [], inputs: {}, outputs: {} };

/** Words longer than this are moved by a vector loop of their own. */
const UNROLLED_WORDS = 16;
const MOST_SUBSCRIPT = 2 ** 31 - 1;

interface Move {
  readonly source: GatherSource;
  readonly word: Word;
  /** In words. */
  readonly size: number;
  readonly offset: number;
  readonly stride: number;
  /** Which of the distinct source arrays. */
  readonly from: number;
}
interface MovePlan {
  readonly moves: readonly Move[];
  readonly arrays: readonly { readonly word: Word; readonly array: TypedArray }[];
}

function wordFor(source: GatherSource, wide: boolean): Word {
  const width = STORAGE_BYTES[source.column.dtype];
  const { offset, stride, array } = source.view;
  const fits = (bytes: number): boolean =>
    [rowBytes(source.column), offset * width, stride * width, array.byteOffset].every((n) => n % bytes === 0);
  if (wide && fits(8)) return "f64";
  return fits(4) ? "i32" : "u8";
}

/** How each column is moved, and the distinct arrays that are moved from. */
function planMoves(sources: readonly GatherSource[], wide: boolean): MovePlan {
  const arrays: { word: Word; array: TypedArray }[] = [];
  const moves = sources.map((source): Move => {
    const word = wordFor(source, wide);
    const { array, offset, stride } = source.view;
    const scale = STORAGE_BYTES[source.column.dtype] / STORAGE_BYTES[word];
    let from = arrays.findIndex((a) => a.word === word && a.array.byteOffset === array.byteOffset);
    if (from < 0) {
      const length = Math.floor(array.byteLength / STORAGE_BYTES[word]);
      if (length > MOST_SUBSCRIPT)
        throw new DataError(
          `column "${source.name}" is too large to be sampled: ${length} words of its kind; take a smaller capacity`,
        );
      from = arrays.push({ word, array: viewArray(word, heap().buffer, array.byteOffset, length) }) - 1;
    }
    const size = rowBytes(source.column) / STORAGE_BYTES[word];
    return { source, word, size, offset: offset * scale, stride: stride * scale, from };
  });
  return { moves, arrays };
}

const subscript = (row: string, stride: number, offset: number): string =>
  `${stride === 1 ? row : `${row} * ${stride}`}${offset ? ` + ${offset}` : ""}`;

/** The text of a gather kernel. */
function gatherText({ moves, arrays }: MovePlan, indices: readonly string[]): string {
  const narrow = (isFirst: boolean): string[] =>
    moves.flatMap((move, j) =>
      move.size > UNROLLED_WORDS || (move.word === "f64") !== isFirst
        ? []
        : Array.from({ length: move.size }, (_, k) => {
            const from = subscript(`${move.source.by}_`, move.stride, move.offset + k);
            return `to${j}[${subscript("i", move.size, k)}] = from${move.from}[${from}];`;
          }),
    );
  const wide = moves.flatMap((move, j) =>
    move.size <= UNROLLED_WORDS
      ? []
      : [
          `for (let i = 0; i < size; i++) { const base = ${subscript(`${move.source.by}[i]`, move.stride, move.offset)};`,
          `const out = i * ${move.size};`,
          `parallel(${move.size}, (k) => { to${j}[out + k] = from${move.from}[base + k]; }); }`,
        ],
  );
  const used = indices.filter((name) => moves.some((m) => m.source.by === name && m.size <= UNROLLED_WORDS));
  const rows = used.map((name) => `const ${name}_ = ${name}[i];`);
  const names = [...indices, "size", ...arrays.map((_, k) => `from${k}`), ...moves.map((_, j) => `to${j}`)];
  // Two loops: one with all columns has more addresses than registers, and fewer rows on their way from memory.
  const loop = [narrow(true), narrow(false)].flatMap((lines) =>
    lines.length ? ["for (let i = 0; i < size; i++) {", ...rows, ...lines, "}"] : [],
  );
  return [`({ ${names.join(", ")} }, { parallel }) => {`, ...loop, ...wide, "}"].join("\n");
}

interface Compiled {
  readonly program: KernelProgram;
}
const compiled = new Map<string, Compiled>();

/** A kernel from text; the text is this file's own. */
function kernelFrom(text: string, declaration: Declaration, name: string): Kernel {
  const fn = new Function(`return ${text};`)() as KernelFunction<Declaration>;
  return kernel(declaration, fn, { name });
}

function compileSampler(plan: MovePlan, chooser: Chooser, indices: readonly string[]): KernelProgram {
  const text = gatherText(plan, indices);
  const types = [...plan.arrays.map((a) => a.word), ...plan.moves.map((m) => m.word)].join(" ");
  const key = [chooser.name, text, types].join("\n");
  let found = compiled.get(key);
  if (!found) {
    const gathered: Declaration = {
      ...Object.fromEntries(indices.map((name) => [name, i32.array()])),
      ...Object.fromEntries(plan.arrays.map((a, k) => [`from${k}`, WORDS[a.word].array()])),
      ...Object.fromEntries(plan.moves.map((m, j) => [`to${j}`, WORDS[m.word].array()])),
      size: i32,
    };
    const gather = kernelFrom(text, gathered, "gather");
    const chosen: Declaration =
      chooser.steps.length > 0
        ? { control: i32.array(CONTROL_WORDS), ...declarationOf(chooser), at: i32.array() }
        : { at: i32.array() };
    const made = program(
      { ...gathered, ...chosen },
      (handles, { call }) => {
        const all = handles as unknown as { readonly [name: string]: ArrayHandle };
        // A chooser without an array `after` takes next observations from the rows themselves.
        for (const step of chooser.steps) call(step, { after: all.at, ...all, draws: all.at } as never);
        if (plan.moves.length > 0) call(gather, all as never);
      },
      { name: `sample_${chooser.name}` },
    ) as unknown as KernelProgram;
    found = { program: made };
    compiled.set(key, found);
  }
  return found.program;
}

function declarationOf(chooser: Chooser): Declaration {
  const ofArray = (array: TypedArray): Declaration[string] => {
    if (array instanceof Float64Array) return f64.array();
    if (array instanceof Float32Array) return f32.array();
    return array instanceof Uint8Array ? u8.array() : i32.array();
  };
  return {
    ...Object.fromEntries(Object.entries(chooser.inputs).map(([name, array]) => [name, ofArray(array)])),
    ...Object.fromEntries(Object.entries(chooser.outputs).map(([name, type]) => [name, WORDS[type].array()])),
  };
}

/** Arrays of a batch by name; bound to the program that fills them. */
export interface BoundBatch {
  readonly size: number;
  /** The rows taken. */
  readonly index: Int32Array;
  readonly arrays: { readonly [name: string]: TypedArray };
  /** Runs the program. */
  readonly run: () => void;
  dispose(): void;
}

/** Gives the array that a column of a batch goes to. */
type Place = (name: string, column: Column) => TypedArray;

/** Samples rows of some columns; one per buffer. */
export class Sampler {
  readonly control: Int32Array;
  readonly #sources: readonly GatherSource[];
  readonly #plan: MovePlan;
  readonly #chooser: Chooser;
  readonly #indices: readonly string[];
  readonly #program: KernelProgram;
  readonly #target: TargetChoice;
  #disposed = false;

  constructor(sources: readonly GatherSource[], chooser: Chooser, target: TargetChoice) {
    this.#sources = sources;
    this.#plan = planMoves(sources, chooseTarget(target).target.name !== "js");
    this.#chooser = chooser;
    this.#indices = ["at", ...new Set(sources.map((s) => s.by).filter((by) => by !== "at"))];
    this.#target = target;
    this.#program = compileSampler(this.#plan, chooser, this.#indices);
    this.control = allocate(i32, CONTROL_WORDS);
  }

  /** The columns of a batch that are gathered, by name. */
  get layout(): Columns {
    return Object.fromEntries(this.#sources.map(({ name, column }) => [name, column]));
  }

  /** A batch of `size` rows; `place` may give arrays of a larger batch to write to. */
  bind(size: number, place?: Place): BoundBatch {
    const owned: TypedArray[] = [];
    const dispose = (): void => {
      for (const array of owned.splice(0)) free(array);
    };
    const take = (type: ColumnType, length: number): TypedArray => {
      const array = heap().array(type, length);
      owned.push(array);
      return array;
    };
    return makeOrRelease([{ dispose }], () => {
      const at = take("i32", drawsLength(size)) as Int32Array;
      const outputs = Object.fromEntries(
        Object.entries(this.#chooser.outputs).map(([name, type]) => [name, take(type, drawsLength(size))]),
      );
      const gathered = this.#sources.map(({ column }, j) =>
        place ? this.#placed(place, size, j) : take(column.dtype, size * column.size),
      );
      const args = { at, size, ...outputs, ...this.#arguments(gathered) };
      const run = this.#program.on(this.#target, { threads: 1, unchecked: true }).bind(args);
      const named = Object.fromEntries(this.#sources.map(({ name }, j) => [name, gathered[j] as TypedArray]));
      const perRow = Object.fromEntries(
        Object.entries(outputs)
          .filter(([name]) => !this.#indices.includes(name) && !this.#chooser.scratch?.includes(name))
          .map(([name, array]) => [name, array.subarray(0, size)]),
      );
      return { size, index: at.subarray(0, size), arrays: { ...perRow, ...named }, run, dispose };
    });
  }

  /** What the program takes beside the arrays of single rows: the columns, as words, and what chooses rows. */
  #arguments(gathered: readonly TypedArray[]): { [name: string]: unknown } {
    const args: { [name: string]: unknown } = {};
    if (this.#chooser.steps.length > 0) Object.assign(args, { control: this.control }, this.#chooser.inputs);
    this.#plan.arrays.forEach(({ array }, k) => {
      args[`from${k}`] = array;
    });
    this.#plan.moves.forEach(({ word }, j) => {
      const { byteOffset, byteLength } = gathered[j] as TypedArray;
      args[`to${j}`] = viewArray(word, heap().buffer, byteOffset, byteLength / STORAGE_BYTES[word]);
    });
    return args;
  }

  /** An array that the caller gives for a column. It is written to by its offset: it must lie in the heap. */
  #placed(place: Place, size: number, j: number): TypedArray {
    const { name, column } = this.#sources[j] as GatherSource;
    const width = STORAGE_BYTES[(this.#plan.moves[j] as Move).word];
    const array = place(name, column);
    const kind = newArray(column.dtype, 0).constructor;
    if (array?.constructor !== kind || array.length !== size * column.size)
      throw new DataError(`createBatch: "${name}" must be a ${kind.name} of ${size * column.size} elements`);
    if (!heap().owns(array.buffer) || array.byteOffset % width !== 0)
      throw new DataError(`createBatch: "${name}" must lie in an array of allocate, at a multiple of ${width} bytes`);
    return array;
  }

  dispose(): void {
    if (!this.#disposed) free(this.control);
    this.#disposed = true;
  }
}
