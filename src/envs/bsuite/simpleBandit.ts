/**
 * @file SimpleBandit-bsuite: eleven arms that pay 0, 0.1, ... 1 in a random order, drawn anew for every episode of one
 * step (bsuite; gymnax since its version 1, its 0.0.9 mixes up its state).
 */
import { f32 } from "../../kernel/declare.ts";
import { drawBar } from "../cells.ts";
import { defineEnv } from "../define.ts";
import { box, discrete } from "../spaces.ts";

export const SimpleBandit = defineEnv({
  id: "SimpleBandit-bsuite",
  params: {},
  state: { rewards: f32.array(11) },
  observation: box([1, 1], { low: 1, high: 1 }),
  action: discrete(11),
  maxSteps: 100,
  solved: "there is nothing to learn: the order changes with every step",
  reset(s, { rng }) {
    // Each arm draws a number; its place among them is its reward. Unlike swapping, this is the same work for all lanes.
    const drawn = new Uint32Array(11);
    for (let k = 0; k < 11; k++) drawn[k] = rng.bits();
    for (let k = 0; k < 11; k++) {
      let place = 0;
      for (let other = 0; other < 11; other++)
        if (drawn[other]! < drawn[k]! || (drawn[other] === drawn[k] && other < k)) place++;
      s.rewards[k] = Math.fround(place) / 10;
    }
  },
  step(s, action) {
    let reward = s.rewards[0]!;
    for (let k = 1; k < 11; k++) reward = action === k ? s.rewards[k]! : reward;
    return { reward, terminated: true };
  },
  observe(_s, obs) {
    obs[0] = 1;
  },
  draw(s, canvas) {
    canvas.view([0, 0], [11, 4.5]);
    for (let k = 0; k < 11; k++) drawBar(canvas, [k + 0.1, 0], [k + 0.9, 0.1 + 4 * (s.rewards[k] as number)], "blue");
  },
});
