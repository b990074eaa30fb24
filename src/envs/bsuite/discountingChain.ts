/**
 * @file DiscountingChain-bsuite: the first action chooses one of five chains, each of which pays once, after 1, 3, 10, 30
 * or 100 steps; one of them pays a little more (bsuite, as in gymnax, where that is the first).
 */
import { i32 } from "../../kernel/declare.ts";
import { defineEnv } from "../define.ts";
import { box, discrete } from "../spaces.ts";

export const DiscountingChain = defineEnv({
  id: "DiscountingChain-bsuite",
  params: {
    /** The chain that pays `bestReward` instead of 1; bsuite's mapping seed modulo 5. */
    bestChain: 0,
    bestReward: 1.1,
    /** What the time in the observation is divided by. */
    timeScale: 100,
  },
  state: { context: i32, time: i32 },
  observation: box([2], { low: [-1, 0], high: [4, 1] }),
  action: discrete(5),
  maxSteps: 100,
  solved: "a return of 1.1 in every episode",
  reset(s) {
    s.context = -1;
    s.time = 0;
  },
  step(s, action, { params }) {
    s.context = s.time === 0 ? action : s.context;
    s.time += 1;
    const chain = s.context;
    const due = chain === 0 ? 1 : chain === 1 ? 3 : chain === 2 ? 10 : chain === 3 ? 30 : 100;
    const amount = chain === params.bestChain ? params.bestReward : 1;
    return { reward: s.time === due ? amount : 0, terminated: false };
  },
  observe(s, obs, { params }) {
    obs[0] = Math.fround(s.context);
    obs[1] = Math.fround(s.time) / params.timeScale;
  },
  draw(s, canvas) {
    // Chains are 1 to 100 steps long: their logarithms fit a picture.
    const place = (time: number): number => (10 * Math.log(1 + time)) / Math.log(101);
    const dues = [1, 3, 10, 30, 100];
    canvas.view([-1, -1], [11, 5]);
    dues.forEach((due, chain) => {
      canvas.line([0, chain], [place(due), chain], chain === s.context ? "blue" : "grey");
      canvas.circle([place(due), chain], 0.3, "yellow");
    });
    // What goes on behind the end of a chain pays nothing: it is shown at the end.
    const time = Math.min(s.time, dues[s.context] ?? 0);
    canvas.circle([place(time), s.context < 0 ? 2 : s.context], 0.25, "blue");
  },
});
