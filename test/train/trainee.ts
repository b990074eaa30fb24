/**
 * @file A process that trains, to be killed: begins the run in a folder or goes on with it, says a line for each
 * checkpoint, and at the end the summary.
 */
import { existsSync } from "node:fs";
import { type Callback, resume, type TrainOptions, train } from "../../src/train/index.ts";

/** A checkpoint after every iteration: most of the time goes into writing. */
export const TRAINEE = {
  algo: "a2c",
  env: "Pendulum-v1",
  hyperparameters: { nEnvs: 4, nSteps: 5, netArch: [64], normalizeObs: true },
  steps: 20 * 300,
  seed: 5,
  numerics: "unfused",
  tuned: false,
  evalEvery: 400,
  evalEpisodes: 1,
  checkpointEvery: 20,
  keepCheckpoints: 2,
  report: false,
} as const satisfies TrainOptions;

async function main(folder: string, target: "js" | "wasm"): Promise<void> {
  const callbacks: Callback[] = [
    {
      onCheckpoint({ steps }) {
        process.stdout.write(`${steps}\n`);
      },
    },
  ];
  const options = { callbacks, target };
  const isThere = existsSync(`${folder}/config.json`);
  const summary = isThere
    ? await resume(folder, { ...options, report: false })
    : await train({ ...TRAINEE, ...options, folder });
  process.stdout.write(`${JSON.stringify(summary)}\n`);
}

const [, script, folder, target] = process.argv;
if (script?.endsWith("trainee.ts") && folder) await main(folder, target as "js" | "wasm");
