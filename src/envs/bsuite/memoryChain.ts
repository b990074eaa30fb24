/**
 * @file MemoryChain-bsuite: a context of bits is shown once; after a while one of them is asked for (bsuite).
 *
 * As in gymnax, a step returns the observation of the state before it, so that the first one is seen twice: `shownTime`
 * is the time that is shown.
 */
import { i32 } from "../../kernel/declare.ts";
import { defineEnv } from "../define.ts";
import { box, discrete } from "../spaces.ts";

/** MemoryChain with a context of several bits. */
export const makeMemoryChain = (bits: number) =>
  defineEnv({
    id: "MemoryChain-bsuite",
    params: { memoryLength: 5 },
    state: { context: i32.array(bits), query: i32, time: i32, shownTime: i32, totalPerfect: i32, totalRegret: i32 },
    observation: box([bits + 2]),
    action: discrete(2),
    maxSteps: 1000,
    solved: "a return of 1 in every episode",
    reset(s, { rng }) {
      for (let k = 0; k < s.context.length; k++) s.context[k] = rng.int(2);
      s.query = s.context.length > 1 ? rng.int(s.context.length) : 0;
      s.time = 0;
      s.shownTime = 0;
      s.totalPerfect = 0;
      s.totalRegret = 0;
    },
    step(s, action, { params }) {
      s.shownTime = s.time;
      let wanted = 0;
      for (let k = 0; k < s.context.length; k++) wanted = s.query === k ? s.context[k]! : wanted;
      const asked = s.time >= params.memoryLength;
      const right = action === wanted;
      s.totalPerfect += asked && right ? 1 : 0;
      s.totalRegret += asked && !right ? 2 : 0;
      const terminated = s.time === params.memoryLength;
      s.time += 1;
      return { reward: asked ? (right ? 1 : -1) : 0, terminated };
    },
    observe(s, obs, { params }) {
      obs[0] = 1 - Math.fround(s.shownTime) / Math.fround(params.memoryLength);
      obs[1] = s.shownTime === params.memoryLength - 1 ? Math.fround(s.query) : 0;
      for (let k = 0; k < s.context.length; k++)
        obs[2 + k] = s.shownTime === 0 ? Math.fround(2 * s.context[k]! - 1) : 0;
    },
    draw(s, canvas, params) {
      canvas.view([-1, -1], [params.memoryLength + 2, 1.5]);
      canvas.line([0, 0], [params.memoryLength + 1, 0], "grey");
      canvas.circle([s.time, 0], 0.2, "blue");
      canvas.text([0, 0.6], `bit ${s.query} is ${s.context[s.query]}`);
    },
  });
export const MemoryChain = makeMemoryChain(1);
