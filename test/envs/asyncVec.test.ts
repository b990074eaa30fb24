/**
 * @file Games in worker threads do what they do in this one; what games do wrong, here or there, comes back as an error
 * that names the environment.
 */
import { existsSync, readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  type AsyncVec,
  asyncVec,
  fromObject,
  GameError,
  type GameKind,
  GameThreadError,
} from "../../src/envs/objects/index.ts";
import { box, discrete } from "../../src/envs/spaces.ts";
import type { VectorEnv } from "../../src/envs/vector/face.ts";
import { copyOf, dice, kept, race } from "./games.ts";

/** A game that goes wrong in environment 3 when it is told to by action 1 (in step) or by its seed's absence. */
const broken = (how: string): GameKind<ReturnType<typeof box<"f32">>, ReturnType<typeof discrete>> => ({
  id: "Broken",
  observation: box([2]),
  action: discrete(2),
  make: new Function(
    "index",
    `return {
      reset: () => [0, 0],
      step: (action) => index === 3 && action === 1 ? (() => { ${how} })() : { observation: [1, 2], reward: 1, terminated: false },
    };`,
  ) as never,
});
const WRONG: readonly (readonly [how: string, said: RegExp])[] = [
  ["throw new Error('a tile is missing')", /environment 3: step\(\) threw an error: a tile is missing/],
  ["throw 'words'", /threw an error: words/],
  ["return { observation: [1, 2], reward: NaN, terminated: false }", /the reward NaN, which is not a finite number/],
  ["return { observation: [1, 2], reward: '1', terminated: false }", /the reward 1, which/],
  ["return { observation: [1, 2], reward: 1e39, terminated: false }", /not a finite number/],
  ["return { observation: [1, 2, 3], reward: 1, terminated: false }", /an observation of 3 numbers instead of 2/],
  ["return { reward: 1, terminated: false }", /an observation of undefined numbers instead of 2/],
  ["return { observation: [1, NaN], reward: 1, terminated: false }", /an observation with NaN at 1, not a number/],
  ["return { observation: [1, [2]], reward: 1, terminated: false }", /an observation with 2 at 1, not a number/],
  ["return { observation: [1, 2], reward: 1, done: false }", /terminated undefined, which must be true or false/],
  ["return { observation: [1, 2], reward: 1, terminated: false, truncated: 0 }", /truncated 0, which must be/],
  ["return 7", /step\(\) gave 7/],
];

describe.each(["fromObject", "asyncVec"] as const)("games that go wrong: %s", (form) => {
  const vectorOf = (how: string): VectorEnv =>
    kept(form === "fromObject" ? fromObject(broken(how), 5) : asyncVec(broken(how), 5, { workers: 2 }));
  test.each(WRONG)("%s", (how, said) => {
    const vec = vectorOf(how);
    vec.reset();
    vec.step([1, 1, 1, 0, 1]);
    const error = (() => {
      try {
        vec.step([0, 0, 0, 1, 0]);
      } catch (caught) {
        return caught as GameError;
      }
      return undefined;
    })();
    expect(error).toBeInstanceOf(GameError);
    expect(error?.message).toMatch(said);
    expect(error?.index).toBe(3);
    expect(() => vec.step([0, 0, 0, 0, 0])).toThrow(/call reset\(\) first/);
    vec.reset();
    expect([...vec.step([1, 1, 1, 0, 1]).reward]).toEqual([1, 1, 1, 1, 1]);
  });
});

