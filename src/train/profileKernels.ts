/**
 * @file The kernels of an iteration and how long each takes, out of the text that `explain` gives.
 *
 * The text is made for people; what is read of it here are its lines with a number in front, and the loops around them,
 * which say how often a kernel runs.
 */
import { LockstepError } from "../platform/errors.ts";

/** A text that is not one of `explain` with times. */
export class KernelTextError extends LockstepError {
  override readonly name = "KernelTextError";
}

export interface KernelTime {
  /** Its place in the program, from 1 on. */
  readonly place: number;
  readonly what: string;
  readonly shape: string;
  /** How often it runs in an iteration. */
  readonly runs: number;
  /** Microseconds of an iteration, all runs together. */
  readonly us: number;
  readonly gflops_per_s: number;
}

const LOOP = /^ {4}( *)repeat (\d+) times$/;
const KERNEL = /^ *(\d+) ( *)(.*\S) +(-?[\d.]+) +(-?[\d.]+) +(-?[\d.]+) +(-?[\d.]+)$/;
/** Where the name of a kernel ends at the latest, and its shape begins, behind the number. */
const SHAPE = /^(.*?) +(\[[\d, ]*\])$/;
const INDENT = 2;

/** Kernels in the order of the program. */
export function kernelTimes(explained: string): KernelTime[] {
  const kernels: KernelTime[] = [];
  /** How often each of the loops around runs, from the outermost on. */
  let loops: number[] = [];
  for (const line of explained.split("\n")) {
    const loop = LOOP.exec(line);
    if (loop) {
      loops = [...loops.slice(0, (loop[1] as string).length / INDENT), Number(loop[2])];
      continue;
    }
    const found = KERNEL.exec(line);
    if (!found) continue;
    const [, place, indent = "", text = "", , , us, speed] = found;
    loops = loops.slice(0, indent.length / INDENT);
    const [, what = text, shape = ""] = SHAPE.exec(text) ?? [];
    const runs = loops.reduce((product, count) => product * count, 1);
    kernels.push({ place: Number(place), what, shape, runs, us: Number(us), gflops_per_s: Number(speed) });
  }
  if (kernels.length === 0) throw new KernelTextError("the text names no kernels with times: explain({ time: true })");
  return kernels;
}
