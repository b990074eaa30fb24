/**
 * @file The edges of vectors: the largest numbers there are, values that make no sense, memory that is given back, and
 * compiled code that is not kept for ever.
 */
import { describe, expect, test } from "vitest";
import { CartPole } from "../../src/envs/classic/cartPole.ts";
import { defineEnv, EnvironmentError } from "../../src/envs/define.ts";
import { Catch, FrozenLake, Pendulum, Reacher } from "../../src/envs/index.ts";
import { environment } from "../../src/envs/registry.ts";
import { box, discrete, multiBinary } from "../../src/envs/spaces.ts";
import { replayEpisode } from "../../src/envs/vector/replay.ts";
import { VecEnv } from "../../src/envs/vector/vecEnv.ts";
import { clipAction } from "../../src/envs/wrappers/index.ts";
import { bool, f32, i32, u8 } from "../../src/kernel/declare.ts";
import { allocate, free } from "../../src/kernel/kernel.ts";
import { targets } from "./fixtures.ts";

const js = { target: "js" } as const;
function refused(action: () => unknown, why: RegExp): void {
  expect(action).toThrow(EnvironmentError);
  expect(action).toThrow(why);
}
/** Bytes of lockstep's memory in use, as it says itself when it is asked for too much. */
function bytesInUse(): number {
  try {
    free(allocate(f32, 2 ** 40));
  } catch (error) {
    return Number(/(\d+) are in use/.exec((error as Error).message)?.[1]);
  }
  return expect.fail("there is no end of memory");
}

/** A state with a field of every type. */
const Typed = defineEnv({
  id: "Typed",
  params: {},
  state: { whole: i32, byte: u8, flag: bool, list: i32.array(2), inner: { part: f32 } },
  observation: box([1]),
  action: discrete(2),
  reset(s) {
    s.whole = 0;
    s.byte = 0;
    s.flag = false;
    s.list[0] = 0;
    s.list[1] = 0;
    s.inner.part = 0;
  },
  step(s, action) {
    s.whole = s.whole + action;
    return { reward: 0, terminated: s.flag };
  },
  observe(s, obs) {
    obs[0] = s.inner.part;
  },
});

describe("numbers at their limits", () => {
  test("indices and time limits", () => {
    refused(() => new VecEnv(CartPole, 3, { ...js, firstIndex: 2 ** 31 - 2 }), /firstIndex .* from 0 to 2147483645/);
    const last = new VecEnv(CartPole, 3, { ...js, firstIndex: 2 ** 31 - 3, maxSteps: 2 ** 40 });
    last.reset();
    last.step([0, 0, 0]);
    expect(Array.from(last.out.truncated)).toEqual([0, 0, 0]);
    last.dispose();
  });

  test("episodes up to 2^32 - 1, each with numbers of its own", () => {
    const first = (episode: number): string =>
      replayEpisode(CartPole, { ...js, episode, actions: [1] }).firstObs.join();
    const numbers = [0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1];
    expect(new Set(numbers.map(first)).size).toBe(numbers.length);
    refused(() => first(2 ** 32), /the episode must be a whole number from 0 to 4294967295/);
    const vec = new VecEnv(CartPole, 1, { ...js, maxSteps: 1 });
    vec.reset();
    vec.setState(0, { episode: 2 ** 31 - 1 });
    vec.step([0]);
    expect(vec.getState(0).episode).toBe(2 ** 31);
    expect(vec.out.obs.join()).toBe(first(2 ** 31));
    vec.dispose();
  });

  test("an episode of one step", () => {
    const vec = new VecEnv(CartPole, 3, { ...js, maxSteps: 1, autoreset: "next-step" });
    vec.reset();
    const { truncated, reward } = vec.collect("zero", 4);
    expect(Array.from(truncated)).toEqual([1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0]);
    expect(Array.from(reward)).toEqual([1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0]);
    expect(Array.from(vec.episodes)).toEqual([2, 2, 2]);
    vec.dispose();
  });
});

