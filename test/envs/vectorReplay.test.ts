/**
 * @file Steps that write straight into a replay buffer: the same transitions as pushed ones.
 */
import { describe, expect, test } from "vitest";
import { ReplayBuffer } from "../../src/buffers/index.ts";
import { environment } from "../../src/envs/registry.ts";
import { VecEnv } from "../../src/envs/vector/vecEnv.ts";
import { targets } from "./fixtures.ts";

const [n, capacity] = [8, 32];
const options = { capacity, observation: 4, action: 1, seed: 3, target: "js" } as const;
describe.each(targets)("%s", (target) => {
  test("rows that steps write in place are those that pushes copy, ends of episodes included", () => {
    const made = (): VecEnv => {
      // The time limit ends episodes in the middle of what is written.
      const vec = new VecEnv(environment("CartPole-v1"), n, { seed: 9, target, maxSteps: 3 });
      vec.reset();
      return vec;
    };
    const [pushing, writing] = [made(), made()];
    const pushed = new ReplayBuffer(options);
    const written = new ReplayBuffer({ ...options, arrangement: "separate" });
    const [observation, action] = [written.column("observation").array, written.column("action").array];
    const into = {
      finalObs: written.column("nextObservation").array as Float32Array,
      everyFinal: true,
      reward: written.column("reward").array as Float32Array,
      terminated: written.column("terminated").array as Uint8Array,
      truncated: written.column("truncated").array as Uint8Array,
      obsRow: 0,
    };
    let cut = 0;
    // More than the buffer holds: the oldest are overwritten in both.
    for (let t = 0; t < 7; t++) {
      const actions = Int32Array.from({ length: n }, (_, i) => (i + t) & 1);
      const before = Float32Array.from(pushing.out.obs);
      const { reward, terminated, truncated, obs, finalObs } = pushing.step(actions);
      const nextObservation = Float32Array.from(obs, (x, k) => {
        const i = Math.floor(k / 4);
        return terminated[i] || truncated[i] ? (finalObs[k] as number) : x;
      });
      cut += truncated.filter(Boolean).length;
      pushed.pushBatch({ observation: before, action: actions, reward, terminated, truncated, nextObservation }, n);

      const slot = written.reserve(n);
      observation.set(writing.out.obs, slot * 4);
      action.set(actions, slot);
      writing.step(actions, { ...into, row: slot / n });
      written.commit(n);
      expect(writing.out.obs).toEqual(pushing.out.obs);
    }
    expect(cut).toBe(2 * n);
    expect(written.length).toBe(capacity);
    expect(written.save()).toEqual(pushed.save());
    expect(written.sample(16).nextObservation).toEqual(pushed.sample(16).nextObservation);
    for (const vec of [pushing, writing]) vec.dispose();
  });
});

test("what cannot be written in place is refused", () => {
  expect(() => new ReplayBuffer(options).reserve(8)).toThrow('with the option arrangement: "separate"');
  const buffer = new ReplayBuffer({ ...options, arrangement: "separate" });
  expect(() => buffer.reserve(0)).toThrow("the number of rows");
  buffer.commit(20);
  expect(() => buffer.reserve(20)).toThrow("20 rows do not fit between slot 20 and the end of the buffer, 32");
  expect(() => new ReplayBuffer({ ...options, arrangement: "separate", nextObservations: "once" })).toThrow(
    'not "once"',
  );
});
