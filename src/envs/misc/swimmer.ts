/**
 * @file Swimmer-misc: a swimmer with accelerations as actions goes to a goal and keeps away from urchins. As in gymnax:
 * actions are not clipped, it never terminates.
 */
import { f32 } from "../../kernel/declare.ts";
import { defineEnv } from "../define.ts";
import { box } from "../spaces.ts";

export const Swimmer = defineEnv({
  id: "Swimmer-misc",
  params: { tau: 0.05 },
  /** `urchinXys` holds x and y of one urchin after the other. */
  state: { urchinXys: f32.array(10), xy: f32.array(2), xyVel: f32.array(2), goalXy: f32.array(2) },
  observation: box([16]),
  action: box([2], { low: -1, high: 1 }),
  maxSteps: 500,
  solved: "no bar is set; a step pays 1 at most, at the goal",
  reset(s, { rng }) {
    for (let k = 0; k < 10; k++) s.urchinXys[k] = rng.uniform(-1, 1);
    for (let k = 0; k < 2; k++) {
      s.xy[k] = rng.uniform(-1, 1);
      s.xyVel[k] = 0;
      s.goalXy[k] = rng.uniform(-1, 1);
    }
  },
  step(s, action, { params }) {
    for (let k = 0; k < 2; k++) {
      s.xyVel[k] = s.xyVel[k]! + params.tau * action[k]!;
      s.xy[k] = s.xy[k]! + params.tau * s.xyVel[k]!;
    }
    const toX = s.xy[0]! - s.goalXy[0]!;
    const toY = s.xy[1]! - s.goalXy[1]!;
    let reward = Math.exp(-0.5 * (toX * toX + toY * toY));
    for (let urchin = 0; urchin < 5; urchin++) {
      const x = s.xy[0]! - s.urchinXys[2 * urchin]!;
      const y = s.xy[1]! - s.urchinXys[2 * urchin + 1]!;
      reward *= 1 - Math.exp(-30 * (x * x + y * y));
    }
    return { reward, terminated: false };
  },
  observe(s, obs) {
    for (let k = 0; k < 10; k++) obs[k] = s.urchinXys[k]!;
    for (let k = 0; k < 2; k++) {
      obs[10 + k] = s.xy[k]!;
      obs[12 + k] = s.xyVel[k]!;
      obs[14 + k] = s.goalXy[k]!;
    }
  },
  draw(s, canvas) {
    canvas.view([-1.2, -1.2], [1.2, 1.2]);
    for (let k = 0; k < 10; k += 2)
      canvas.circle([s.urchinXys[k] as number, s.urchinXys[k + 1] as number], 0.08, "purple");
    canvas.circle([s.goalXy[0] as number, s.goalXy[1] as number], 0.08, "green");
    canvas.circle([s.xy[0] as number, s.xy[1] as number], 0.05, "blue");
  },
});