describe("values that make no sense", () => {
  test("in a state", () => {
    const vec = new VecEnv(Typed, 2, js);
    vec.reset();
    const good = vec.getState(1);
    const { state } = good;
    const wrong: readonly (readonly [object | null, RegExp])[] = [
      [null, /a state is a record/],
      [{ state: null }, /must be a record of whole, byte/],
      [{ state: [] }, /must be a record of whole, byte/],
      [{ state: { ...state, whole: "3" } }, /"whole" holds i32 values, and was given 3/],
      [{ state: { ...state, whole: 2 ** 31 } }, /"whole" holds i32 values, and was given 2147483648/],
      [{ state: { ...state, byte: 256 } }, /"byte" holds u8 values, and was given 256/],
      [{ state: { ...state, flag: 2 } }, /"flag" holds bool values, and was given 2/],
      [{ state: { ...state, list: [0, undefined] } }, /"list" holds i32 values, and was given undefined/],
      [{ state: { ...state, inner: null } }, /must be a record of part/],
      [{ state: { ...state, inner: { part: "x" } } }, /"part" holds f32 values, and was given x/],
      [{ state: { ...state, toString: 1 } }, /has no field "toString"/],
      [{ state, steps: 2 ** 31 }, /steps must be a whole number from 0 to 2147483647/],
      [{ state, episode: 2 ** 32 }, /episode must be a whole number/],
      [{ state, return: "1" }, /return must be a number/],
      [{ state, ended: 1 }, /ended must be true or false/],
      [{ states: state }, /there is no "states" to set/],
    ];
    for (const [given, why] of wrong) refused(() => vec.setState(1, given as never), why);
    expect(vec.getState(1)).toEqual(good);
    const other = { ...good, state: { whole: -5, byte: 255, flag: true, list: [1, 2], inner: { part: 0.5 } } };
    vec.setState(1, other);
    expect(vec.getState(1)).toEqual(other);
    expect(Array.from(vec.out.obs)).toEqual([0, 0.5]);
    vec.dispose();
  });

  test("in options and calls", () => {
    const binary = { ...CartPole, ...CartPole.functions, action: multiBinary(3) };
    refused(() => defineEnv(binary as never), /actions of compiled environments are one of .*, not multiBinary/);
    refused(() => new VecEnv("CartPole-v1" as never, 1), /not an environment: CartPole-v1; environment\(id\)/);
    refused(
      () => new VecEnv(CartPole, 1, { ...js, maxStep: 5 } as never),
      /no option "maxStep". Did you mean "maxSteps"/,
    );
    refused(() => new VecEnv(CartPole, 1, { ...js, autoreset: "toString" as never }), /autoreset must be one of/);
    refused(
      () => new VecEnv(CartPole, 1, { ...js, params: { constructor: 1 } as never }),
      /no parameter "constructor"/,
    );
    refused(() => new VecEnv(CartPole, 1, { ...js, params: { gravty: 1 } as never }), /Did you mean "gravity"/);
    refused(() => new VecEnv(CartPole, 1, { ...js, params: { gravity: [undefined] } as never }), /it is undefined/);
    const vec = new VecEnv(CartPole, 1, js);
    vec.reset();
    refused(() => vec.step(undefined as never), /no list of 1 actions/);
    refused(() => vec.collect("randon" as never, 2), /"zero" or "random", not randon/);
    vec.dispose();
  });

  test("infinite actions, where there are limits", () => {
    const vec = new VecEnv(Reacher, 2, js);
    vec.reset();
    const before = [0, 1].map((i) => vec.getState(i));
    refused(() => vec.step([0, 0, 0, -Infinity]), /action 0, -Infinity of environment 1/);
    expect([0, 1].map((i) => vec.getState(i))).toEqual(before);
    vec.dispose();
    const clipped = new VecEnv(clipAction(Pendulum), 1, js);
    clipped.reset();
    clipped.step([Infinity]);
    expect(clipped.out.reward[0]).toBeLessThan(0);
    clipped.dispose();
  });
});

describe.each(targets)("parameters that count something: %s", (target) => {
  test("differ between environments, too", () => {
    // A lake without holes beside one that is all holes but for the start and the goal.
    const holes = [0, 0x7ffe, 0];
    const lakes = new VecEnv(FrozenLake, 3, { params: { holes, slippery: [0, 0, 0] }, target });
    lakes.reset();
    lakes.step([2, 2, 2]);
    expect(Array.from(lakes.out.terminated)).toEqual([0, 1, 0]);
    lakes.dispose();
    refused(() => new VecEnv(FrozenLake, 2, { params: { holes: [0, 0.5] }, target }), /takes whole numbers, and 0.5/);
  });

  test.each([
    ["MemoryChain-bsuite", "memoryLength"],
    ["UmbrellaChain-bsuite", "chainLength"],
  ])("%s: %s, which is compared and divided by", (id, name) => {
    const lengths = [3, 5];
    const chains = new VecEnv(environment(id), 2, { params: { [name]: lengths }, target });
    const alone = lengths.map((length, i) => {
      return new VecEnv(environment(id), 1, { params: { [name]: length }, firstIndex: i, target });
    });
    for (const vec of [chains, ...alone]) vec.reset();
    for (let t = 0; t < 12; t++) {
      chains.step([t & 1, t & 1]);
      for (const vec of alone) vec.step([t & 1]);
      expect([...chains.out.obs]).toEqual(alone.flatMap((vec) => [...vec.out.obs]));
      expect([...chains.out.terminated]).toEqual(alone.flatMap((vec) => [...vec.out.terminated]));
    }
    for (const vec of [chains, ...alone]) vec.dispose();
  });
});
test("whole parameters may stand beside others", () => {
  const vec = new VecEnv(Catch, 2, { ...js, params: { columns: [5, 3] } });
  expect(vec.reset().obs.length).toBe(100);
  vec.dispose();
});

