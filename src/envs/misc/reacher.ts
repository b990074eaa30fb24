/**
 * @file Reacher-misc: two joints with accelerations as actions, whose tip is to be at a goal. As in gymnax: angles are
 * measured from the x axis each, actions are not clipped, it never terminates.
 */
import { f32 } from "../../kernel/declare.ts";
import { drawRod } from "../cells.ts";
import { defineEnv } from "../define.ts";
import { box } from "../spaces.ts";

export const Reacher = defineEnv({
  id: "Reacher-misc",
  params: { torqueScale: 1, tau: 0.05 },
  state: { angles: f32.array(2), angleVels: f32.array(2), goalXy: f32.array(2) },
  observation: box([8]),
  action: box([2], { low: -1, high: 1 }),
  maxSteps: 100,
  solved: "no bar is set; a step pays 1 at most, at the goal",
  reset(s, { rng }) {
    for (let k = 0; k < 2; k++) {
      s.angles[k] = rng.uniform(-Math.PI, Math.PI);
      s.angleVels[k] = rng.uniform(-1, 1);
      s.goalXy[k] = rng.uniform(-2, 2);
    }
  },
  step(s, action, { params }) {
    let x = -s.goalXy[0]!;
    let y = -s.goalXy[1]!;
    for (let k = 0; k < 2; k++) {
      const speed = s.angleVels[k]! + params.tau * (params.torqueScale * action[k]!);
      const angle = s.angles[k]! + params.tau * speed;
      s.angleVels[k] = speed;
      s.angles[k] = angle;
      x += Math.cos(angle);
      y += Math.sin(angle);
    }
    return { reward: Math.exp(-(x * x + y * y)), terminated: false };
  },
  observe(s, obs) {
    for (let k = 0; k < 2; k++) {
      obs[k] = Math.cos(s.angles[k]!);
      obs[2 + k] = Math.sin(s.angles[k]!);
      obs[4 + k] = s.angleVels[k]!;
      obs[6 + k] = s.goalXy[k]!;
    }
  },
  draw(s, canvas) {
    canvas.view([-2.2, -2.2], [2.2, 2.2]);
    const [first = 0, second = 0] = [s.angles[0], s.angles[1]];
    const [x, y] = [Math.cos(first), Math.sin(first)];
    canvas.circle([s.goalXy[0] as number, s.goalXy[1] as number], 0.15, "green");
    drawRod(canvas, [0, 0], [x, y], 0.1, "blue");
    drawRod(canvas, [x, y], [x + Math.cos(second), y + Math.sin(second)], 0.1, "orange");
    canvas.circle([0, 0], 0.08, "ink");
    canvas.circle([x, y], 0.08, "ink");
  },
});
