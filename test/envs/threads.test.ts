/**
 * @file Whether steps of environments may run on threads: a pass could lose that without changing a result.
 */
import { expect, test } from "vitest";
import { environment } from "../../src/envs/index.ts";
import { stepKernel } from "../../src/envs/vector/kernel.ts";
import { lower } from "../../src/ir/pipeline.ts";
import { eachStmt, functionsOf } from "../../src/ir/walk.ts";

const IDS = ["CartPole-v1", "Acrobot-v1", "Pendulum-v1", "Catch-bsuite", "FourRooms-misc", "MetaMaze-misc"] as const;

test.each(IDS)("blocks of %s do", (id) => {
  const env = environment(id);
  const step = stepKernel(env, { constants: env.params, own: new Map() }, "same-step");
  const launches: { readonly cost: number; readonly threaded: boolean }[] = [];
  for (const f of functionsOf(lower(step.ir(), { vectorBytes: 32, vectorRegisters: 16, launches: true })))
    eachStmt(f.body, (s) => {
      if (s.kind === "launch") launches.push(s);
    });
  // The two costliest are the step, and its copy with a test of every subscript for calls that have gone wrong.
  const [first, second] = launches.sort((a, b) => b.cost - a.cost);
  expect([first?.threaded, second?.threaded].sort()).toEqual([false, true]);
});