describe("memory", () => {
  test("a VecEnv that cannot be made leaves nothing behind", () => {
    const broken = defineEnv({
      ...Typed,
      id: "Broken",
      reset: () => {},
      step: (s: { whole: number }) => ({ reward: Math.random(), terminated: s.whole > 0 }),
      observe: () => {},
    } as never);
    const shared = allocate(f32, 8);
    // Arrays that overlap are found when they are bound, last of all.
    const out = { obs: shared, finalObs: shared };
    const attempts = (): void => {
      expect(() => new VecEnv(broken, 100, js)).toThrow(/Math\.random/);
      expect(() => new VecEnv(CartPole, 2, { ...js, out })).toThrow(/share memory/);
    };
    attempts();
    // Compiled code stays for the next one.
    const before = bytesInUse();
    expect(before).toBeGreaterThan(0);
    attempts();
    expect(bytesInUse()).toBe(before);
    free(shared);
  });

  test("steps into arrays of the caller take no memory of their own", () => {
    const vec = new VecEnv(CartPole, 2, js);
    vec.reset();
    const obs = allocate(f32, 8);
    const steps = (): void => {
      for (let t = 0; t < 5; t++) vec.step([0, 1], { obs });
    };
    steps();
    const before = bytesInUse();
    steps();
    expect(bytesInUse()).toBe(before);
    // Arrays that are known by now are not written beyond their end either.
    refused(() => vec.step([0, 1], { obs, obsRow: 1 }), /obs holds 8 numbers, and 16 are written/);
    refused(() => vec.step([0, 1], { obs, obsRow: 0.5 }), /obsRow must be a whole number/);
    vec.dispose();
    free(obs);
  });

  test("nothing is written after the end", () => {
    const vec = new VecEnv(CartPole, 4, js);
    vec.reset();
    const { actions } = vec;
    vec.dispose();
    actions.fill(7);
    refused(() => vec.step([1, 1, 1, 1]), /disposed/);
    refused(() => vec.collect("zero", 1), /disposed/);
    expect(Array.from(actions)).toEqual([7, 7, 7, 7]);
  });

  test("a row of the caller's arrays, without one for last observations", () => {
    const [n, k] = [3, 4];
    const into = {
      obs: allocate(f32, 10 * n * 4),
      reward: allocate(f32, 10 * n),
      terminated: allocate(bool, 10 * n),
      truncated: allocate(bool, 10 * n),
    };
    const [one, other] = [new VecEnv(CartPole, n, js), new VecEnv(CartPole, n, js)];
    one.reset();
    other.reset();
    one.collect("random", k, { ...into, row: 3, obsRow: 5 });
    const wanted = other.collect("random", k);
    expect(Array.from(into.obs.subarray(5 * n * 4, 9 * n * 4))).toEqual(Array.from(wanted.obs));
    expect(Array.from(into.reward)).toEqual([...new Array(9).fill(0), ...wanted.reward, ...new Array(9).fill(0)]);
    for (const vec of [one, other]) vec.dispose();
    for (const array of Object.values(into)) free(array);
  });

  test("actions of a longer run can be taken again, in part", () => {
    const vec = new VecEnv(CartPole, 3, js);
    vec.reset();
    const { actions, obs } = vec.collect("random", 40);
    const [taken, seen] = [Array.from(actions.subarray(0, 30)), Array.from(obs.subarray(0, 120))];
    vec.reset();
    const again = vec.collect(actions.subarray(0, 30), 10);
    expect(Array.from(again.actions)).toEqual(taken);
    expect(Array.from(again.obs)).toEqual(seen);
    vec.dispose();
  });

  test("code for parameters that nobody uses any more is let go, code in use is not", () => {
    const env = { ...Typed, params: { any: 0 } };
    const make = (any: number): VecEnv => {
      const vec = new VecEnv(env as never, 1, { ...js, params: { any } as never });
      vec.reset();
      vec.step([1]);
      return vec;
    };
    const used = make(-1);
    make(0).dispose();
    expect(make(0).crossings).toBe(2);
    for (let any = 1; any <= 10; any++) make(any).dispose();
    make(9).dispose();
    const again = make(1);
    expect(again.crossings).toBe(1);
    used.step([1]);
    const beside = make(-1);
    expect(beside.crossings).toBe(3);
    for (const vec of [used, again, beside]) vec.dispose();
  });
});
