/**
 * @file Where games stand, taken down and put back: the rest of the episodes is the same, and so are those after it.
 */
import { describe, expect, test } from "vitest";
import { fromObject, type GameState, type ObjectVec } from "../../src/envs/index.ts";
import { FORGETFUL, WALK } from "../train/support.ts";

const N = 3;
/** Everything that steps give from here on, over several episodes. */
const future = (vector: ObjectVec): unknown[] =>
  Array.from({ length: 60 }, (_, t) => {
    const { obs, reward, terminated, truncated } = vector.step(Array.from({ length: N }, (__, i) => (t + i) % 2));
    return [obs, reward, terminated, truncated, vector.episodeReturn, vector.episodeLength].map((x) => Array.from(x));
  });

describe("the state of games", () => {
  test("put back, they play on as they would have", () => {
    const [one, other] = [fromObject(WALK, N, { seed: 8 }), fromObject(WALK, N, { seed: 8 })];
    one.reset();
    for (let t = 0; t < 17; t++) one.step([1, 0, t % 2]);
    const states = Array.from({ length: N }, (_, i) => one.getState(i));
    const obs = Array.from(one.out.obs);
    other.reset();
    states.forEach((state, i) => {
      other.setState(i, state);
    });
    expect(Array.from(other.out.obs)).toEqual(obs);
    // Of episodes that were over before, nothing is asked.
    other.episodeReturn.set(one.episodeReturn);
    other.episodeLength.set(one.episodeLength);
    expect(future(other)).toEqual(future(one));
  });
  test("of another form is refused", () => {
    const vector = fromObject(WALK, N);
    vector.reset();
    const state = vector.getState(0);
    const wrong = (change: object) => () => vector.setState(0, { ...state, ...change } as GameState);
    expect(wrong({ steps: -1 })).toThrow("walk: environment 0: steps must be a whole number from 0");
    expect(wrong({ observation: [1] })).toThrow("observation must be a list of 2 numbers; nothing was changed");
    expect(wrong({ return: "1" })).toThrow("return must be a number, it is 1");
    expect(wrong({ ended: 1 })).toThrow("ended must be true or false");
    expect(() => vector.setState(0, null as unknown as GameState)).toThrow("a state is a record");
    expect(() => vector.getState(N)).toThrow("the number of an environment must be a whole number");
    expect(vector.getState(0)).toEqual(state);
  });
  test("is not to be had of games that do not tell", () => {
    const vector = fromObject(FORGETFUL, N);
    vector.reset();
    expect(vector.restorable).toBe(false);
    expect(() => vector.getState(0)).toThrow("give them the functions getState and setState");
  });
});