describe("asyncVec", () => {
  test.each([
    [1, "same-step"],
    [2, "same-step"],
    [3, "next-step"],
    [2, "disabled"],
  ] as const)("%i workers, %s: the same as in one thread", (workers, autoreset) => {
    const options = { seed: 9, autoreset, maxSteps: 11 };
    const vecs = [kept(fromObject(dice, 7, options)), kept(asyncVec(dice, 7, { ...options, workers }))];
    expect((vecs[1] as AsyncVec).workers).toBe(workers);
    for (const vec of vecs) vec.reset();
    for (let t = 0; t < 120; t++) {
      const actions = Array.from({ length: 14 }, (_, k) => (t * (k + 3)) % (k % 2 ? 4 : 2));
      for (const vec of vecs) {
        vec.step(actions);
        if (autoreset === "disabled")
          vec.reset(vec.out.terminated.map((ended, i) => ended | (vec.out.truncated[i] ?? 0)));
      }
      expect(copyOf(vecs[1] as VectorEnv)).toEqual(copyOf(vecs[0] as VectorEnv));
    }
  });

  test("from a module, and without blocking", async () => {
    const source = `export const other = ${dice.make.toString().replace(/^make/, "function")};`;
    const module = `data:text/javascript,${encodeURIComponent(source)}`;
    const vec = kept(asyncVec({ ...dice, make: { module, name: "other" } }, 3, { workers: 2 }));
    const alone = kept(fromObject(dice, 3));
    alone.reset();
    await vec.resetAsync();
    for (let t = 0; t < 20; t++) {
      const pending = vec.stepAsync([0, 1, 1, 2, 0, 3]);
      if (t === 3) {
        expect(() => vec.step([0, 1, 1, 2, 0, 3])).toThrow(/under way/);
        await expect(vec.stepAsync([0, 1, 1, 2, 0, 3])).rejects.toThrow(/under way/);
      }
      await pending;
      alone.step([0, 1, 1, 2, 0, 3]);
      expect(copyOf(vec)).toEqual(copyOf(alone));
    }
  });

  test("what cannot be made comes back with the first reset", () => {
    const outside = 3;
    const closed = kept(asyncVec({ ...race, make: () => ({ x: outside }) as never }, 2, { workers: 2 }));
    expect(() => closed.reset()).toThrow(/environment 0: make\(\) threw an error: outside is not defined/);
    const missing = kept(asyncVec({ ...race, make: { module: "data:text/javascript,export const a = 1;" } }, 1));
    expect(() => missing.reset()).toThrow(/make cannot be loaded: there is no function/);
    const wrong = kept(asyncVec({ ...race, make: { module: "file:///nowhere/at/all.js" } }, 1));
    expect(() => wrong.reset()).toThrow(GameError);
  });

  const stuck = (how: string, timeout?: number): AsyncVec<never, never> =>
    kept(asyncVec(broken(how), 5, { workers: 2, ...(timeout ? { timeout } : {}) })) as never;
  test("a thread that ends, or hangs, does not hang the caller", async () => {
    for (const [vec, said] of [
      [stuck("process.exit(1)"), /worker 1, which steps environments 2 to 4, has ended/],
      [stuck("for (;;);", 200), /worker 1, .* has not answered for 200 ms/],
    ] as const) {
      vec.reset();
      expect(() => vec.step([0, 0, 0, 1, 0])).toThrow(said);
      expect(() => vec.step([0, 0, 0, 0, 0])).toThrow(GameThreadError);
      expect(() => vec.reset()).toThrow(GameThreadError);
      vec.dispose();
    }
    const waiting = stuck("process.exit(1)");
    await waiting.resetAsync();
    await expect(waiting.stepAsync([0, 0, 0, 1, 0])).rejects.toThrow(/has ended/);
  });

  // The system's list of this process's threads, where there is one.
  const threads = (): number => (existsSync("/proc/self/task") ? readdirSync("/proc/self/task").length : 0);
  const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
  /** Threads of earlier tests may still be ending. */
  const settled = async (): Promise<number> => {
    for (let [last, k] = [-1, 0]; k < 40 && last !== threads(); k++) {
      last = threads();
      await sleep(60);
    }
    return threads();
  };
  test("disposing ends the threads and what waits for them", async () => {
    const before = await settled();
    const vec = asyncVec(race, 4, { workers: 3 });
    vec.reset();
    if (before > 0) expect(threads()).toBeGreaterThan(before + 2);
    vec.dispose();
    for (let k = 0; k < 100 && threads() > before; k++) await sleep(20);
    expect(threads()).toBeLessThanOrEqual(before);
    vec.dispose();
    expect(() => vec.step([0, 0, 0, 0])).toThrow(/disposed of/);
    const hanging = stuck("for (;;);");
    await hanging.resetAsync();
    const pending = hanging.stepAsync([0, 0, 0, 1, 0]);
    hanging.dispose();
    await expect(pending).rejects.toThrow(/disposed of/);
  });
});
