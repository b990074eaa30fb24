/**
 * @file The arrays of a VecEnv for the results and actions of k steps, made when they are needed: who hands over its own
 * pays for no others.
 */
import type { TypedArray } from "../../ir/arrays.ts";
import type { Scalar } from "../../kernel/declare.ts";
import { allocate, free } from "../../kernel/kernel.ts";
import { actionSize, type Environment } from "../define.ts";
import type { ActionArray } from "./actions.ts";
import { RESULTS, type ResultName, resultColumn, type StepArrays } from "./arrays.ts";
import { actionType } from "./spaces.ts";

export class KeptArrays {
  readonly k: number;
  readonly #env: Environment;
  readonly #rows: number;
  readonly #arrays = new Map<ResultName | "actions", TypedArray>();

  constructor(env: Environment, n: number, k: number) {
    this.#env = env;
    this.#rows = n * k;
    this.k = k;
  }

  get actions(): ActionArray {
    const { action } = this.#env;
    return this.#array("actions", actionType(action), actionSize(action)) as ActionArray;
  }
  result<N extends ResultName>(name: N): StepArrays[N] {
    const { type, size } = resultColumn(this.#env, name);
    return this.#array(name, type, size) as StepArrays[N];
  }
  results(): StepArrays {
    return Object.fromEntries(RESULTS.map((name) => [name, this.result(name)])) as unknown as StepArrays;
  }
  #array(name: ResultName | "actions", type: Scalar, size: number): TypedArray {
    const made = this.#arrays.get(name) ?? allocate(type, this.#rows * size);
    this.#arrays.set(name, made);
    return made;
  }

  /** Whether an array is one of these. */
  has(array: TypedArray): boolean {
    return [...this.#arrays.values()].includes(array);
  }
  /** Whether some list lies in the memory of these. */
  holds(list: unknown): boolean {
    if (!ArrayBuffer.isView(list)) return false;
    const end = list.byteOffset + list.byteLength;
    return [...this.#arrays.values()].some(
      (a) => a.buffer === list.buffer && list.byteOffset < a.byteOffset + a.byteLength && a.byteOffset < end,
    );
  }

  free(): void {
    for (const array of this.#arrays.values()) free(array);
    this.#arrays.clear();
  }
}
