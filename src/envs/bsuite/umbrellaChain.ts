/**
 * @file UmbrellaChain-bsuite: whether an umbrella is taken is decided with the first action; whether that was right is
 * paid for at the end of the chain, and all rewards before are noise (bsuite, as in gymnax, without distractors).
 */
import { i32 } from "../../kernel/declare.ts";
import { defineEnv } from "../define.ts";
import { box, discrete } from "../spaces.ts";

export const UmbrellaChain = defineEnv({
  id: "UmbrellaChain-bsuite",
  params: { chainLength: 10 },
  state: { needUmbrella: i32, hasUmbrella: i32, time: i32, totalRegret: i32 },
  observation: box([3], { low: 0, high: 1 }),
  action: discrete(2),
  maxSteps: 100,
  solved: "the last reward is 1 in every episode",
  reset(s, { rng }) {
    s.needUmbrella = rng.int(2);
    s.hasUmbrella = rng.int(2);
    s.time = 0;
    s.totalRegret = 0;
  },
  step(s, action, { params, rng }) {
    s.hasUmbrella = s.time === 0 ? action : s.hasUmbrella;
    s.time += 1;
    const terminated = s.time === params.chainLength;
    const right = s.hasUmbrella === s.needUmbrella;
    s.totalRegret += terminated && !right ? 2 : 0;
    const noise = rng.bits() >>> 31 === 1;
    return { reward: (terminated ? right : noise) ? 1 : -1, terminated };
  },
  observe(s, obs, { params }) {
    obs[0] = Math.fround(s.needUmbrella);
    obs[1] = Math.fround(s.hasUmbrella);
    obs[2] = 1 - Math.fround(s.time) / Math.fround(params.chainLength);
  },
  draw(s, canvas, params) {
    canvas.view([-1, -1.5], [params.chainLength + 1, 2]);
    canvas.line([0, 0], [params.chainLength, 0], "grey");
    canvas.circle([s.time, 0], 0.3, s.hasUmbrella ? "purple" : "ink");
    canvas.text([0, 1], s.hasUmbrella ? "with an umbrella" : "no umbrella", s.hasUmbrella ? "purple" : "ink");
    canvas.text([params.chainLength - 0.5, 1], s.needUmbrella ? "rain" : "sun", s.needUmbrella ? "blue" : "yellow");
  },
});
